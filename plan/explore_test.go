package plan_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/plan/plantest"
)

// machine lets the explorer fork one of the package's own admissions.
type machine struct{ plan.Admission }

var _ plantest.Copier = machine{}

func (m machine) Clone() plantest.Machine { return machine{plan.CloneAdmission(m.Admission)} }
func (m machine) CopyTo(dst plantest.Machine) bool {
	d, ok := dst.(machine)
	return ok && plan.CopyAdmission(d.Admission, m.Admission)
}
func (m machine) AppendState(dst []byte) []byte { return plan.AppendAdmissionState(dst, m.Admission) }

// admissions are the package's own, what they promise, and the naive model of each.
var admissions = []struct {
	name      string
	open      func() plan.Admission
	like      func() plantest.Machine
	contracts plantest.Contract
}{
	{"Serial", plan.NewSerial, plantest.NewSerial, plantest.SerialAdmission},
	{"Rolling", plan.NewRolling, plantest.NewRolling, plantest.RollingAdmission},
	{"Waves", plan.NewWaves, plantest.NewWaves, plantest.WavesAdmission},
	{"FirstFit", plan.NewFirstFit, plantest.NewFirstFit, plantest.FirstFitAdmission},
	{"Keyed", plan.NewKeyed, plantest.NewKeyed, plantest.KeyedAdmission},
}

// TestAdmissionsExhaustively walks every state of every admission: every batch over the alphabet, whole and as a
// stream, and every order of events, with one class that changes at the start and one call that is skipped. With
// KEYWAVE_EXHAUSTIVE in the environment, as in make ci, it walks longer batches without those instead. FirstFit, which
// has the most states and promises the least, is a size behind: its long walk is the one that the others always do.
func TestAdmissionsExhaustively(t *testing.T) {
	short := []plantest.Exploration{
		{Calls: 2, Reclassify: 1, Skip: 1, Alphabet: claimLetters()},
		{Calls: 3, Reclassify: 1, Skip: 1},
	}
	usual := []plantest.Exploration{short[0], {Calls: 4, Reclassify: 1, Skip: 1}}
	full := []plantest.Exploration{
		{Calls: 3, Skip: 1, Alphabet: claimLetters()},
		{Calls: 5},
	}
	behind := []plantest.Exploration{short[0], short[1], {Calls: 4, Skip: 1}}
	sizes, fewer := usual, behind
	switch {
	case testing.Short():
		sizes, fewer = short, short
	case os.Getenv("KEYWAVE_EXHAUSTIVE") != "":
		sizes, fewer = full, usual
	}
	for _, a := range admissions {
		t.Run(a.name, func(t *testing.T) {
			walks := sizes
			if a.name == "FirstFit" {
				walks = fewer
			}
			for _, e := range walks {
				begin := time.Now()
				e.Contracts = a.contracts
				n, err := plantest.Explore(func() plantest.Machine { return machine{a.open()} }, e)
				t.Logf("%d states of up to %d calls, %d reclassified, %d skipped, in %v",
					n, e.Calls, e.Reclassify, e.Skip, time.Since(begin).Round(time.Millisecond))
				require.NoError(t, err)
			}
		})
	}
}

// fewLetters is an alphabet that goes further in the same time.
func fewLetters() []plan.Call {
	return []plan.Call{call("x"), call(), call("r a"), call("w a")}
}

// claimLetters has every kind of claim at every place of a small tree, and next to it.
func claimLetters() []plan.Call {
	var letters []plan.Call
	for _, key := range []string{"t", "t/a", "t/a/x", "t/b", "ta"} {
		for _, kind := range []string{"r ", "w "} {
			letters = append(letters, call(kind+key), call(kind+key+"/..."))
		}
	}
	return letters
}
