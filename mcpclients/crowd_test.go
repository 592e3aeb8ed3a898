package mcpclients_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// troublemakers returns 36 servers, each of which fails or floods for ever in its own way.
func troublemakers(t *testing.T) []transport.ServerConfig {
	t.Helper()
	answers := func(h http.HandlerFunc) string { return serveHTTP(t, h).URL }
	web := map[string]string{
		"refused": "http://127.0.0.1:1/mcp",
		"busy":    answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
		"broken":  answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }),
		"page":    answers(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }),
		"hangs": answers(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the caller left
			<-r.Context().Done()
		}),
	}
	var all []transport.ServerConfig
	for round := range 2 {
		for i, flag := range []string{"-exit", "-mute", "-garbage", "-touchy", "-cursor", "-malformed", "-tools=8000", "-wait=10s", "-pour=stderr", "-pour=junk", "-pour=notes", "-pour=changes", "-pour=lines"} {
			all = append(all, bad(fmt.Sprintf("bad%d-%d", round, i), flag))
		}
		for name, url := range web {
			all = append(all, transport.ServerConfig{Name: fmt.Sprintf("%s%d", name, round), URL: url})
		}
	}
	for i := range all {
		all[i].StartTimeout = time.Second // short enough for each to fail, and be tried again, a few times
	}
	return all
}

// latency makes calls one after the other and returns the 99th percentile of their durations.
func latency(t *testing.T, m *mcpclients.Manager, calls int) time.Duration {
	t.Helper()
	took := make([]time.Duration, calls)
	for i := range took {
		began := time.Now()
		if result, err := m.Call(t.Context(), "good", "add", json.RawMessage(`{"a":1,"b":2}`)); err != nil || result.OutputText() != "3" {
			t.Fatalf("%s, %v", result.Output, err)
		}
		took[i] = time.Since(began)
		time.Sleep(5 * time.Millisecond) // spread the calls over the tries of the other servers
	}
	slices.Sort(took)
	t.Logf("%d calls: median %s, p99 %s", calls, took[calls/2].Round(time.Microsecond), took[calls*99/100].Round(time.Microsecond))
	return took[calls*99/100]
}

// A call of a good server is as fast among 36 bad ones as alone, apart from the load of their
// processes.
func TestManager_GoodBesideBad(t *testing.T) {
	if testing.Short() {
		t.Skip("calls are made for some seconds")
	}
	web := serveHTTP(t, server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true)))
	good := transport.ServerConfig{Name: "good", URL: web.URL}
	alone := latency(t, start(t, servers(good)), 300)

	crowd := append(troublemakers(t), good)
	if len(crowd) != 37 {
		t.Fatalf("%d servers", len(crowd))
	}
	m, err := mcpclients.New(servers(crowd...))
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	t.Cleanup(func() { _ = m.Close() })
	if err := m.Wait(t.Context(), []string{"good"}); err != nil {
		t.Fatal(err)
	}
	beside := latency(t, m, 600)
	failing := 0
	for _, st := range m.Status() {
		if st.State != schemas.StateReady {
			failing++
		}
	}
	if failing < 15 {
		t.Errorf("only %d servers fail", failing)
	}
	if most := max(50*time.Millisecond, 5*alone); beside > most {
		t.Errorf("the slowest of a hundred calls takes %s, want %s at most", beside, most)
	}
}
