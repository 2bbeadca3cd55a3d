package domaintest

import (
	"slices"
)

// A script is a sequence that shows one side of a guarantee. What must come of each step the model knows.
type script struct {
	of      guarantee
	name    string
	steps   []step
	expires bool // it is only for a Domain whose leases can run out
}

// scripts returns them all.
func scripts() []script {
	return slices.Concat(wholeSets(), order(), fencing(), expiry(), nesting(), abandonment(), repetition(), cancelling(), blocking())
}

func wholeSets() []script {
	ring := []step{acquire(write("a"), write("b"), write("c"), write("d"), write("e"))}
	for i, key := range []string{"a", "b", "c", "d", "e"} {
		next := []string{"b", "c", "d", "e", "a"}[i]
		ring = append(ring, acquire(write(key), write(next)))
	}
	return scriptsOf(guaranteeWholeSets,
		of("two keys in opposite orders",
			acquire(write("a"), write("b")), acquire(write("a"), write("b")), acquire(write("b"), write("a")), release(1), release(2)),
		of("a ring of five", append(ring, release(1))...),
		of("nothing is taken while something is missing",
			acquire(write("a")), acquire(write("b"), write("a")), acquire(read("c")), acquire(write("b")), release(1), release(2)),
		of("the last of three keys comes free",
			acquire(write("a")), acquire(write("b")), acquire(read("c")), acquire(write("a"), write("b"), write("c")),
			release(1), release(3), release(2)),
		of("a claim that comes twice is not in its own way",
			acquire(write("a"), read("a"), write("a/"), writeTree("a"), readTree("a/b"), write("a")), acquire(read("a"))),
		of("everything besides a key", acquire(read("a")), acquire(write(""), read("a")), acquire(read("b")), release(1), release(2)),
	)
}

func order() []script {
	line, readers := []step{acquire(write("a"))}, []step{acquire(write("a"))}
	for n := range 30 {
		line = append(line, acquire(write("a")))
		readers = append(readers, acquire(read("a")))
		if n%7 == 0 {
			readers = append(readers, acquire(write("a")))
		}
	}
	return scriptsOf(guaranteeOrder,
		of("what has nothing in common does not wait", acquire(write("a")), acquire(write("b")), acquire(), acquire(write("a/b")), acquire(write("ab"))),
		of("readers share", acquire(read("a")), acquire(read("a")), acquire(readTree("a")), acquire(readTree("a/b"))),
		of("a reader waits for a writer", acquire(write("a")), acquire(read("a")), acquire(read("a")), release(1)),
		of("a writer waits for what came before it and nothing else",
			acquire(read("a")), acquire(write("a")), acquire(read("a")), release(1), release(2)),
		of("later readers stand behind a writer that waits",
			acquire(read("a")), acquire(read("a")), acquire(write("a")), acquire(read("a")), acquire(read("a")), release(2), release(1), release(3)),
		of("writers one after the other", line...),
		of("readers between writers", readers...),
		of("one waits for another that waits",
			acquire(write("a")), acquire(write("a"), write("b")), acquire(write("b"), write("c")), acquire(write("c")), acquire(write("d"), read("c")),
			release(1), release(2)),
		of("no claims wait for nothing", acquire(write("")), acquire(), acquire(write("")), acquire().alone()),
		of("exclusive says nothing of claims", acquire(write("a")).alone(), acquire(write("b")).alone(), acquire(read("a")).alone(), release(1)),
		of("a tree waits for the keys in it", acquire(write("lib/a/x")), acquire(read("lib")), acquire(writeTree("lib")), release(1), release(2)),
		of("keys wait for the tree over them",
			acquire(writeTree("lib")), acquire(read("lib/a/x")), acquire(write("lib")), acquire(write("library")), acquire(write("li")), release(1)),
		of("trees in trees", acquire(readTree("lib/a")), acquire(writeTree("lib")), acquire(readTree("lib/a/x")), acquire(readTree("lib/b")), release(1), release(2)),
		of("trees beside each other", acquire(writeTree("lib/a")), acquire(writeTree("lib/ab")), acquire(writeTree("lib.a")), acquire(writeTree("lib/a/"))),
		of("a tree comes when keys are taken", acquire(write("a")), acquire(write("lib/a")), acquire(write("lib/a")), acquire(readTree("lib")), acquire(write("lib/b")),
			release(2), release(3), release(4)),
		of("slashes at the end do not count", acquire(write("a//")), acquire(read("a")), acquire(read("a/")), release(1)),
		of("slashes elsewhere do", acquire(write("/a")), acquire(write("a")), acquire(write("lib//a")), acquire(write("lib/a")), acquire(writeTree("lib//a")), release(3)),
		of("an empty key is a write of everything",
			acquire(read("a")), acquire(read("")), acquire(read("b")), acquire(read("/")), release(1), release(2), release(3)),
		of("an empty key with nothing before it", acquire(writeTree("//")), acquire(readTree("lib/a")), acquire(read("b")), release(1)),
	)
}

