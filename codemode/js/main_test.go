package js_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/codemode/js"
)

// The environment variable makes the test binary one of the programs below, which other tests start.
const roleEnv = "JS_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "no hook" {
		_, err := js.New(js.Options{})
		fmt.Println(err)
		return
	}
	js.Worker()
	if os.Getenv(roleEnv) == "host" {
		host()
		return
	}
	goleak.VerifyTestMain(m)
}

// host runs a program that computes for ever, and one that waits for ever, until it is killed.
func host() {
	r, err := js.New(js.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	limits := codemode.Limits{Wall: time.Hour, Compute: time.Hour}
	go r.Run(bare, "for (;;);", codemode.Bindings{}, limits)
	go r.Run(bare, "await new Promise(r => setTimeout(r, 1e9))", codemode.Bindings{}, limits)
	if o, err := r.Run(bare, "return 1", codemode.Bindings{}, limits); err != nil || o.Failure != "" {
		fmt.Println(o.Message, err)
		return
	}
	fmt.Println("running")
	select {}
}
