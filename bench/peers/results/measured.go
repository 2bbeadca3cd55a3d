package main

import "fmt"

// The peers of exec.Run, as their benchmark has them, and as people call them.
var peers = [][2]string{
	{"errgroup", "errgroup"}, {"semaphore", "semaphore"}, {"conc", "conc pool"}, {"stream", "conc stream"}, {"pond", "pond"},
	{"iter", "conc iter"},
}

// executors is exec.Run against its peers.
func (d *data) executors() string {
	s := "## exec.Run against other executors\n\n" + para("The time of `exec.Run` as a multiple of the other's: below 1 it is faster. Bodies do "+
		"nothing, at most 8 at once, results go into positional slots and errors are kept. `conc iter` is eight workers that count up "+
		"an index: the least that can be done, where no call ever waits for another. The pool of pond is made once, for all batches.")
	rows := [][]string{{"admission, claims, calls"}}
	for _, p := range peers {
		rows[0] = append(rows[0], p[1])
	}
	rows[0] = append(rows[0], "ns a call", "allocations a call")
	for _, a := range []string{"waves", "keyed"} {
		for _, kind := range []string{"keyless", "distinct"} {
			for _, n := range []int{8, 64, 512} {
				b := fmt.Sprintf("Run/%s/%s/%d", a, kind, n)
				row := []string{fmt.Sprintf("%s, %s, %d", a, kind, n)}
				for _, p := range peers {
					row = append(row, d.of("peers", b, "x-"+p[0]).String())
				}
				rows = append(rows, append(row, d.of("peers", b, "ns/call").String(), d.of("peers", b, "allocs/call").short()))
			}
		}
	}
	s += numbers(rows...) + para("Calls that wait for each other, where errgroup runs all of them at once; and what a `Domain` and a timeline add, as a "+
		"multiple of the time without them:")
	rows = [][]string{{"", "waves, 8 calls", "64", "512", "keyed, 8 calls", "64", "512"}}
	row := func(label, benchmark, unit string) {
		row := []string{label}
		for _, a := range []string{"waves", "keyed"} {
			for _, n := range []int{8, 64, 512} {
				row = append(row, d.of("exec", fmt.Sprintf(benchmark, a, n), unit).String())
			}
		}
		rows = append(rows, row)
	}
	row("one key, written: of errgroup", "Run/%s/hot/%d", "x-errgroup")
	row("exclusive: of errgroup", "Run/%s/exclusive/%d", "x-errgroup")
	row("distinct keys, with `In`: of without", "RunIn/%s/%d", "x-without")
	for _, kind := range []string{"keyless", "distinct"} {
		row := []string{kind + ", with `Record`: of without"}
		for _, a := range []string{"waves", "keyed"} {
			row = append(row, "", d.of("exec", fmt.Sprintf("Record/%s/%s/64", a, kind), "x-unrecorded").String(), "")
		}
		rows = append(rows, row)
	}
	return s + numbers(rows...)
}

func (d *data) of(suite, benchmark, unit string) figure { return d.samples.of(suite, benchmark, unit) }