func fencing() []script {
	return scriptsOf(guaranteeFencing,
		of("tokens grow along a key",
			acquire(write("a")), acquire(write("a")), acquire(read("a")), acquire(read("a")), acquire(write("a")), release(1), release(2), release(4), release(3)),
		of("and from one holder to the next", acquire(write("a")), release(1), acquire(write("a")), release(2), acquire(read("a")), release(3), acquire(write("a"))),
		of("and along what conflicts",
			acquire(write("lib/a"), write("b")), acquire(readTree("lib")), acquire(write("b")), acquire(write("")), acquire(read("lib/b")),
			release(1), release(3), release(2), release(4)),
		of("within a lease all have its token",
			acquire(writeTree("lib")), acquire(write("lib/a")).within(1), acquire(read("lib/a")).within(1), acquire(write("lib/a")).within(2),
			acquire().within(2), acquire(read("lib/a")).within(5), release(2), release(4), release(6), release(5)),
		of("a lease without claims has one of its own, and so has what is nested in it",
			acquire(), acquire(write("a")).within(1), acquire(write("a")), release(2), acquire(write("a")).within(1), release(3)),
	)
}

func expiry() []script {
	return scriptsOf(guaranteeExpiry,
		of("a lease lasts until all within it has ended",
			acquire(write("a")), acquire(write("a")).within(1), acquire(write("a")), release(1), release(2)),
		of("at any depth",
			acquire(write("a")), acquire(write("a")).within(1), acquire().within(2), acquire(read("a")).within(3), acquire(read("a")),
			release(1), release(2), release(3), release(4)),
		of("the inner first", acquire(write("a")), acquire(read("a")).within(1), acquire(write("a")), release(2), release(1)),
		of("a lease without claims keeps nobody from anything",
			acquire(), acquire(write("a")).within(1), acquire(write("a")), release(1), release(2)),
		script{name: "who comes after a lease that ran out can know it", expires: true,
			steps: []step{acquire(write("a")), acquire(write("a")), acquire(write("b")), expire(1), release(2), acquire(read("a")), release(1)}},
		script{name: "with it what is nested in it", expires: true,
			steps: []step{acquire(write("a")), acquire(write("a")).within(1), acquire().within(2), acquire(read("a")), acquire(write("a")), expire(1),
				release(3), release(1), release(4), release(2)}},
		script{name: "nothing is acquired from a lease that ran out", expires: true,
			steps: []step{acquire(write("a")), acquire().within(1), acquire(write("a")).within(2), acquire(write("b")), expire(1), acquire(write("a")).within(1),
				acquire().within(2), acquire(write("a")).within(3), acquire(write("b")).within(4)}},
		script{name: "who waits within it is refused", expires: true,
			steps: []step{acquire(write("a")), acquire(write("a")).within(1), acquire(read("a")).within(1), acquire(read("a")).within(2), acquire(write("a")).within(2),
				acquire(read("a")), expire(1), release(6)}},
		script{name: "where it has no claims, too", expires: true,
			steps: []step{acquire(), acquire(write("a")).within(1), acquire(write("a")), acquire(write("a")).within(1), expire(1), acquire().within(1)}},
		script{name: "abandoned before", expires: true,
			steps: []step{acquire().alone(), acquire(write("a")), abandon(2), abandon(1), acquire(read("a")), expire(1), expire(2)}},
	)
}

