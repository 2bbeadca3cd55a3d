package sim

import (
	"time"

	"github.com/keywave-go/keywave/plan"
)

// An Inversion is a pair of calls that conflict, of which the later one started before the earlier one had settled.
type Inversion struct {
	Earlier, Later int
	Overlap        bool // they ran at the same time; else they changed places
}

// Inversions says how often a schedule broke the order of conflicting calls.
type Inversions struct {
	Calls  int         // how many calls started too early for at least one call before them
	Pairs  int         // how many pairs that makes
	Keyed  int         // how many of them are of calls that are not exclusive, and conflict over a key
	Capped bool        // there may be more pairs: to go on counting would have taken too long
	First  []Inversion // the first of them, by the later call and then by the earlier one
}

// A stamp is where the start and the end of a call stand among all starts and ends, also among those of one instant.
type stamp struct{ started, settled int }

// manyPairs is how many pairs of calls are compared for one count.
const manyPairs = 50_000_000

// Inversions finds the inversions of the schedule, and lists the first ones of them. The calls that started too early
// are found in time linear in the claims, so that a schedule without any, however long, costs no more; their pairs by
// comparing each with the calls before it that had not settled.
func (r *Result) Inversions(first int) Inversions {
	var inv Inversions
	m := newMarks(r.calls)
	latest := make([]int, len(r.calls)) // when the last of the calls up to this one settled
	left := manyPairs
	var found []Inversion // of one call
	for j := range r.calls {
		c, s := &r.calls[j], r.order[j]
		before := m.before(c)
		m.add(j, c, time.Duration(s.settled))
		latest[j] = s.settled
		if j > 0 {
			latest[j] = max(s.settled, latest[j-1])
		}
		if before.call == 0 || int(before.at) < s.started {
			continue
		}
		inv.Calls++
		found = found[:0]
		alone := c.Exclusive()
		for i := j - 1; i >= 0 && latest[i] > s.started; i-- {
			if left--; left < 0 {
				inv.Capped = true
				break
			}
			o := r.order[i]
			if o.settled > s.started && plan.Conflict(r.calls[i], *c) {
				inv.Pairs++
				if !r.calls[i].Exclusive() && !alone {
					inv.Keyed++
				}
				found = append(found, Inversion{i, j, o.started < s.settled})
			}
		}
		for k := len(found) - 1; k >= 0 && len(inv.First) < first; k-- {
			inv.First = append(inv.First, found[k])
		}
	}
	return inv
}
