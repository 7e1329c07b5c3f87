package mirror

import "slices"

// rosterFew is the number of accounts up to which a roster is a list: most rooms are small, and there are many of them.
const rosterFew = 16

// roster is a set of accounts.
type roster struct {
	few  []string
	many map[string]struct{}
}

func (r *roster) len() int { return len(r.few) + len(r.many) }

func (r *roster) has(account string) bool {
	if r.many != nil {
		_, ok := r.many[account]
		return ok
	}
	return slices.Contains(r.few, account)
}

func (r *roster) add(account string) {
	switch {
	case r.has(account):
	case r.many != nil:
		r.many[account] = struct{}{}
	case len(r.few) < rosterFew:
		r.few = append(r.few, account)
	default:
		r.many = make(map[string]struct{}, 4*rosterFew)
		for _, a := range append(r.few, account) {
			r.many[a] = struct{}{}
		}
		r.few = nil
	}
}

func (r *roster) remove(account string) {
	if r.many != nil {
		delete(r.many, account)
		if len(r.many) == 0 {
			r.many = nil
		}
		return
	}
	if i := slices.Index(r.few, account); i >= 0 {
		r.few = slices.Delete(r.few, i, i+1)
	}
}

// list returns up to a number of them, in no order.
func (r *roster) list(most int) []string {
	out := make([]string, 0, min(most, r.len()))
	out = append(out, r.few[:min(most, len(r.few))]...)
	for a := range r.many {
		if len(out) == most {
			break
		}
		out = append(out, a)
	}
	return out
}