func nesting() []script {
	lib := acquire(writeTree("lib"), read("a"), write("b"))
	return scriptsOf(guaranteeNesting,
		of("nothing outside is in the way", acquire(write("a")), acquire(write("a")), acquire(write("a")).within(1), acquire(write("")), release(3), release(1), release(2)),
		of("within a lease the same rules hold",
			lib, acquire(read("lib/a")).within(1), acquire(write("lib/a")).within(1), acquire(read("lib/a")).within(1), acquire(writeTree("lib")).within(1),
			acquire(write("b")).within(1), release(2), release(3), release(4)),
		of("in different leases nobody is in the way", acquire(read("a")), acquire(read("a")), acquire(read("a")).within(1), acquire(read("a")).within(2)),
		of("in the same and deeper",
			acquire(write("a")), acquire(read("a")).within(1), acquire(write("a")).within(1), acquire(read("a")).within(2), acquire(read("a")).within(2), release(2), release(4), release(5)),
		of("a read does not cover a write", lib, acquire(read("a")).within(1), acquire(write("a")).within(1)),
		of("a plain key covers no tree, and nothing below it", acquire(write("a")), acquire(writeTree("a")).within(1), acquire(readTree("a")).within(1),
			acquire(read("a/b")).within(1), acquire(read("a/")).within(1)),
		of("a tree covers what is below it by component",
			lib, acquire(read("lib")).within(1), acquire(writeTree("lib/a")).within(1), acquire(read("library")).within(1), acquire(read("li")).within(1),
			acquire(readTree("lib/a/b/")).within(1)),
		of("a tree covers nothing above it", acquire(writeTree("lib/a")), acquire(read("lib")).within(1), acquire(writeTree("lib")).within(1), acquire(readTree("lib/b")).within(1)),
		of("one claim alone must cover it",
			acquire(write("lib"), readTree("lib"), write("lib/a"), writeTree("lib/a")), acquire(writeTree("lib")).within(1), acquire(writeTree("lib/a")).within(1),
			acquire(write("lib")).within(1), acquire(write("lib/b")).within(1)),
		of("everything is covered by everything alone",
			acquire(writeTree("a"), write("a")), acquire(read("")).within(1), release(1), acquire(read("")), acquire(write("/")).within(3), acquire(writeTree("z")).within(3)),
		of("the first that is not covered is named", lib, acquire(write("b"), write("c"), write("a"), read("lib/x")).within(1), acquire(write("a"), write("c")).within(1)),
		of("the nearest with claims counts",
			lib, acquire(write("b"), read("lib/a")).within(1), acquire().within(2), acquire().within(3), acquire(write("a")).within(4),
			acquire(read("a")).within(4), acquire(write("lib/a")).within(4), acquire(write("b")).within(4)),
		of("a refusal leaves nothing behind",
			acquire(write("a")), acquire(write("b")).within(1), acquire(write("b")), release(1), release(3)),
		of("and comes at once, whatever is taken", acquire(write("a"), write("b")), acquire(write("a"), write("b")).within(1), acquire(write("a"), write("c")).within(1), acquire(write("c"))),
		of("without claims around it a request competes in the Domain",
			acquire(), acquire().within(1), acquire(write("a")).within(2), acquire(write("a")), acquire(read("a")).within(1), acquire(write("")).within(2),
			release(3), release(4), release(5)),
		of("and no claims are always covered", acquire(write("a")), acquire().within(1), acquire().within(2), acquire(write("a")).within(3)),
	)
}

