package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keywave-go/keywave/bench/replay"
)

// A breach is what an inversion is, in words, and the policies under which it comes about.
type breach struct{ Policies, Says string }

// breaches are, for each policy, the first inversion that it has; those of policies that have the same stand together.
func (k sketch) breaches() (all []breach) {
	var names [][]string
	for _, s := range k.Runs {
		at := slices.IndexFunc(s.Inversions, func(i replay.Inversion) bool { return k.holds(i.Conflict) })
		if at < 0 {
			continue
		}
		says, name := k.breach(s.Inversions[at]), policyName(s.Policy)
		same := slices.IndexFunc(all, func(b breach) bool { return b.Says == says })
		if same < 0 {
			all, names, same = append(all, breach{Says: says}), append(names, nil), len(all)
		} else {
			name = strings.ToLower(name)
		}
		names[same] = append(names[same], name)
	}
	for i, n := range names {
		all[i].Policies = joined(n)
	}
	return all
}

// breach says what happened, and what can come of it.
func (k sketch) breach(i replay.Inversion) string {
	how := "%s ran before %s, %s"
	if i.Overlap {
		how = "%s started before %s had ended, %s"
	}
	return fmt.Sprintf(how, k.call(i.Later), k.call(i.Earlier), k.risk(k.Calls[i.Earlier], k.Calls[i.Later]))
}

func (k sketch) call(i int) string {
	c := k.Calls[i]
	s := fmt.Sprintf("call %d (%s", i+1, strings.Trim(named(c.Tool), "()"))
	if c.Access == "exclusive" {
		s += ", exclusive"
	}
	return s + ")"
}

// risk is what can come of it if the later of two calls does not wait for the earlier one.
func (k sketch) risk(earlier, later replay.Call) string {
	if earlier.Access == "exclusive" || later.Access == "exclusive" {
		switch {
		case earlier.Access == later.Access:
			return "and nothing is known of what either touches"
		case later.Access == "write", earlier.Access == "read":
			return "and could change what that one finds"
		}
		return "and could miss what that one changes"
	}
	for _, a := range earlier.Claims {
		for _, b := range later.Claims {
			if a.Key != b.Key || !a.Write && !b.Write {
				continue
			}
			key := show(a.Key)
			switch {
			case !a.Write:
				return "and writes " + key + ", which that one reads: it could find what came after it"
			case !b.Write:
				return "and reads " + key + ", which that one writes: it could find what was there before"
			}
			return "and both write " + key + ": what stays could be the work of the wrong one"
		}
	}
	return "and what one of them writes, the other reads or writes too"
}

// joined is names as a sentence has them.
func joined(names []string) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
}
