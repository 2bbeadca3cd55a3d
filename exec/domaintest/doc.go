// Package domaintest tests implementations of [exec.Domain]: your own as well as those that exec brings.
//
// [Run] does with a Domain what lanes can do with it, and compares what comes of it with a model that says for every
// request whether it is granted, waits, or is refused. There are sequences for each guarantee in the comment of
// [exec.Domain], subtests of its name; then random sequences, which rapid makes shorter when they fail; then many
// goroutines at once. A failure names the guarantee that is broken, says what should have been, and lists the steps
// that lead there:
//
//	Order: request 3 is granted, although request 2 came first, wants (write a), and waits
//	  request 1: read a
//	      request 1 is granted
//	  request 2: write a
//	  request 3: read a
//	      request 3 is granted
//
// The model knows nothing of queues. It looks at all requests, each time, and at their keys by component, so that it is
// obviously right; that is what makes agreement with it worth something.
package domaintest
