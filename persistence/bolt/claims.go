package bolt

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// Claim implements persistence.Store.
func (s *Store) Claim(ctx context.Context, index, key string) (persistence.Claim, error) {
	var claim persistence.Claim
	now := s.now().UnixMilli()
	err := s.view(ctx, "claim", func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(prefixClaims + index))
		if b == nil {
			return persistence.ErrNotFound
		}
		c, err := decodeClaim([]byte(key), b.Get([]byte(key)))
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

// stored reads a claim, expired or not, and leaves its key in w.key. There is no bucket until the index has been used.
func (w *writeTx) stored(op *persistence.ClaimOp) (storedClaim, *bbolt.Bucket, error) {
	b, err := w.bucket(w.claims, prefixClaims, op.Index, false)
	w.key = append(w.key[:0], op.Key...)
	if err != nil || b == nil {
		return storedClaim{}, nil, err
	}
	c, err := decodeClaim(w.key, b.Get(w.key))
	return c, b, err
}

// claim takes, renews or gives up a claim that checkClaims has passed.
func (w *writeTx) claim(op *persistence.ClaimOp) error {
	old, b, err := w.stored(op)
	if err != nil {
		return err
	}
	if op.Release && (old.owner == nil || string(old.owner) != op.Owner) {
		return nil
	}
	w.writes++
	if old.owner != nil && old.expires != 0 && (op.Release || old.expires != op.Expires) {
		w.key2 = expiryKey(w.key2[:0], old.expires, op.Index, op.Key)
		if err := w.expiry.Delete(w.key2); err != nil {
			return fmt.Errorf("claim %s/%s: %w", op.Index, op.Key, err)
		}
	}
	if op.Release {
		return b.Delete(w.key)
	}
	if b == nil {
		if b, err = w.bucket(w.claims, prefixClaims, op.Index, true); err != nil {
			return err
		}
	}
	v := encodeClaim(w.key, w.arena.take(claimSize(op)), op)
	w.bytes += len(v)
	if err := b.Put(w.key, v); err != nil {
		return fmt.Errorf("claim %s/%s: %w", op.Index, op.Key, err)
	}
	if op.Expires == 0 {
		return nil
	}
	w.key2 = expiryKey(w.key2[:0], op.Expires, op.Index, op.Key)
	return w.expiry.Put(w.key2, nil)
}

// purge removes up to limit claims whose time has passed. They are free already; this gives their space back.
func (w *writeTx) purge(limit int) error {
	var due [][]byte
	c := w.expiry.Cursor()
	for k, _ := c.First(); k != nil && len(due) < limit; k, _ = c.Next() {
		expires, _, _, err := decodeExpiryKey(k)
		if err == nil && expires > w.now {
			break
		}
		due = append(due, bytes.Clone(k))
	}
	for _, k := range due {
		if err := w.expire(k); err != nil {
			return err
		}
	}
	return nil
}

// expire removes the claim of an expiry entry, unless it has been taken anew, and the entry.
func (w *writeTx) expire(entry []byte) error {
	w.touched = true
	expires, index, key, err := decodeExpiryKey(entry)
	if err != nil {
		return w.expiry.Delete(entry) // it says nothing, and it must not stop every commit
	}
	if b, err := w.bucket(w.claims, prefixClaims, string(index), false); err != nil {
		return err
	} else if b != nil {
		c, err := decodeClaim(key, b.Get(key))
		if err == nil && c.owner != nil && c.expires == expires {
			if err := b.Delete(key); err != nil {
				return fmt.Errorf("purge claim: %w", err)
			}
		}
	}
	return w.expiry.Delete(entry)
}
