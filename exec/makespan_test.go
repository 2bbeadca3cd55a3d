package exec_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// TestMakespanByAdmission runs the batch whose times the README compares: edit a, read b, edit a, read c, read a.
func TestMakespanByAdmission(t *testing.T) {
	claim := func(key string, a plan.Access) plan.Call {
		return plan.Call{Safe: true, Claims: []plan.Claim{{Key: key, Access: a}}}
	}
	calls := []plan.Call{
		claim("a", plan.Write), claim("b", plan.Read), claim("a", plan.Write), claim("c", plan.Read), claim("a", plan.Read),
	}
	keyless := make([]plan.Call, len(calls))
	for i := range keyless {
		keyless[i].Safe = true
	}
	takes := []time.Duration{50, 300, 50, 50, 50}
	for _, a := range []struct {
		name  string
		calls []plan.Call
		admit func() plan.Admission
		want  time.Duration
	}{
		{"serial", calls, plan.NewSerial, 500},
		{"rolling", calls, plan.NewRolling, 450},
		{"first-fit", calls, plan.NewFirstFit, 400},
		{"waves", calls, plan.NewWaves, 400},
		{"keyed", calls, plan.NewKeyed, 300},
		{"all at once", keyless, plan.NewKeyed, 300},
	} {
		t.Run(a.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := exec.Run(context.Background(), a.calls, func(_ context.Context, i int) (int, error) {
					<-time.After(takes[i] * time.Millisecond)
					return i, nil
				}, exec.Admit(a.admit))
				require.NoError(t, err)
				require.Equal(t, a.want*time.Millisecond, time.Since(begin))
			})
		})
	}
}
