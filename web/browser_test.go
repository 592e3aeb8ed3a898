package web_test

import (
	"context"
	"flag"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/web"
)

// browsers holds one Chromium for each language, started by the first test that needs it and ended
// by TestMain. Each test has its own browser context, which shares nothing with others.
type browsers struct {
	mu      sync.Mutex
	running map[string]context.Context
	stop    []context.CancelFunc
}

//nolint:gochecknoglobals // a browser takes a second to start, and tests share nothing else
var chromium browsers

// start returns the browser of a language, and starts it if necessary.
func (b *browsers) start(path, language string) (context.Context, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx, ok := b.running[language]; ok {
		return ctx, nil
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("lang", language), chromedp.Flag("accept-lang", language))
	ctx, end := chromedp.NewExecAllocator(context.Background(), opts...)
	tab, closeTab := chromedp.NewContext(ctx)
	b.stop = append(b.stop, closeTab, end)
	if err := chromedp.Do(tab); err != nil {
		return nil, err
	}
	if b.running == nil {
		b.running = map[string]context.Context{}
	}
	b.running[language] = tab //nolint:fatcontext // one for each language, not nested
	return tab, nil
}

func (b *browsers) close() {
	for _, stop := range b.stop {
		stop()
	}
}

// findBrowser returns the path of the Chromium to test with: CHROME_PATH, or the first one
// that is installed. The headless shell is Chromium without the windows and services that a
// test never sees, and costs about half the CPU time. It returns "" if there is none.
func findBrowser() string {
	names := []string{"chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome"}
	if path := os.Getenv("CHROME_PATH"); path != "" {
		names = []string{path}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browser returns a new browser context in the Chromium of a language. It skips the test if there
// is no Chromium.
func browser(t *testing.T, language string) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("the browser is left out of short tests")
	}
	path := findBrowser()
	if path == "" {
		t.Skip("no Chromium is installed; install one or set CHROME_PATH to its path to run the page tests")
	}
	shared, err := chromium.start(path, language)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(shared, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	limited, cancelTest := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancelTest)
	return limited
}

// await waits until a script's condition is true.
func await(condition string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(20*time.Second)))
		return err
	})
}

// A journey is a test of a chat page in a browser.
type journey struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // chromedp keeps the browser in it
	host *chatHost
	url  string
	// server is the HTTP server of the page.
	server *httptest.Server
}

func newJourney(t *testing.T, language string, host *chatHost) *journey {
	t.Helper()
	j := openPages(t, language, host.config(t))
	j.host = host
	return j
}

// openPages serves the pages of cfg, and opens a browser. The browser closes its page before the server
// ends: a page whose stream is cut asks for the rest, and a server that ends waits for all requests.
func openPages(t *testing.T, language string, cfg web.Config) *journey {
	t.Helper()
	server := live(t, cfg)
	t.Cleanup(server.CloseClientConnections)
	return &journey{t: t, ctx: browser(t, language), url: server.URL, server: server}
}

// do runs actions, and ends the test if one fails.
func (j *journey) do(actions ...chromedp.Action[chromedp.Void]) {
	j.t.Helper()
	if err := chromedp.Do(j.ctx, actions...); err != nil {
		j.shot("failed")
		j.t.Fatal(err)
	}
}

// sees waits until the conditions are true, one after the other.
func (j *journey) sees(conditions ...string) {
	j.t.Helper()
	for _, c := range conditions {
		// The elements of a condition may not be drawn yet.
		if err := chromedp.Do(j.ctx, await("(() => { try { return Boolean("+c+"); } catch { return false; } })()")); err != nil {
			j.shot("failed")
			j.t.Fatalf("waiting for %s: %v", c, err)
		}
	}
}

// passGate lets the host continue its answer. It ends the test if no answer waits at the gate.
func (j *journey) passGate() {
	j.t.Helper()
	select {
	case j.host.gate <- struct{}{}:
	case <-time.After(20 * time.Second):
		j.shot("failed")
		j.t.Fatal("no answer waits at the gate")
	}
}

func (j *journey) ask(question string) {
	j.t.Helper()
	j.do(chromedp.SendKeys("#question", question+"\r"))
}

// paste sends a question that is too long to be typed.
func (j *journey) paste(question string) {
	j.t.Helper()
	j.do(chromedp.Focus("#question"), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		var none struct{}
		return target.Call(ctx, "Input.insertText", map[string]any{"text": question}, &none)
	}))
	j.ask("")
}

// eval runs a script and returns its value.
func eval[T any](j *journey, script string) T {
	j.t.Helper()
	v, err := chromedp.Run(j.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		j.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// shot stores a picture of the page as an artefact of the test.
func (j *journey) shot(name string) {
	j.t.Helper()
	if !keepsPictures() {
		return
	}
	png, err := chromedp.Run(j.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		j.t.Logf("no picture: %v", err)
		return
	}
	if err := os.WriteFile(filepath.Join(j.t.ArtifactDir(), name+".png"), png, 0o600); err != nil {
		j.t.Fatal(err)
	}
}

// keepsPictures reports whether this run stores pictures. Without -artifacts they would be deleted
// at once, and taking them costs more than the rest of most tests.
func keepsPictures() bool { return flag.Lookup("test.artifacts").Value.String() == "true" }

// remove deletes the conversation that is shown.
func (j *journey) remove() {
	j.t.Helper()
	j.do(chromedp.Click("#list li[data-here] button"))
	j.sees(`document.querySelector("#more:popover-open .danger")`)
	j.do(chromedp.Click("#more .danger"))
	j.sees(`document.getElementById("ask").open`)
	j.do(chromedp.Click("#ask-yes"))
}

const idle = `!document.getElementById("send").hidden`
