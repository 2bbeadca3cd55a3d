package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/keywave-go/keywave/bench/page"
	"github.com/keywave-go/keywave/bench/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// How long a test may take, of which nearly all is the browser's.
const deadline = 90 * time.Second

// executable finds the browser.
func executable(getenv func(string) string, look func(string) (string, error)) (string, error) {
	names := []string{
		"chromium", "chromium-browser", "google-chrome", "chrome",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
	}
	if c := getenv("CHROME"); c != "" {
		names = []string{c}
	}
	for _, n := range names {
		if path, err := look(n); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser: install Chromium or Chrome, or set CHROME to where it is (looked for %s)",
		strings.Join(names, ", "))
}

func TestExecutable(t *testing.T) {
	missing := func(string) (string, error) { return "", exec.ErrNotFound }
	_, err := executable(func(string) string { return "" }, missing)
	require.ErrorContains(t, err, "install Chromium or Chrome, or set CHROME")
	_, err = executable(func(string) string { return "/no/such/chrome" }, missing)
	require.ErrorContains(t, err, "/no/such/chrome")
	got, err := executable(func(string) string { return "/opt/chrome" }, func(n string) (string, error) { return n, nil })
	require.NoError(t, err)
	require.Equal(t, "/opt/chrome", got)
}

// A tab is a page that is open in a browser of its own.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	messages []string // of the console, of all levels, exceptions, dialogs
	requests []string
}

// show writes the page of a report and opens it.
func show(t *testing.T, r *replay.Report) *tab {
	t.Helper()
	var html bytes.Buffer
	require.NoError(t, page.Write(&html, r))
	path, err := executable(os.Getenv, exec.LookPath)
	if err != nil {
		t.Fatal(err) // one line, without the trace that require adds
	}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/report.html" {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(html.Bytes())
	}))
	t.Cleanup(server.Close)

	// The profile is a new directory, which chromedp removes when the last process of the browser lets go of it.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which Chromium has for users only
	}
	allocator, free := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(free)
	browser, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	// The browser lives as long as the context of this first call, so that has no deadline of its own.
	late := time.AfterFunc(deadline, stop)
	t.Cleanup(func() { late.Stop() })
	require.NoError(t, chromedp.Do(browser))
	process := chromedp.FromContext(browser).Browser.Process()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(browser, deadline/3)
		defer cancel()
		// The context is over already if the test was late, and then the browser is too.
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("closing the browser: %v", err)
		}
		if err := process.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("the browser is still there: %v", err)
		}
	})

	b := &tab{t: t, ctx: browser}
	require.NoError(t, chromedp.Listen(browser, b.hear))
	b.do(call(log.Enable, cdp.Empty{}), call(network.Enable, network.EnableParams{}), call(runtime.Enable, cdp.Empty{}))
	b.screen(1280, 900, "light")
	b.do(chromedp.Navigate(server.URL + "/report.html"))
	return b
}

func call[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.messages = append(b.messages, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.messages = append(b.messages, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *cdpage.EventJavascriptDialogOpening:
		b.messages = append(b.messages, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// quiet checks that the page loaded nothing but itself, and that the browser had nothing to say about it.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.messages)
	require.Len(b.t, b.requests, 1)
	require.True(b.t, strings.HasSuffix(b.requests[0], "/report.html"), b.requests[0])
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

// eval evaluates a JavaScript expression in the page.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	var v T
	raw, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]byte](js))
	require.NoError(b.t, err)
	require.NoError(b.t, json.Unmarshal(raw, &v), "%s", raw)
	return v
}

func (b *tab) screen(width, height int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height), call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

// keep takes a screenshot of the whole page or, with a selector, of the element, and keeps it as an artefact.
func (b *tab) keep(name, selector string) {
	b.t.Helper()
	shot := chromedp.FullScreenshot(100)
	if selector != "" {
		shot = chromedp.Screenshot(chromedp.CSS(selector))
	}
	png, err := chromedp.Run(b.ctx, shot)
	require.NoError(b.t, err)
	require.True(b.t, bytes.HasPrefix(png, []byte("\x89PNG")))
	dir := os.Getenv("KEYWAVE_ARTEFACTS")
	if dir == "" {
		dir = b.t.ArtifactDir()
	}
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}
