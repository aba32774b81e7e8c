package rules

import "iter"

// index finds the rules that may speak of a command by its name, in their
// order.
type index struct {
	all   []int
	wild  []int // whose command word is a pattern
	named map[string][]int
}

func (x *index) add(id int, r *rule) {
	x.all = append(x.all, id)
	if len(r.words) == 0 || r.words[0].kind != literalWord {
		x.wild = append(x.wild, id)
		return
	}
	if x.named == nil {
		x.named = make(map[string][]int)
	}
	key := nameKey(r.words[0].text)
	x.named[key] = append(x.named[key], id)
}

// of gives the rules for a command of that name, and all for one whose name is
// not known.
func (x *index) of(key string, known bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		if !known {
			for _, id := range x.all {
				if !yield(id) {
					return
				}
			}
			return
		}
		a, b := x.wild, x.named[key]
		for len(a)+len(b) > 0 {
			var id int
			if len(b) == 0 || len(a) > 0 && a[0] < b[0] {
				id, a = a[0], a[1:]
			} else {
				id, b = b[0], b[1:]
			}
			if !yield(id) {
				return
			}
		}
	}
}
