package exec

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
)

// A family is what is explored together: lanes in one Domain that share a semaphore.
//
// Unless it is Fine, a lane makes calls for as long as it likes: when one is over another may come, of any kind, so that a
// family has in it every set of lanes with any number of calls of which so many are on their way at once. What a call is
// is chosen when its lane admits it. Steps that nobody else can prevent, and that nobody else is the worse for, are taken
// at once: to get in line when admitted, to look for a permit when granted, to start, to give back, to settle, to commit.
// Another lane sees nothing of them but the line and the semaphore, and of these all orders remain, since the step before
// each of them may come at any time.
//
// In a Fine family every set is written out, and every step is one by itself: nothing is taken at once.
type family struct {
	Lanes     int
	Calls     int // the most on their way in a lane at once; Fine: the most in a lane
	Nests     int // how many bodies have a lane in them at once, at most, of one call
	Limit     int // permits of the semaphore
	Cancels   int // Fine: how many lanes are cancelled, at most; else any call at any time, if there are any
	Fine      bool
	Leaves    bool // bodies may return before the lanes that are nested in them end
	Within    kind // all are nested in the body of such a call; unset: in none
	Unordered bool // the semaphore serves anybody, those first that came first among them: fewer states, and no less can happen

	letters []kind // what calls there are; nil: all
	admits  [kinds][kinds]start
}

// String says what there is in the family.
func (f *family) String() string {
	s := fmt.Sprintf("%d lanes, %d calls, %d nested, limit %d", f.Lanes, f.Calls, f.Nests, f.Limit)
	for _, b := range []struct {
		is   bool
		says string
	}{
		{f.Cancels > 0, "cancelled and abandoned"}, {f.Fine, "every step"}, {f.Leaves, "bodies leave early"},
		{f.Within != unset, "within " + kindNames[f.Within]}, {f.Unordered, "any order of permits"},
	} {
		if b.is {
			s += ", " + b.says
		}
	}
	if len(f.letters) < len(every) {
		s += ", of"
		for _, k := range f.letters {
			s += " " + kindNames[k]
		}
	}
	return s
}

// An explorer walks all states of a family.
type explorer struct {
	family
	mu     sync.Mutex
	cond   sync.Cond
	pool   []world
	idle   int
	over   bool
	err    error
	seen   states
	domain *states
	dsteps *states
	steps  int
	driven int
}

func (e *explorer) explore(starts []world) {
	e.cond.L = &e.mu
	e.pool = starts
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(e.work)
	}
	wg.Wait()
}

func (e *explorer) work() {
	x := walker{family: &e.family, asked: e.domain, checked: e.dsteps}
	var stack []world
	steps := 0
	defer func() {
		e.mu.Lock()
		e.steps += steps
		e.driven += x.driven
		e.mu.Unlock()
	}()
	for n := 0; ; n++ {
		if len(stack) == 0 || n%256 == 0 {
			e.mu.Lock()
			if len(stack) > 64 && len(e.pool) < 16 {
				half := len(stack) / 2
				e.pool = append(e.pool, stack[:half]...)
				stack = append(stack[:0], stack[half:]...)
				e.cond.Broadcast()
			}
			for len(stack) == 0 {
				if len(e.pool) == 0 {
					e.idle++
					if e.idle == runtime.GOMAXPROCS(0) {
						e.over = true
						e.cond.Broadcast()
					}
					for len(e.pool) == 0 && !e.over {
						e.cond.Wait()
					}
					e.idle--
				}
				if e.over {
					e.mu.Unlock()
					return
				}
				k := len(e.pool) - min(16, len(e.pool))
				stack = append(stack, e.pool[k:]...)
				e.pool = e.pool[:k]
			}
			if e.over {
				e.mu.Unlock()
				return
			}
			e.mu.Unlock()
		}
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		x.next(&w)
		if x.err == nil && !x.bound && !w.final(e.Limit, e.Fine) {
			x.err = fmt.Errorf("nothing can happen any more:\n%v", &w)
		}
		steps += len(x.out)
		for i := range x.out {
			o := &x.out[i]
			if !e.seen.add(e.key(o)) {
				continue
			}
			if v := o.violation(e.Limit); v != "" && x.err == nil {
				x.err = fmt.Errorf("%s, after\n%vin\n%v", v, &w, o)
			}
			stack = append(stack, *o)
		}
		if x.err != nil {
			e.mu.Lock()
			if e.err == nil {
				e.err = x.err
			}
			e.over = true
			e.cond.Broadcast()
			e.mu.Unlock()
			return
		}
	}
}

// start returns the state in which lanes begin.
func (f *family) start() world {
	w := world{free: int8(f.Limit), cancels: int8(f.Cancels)}
	for i := range w.actors {
		a := &w.actors[i]
		a.within = -1
		if f.Fine && (i/perLane >= f.Lanes || i%perLane >= f.Calls && !nested(i) || nested(i) && f.Nests == 0) {
			a.at = atEnd
		}
	}
	return w
}

// program is a lane that is written out.
type program struct {
	calls  [2]kind
	nested kind
	in     int8
}

func (f *family) programs(nest bool) (all []program) {
	for k := alone; k < kinds; k++ {
		for j := kind(0); j < kinds; j++ {
			if j == 0 || f.Calls > 1 {
				all = append(all, program{calls: [2]kind{k, j}})
				for n := alone; n < kinds && nest; n++ {
					all = append(all, program{calls: [2]kind{k, j}, nested: n})
					if j != 0 {
						all = append(all, program{calls: [2]kind{k, j}, nested: n, in: 1})
					}
				}
			}
		}
	}
	return all
}