// planning is planners and admissions.
func (d *data) planning() string {
	s := "## Planning\n\n" + para("The scan is first-fit as one would write it down: each call goes into the first wave in which nothing "+
		"conflicts with it, and every call of every wave is looked at. Its time is given as a multiple of that of a `plan.Planner` that is "+
		"used again. `FirstFit` makes the same plan as the scan, `Ordered` one that keeps the order.")
	rows := [][]string{{"claims, calls", "scan, of Ordered", "scan, of FirstFit", "Ordered, ns a call", "FirstFit, ns a call", "scan, ns a call"}}
	for _, kind := range []string{"distinct", "hot", "zipf", "read-write"} {
		for _, n := range []int{8, 64, 512, 4096} {
			o, f := fmt.Sprintf("Plan/ordered/%s/%d", kind, n), fmt.Sprintf("Plan/first-fit/%s/%d", kind, n)
			rows = append(rows, []string{
				fmt.Sprintf("%s, %s", kind, grouped(n)),
				d.of("peers", o, "x-scan").String(), d.of("peers", f, "x-scan").String(),
				d.of("peers", o, "ns/call").String(), d.of("peers", f, "ns/call").String(), d.of("peers", o, "scan-ns/call").String(),
			})
		}
	}
	s += numbers(rows...) + para("`Ordered` alone, in ns a call:")
	sizes := []int{8, 64, 512, 4096, 65536}
	rows = [][]string{{"claims"}}
	for _, n := range sizes {
		rows[0] = append(rows[0], grouped(n)+" calls")
	}
	rows[0] = append(rows[0], "allocations a plan")
	for _, kind := range []string{"distinct", "hot"} {
		row := []string{kind}
		var allocs []figure
		for _, n := range sizes {
			b := fmt.Sprintf("Ordered/%s/%d", kind, n)
			row = append(row, d.of("plan", b, "ns/call").String())
			allocs = append(allocs, d.of("plan", b, "allocs/op"))
		}
		rows = append(rows, append(row, most(allocs...).short()))
	}
	s += numbers(rows...) + para("An admission takes each call from `Submit` over `Next`, `Start` and `Settle` to `Commit`, at most 8 at once; in ns "+
		"a call:")
	rows = [][]string{{"admission"}}
	kinds := []string{"keyless", "distinct", "hot"}
	for _, kind := range kinds {
		for _, n := range []int{8, 64, 512} {
			rows[0] = append(rows[0], fmt.Sprintf("%s, %d", kind, n))
		}
	}
	for _, a := range []string{"serial", "rolling", "waves", "firstfit", "keyed"} {
		row := []string{a}
		for _, kind := range kinds {
			for _, n := range []int{8, 64, 512} {
				row = append(row, d.of("plan", fmt.Sprintf("Admission/%s/%s/%d", a, kind, n), "ns/call").String())
			}
		}
		rows = append(rows, row)
	}
	return s + numbers(rows...)
}

// around is what a call costs in the layers above exec.
func (d *data) around() string {
	rows := [][]string{{"a call that does nothing", "µs a call", "of exec.Run"}}
	add := func(label, suite, benchmark, unit string, by float64, of string) {
		x := ""
		if of != "" {
			x = d.of(suite, benchmark, of).String()
		}
		rows = append(rows, []string{label, d.of(suite, benchmark, unit).scale(by).String(), x})
	}
	for _, p := range [][2]string{{"bare", "an empty pipeline"}, {"full", "a pipeline with one of everything"}} {
		for _, n := range []int{8, 64, 512} {
			add(fmt.Sprintf("through %s, %d calls", p[1], n), "tool", fmt.Sprintf("Pipeline/%s/%d", p[0], n), "ns/call", 1e-3, "x-exec.Run")
		}
	}
	for _, n := range []int{8, 64, 512} {
		add(fmt.Sprintf("through a step of a session in memory, %d calls", n), "harness", fmt.Sprintf("Step/memory/%d", n), "ns/call", 1e-3, "x-exec.Run")
	}
	add("through a step of a session in a file, synced in batches, 512 calls", "harness", "Step/file,_batch/512", "ns/call", 1e-3, "x-exec.Run")
	for _, at := range []int{1, 100} {
		add(fmt.Sprintf("made by a program, its events in a log in memory, %d at once", at), "codemode",
			fmt.Sprintf("NestedCall/at_once=%d/log=true", at), "ns/op", 1e-3, "")
	}
	runtimes := [][2]string{{"in-process", "in-process"}, {"process", "in a worker process"}}
	for _, mode := range runtimes {
		add("made by a program in JavaScript, "+mode[1]+", 1,000 together", "js", "Together1000/"+mode[0], "ns/op", 1e-6, "")
	}
	for _, mode := range runtimes {
		add("no call: an empty program, "+mode[1], "js", "Empty/"+mode[0], "ns/op", 1e-3, "")
	}
	return "## The layers above\n\n" + para("Not the same work as that of `exec.Run` alone: a pipeline decodes and checks arguments, a step records "+
		"three events a call as well.") + numbers(rows...) +
		para("A program that waits for 100 calls of 5 ms, at most 10 at once, takes %s times as long as an errgroup with the same sleeps if it "+
			"runs in-process, and %s times in a worker process.",
			d.of("codemode", "Overlap/in-process", "of-errgroup"), d.of("codemode", "Overlap/worker", "of-errgroup"))
}
