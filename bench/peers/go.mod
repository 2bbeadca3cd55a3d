module github.com/keywave-go/keywave/bench/peers

go 1.26.0

require (
	github.com/alitto/pond/v2 v2.7.1
	github.com/keywave-go/keywave v0.0.0
	github.com/sourcegraph/conc v0.3.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da
	golang.org/x/sync v0.25.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	go.uber.org/atomic v1.7.0 // indirect
	go.uber.org/multierr v1.9.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/keywave-go/keywave => ../..

tool golang.org/x/perf/cmd/benchstat
