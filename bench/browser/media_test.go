package browser

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// media is how the page is shown: on which medium, and what its reader prefers, as names and values.
func (b *tab) media(medium string, features ...string) {
	b.t.Helper()
	p := emulation.SetEmulatedMediaParams{Media: medium}
	for i := 0; i < len(features); i += 2 {
		p.Features = append(p.Features, &emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	b.do(call(emulation.SetEmulatedMedia, p))
}

func (b *tab) open(selector string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("` + selector + `").forEach(d => { d.open = true })`))
}

// The captions of the tables that are wider than their place.
const cut = `[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth)
	.map(e => e.querySelector("caption").textContent)`

// Tables fit a desktop, all of them. Where they do not there is a shadow at the edge behind which they go on, and the
// arrow keys go there.
func TestTables(t *testing.T) {
	r := recorded(t)
	for i := range r.Formats {
		r.Formats[i].Format = "recorded: " + r.Formats[i].Format
	}
	for i := range r.Sessions {
		r.Sessions[i].Format = "recorded: " + r.Sessions[i].Format
	}
	b := show(t, r)
	b.open("details")
	require.Empty(t, eval[[]string](b, cut))

	b.screen(360, 800, "light")
	require.NotEmpty(t, eval[[]string](b, cut))
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#all").parentElement.id = "frame"`))
	const frame = `document.getElementById("frame")`
	shade := func() (left, middle, right color.Color) {
		data, err := chromedp.Run(b.ctx, chromedp.Screenshot(chromedp.CSS("#frame")))
		require.NoError(t, err)
		img, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		w := img.Bounds().Dx()
		return img.At(2, 12), img.At(w/2, 5), img.At(w-3, 12)
	}
	left, middle, right := shade()
	require.Equal(t, middle, left)
	require.NotEqual(t, middle, right, "there is more on the right")
	b.do(chromedp.Evaluate[chromedp.Void](frame + `.focus()`))
	atEnd := func() bool {
		return eval[bool](b, frame+`.scrollLeft + `+frame+`.clientWidth >= `+frame+`.scrollWidth - 1`)
	}
	for range 500 { // which scrolls smoothly: a key is not there at once
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		if atEnd() {
			break
		}
	}
	require.True(t, atEnd(), "the keyboard gets to the end")
	left, middle, right = shade()
	require.NotEqual(t, middle, left, "there is more on the left")
	require.Equal(t, middle, right)
	b.quiet()
}

type contrast struct {
	Seen int
	Bad  []string
}

// On paper the page is dark on light, whatever the screen is, and nothing is cut off.
func TestPaper(t *testing.T) {
	b := show(t, recorded(t))
	b.open("details")
	b.screen(700, 900, "dark")
	b.media("print", "prefers-color-scheme", "dark")
	require.Empty(t, eval[[]string](b, cut))
	require.Equal(t, "rgb(255, 255, 255)", eval[string](b, `getComputedStyle(document.body).backgroundColor`))
	c := eval[contrast](b, faint)
	require.Greater(t, c.Seen, 500)
	require.Empty(t, c.Bad)
	require.Equal(t, "none", eval[string](b, `getComputedStyle(document.querySelector("nav")).display`))
	b.quiet()
}

// With the colours of a reader's system bars and swatches stay apart from the page, and text can be read.
func TestForcedColors(t *testing.T) {
	b := show(t, recorded(t))
	for _, scheme := range []string{"light", "dark"} {
		b.media("", "forced-colors", "active", "prefers-color-scheme", scheme)
		require.True(t, eval[bool](b, `matchMedia("(forced-colors: active)").matches`))
		require.Empty(t, eval[contrast](b, faint).Bad)
		page := eval[string](b, `getComputedStyle(document.body).backgroundColor`)
		require.NotEqual(t, page, eval[string](b, `getComputedStyle(document.querySelector(".p-keyed .swatch")).backgroundColor`))
		b.keep("forced-"+scheme, "#batch-1")
	}
	b.quiet()
}

// Nothing moves for those who would rather that it did not.
func TestReducedMotion(t *testing.T) {
	const lasts = `getComputedStyle(document.querySelector(".batch > summary"), "::before").transitionDuration`
	b := show(t, recorded(t))
	require.NotEqual(t, "0s", eval[string](b, lasts))
	b.media("", "prefers-reduced-motion", "reduce")
	require.Equal(t, "0s", eval[string](b, lasts))
	b.quiet()
}

// The first stop of the keyboard leads past what is said of the page, to the figures.
func TestSkip(t *testing.T) {
	b := show(t, recorded(t))
	b.do(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "skip", eval[string](b, `document.activeElement.className`))
	require.GreaterOrEqual(t, eval[float64](b, `document.activeElement.getBoundingClientRect().x`), 0.0)
	b.do(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "#summary", eval[string](b, `location.hash`))
	b.do(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "all-cap", eval[string](b, `document.activeElement.getAttribute("aria-labelledby")`))
}
