package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
	"github.com/keywave-go/keywave/tool/rules"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t require.TestingT, file string) *rules.Rules {
	r, err := rules.Parse([]byte(file))
	require.NoError(t, err)
	return r
}

// declare is the declaration of one call.
func declare(r *rules.Rules, agent, dir, name, arguments string) rules.Declared {
	return r.Calls(rules.Where{Agent: agent, Dir: dir}, []tool.Call{{Name: name, Arguments: arguments}})[0]
}

func read(key string) plan.Claim      { return plan.Claim{Key: key, Access: plan.Read} }
func write(key string) plan.Claim     { return plan.Claim{Key: key} }
func readTree(key string) plan.Claim  { return plan.Claim{Key: key, Access: plan.Read, Tree: true} }
func writeTree(key string) plan.Claim { return plan.Claim{Key: key, Tree: true} }
