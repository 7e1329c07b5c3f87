package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"parley/persistence"
)

// Claim implements persistence.Store.
func (s *Store) Claim(ctx context.Context, index, key string) (persistence.Claim, error) {
	var claim persistence.Claim
	now := s.now().UnixMilli()
	err := s.view(ctx, "claim", func(v *view) error {
		t := v.table([]byte(prefixClaims + index))
		c, err := decodeClaim([]byte(key), t.get([]byte(key)))
		if err != nil {
			return err
		}
		if c.free(now) {
			return persistence.ErrNotFound
		}
		claim = persistence.Claim{Owner: string(c.owner), Data: bytes.Clone(c.data), Expires: c.expires}
		return nil
	})
	return claim, err
}

// checkClaims fails when somebody else holds one of the claims, counting in the changes of the operations before it.
func (w *writeTx) checkClaims(ops []persistence.ClaimOp) error {
	clear(w.holders)
	for i := range ops {
		op := &ops[i]
		owner, err := w.holder(op)
		if err != nil {
			return err
		}
		if op.Release {
			if owner == op.Owner {
				w.holders[claimName(op)] = ""
			}
			continue
		}
		if owner != "" && owner != op.Owner {
			return &persistence.ExistsError{Index: op.Index, Key: op.Key, Owner: owner}
		}
		if len(ops) > 1 {
			w.holders[claimName(op)] = op.Owner
			if op.Expires != 0 && op.Expires <= w.now {
				w.holders[claimName(op)] = ""
			}
		}
	}
	return nil
}

// claimName is a name for a claim that no other one has: the length of the index says where it ends.
func claimName(op *persistence.ClaimOp) string {
	return fmt.Sprintf("%d/%s/%s", len(op.Index), op.Index, op.Key)
}

// holder returns who holds a claim now, "" for nobody.
func (w *writeTx) holder(op *persistence.ClaimOp) (string, error) {
	if len(w.holders) > 0 {
		if owner, ok := w.holders[claimName(op)]; ok {
			return owner, nil
		}
	}
	c, _, err := w.stored(op)
	if err != nil || c.free(w.now) {
		return "", err
	}
	if string(c.owner) == op.Owner {
		return op.Owner, nil // saves the copy
	}
	return string(c.owner), nil
}

// stored reads a claim, expired or not, and leaves its key in w.key.
func (w *writeTx) stored(op *persistence.ClaimOp) (storedClaim, *writeTable, error) {
	t := w.named(w.claims, prefixClaims, op.Index)
	w.key = append(w.key[:0], op.Key...)
	c, err := decodeClaim(w.key, t.get(w.key))
	return c, t, err
}

// claim takes, renews or gives up a claim that checkClaims has passed.
func (w *writeTx) claim(op *persistence.ClaimOp) error {
	old, t, err := w.stored(op)
	if err != nil {
		return err
	}
	if op.Release && (old.owner == nil || string(old.owner) != op.Owner) {
		return nil
	}
	if old.owner != nil && old.expires != 0 && (op.Release || old.expires != op.Expires) {
		w.key2 = expiryKey(w.key2[:0], old.expires, op.Index, op.Key)
		w.remove(w.expiry, w.key2)
	}
	if op.Release {
		w.remove(t, w.key)
		return nil
	}
	w.set(t, w.key, encodeClaim(w.key, w.take(claimSize(op)), op))
	if op.Expires != 0 {
		w.key2 = expiryKey(w.key2[:0], op.Expires, op.Index, op.Key)
		w.set(w.expiry, w.key2, []byte{})
		if bytes.Compare(w.key2, w.due) < 0 {
			w.due = append(w.due[:0], w.key2...)
		}
	}
	return nil
}

// purge removes up to limit claims whose time has passed. They are free already; this gives their space back. w.due is
// where the first entry is: what is before it has gone, and need not be passed over again.
func (w *writeTx) purge(limit int) {
	if len(w.due) >= 8 && int64(binary.BigEndian.Uint64(w.due)) > w.now {
		return
	}
	var past [][]byte
	next := expiryKey(nil, math.MaxInt64, "", "")
	entries := w.expiry.from(w.due)
	for k, _ := entries.next(); k != nil; k, _ = entries.next() {
		expires, _, _, err := decodeExpiryKey(k)
		if len(past) == limit || (err == nil && expires > w.now) {
			next = bytes.Clone(k)
			break
		}
		past = append(past, bytes.Clone(k))
	}
	for _, k := range past {
		w.expire(k)
	}
	w.due = next
}

// expire removes the claim of an expiry entry, unless it has been taken anew, and the entry.
func (w *writeTx) expire(entry []byte) {
	w.touched = true
	w.remove(w.expiry, entry)
	expires, index, key, err := decodeExpiryKey(entry)
	if err != nil {
		return // it says nothing, and it must not stop every commit
	}
	t := w.named(w.claims, prefixClaims, string(index))
	if c, err := decodeClaim(key, t.get(key)); err == nil && c.owner != nil && c.expires == expires {
		w.remove(t, key)
	}
}
