package exec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/plan"
)

// Two reads overlap; the write of a.txt waits for the read of it that came before.
func Example() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	a, b := filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")
	os.WriteFile(a, []byte("alpha"), 0o644)
	os.WriteFile(b, []byte("beta"), 0o644)

	calls := []plan.Call{
		{Safe: true, Claims: []plan.Claim{{Key: "a.txt", Access: plan.Read}}},
		{Safe: true, Claims: []plan.Claim{{Key: "b.txt", Access: plan.Read}}},
		{Safe: true, Claims: []plan.Claim{{Key: "a.txt", Access: plan.Write}}},
	}
	bodies := []func() ([]byte, error){
		func() ([]byte, error) { return os.ReadFile(a) },
		func() ([]byte, error) { return os.ReadFile(b) },
		func() ([]byte, error) { return nil, os.WriteFile(a, []byte("omega"), 0o644) },
	}
	results, err := exec.Run(context.Background(), calls, func(_ context.Context, i int) ([]byte, error) {
		return bodies[i]()
	}, exec.Limit(8))

	fmt.Printf("%s %v", results, err)
	// Output: [alpha beta ] <nil>
}
