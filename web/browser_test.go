package web_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser starts Chromium, or skips the test where there is none.
func browser(t *testing.T, language string) context.Context {
	t.Helper()
	path := os.Getenv("CHROME_PATH")
	if path == "" {
		path = "/usr/bin/chromium"
	}
	if _, err := exec.LookPath(path); err != nil {
		t.Skipf("no browser at %s; set CHROME_PATH to run the page test", path)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("lang", language), chromedp.Flag("accept-lang", language))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(cancelTab)
	if err := chromedp.Do(ctx); err != nil { // starts it; a deadline here would end the browser with it
		t.Fatal(err)
	}
	limited, cancelTest := context.WithTimeout(ctx, 60*time.Second)
	t.Cleanup(cancelTest)
	return limited
}

// await waits until a script's condition holds.
func await(condition string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(20*time.Second)))
		return err
	})
}

// A journey is a browser on a chat page.
type journey struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // chromedp keeps the browser in it
	host *chatHost
	url  string
	// server is what the page talks to.
	server *httptest.Server
}

func newJourney(t *testing.T, language string, host *chatHost) *journey {
	t.Helper()
	ctx := browser(t, language) // first, so that it ends before the server
	server := live(t, host.config(t))
	t.Cleanup(server.CloseClientConnections) // a test that ends in the middle of an answer does not wait for it
	return &journey{t: t, ctx: ctx, host: host, url: server.URL, server: server}
}

// do runs actions, or ends the test.
func (j *journey) do(actions ...chromedp.Action[chromedp.Void]) {
	j.t.Helper()
	if err := chromedp.Do(j.ctx, actions...); err != nil {
		j.shot("failed")
		j.t.Fatal(err)
	}
}

// sees waits for the conditions, one by one.
func (j *journey) sees(conditions ...string) {
	j.t.Helper()
	for _, c := range conditions {
		if err := chromedp.Do(j.ctx, await("Boolean("+c+")")); err != nil {
			j.shot("failed")
			j.t.Fatalf("waiting for %s: %v", c, err)
		}
	}
}

func (j *journey) ask(question string) {
	j.t.Helper()
	j.do(chromedp.SendKeys("#question", question+"\r"))
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

// shot keeps a picture of the page with the test's artefacts.
func (j *journey) shot(name string) {
	j.t.Helper()
	png, err := chromedp.Run(j.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		j.t.Logf("no picture: %v", err)
		return
	}
	if err := os.WriteFile(filepath.Join(j.t.ArtifactDir(), name+".png"), png, 0o600); err != nil {
		j.t.Fatal(err)
	}
}

const idle = `!document.getElementById("send").hidden`
