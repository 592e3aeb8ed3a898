//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"molar/internal/testkit/models"
	"molar/schemas"
)

// During shutdown.delay the host is not ready and still accepts turns. A turn that exceeds
// shutdown.drain is cut and stored as interrupted; its client gets the reason, and so do the
// followers of a detached turn.
func TestShutdown(t *testing.T) {
	long(t, "a whole process is started and drained")
	t.Parallel()
	model := startModel(t, models.Config{Tool: "none", Tokens: 4000, LineEvery: 1, Interval: 20 * time.Millisecond})
	config := plainConfig(t, "shutdown: {delay: 2s, drain: 1s}\n")
	p := startProgram(t, homeEnv(t, model), "serve", "--config", config, "--listen", "127.0.0.1:0")
	url := p.listening(t)
	open, openBody := openStream(t, url, "chat_open")
	defer open.Body.Close()
	followed := detachedTurn(t, url, "chat_detached")
	defer followed.Close()

	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.stderr.wait(t, "not ready, but still taking turns", p.ended)
	if code := statusOf(t, url+"/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("/ready answers %d while leaving", code)
	}
	late, lateBody := openStream(t, url, "chat_late")
	defer late.Body.Close()
	p.stderr.wait(t, "waiting for open answers", p.ended)

	for name, body := range map[string]io.Reader{"open": openBody, "late": lateBody, "followed": followed} {
		rest, err := io.ReadAll(body)
		if err != nil {
			t.Errorf("%s stream broke: %v", name, err)
		}
		if !strings.Contains(string(rest), `"code":"shutting_down"`) || strings.Contains(string(rest), "[DONE]") {
			t.Errorf("%s stream ends with %q", name, rest[max(0, len(rest)-300):])
		}
	}
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if log := p.stderr.String(); strings.Count(log, "client left") > 1 { // the one that detached its turn
		t.Errorf("the log blames the client:\n%s", log)
	}
	if m := stored(t, config, "chat_detached"); len(m) != 0 { // the next process continues it
		t.Errorf("the detached turn is stored as %+v", m)
	}
	for _, chat := range []string{"chat_open", "chat_late"} {
		if m := stored(t, config, chat); len(m) != 2 || m[1].Status != schemas.StatusInterrupted || !strings.HasPrefix(m[1].Content, "tok1\n") {
			t.Errorf("%s is stored as %+v", chat, m)
		}
	}
}

// detachedTurn begins a turn whose client leaves, and follows it.
func detachedTurn(t *testing.T, url, chat string) io.ReadCloser {
	t.Helper()
	body := strings.Replace(questionBody("plain", chat, "Count", true), `"events":true`, `"events":true,"detach":true`, 1)
	res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	id := res.Header.Get("X-Turn-Id")
	if res, err = http.Get(url + "/v1/turns/" + id + "/events"); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("follow turn %q: %v, %v", id, res, err)
	}
	return res.Body
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}
