package bolt

import (
	"fmt"
	"strings"

	"parley/persistence"
)

// validate judges a batch by itself. It runs in the caller's goroutine, so that the committer need not.
func validate(b *persistence.Batch) verdict {
	v := judge{}
	if b == nil {
		return verdict{invalid: fmt.Errorf("no batch: %w", persistence.ErrInvalid)}
	}
	v.stream(b.Stream)
	if b.Expect > ^uint64(0)-persistence.MaxBatchEvents {
		v.bad("sequence %d has no room behind it", b.Expect)
	}
	if len(b.Events) > persistence.MaxBatchEvents {
		v.big("%d events", len(b.Events))
	}
	for i := range b.Events {
		e := &b.Events[i]
		if e.Seq != b.Expect+uint64(i)+1 {
			v.bad("event %d has sequence %d behind %d", i, e.Seq, b.Expect)
		}
		v.length("kind", e.Kind)
		v.data("event", len(e.Data))
	}
	if n := len(b.Claims) + len(b.Documents) + len(b.Counters) + len(b.Outbox); n > persistence.MaxBatchOps {
		v.big("%d changes", n)
	}
	v.operations(b)
	if s := b.Snapshot; s != nil {
		if s.Seq > b.Expect+uint64(len(b.Events)) {
			v.bad("snapshot of %d is ahead of the stream", s.Seq)
		}
		v.data("snapshot", len(s.Data))
	}
	if v.size > persistence.MaxBatchBytes {
		v.big("%d bytes", v.size)
	}
	return v.verdict
}

// judge gathers a verdict; the first finding of each sort stays.
type judge struct{ verdict }

func (v *judge) operations(b *persistence.Batch) {
	for i := range b.Claims {
		op := &b.Claims[i]
		v.name("index", op.Index)
		v.name("claim", op.Key)
		v.name("owner", op.Owner)
		v.data("claim", len(op.Data))
		if op.Expires < 0 {
			v.bad("claim %s/%s expires before 1970", op.Index, op.Key)
		}
	}
	for i := range b.Documents {
		op := &b.Documents[i]
		v.name("collection", op.Collection)
		v.name("document", op.Key)
		v.data("document", len(op.Data))
	}
	for i := range b.Counters {
		v.name("counter", b.Counters[i].Name)
	}
	for i := range b.Outbox {
		v.name("outbox entry", b.Outbox[i].ID)
		v.data("outbox entry", len(b.Outbox[i].Data))
	}
}

func (v *judge) bad(form string, args ...any) {
	if v.invalid == nil {
		v.invalid = fmt.Errorf(form+": %w", append(args, persistence.ErrInvalid)...)
	}
}

func (v *judge) big(form string, args ...any) {
	if v.tooLarge == nil {
		v.tooLarge = fmt.Errorf(form+": %w", append(args, persistence.ErrTooLarge)...)
	}
}

func (v *judge) length(what, name string) {
	if len(name) > persistence.MaxStreamName {
		v.big("name of %s has %d bytes", what, len(name))
	}
}

func (v *judge) name(what, name string) {
	if name == "" {
		v.bad("%s without a name", what)
	}
	v.length(what, name)
	v.size += len(name)
}

// stream checks the name of a stream. A zero byte would make the keys of two streams run into each other.
func (v *judge) stream(name string) {
	v.name("stream", name)
	if strings.IndexByte(name, 0) >= 0 {
		v.bad("stream name with a zero byte")
	}
}

func (v *judge) data(what string, n int) {
	if n > persistence.MaxEventData {
		v.big("data of %s has %d bytes", what, n)
	}
	v.size += n
}

// validStream judges the stream name of a call that has no batch.
func validStream(name string) error {
	v := judge{}
	v.stream(name)
	if v.invalid != nil {
		return v.invalid
	}
	return v.tooLarge
}