func (f *family) sets() (all []world) {
	programs := f.programs(f.Nests > 0)
	var pick func(from int, chosen []program)
	pick = func(from int, chosen []program) {
		if len(chosen) == f.Lanes {
			w := f.start()
			for l, p := range chosen {
				i := l * perLane
				w.actors[i].what, w.actors[i+1].what = p.calls[0], p.calls[1]
				if p.calls[1] == unset {
					w.actors[i+1].at = atEnd
				}
				c := &w.actors[i+2]
				if c.what = p.nested; c.what != unset {
					c.within = int8(i) + p.in
				} else {
					c.at = atEnd
				}
			}
			all = append(all, w)
			return
		}
		for i := from; i < len(programs); i++ {
			pick(i, append(chosen[:len(chosen):len(chosen)], programs[i]))
		}
	}
	pick(0, nil)
	return all
}

// The families that are explored: always, and only with KEYWAVE_EXHAUSTIVE set, as in make ci.
const (
	always = iota
	full
)

var (
	every  = []kind{aloneAB, keyless, readA, writeA, readB, writeB, readTree, writeTree}
	claims = []kind{aloneAB, readA, writeA, readB, writeB, readTree, writeTree}
)

var families = []struct {
	family
	when int
}{
	{family{Lanes: 2, Calls: 2, Cancels: 1}, always},
	{family{Lanes: 2, Calls: 1, Nests: 2, Cancels: 1}, always},
	{family{Lanes: 2, Calls: 2, Nests: 1, Within: writeTree}, always},
	{family{Lanes: 2, Calls: 2, Cancels: 1, Within: writeTree}, always},
	{family{Lanes: 2, Calls: 1, Nests: 2, Cancels: 1, Within: writeTree}, always},
	{family{Lanes: 3, Calls: 1, Nests: 1, Cancels: 1}, full},
	{family{Lanes: 2, Calls: 2, Nests: 2}, full},
	{family{Lanes: 2, Calls: 1, Nests: 2, Cancels: 1, Leaves: true}, always},
	{family{Lanes: 3, Calls: 2, Nests: 3, Cancels: 1, Unordered: true, letters: []kind{aloneAB, readA, writeA}}, full},
	{family{Lanes: 2, Calls: 2, Nests: 2, Cancels: 1, Unordered: true}, full},
	{family{Lanes: 3, Calls: 2, Cancels: 1, Unordered: true}, full},
	{family{Lanes: 3, Calls: 1, Nests: 3, Cancels: 1, Unordered: true}, full},
	{family{Lanes: 3, Calls: 2, Nests: 1, Unordered: true}, full},
	{family{Lanes: 3, Calls: 2, Nests: 3, Unordered: true, letters: claims}, full},
	{family{Lanes: 3, Calls: 2, Nests: 3, Unordered: true, letters: []kind{aloneAB, keyless, readA, writeA}}, full},
	{family{Lanes: 3, Calls: 2, Nests: 1, Cancels: 1, Unordered: true, letters: claims}, full},
	{family{Lanes: 3, Calls: 2, Nests: 1, Cancels: 1, Unordered: true, letters: []kind{aloneAB, keyless, writeA}}, full},
	{family{Lanes: 2, Calls: 1, Nests: 1, Cancels: 1, Fine: true}, full},
}

// What conflicts never overlaps, nothing deadlocks, no permit is lost, and the Domain grants exactly what it must, whatever
// the order of events, in all families. The Domain that is asked is the real one, once for each of its own steps; so are
// the admissions and the books of the permits. The lane's steps are those of worker.perform, written down once more.
//
// What is left out of three lanes of two calls with lanes in them, as it is more than a machine remembers: keyless calls
// together with all others if calls are cancelled or there are several nested lanes; and all kinds at once if both. Calls
// that are exclusive and claim nothing are keyless ones here, but when they are abandoned.
func TestE13Exhaustive(t *testing.T) {
	waves := starts(plan.NewWaves)
	require.Equal(t, waves, starts(plan.NewKeyed), "of two calls these two say the same")
	explored := always
	if os.Getenv("KEYWAVE_EXHAUSTIVE") != "" {
		explored = full
	}
	domain, dsteps := &states{}, &states{}
	sum, began := 0, time.Now()
	for _, f := range families {
		if f.when > explored {
			continue
		}
		for limit := 1; limit <= 2; limit++ {
			if f.Fine && limit > 1 {
				break // the one is check enough, and takes long
			}
			f.Limit = limit
			f.admits = waves
			if f.letters == nil {
				f.letters = every
			}
			e := explorer{family: f.family, domain: domain, dsteps: dsteps}
			starts := []world{f.start()}
			if f.Fine {
				starts = f.sets()
			}
			begin, sets := time.Now(), len(starts)
			e.explore(starts)
			require.NoError(t, e.err, f.family.String())
			sum += e.seen.len()
			t.Logf("%s: %d starts, %d states, %d steps, %d of them new to the Domain, %v",
				f.family.String(), sets, e.seen.len(), e.steps, e.driven, time.Since(begin).Round(time.Millisecond))
		}
	}
	t.Logf("%d states in all, %v", sum, time.Since(began).Round(time.Millisecond))
}
