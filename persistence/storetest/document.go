package storetest

import (
	"fmt"
	"slices"

	"parley/persistence"
)

func putDocument(collection, key, data string) func(b *persistence.Batch) {
	op := persistence.DocumentOp{Collection: collection, Key: key, Data: append([]byte{}, data...)}
	return func(b *persistence.Batch) { b.Documents = append(b.Documents, op) }
}

func deleteDocument(collection, key string) func(b *persistence.Batch) {
	return func(b *persistence.Batch) {
		b.Documents = append(b.Documents, persistence.DocumentOp{Collection: collection, Key: key})
	}
}

// ranged checks the keys of a range read.
func ranged(e *env, r persistence.Range, want ...string) {
	e.Helper()
	docs, err := e.store.Documents(e.ctx, "c", r)
	e.check(err)
	var got []string
	for _, d := range docs {
		got = append(got, d.Key)
		if string(d.Data) != "data of "+d.Key {
			e.Fatalf("document %q has data %q", d.Key, d.Data)
		}
	}
	if !slices.Equal(got, want) {
		e.Fatalf("range %+v: got %q, want %q", r, got, want)
	}
}

var documentTests = []test{
	{"put, replace, delete", func(e *env) {
		w := e.acquire("agency/a")
		e.noDocument("c", "k")
		w.write(1, putDocument("c", "k", "one"))
		e.document("c", "k", "one")
		w.write(1, putDocument("c", "k", "two, longer"))
		e.document("c", "k", "two, longer")
		e.noDocument("d", "k")
		e.noDocument("c", "kk")
		e.noDocument("c", "")
		e.reopen()
		e.document("c", "k", "two, longer")
		w = e.acquire("agency/a")
		w.write(1, deleteDocument("c", "k"))
		e.noDocument("c", "k")
		w.write(1, both(deleteDocument("c", "k"), deleteDocument("never used", "k")))
		w.write(1, both(putDocument("c", "k", "x"), deleteDocument("c", "k")))
		e.noDocument("c", "k")
		w.write(1, both(deleteDocument("c", "k"), putDocument("c", "k", "y")))
		e.document("c", "k", "y")
	}},
	{"an empty one is there", func(e *env) {
		w := e.acquire("agency/a")
		w.write(1, putDocument("c", "k", ""))
		got, err := e.store.Document(e.ctx, "c", "k")
		e.check(err)
		if got == nil || len(got) != 0 {
			e.Fatalf("got %#v", got)
		}
	}},
	{"any bytes are a key", func(e *env) {
		w := e.acquire("agency/a")
		keys := []string{"\x00", "\x00\x00", "a/b", "\xff\xff", "é"}
		for _, k := range keys {
			w.write(1, putDocument("c", k, "data of "+k))
		}
		for _, k := range keys {
			e.document("c", k, "data of "+k)
		}
		ranged(e, persistence.Range{Prefix: "\xff"}, "\xff\xff")
		ranged(e, persistence.Range{Prefix: "\xff", Reverse: true}, "\xff\xff")
	}},
	{"ranges", func(e *env) {
		w := e.acquire("agency/a")
		w.write(1, func(b *persistence.Batch) {
			for _, k := range []string{"b/3", "a/1", "c/1", "b/1", "b/2", "b", "b/30"} {
				putDocument("c", k, "data of "+k)(b)
			}
			putDocument("d", "b/9", "of another collection")(b)
		})
		type r = persistence.Range
		ranged(e, r{}, "a/1", "b", "b/1", "b/2", "b/3", "b/30", "c/1")
		ranged(e, r{Reverse: true}, "c/1", "b/30", "b/3", "b/2", "b/1", "b", "a/1")
		for _, test := range []struct {
			r    r
			want []string
		}{
			{r{Prefix: "b/"}, []string{"b/1", "b/2", "b/3", "b/30"}},
			{r{Prefix: "b/", Limit: 2}, []string{"b/1", "b/2"}},
			{r{Prefix: "b/", After: "b/1"}, []string{"b/2", "b/3", "b/30"}},
			{r{Prefix: "b/", After: "b/15"}, []string{"b/2", "b/3", "b/30"}},
			{r{Prefix: "b/", Before: "b/3"}, []string{"b/1", "b/2"}},
			{r{Prefix: "b/", After: "b/1", Before: "b/3"}, []string{"b/2"}},
			{r{Prefix: "b/", After: "b/2", Before: "b/3"}, nil},
			{r{Prefix: "b/", After: "b/3", Before: "b/1"}, nil},
			{r{Prefix: "b/", After: "a"}, []string{"b/1", "b/2", "b/3", "b/30"}},
			{r{Prefix: "b/", Before: "z"}, []string{"b/1", "b/2", "b/3", "b/30"}},
			{r{Prefix: "b/", After: "c"}, nil},
			{r{Prefix: "b/", Before: "a"}, nil},
			{r{Prefix: "b/3"}, []string{"b/3", "b/30"}},
			{r{Prefix: "x"}, nil},
			{r{After: "b"}, []string{"b/1", "b/2", "b/3", "b/30", "c/1"}},
			{r{Before: "b/1"}, []string{"a/1", "b"}},
		} {
			ranged(e, test.r, test.want...)
			test.r.Reverse = true
			limit := test.r.Limit
			if limit == 0 {
				slices.Reverse(test.want)
				ranged(e, test.r, test.want...)
			}
		}
		ranged(e, r{Prefix: "b/", Limit: 2, Reverse: true}, "b/30", "b/3")
		ranged(e, r{Prefix: "b/", Limit: 2, Reverse: true, Before: "b/3"}, "b/2", "b/1")
		docs, err := e.store.Documents(e.ctx, "never used", r{})
		e.check(err)
		equal(e, "documents", len(docs), 0)
	}},
	{"a long collection in pages", func(e *env) {
		const rows = persistence.MaxRead + 5
		w := e.acquire("agency/a")
		key := func(i int) string { return fmt.Sprintf("%06d", i) }
		for i := 0; i < rows; {
			w.write(0, func(b *persistence.Batch) {
				for range min(5000, rows-i) {
					putDocument("c", key(i), "data of "+key(i))(b)
					i++
				}
			})
		}
		for _, limit := range []int{0, persistence.MaxRead + 1, -1} {
			docs, err := e.store.Documents(e.ctx, "c", persistence.Range{Limit: limit})
			e.check(err)
			equal(e, "rows", len(docs), persistence.MaxRead)
		}
		ranged(e, persistence.Range{After: key(rows - 3)}, key(rows-2), key(rows-1))
		ranged(e, persistence.Range{Before: key(5000), Limit: 2, Reverse: true}, key(4999), key(4998))
	}},
}
