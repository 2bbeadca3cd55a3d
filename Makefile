# What a person does here: make run, make test. What a machine does: make ci.
export GO ?= go
FUZZTIME ?= 1000x
BENCHCOUNT ?= 6

.PHONY: run test ci vet race exhaustive fuzz bench-smoke bench mutants mutants-apply

run:                 ## one realistic turn of tool calls, under every admission; then agents, a log, a program
	$(GO) run ./harness/cmd/keywave demo

test:                ## the tests; those of the modules in bench, which the command does not need, come last
	$(GO) test ./...
	$(GO) -C bench/peers test -short -count=1 ./...
	@.ci/browser

ci: export KEYWAVE_BROWSER = required
ci: test vet race exhaustive mutants-apply fuzz bench-smoke

vet:
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-ed:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@staticcheck=$$($(GO) tool -n staticcheck); for m in bench/peers bench/browser; do \
	  echo "vet and staticcheck $$m"; (cd $$m && $(GO) vet ./... && $$staticcheck ./...) || exit 1; \
	done

# Plan and what measures in bench have no goroutines, and the rest that is left out is long and runs one thing after
# another: make test has it.
race:                ## the tests under the race detector
	$(GO) test -race -short -vet=off -skip 'Exhaustive|^TestSoak$$|^TestHostile(Batches)?$$|^TestMemoryIsBounded$$' \
	  $$($(GO) list ./... | grep -Ev 'keywave/(plan|bench/(page|recorded|sim|trace|transcript|workload)$$)')

exhaustive:          ## every small batch, and every small set of lanes, in every order; and a million random batches
	KEYWAVE_EXHAUSTIVE=1 $(GO) test -vet=off -run 'Exhaustive' -v -timeout 15m -p 1 ./plan ./exec ./bench/sim

fuzz:                ## every fuzz target for a short while
	@set -e; grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r pkg; do \
	  for f in $$(grep -h '^func Fuzz' $$pkg/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
	    echo "fuzz $$pkg $$f"; $(GO) test -vet=off -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg; \
	  done; done

bench-smoke:         ## every benchmark once
	$(GO) test -run '^$$' -bench . -benchtime 1x -short ./...
	$(GO) -C bench/peers test -run '^$$' -bench . -benchtime 1x -short ./...

bench:               ## every figure of README.md and bench/RESULTS.md, measured and written anew; BENCHCOUNT=1 for a quick look
	$(GO) -C bench/peers run ./results -rounds $(BENCHCOUNT)

mutants:             ## break the code once for each contract; the test named after it must fail
	@bash .ci/mutants

mutants-apply:       ## the breakages still fit the code
	@bash .ci/mutants --check
