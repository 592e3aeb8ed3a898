package chatwoot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/examples/chatwoot"
)

// The bridge works with the program: a visitor's request, words of both sides, and the end.
func TestBridge_Program(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "molar")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "molar/cmd/molar").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	hooks := httptest.NewUnstartedServer(nil)
	file := filepath.Join(dir, "molar.yaml")
	settings := fmt.Sprintf(`listen: %s
trusted_proxies: [127.0.0.1]
llm: {provider: offline}
memory: {store: '%s'}
assistants: {clinic: {system_prompt: Be brief.}}
public: {assistant: clinic, origins: ["https://www.clinic.example"]}
handover: {webhook: "http://%s/molar", secret: "%s"}
`, address, filepath.Join(dir, "molar.db"), hooks.Listener.Addr(), molarSecret)
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+dir, "MOLAR_CONFIG="+file, "MOLAR_MCP_LISTEN=127.0.0.1:0")
	create := exec.CommandContext(t.Context(), program, "keys", "create", "inbox", "--scope", "review")
	create.Env = env
	out, err := create.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	key := strings.TrimSpace(string(out))

	inbox := newFakeChatwoot(t)
	b, err := chatwoot.New(chatwoot.Config{
		Molar: "http://" + address, MolarKey: key, MolarSecret: molarSecret, Chatwoot: inbox.URL, Account: "3", Inbox: "inbox-1",
		BotToken: "bot-token", BotSecret: botSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	hooks.Config.Handler = b
	hooks.Start()
	t.Cleanup(hooks.Close)
	inbox.hook = hooks.URL + "/chatwoot"
	var log bytes.Buffer
	serve := exec.CommandContext(t.Context(), program, "serve")
	serve.Env, serve.Stdout, serve.Stderr = env, &log, &log
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceFunc(func() { _ = serve.Process.Signal(os.Interrupt); _ = serve.Wait() })
	t.Cleanup(func() {
		ended()
		if t.Failed() {
			t.Logf("%q\n%s", inbox.seen(), log.String())
		}
	})

	v := visitor{T: t, base: "http://" + address}
	v.until("the program serves", func() bool { a, err := http.Get(v.base + "/health"); return err == nil && a.Body.Close() == nil })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)

	var given struct{ Token string }
	if err := json.Unmarshal([]byte(v.send(http.MethodPost, "/embed/visit", `{"storage":true}`)), &given); err != nil || given.Token == "" {
		t.Fatalf("no visitor: %v", err)
	}
	v.token = given.Token
	v.send(http.MethodPost, "/embed/chat", `{"text":"What do you cost?","consent":"","lang":"en"}`)
	v.send(http.MethodPost, "/embed/handover", `{"consent":true,"reason":"button","contact":{"name":"Mai","phone":"0901"},"lang":"en"}`)
	see := func(want string) {
		t.Helper()
		v.until(want+" in Chatwoot", func() bool { return strings.Contains(strings.Join(inbox.seen(), "\n"), want) })
	}
	read := func(want string) {
		t.Helper()
		v.until(want+" for the visitor", func() bool { return strings.Contains(v.send(http.MethodGet, "/embed/news?after=0", ""), want) })
	}
	see("contact: What do you cost?")
	see("open")
	read(`"state":"delivered"`)
	v.send(http.MethodPost, "/embed/chat", `{"text":"Is somebody there?","consent":"","lang":"en"}`)
	see("contact: Is somebody there?")
	inbox.agent("Yes, this is Lan.")
	read("Yes, this is Lan.")
	read(`"state":"answered"`)
	inbox.resolve()
	read(`"state":""`)
	inbox.mu.Lock()
	defer inbox.mu.Unlock()
	if n := len(inbox.talks); n != 1 {
		t.Errorf("%d conversations", n)
	}
}

// A visitor of the web site.
type visitor struct {
	*testing.T
	base, token string
}

func (v visitor) send(method, path, body string) string {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, v.base+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Molar-Visitor", v.token)
	if v.token == "" {
		r.Header.Del("X-Molar-Visitor")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode/100 != 2 {
		v.Fatalf("%s %s: %d %v %s", method, path, a.StatusCode, err, text)
	}
	return string(text)
}

func (v visitor) until(what string, ok func() bool) {
	v.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			v.Fatal("did not come: " + what)
		}
	}
}
