package keys_test

import (
	"testing"

	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool/keys"
)

// What a call costs before it starts: one look at the disk for each name in its path.
func BenchmarkClaims(b *testing.B) {
	r := open(b, tree(b, "a/b/c/d/f", "alias -> a/b"), keys.FoldCase(false), keys.FoldUnicode(false))
	folds := open(b, tree(b, "A/b/c/d/f"), keys.FoldCase(true), keys.FoldUnicode(true))
	for _, bench := range []struct {
		name string
		root *keys.Root
		path string
	}{{"plain", r, "a/b/c/d/f"}, {"new", r, "a/b/new/d/f"}, {"link", r, "alias/c/d/f"}, {"folded", folds, "A/b/c/d/F"}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := bench.root.Follow(bench.path)
				if err != nil || len(p.Claims(plan.Write)) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkURL(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := keys.URL("https://Example.com:443/a/./b%7Ec?page=2#top"); err != nil {
			b.Fatal(err)
		}
	}
}
