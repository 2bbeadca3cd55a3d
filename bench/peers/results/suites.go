package main

// A suite is the benchmarks of one package that are measured.
type suite struct {
	name   string // of its file, and of its figures
	module string // the directory of its module, from the root of the repository
	pkg    string // the package's directory, from there
	bench  string // which of its benchmarks
}

// suites are all that is measured. The benchmarks that compare with others are in the module of the peers; those of a
// package alone are that package's own.
var suites = []suite{
	{"peers", "bench/peers", ".", `.`},
	{"plan", ".", "plan", `^BenchmarkOrdered$/^(distinct|hot)$|^BenchmarkAdmission$/./^(keyless|distinct|hot)$/^(8|64|512)$`},
	{"exec", ".", "exec", `^BenchmarkRun$/./^(hot|exclusive)$|^BenchmarkRunIn$|^BenchmarkRecord$/^(waves|keyed)$/./^64$`},
	{"tool", ".", "tool", `^BenchmarkPipeline$`},
	{"harness", ".", "harness", `^BenchmarkStep$`},
	{"codemode", ".", "codemode", `^BenchmarkNestedCall$|^BenchmarkOverlap$`},
	{"js", ".", "codemode/js", `^BenchmarkEmpty$|^BenchmarkTogether1000$`},
}
