package plan

import "errors"

// A Plan puts every call of a batch into one wave. Waves run one after another; the calls of one wave may overlap.
// The zero Plan has no calls. A Plan is never changed and is safe for concurrent use, as long as nobody changes the
// calls that it was made from, or uses the Planner again that made it.
type Plan struct {
	calls []Call // nil in somebody else's plan
	made  planKind
	waves [][]int
	of    []int32
}

type planKind uint8

const (
	given planKind = iota
	ordered
	firstFit
)

// Ordered plans a batch for serial equivalence: it puts every call into the earliest wave after every earlier call
// that it conflicts with, and an exclusive call into a wave of its own that nothing later goes in front of. No plan
// that keeps the order of conflicting calls has fewer waves. It takes time linear in the claims, times the depth of
// the keys when a claim is a tree. The plan refers to calls.
func Ordered(calls []Call) Plan { return new(Planner).Ordered(calls) }

// FirstFit plans a batch as the classic greedy planner does, for comparison: an exclusive call gets a wave of its
// own, born closed; every other call joins the earliest open wave in which nothing conflicts with it, or opens a new
// one; an open wave never closes.
//
// It is not serially equivalent: a later call can slip in front of an earlier one that it conflicts with. The
// smallest batches in which it does, with W and R for a write and a read:
//
//	[W a, X, W b]            X is exclusive; W b joins W a in front of it
//	[R a, W a, R a]          the second read joins the first, in front of the write
//	[W a, W a+b, W b]        W b joins W a, in front of the call that writes both
//	[W lib/a, W lib/..., W lib/b]   W lib/b joins W lib/a, in front of the write of the tree
//
// With at most one claim a call, a plain write, and no exclusive call it is the same plan as Ordered, and then takes
// constant time a call. Otherwise a call costs, at worst, time linear in its claims times a sixty-fourth of the open
// waves. The plan refers to calls.
func FirstFit(calls []Call) Plan { return new(Planner).FirstFit(calls) }

// A Planner plans batch after batch in the same memory: after a first batch of a kind, the next ones allocate
// nothing. It holds on to the memory of the largest of them, and to keys that it has seen. The zero Planner is ready
// for use. A Plan that it returns is good until the Planner is used again. A Planner is not safe for concurrent use.
type Planner struct {
	placer placer
	waves  [][]int
	flat   []int // what waves is cut from
	of     []int32
	ends   []int
}

// Ordered is the function Ordered in the Planner's memory.
func (pl *Planner) Ordered(calls []Call) Plan { return pl.plan(calls, ordered) }

// FirstFit is the function FirstFit in the Planner's memory.
func (pl *Planner) FirstFit(calls []Call) Plan { return pl.plan(calls, firstFit) }

func (pl *Planner) plan(calls []Call, kind planKind) Plan {
	trees := false
	for i := range calls {
		if trees = calls[i].Safe && hasTree(calls[i].Claims); trees {
			break
		}
	}
	p := &pl.placer
	p.firstFit = kind == firstFit
	p.reset(trees, 0)
	pl.of, pl.ends = pl.of[:0], pl.ends[:0]
	for i := range calls {
		w := p.place(&calls[i], 0)
		pl.of = append(pl.of, int32(w))
		if w == len(pl.ends) {
			pl.ends = append(pl.ends, 0)
		}
		pl.ends[w]++
	}
	pl.cut()
	return Plan{calls: calls, made: kind, waves: pl.waves, of: pl.of}
}

// cut sorts the calls into their waves: by wave, and within a wave in the model's order.
func (pl *Planner) cut() {
	if cap(pl.flat) < len(pl.of) {
		pl.flat = make([]int, max(len(pl.of), 2*cap(pl.flat)))
	}
	pl.flat = pl.flat[:len(pl.of)]
	at := 0
	for w, n := range pl.ends {
		pl.ends[w] = at
		at += n
	}
	for i, w := range pl.of {
		pl.flat[pl.ends[w]] = i
		pl.ends[w]++
	}
	pl.waves = pl.waves[:0]
	at = 0
	for _, end := range pl.ends {
		pl.waves = append(pl.waves, pl.flat[at:end:end])
		at = end
	}
}

// New makes a Plan of waves that come from elsewhere, so that Verify can judge them. The waves hold the indexes of
// the calls, from 0; the Plan keeps a copy. It is an error, one that wraps ErrPlan and names every fault, if an index
// below the number of calls is missing, appears twice or is out of range, or if a wave is empty.
func New(waves [][]int) (Plan, error) {
	n := 0
	for _, w := range waves {
		n += len(w)
	}
	p := Plan{waves: make([][]int, len(waves)), of: make([]int32, n)}
	for i := range p.of {
		p.of[i] = -1
	}
	var errs []error
	for w, wave := range waves {
		p.waves[w] = append([]int(nil), wave...)
		if len(wave) == 0 {
			errs = append(errs, complaint("wave %d is empty", w+1))
		}
		for _, i := range wave {
			switch {
			case i < 0 || i >= n:
				errs = append(errs, complaint("wave %d has index %d, but there are %d calls, from 0", w+1, i, n))
			case p.of[i] >= 0:
				errs = append(errs, complaint("call %d is in wave %d and again in wave %d", i+1, p.of[i]+1, w+1))
			default:
				p.of[i] = int32(w)
			}
		}
	}
	for i, w := range p.of {
		if w < 0 {
			errs = append(errs, complaint("call %d is in no wave", i+1))
		}
	}
	if errs != nil {
		return Plan{}, errors.Join(errs...)
	}
	return p, nil
}

// Waves returns the indexes of the calls of every wave, in the order of the waves; within a wave of Ordered and
// FirstFit they rise. It is the plan's own memory, not to be changed.
func (p Plan) Waves() [][]int { return p.waves }

// WaveOf returns the wave of call i, from 0. It panics if there is no such call.
func (p Plan) WaveOf(i int) int { return int(p.of[i]) }