func abandonment() []script {
	return scriptsOf(guaranteeAbandonment,
		of("the claims stay until Release", acquire(write("a")), acquire(write("a")), abandon(1), acquire(read("a")), release(1), release(2)),
		of("readers too", acquire(read("a")), abandon(1), acquire(read("a")), acquire(write("a")), release(2), release(1)),
		of("an exclusive one without claims lets nothing new in",
			acquire().alone(), acquire(write("a")), acquire(write("a")), abandon(1), acquire(write("b")), acquire(), acquire().alone(), release(2), release(3), release(1)),
		of("not before it is abandoned", acquire().alone(), acquire(write("a")), acquire().alone(), release(1)),
		of("one with claims keeps these", acquire(write("a")).alone(), abandon(1), acquire(write("b")), acquire(write("a"))),
		of("one that is not exclusive keeps nothing", acquire(), abandon(1), acquire(write("a"))),
		of("two of them",
			acquire().alone(), acquire().alone(), abandon(2), acquire(write("a")), abandon(1), acquire(write("b")), release(2), acquire(), release(1)),
		of("two of them, the other way round",
			acquire().alone(), acquire().alone(), abandon(1), acquire(write("a")), abandon(2), acquire(write("b")), release(2), acquire(), release(1)),
		of("who came before may still be granted",
			acquire(read("a")), acquire(write("a")), acquire().alone(), acquire(read("a")), abandon(3), acquire(read("a")), release(1), release(2), release(3)),
		of("within a lease it bars only that",
			acquire(write("a")), acquire().within(1).alone(), abandon(2), acquire(read("b")), acquire(read("a")).within(1), acquire().within(1), release(2)),
		of("and outside of it nothing within another lease",
			acquire(write("a")), acquire().alone(), abandon(2), acquire(write("a")).within(1), acquire(read("a")).within(3), acquire(read("b")), release(2)),
		of("nested where nothing is claimed it bars the Domain",
			acquire(), acquire().within(1).alone(), abandon(2), acquire(write("a")), acquire(write("b")).within(1), release(1), release(2)),
		of("nothing is acquired from it", acquire(write("a")), abandon(1), acquire(write("a")).within(1), acquire().within(1)),
		of("nor of what is within it",
			acquire(write("a")), acquire(write("a")).within(1), acquire().within(2), abandon(1), acquire(write("a")).within(2), acquire().within(3), release(3), release(2)),
		of("but around it",
			acquire(write("a")), acquire(write("a")).within(1), abandon(2), acquire().within(2), acquire(write("a")).within(1), acquire().within(1), release(2)),
		of("who waits within it is refused",
			acquire(write("a")), acquire(read("a")).within(1), acquire(write("a")).within(1), acquire(read("a")).within(2), acquire(write("a")).within(2), acquire(write("a")),
			abandon(1), release(1), release(2), release(4)),
		of("who is refused within it does not make way for others there",
			acquire(read("a")), acquire(), acquire().within(2), acquire(write("a")).within(2), acquire(read("a")).within(3),
			abandon(2), release(1), release(3), release(2)),
		of("a tree comes while somebody is kept from being granted",
			acquire().alone(), abandon(1), acquire(write("a")), acquire(writeTree("b")), release(1)),
		of("and makes way for nobody who is refused, too",
			acquire(write("a")), acquire(), acquire().within(2), acquire(write("a"), write("b")).within(2), acquire(write("b")).within(3), abandon(2), acquire(write("b"))),
		of("what is nested in it lasts", acquire(write("a")), acquire(write("a")).within(1), abandon(1), acquire(write("a")), release(1), release(2)),
		of("where it has no claims, too",
			acquire(), acquire(write("a")).within(1), acquire(write("a")), acquire(write("a")).within(1), abandon(1), acquire().within(2), release(1), release(2)),
		of("and it bars until they have ended",
			acquire().alone(), acquire(write("a")).within(1), abandon(1), acquire(write("b")), release(1), release(2)),
		of("nothing is acquired from a lease that was released", acquire(write("a")), release(1), acquire(write("a")).within(1), acquire().within(1)),
		of("even if it has not ended",
			acquire(write("a")), acquire(write("a")).within(1), release(1), acquire(write("a")).within(1), acquire(write("a")).within(2), release(2), acquire().within(2)),
		of("who waits within a lease that is released is refused",
			acquire(write("a")), acquire(write("a")).within(1), acquire(write("a")).within(1), acquire(write("a")).within(2), acquire(read("a")).within(2),
			acquire(read("a")), release(1), release(4), release(2), release(5)),
		of("also where that has no claims", acquire(write("a")), acquire(), acquire(write("a")).within(2), acquire(read("a")), release(2), release(1)),
		of("a tree comes to those that are barred",
			acquire(write("lib/a")), acquire().alone(), abandon(2), acquire(write("a")), acquire(write("lib/a")), acquire(writeTree("lib")), acquire(read("lib/b")),
			release(1), release(2), release(4), release(5)),
		of("a request that is barred can be cancelled", acquire().alone(), abandon(1), acquire(write("a")), acquire(write("a")), cancel(2), release(1)),
	)
}

