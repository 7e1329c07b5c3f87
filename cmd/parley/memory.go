package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Giving memory back. After a storm (ten thousand connects, a wave of logins) the runtime keeps what it used for minutes;
// once the storm is over it is returned at one go.
const (
	settleEvery = 2 * time.Second
	// settleQuiet is the rate of allocation, in bytes a second, below which a server counts as quiet.
	settleQuiet = 4 << 20
	// settleWorth is what must be there to give back.
	settleWorth = 8 << 20
	// settleGrowth bounds how often an idle server collects: only after this many bytes were allocated since.
	settleGrowth = 32 << 20
)

// settler gives memory back to the system when the server is quiet.
type settler struct {
	samples []metrics.Sample
	last    uint64 // bytes allocated at the last look
	done    uint64 // bytes allocated when memory was last given back
	again   bool   // the last look gave memory back
}

func newSettler() *settler {
	return &settler{samples: []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"}}}
}

// startSettler runs the settler until the server ends.
func (s *server) startSettler(_ context.Context, end func(func())) error {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(settleEvery)
		defer tick.Stop()
		keeper := newSettler()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				keeper.look()
			}
		}
	}()
	end(func() { close(stop); <-stopped })
	return nil
}

// look gives memory back if the server has become quiet since the last time and it is worth it. It does so in two looks,
// since what has a finalizer or was pooled outlives the first collection.
func (k *settler) look() {
	metrics.Read(k.samples)
	allocated, free := k.samples[0].Value.Uint64(), k.samples[1].Value.Uint64()
	garbage := k.samples[2].Value.Uint64() - min(k.samples[3].Value.Uint64(), k.samples[2].Value.Uint64())
	rate := (allocated - k.last) / uint64(settleEvery/time.Second)
	k.last = allocated
	if k.again && rate <= settleQuiet {
		k.again = false
		debug.FreeOSMemory()
		k.done = allocated
		return
	}
	if rate > settleQuiet || free+garbage < settleWorth || k.done != 0 && allocated-k.done < settleGrowth {
		return
	}
	debug.FreeOSMemory()
	k.done, k.again = allocated, true
}
