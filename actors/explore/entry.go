package explore

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"parley/persistence"
)

// Kind is a part of the directory that is searched by itself.
type Kind string

// Kinds of what is found.
const (
	Agencies Kind = "agency"
	Agents   Kind = "agent"
	Accounts Kind = "account" // users and agents
)

// Entry is a thing in the directory.
type Entry struct {
	ID     string
	Handle string // user name or slug
	Name   string
	Kinds  []Kind
	Place  []persistence.DocumentOp // in lists
}

// BySize is the key of an agency in the list: those with more members first, by powers of two, so that few joins move
// one; then the older ones.
func BySize(members, created int64, id string) string {
	class := bits.Len64(uint64(max(members, 0)))
	return fmt.Sprintf("%02x%016x/%s", 64-class, uint64(max(created, 0)), id)
}

// ByAge is the key of an account in a list: the newest first.
func ByAge(kind Kind, created int64, id string) string {
	return fmt.Sprintf("%s/%016x/%s", kind, uint64(math.MaxInt64-max(created, 0)), id)
}

// IDOf is the id at the end of a key of the directory.
func IDOf(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

type place struct{ collection, key string }

// documents are all that the directory has of an entry; a nil one has none.
func (e *Entry) documents() map[place][]byte {
	all := map[place][]byte{}
	if e == nil {
		return all
	}
	for _, op := range e.Place {
		all[place{op.Collection, op.Key}] = op.Data
	}
	words := terms(e.Handle, e.Name)
	for _, kind := range e.Kinds {
		for _, w := range words {
			all[place{persistence.CollectionTerm, prefix(kind, w) + "/" + e.ID}] = []byte{}
		}
	}
	return all
}

// Change is what turns an entry into another one; nil is one that is not in the directory.
func Change(before, after *Entry) []persistence.DocumentOp {
	old, next := before.documents(), after.documents()
	var ops []persistence.DocumentOp
	for p, data := range next {
		if had, there := old[p]; !there || !bytes.Equal(had, data) {
			ops = append(ops, persistence.DocumentOp{Collection: p.collection, Key: p.key, Data: data})
		}
	}
	for p := range old {
		if _, stays := next[p]; !stays {
			ops = append(ops, persistence.DocumentOp{Collection: p.collection, Key: p.key})
		}
	}
	slices.SortFunc(ops, func(a, b persistence.DocumentOp) int {
		if a.Collection != b.Collection {
			return strings.Compare(a.Collection, b.Collection)
		}
		return strings.Compare(a.Key, b.Key)
	})
	return ops
}