func repetition() []script {
	return scriptsOf(guaranteeRepetition,
		of("only the first Release counts",
			acquire(write("a")), acquire(write("a")).within(1), acquire(write("a")), release(1), release(1), release(2), release(1), release(2),
			acquire(write("a")), release(1), release(3)),
		of("only the first Abandon counts, and none after Release",
			acquire().alone(), abandon(1), acquire(write("a")), abandon(1), release(1), abandon(1), acquire(write("b")), acquire(write("a")), release(2)),
		of("an Abandon after Release does nothing", acquire().alone(), release(1), abandon(1), acquire(write("a"))),
	)
}

func cancelling() []script {
	return scriptsOf(guaranteeCancel,
		of("a context that is done", acquire(write("a")).tooLate(), acquire(write("a")), acquire(write("a")).tooLate(), acquire().tooLate(), acquire(read("a")).within(2).tooLate()),
		of("a writer that waits", acquire(write("a")), acquire(write("a")), acquire(write("a")), cancel(2), release(1)),
		of("the readers behind it go on", acquire(read("a")), acquire(write("a")), acquire(read("a")), acquire(read("a")), acquire(write("a")), cancel(2), release(1)),
		of("a reader that waits", acquire(write("a")), acquire(read("a")), acquire(write("a")), cancel(2), release(1)),
		of("the last in line", acquire(write("a")), acquire(write("a")), acquire(read("a")), cancel(3), release(1), acquire(write("a")), release(2)),
		of("one that had part of what it wants",
			acquire(write("a")), acquire(write("b"), write("a")), acquire(write("b")), acquire(read("b")), cancel(2), release(3)),
		of("a tree", acquire(read("lib/a")), acquire(writeTree("lib")), acquire(read("lib/a")), acquire(write("lib/b")), cancel(2)),
		of("everybody", acquire(write("a")), acquire(write("a")), acquire(write("a")), acquire(write("a")), cancel(3), cancel(2), cancel(4)),
		of("within a lease",
			acquire(write("a")), acquire(read("a")).within(1), acquire(write("a")).within(1), acquire(read("a")).within(1), cancel(3), cancel(2), release(2), release(1)),
		of("who is within a lease that ends with it",
			acquire(write("a")), acquire(write("a")), acquire(), acquire(write("a")).within(3), cancel(4), release(3), release(1)),
		of("a context that is done later changes nothing", acquire(write("a")), cancel(1), acquire(read("a")), acquire(read("a")).within(1), release(3), release(1)),
		of("no claims wait in no line", acquire(write("")), acquire(), cancel(2), acquire(write("a")), cancel(3)),
	)
}

func blocking() []script {
	var many []step
	for range 24 {
		many = append(many, acquire(read("a")))
	}
	many = append(many, acquire(write("a")))
	for n := range 24 {
		many = append(many, release(n+1))
	}
	return scriptsOf(guaranteeBlocked,
		of("at most so often", many...),
		of("what is in the way",
			acquire(write("a")), acquire(write("b")), acquire(writeTree("lib")), acquire(write("b"), write("lib/a"), write("a")), acquire(read("a")),
			release(2), release(1), release(3)),
		of("who was abandoned", acquire(write("a")), acquire().alone(), abandon(1), acquire(read("a")), abandon(2), acquire(read("b")), release(2), release(1)),
		of("who is cancelled is told no more", acquire(write("a")), acquire(write("a")), acquire(write("a")), cancel(3), cancel(2), release(1)),
	)
}

func of(name string, steps ...step) script { return script{name: name, steps: steps} }

func scriptsOf(g guarantee, all ...script) []script {
	for i := range all {
		all[i].of = g
	}
	return all
}
