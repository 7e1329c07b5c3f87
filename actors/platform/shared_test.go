package platform

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"parley/persistence"
)

// Those who wait while one makes the value share the next one, and nobody gets one that was begun before it came.
func TestSharedIsMadeOnceForAllWhoWait(t *testing.T) {
	s := newShared[int]()
	begun, goOn := make(chan int), make(chan struct{})
	made := 0
	slow := func(context.Context, *int) (*int, error) {
		made++
		n := made
		begun <- n
		<-goOn
		return &n, nil
	}
	got := make(chan int, 20)
	get := func() {
		v, err := s.get(context.Background(), slow)
		if err != nil {
			t.Error(err)
		}
		got <- *v
	}
	go get()
	<-begun
	const waiting = 10
	var came sync.WaitGroup
	came.Add(waiting)
	for range waiting {
		go func() {
			came.Done()
			get()
		}()
	}
	came.Wait()
	goOn <- struct{}{}
	if v := <-got; v != 1 {
		t.Errorf("the first one got %d", v)
	}
	for done := 0; done < waiting; {
		select {
		case n := <-begun:
			if n > waiting+1 {
				t.Fatalf("made %d times", n)
			}
			goOn <- struct{}{}
		case v := <-got:
			if done++; v == 1 {
				t.Error("one who came later got what was begun before")
			}
		}
	}
	if _, err := s.get(context.Background(), func(_ context.Context, old *int) (*int, error) {
		if old == nil || *old != made {
			t.Errorf("the last one is %v", old)
		}
		return nil, errors.New("scripted")
	}); err == nil {
		t.Error("a failure is a value")
	}
	if v, err := s.get(context.Background(), func(_ context.Context, old *int) (*int, error) { return old, nil }); err != nil || *v != made {
		t.Errorf("after a failure: %v, %v", v, err)
	}
}

func TestSharedWaitEnds(t *testing.T) {
	s := newShared[int]()
	s.gate <- struct{}{}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.get(ctx, nil); !errors.Is(err, context.Canceled) || !errors.Is(err, persistence.ErrUnavailable) {
		t.Error(err)
	}
}

func TestBoundedKeepsToItsCost(t *testing.T) {
	b := newBounded[int](100)
	for i := range 50 {
		b.put(fmt.Sprint(i), i, 10)
		b.put("always", -1, 20)
		if b.spent > 100 || b.lru.Len() > 9 {
			t.Fatalf("%d spent on %d", b.spent, b.lru.Len())
		}
	}
	if v, ok := b.get("always"); !ok || v != -1 {
		t.Error("what is used all the time is gone")
	}
	if _, ok := b.get("0"); ok {
		t.Error("the oldest is still there")
	}
	b.put("always", 1, 1000)
	if _, ok := b.get("always"); ok {
		t.Error("what costs too much is kept, or its old value is")
	}
	if b.spent != 10*b.lru.Len() {
		t.Errorf("%d spent on %d", b.spent, b.lru.Len())
	}
}
