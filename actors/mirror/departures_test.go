package mirror

import (
	"errors"
	"fmt"
	"testing"
)

// A mirror forgets the oldest departures, and knows that it did.
func TestDeparturesAreForgotten(t *testing.T) {
	d := departed{from: 10}
	d.note("ann", 11)
	d.note("bob", 12)
	for i := range maxDeparted - 1 {
		d.note(fmt.Sprint("x", i%3), uint64(13+i))
	}
	d.note("bob", 13+maxDeparted)
	for _, c := range []struct {
		account string
		entered uint64
		want    error
	}{
		{"ann", 0, nil}, {"ann", 10, ErrAskAgain}, {"ann", 11, ErrAskAgain}, {"ann", 12, nil},
		{"bob", 11, errDeparted}, {"bob", 12 + maxDeparted, errDeparted}, {"bob", 13 + maxDeparted, nil},
		{"eve", 9, ErrAskAgain}, {"eve", 12, nil},
	} {
		if got := d.check(c.account, c.entered); !errors.Is(got, c.want) {
			t.Errorf("%s at %d: %v, want %v", c.account, c.entered, got, c.want)
		}
	}
	if len(d.line) != maxDeparted || len(d.seqs) > 5 {
		t.Errorf("%d departures of %d accounts are remembered", len(d.line), len(d.seqs))
	}
}
