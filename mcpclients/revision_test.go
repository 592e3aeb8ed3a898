package mcpclients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/server"

	"molar/internal/testkit/oauthserver"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// An era is a server that is reached without a network, so that a test can use a fake clock. asked
// are the first requests of its connections.
type era struct {
	real                http.Handler
	discover, handshake http.HandlerFunc // answer in place of the real server

	mu    sync.Mutex
	asked []string
}

func (e *era) RoundTrip(r *http.Request) (*http.Response, error) {
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(body, &m)
	answer := e.real
	switch {
	case r.Method == http.MethodGet:
		answer = answers(http.StatusMethodNotAllowed, "")
	case m.Method == "server/discover" && e.discover != nil:
		answer = e.discover
	case m.Method == "initialize" && e.handshake != nil:
		answer = e.handshake
	}
	if m.Method == "server/discover" || m.Method == "initialize" {
		e.mu.Lock()
		e.asked = append(e.asked, m.Method)
		e.mu.Unlock()
	}
	out := httptest.NewRecorder()
	answer.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), rpcID{}, m.ID)))
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if out.Code == closed {
		return nil, io.ErrUnexpectedEOF
	}
	return out.Result(), nil
}

// closed stands for a connection that the server closes instead of answering.
const closed = 599

type rpcID struct{}

// refuses answers with a JSON-RPC error.
func refuses(status, code int, message, data string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, r.Context().Value(rpcID{}), code, message, data)
	}
}

func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// notebook remembers revisions as a store does.
type notebook struct {
	mu   sync.Mutex
	kept map[string]schemas.ServerProtocol
}

func newNotebook() *notebook { return &notebook{kept: map[string]schemas.ServerProtocol{}} }

func (n *notebook) ServerProtocol(_ context.Context, server, place string) (schemas.ServerProtocol, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kept[server+place], nil
}

func (n *notebook) KeepServerProtocol(_ context.Context, server, place string, p schemas.ServerProtocol) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept[server+place] = p
	return nil
}

// knows makes the notebook hold what was learnt of a server.
func (n *notebook) knows(cfg transport.ServerConfig, p schemas.ServerProtocol) {
	n.kept[cfg.Name+cfg.Identity()] = p
}

// attach starts a manager once, and returns the server's status and how long it took.
func (e *era) attach(t *testing.T, n *notebook, cfg transport.ServerConfig) (st schemas.ServerStatus, took time.Duration) {
	t.Helper()
	e.asked = nil
	m, err := mcpclients.New(mcpclients.Config{
		Servers: []transport.ServerConfig{cfg}, HTTPClient: &http.Client{Transport: e}, Protocols: n,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	began := time.Now()
	m.Start(t.Context())
	if err := m.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return status(t, m), time.Since(began)
}

func atTest() transport.ServerConfig { return overHTTP("http://server.test/mcp") }

const (
	asks   = "server/discover"
	shakes = "initialize"
)

// A server of the older revisions is attached however it dislikes the question, and is asked once
// ever.
func TestProtocol_OlderServersAreAskedOnce(t *testing.T) {
	for name, dislike := range map[string]http.HandlerFunc{
		"unknown method":             refuses(200, -32601, "no such method", "null"),
		"400":                        answers(400, "Bad Request: no session"),
		"400 as JSON-RPC":            refuses(400, -32000, "Bad Request: server not initialized", "null"),
		"401 for all but some":       answers(401, "log in first"),
		"403 of a firewall":          answers(403, "forbidden"),
		"404":                        answers(404, ""),
		"405":                        answers(405, "<html>"),
		"415":                        answers(415, ""),
		"500":                        answers(500, "TypeError: undefined"),
		"a page":                     answers(200, "<html>", "Content-Type", "text/html"),
		"a page that is called JSON": answers(200, "<html>", "Content-Type", "application/json"),
		"an empty answer":            answers(202, ""),
		"closed connection":          answers(closed, ""),
		"silence":                    hangs,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, n := &era{real: withHandshake(goodServer()), discover: dislike}, newNotebook()
				st, took := e.attach(t, n, atTest())
				if st.State != schemas.StateReady || st.Protocol != "2025-11-25" || took > 5*time.Second {
					t.Errorf("after %s: %+v", took, st)
				}
				if diff := cmp.Diff([]string{asks, shakes}, e.asked); diff != "" {
					t.Error(diff)
				}
				if st, took = e.attach(t, n, atTest()); st.State != schemas.StateReady || took > 0 {
					t.Errorf("at the second start, after %s: %+v", took, st)
				}
				if diff := cmp.Diff([]string{shakes}, e.asked); diff != "" {
					t.Error(diff)
				}
				elsewhere := overHTTP("http://elsewhere.test/mcp")
				if e.attach(t, n, elsewhere); e.asked[0] != asks {
					t.Errorf("a server at another place was asked %v", e.asked)
				}
			})
		})
	}
}

// A gateway whose server is away says nothing about the server.
func TestProtocol_AGatewayTeachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, n := &era{real: server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true)), discover: answers(503, "deploying")}, newNotebook()
		if st, _ := e.attach(t, n, atTest()); st.State != schemas.StateReady {
			t.Errorf("%+v", st)
		}
		e.discover = nil
		if st, _ := e.attach(t, n, atTest()); st.Protocol != transport.ProtocolStateless {
			t.Errorf("%+v", st)
		}
	})
}

// A failure that says nothing does not teach that a server is an older one, if it was a newer one before.
func TestProtocol_AFailureTeachesNothingOfANewerServer(t *testing.T) {
	for name, failure := range map[string]http.HandlerFunc{"closed connection": answers(closed, ""), "silence": hangs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fails atomic.Bool
				real := server.NewStreamableHTTPServer(goodServer(), server.WithStateful(true))
				e, n := &era{real: real}, newNotebook()
				e.discover = func(w http.ResponseWriter, r *http.Request) {
					if fails.Load() {
						failure(w, r)
						return
					}
					real.ServeHTTP(w, r)
				}
				m, err := mcpclients.New(mcpclients.Config{
					Servers: []transport.ServerConfig{atTest()}, HTTPClient: &http.Client{Transport: e}, Protocols: n,
				})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = m.Close() }()
				m.Start(t.Context())
				if err := m.Wait(t.Context(), nil); err != nil || status(t, m).Protocol != transport.ProtocolStateless {
					t.Fatal(err, status(t, m))
				}
				fails.Store(true) // the pings ask the same
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if st := status(t, m); st.State != schemas.StateReady || st.Protocol != "2025-11-25" {
					t.Errorf("while the question fails: %+v", st)
				}
				fails.Store(false)
				if st, _ := e.attach(t, n, atTest()); st.Protocol != transport.ProtocolStateless {
					t.Errorf("at the next start: %+v", st)
				}
			})
		})
	}
}

// What was learnt and is no longer true is learnt anew in the same attempt.
func TestProtocol_IsLearntAnew(t *testing.T) {
	onlyStateless := func() *era {
		return &era{
			real:      server.NewStreamableHTTPServer(goodServer(), server.WithStateLess(true), server.WithStreamableHTTPProtocolVersions(transport.ProtocolStateless)),
			handshake: answers(400, "Missing MCP-Protocol-Version header"),
		}
	}
	older := schemas.ServerProtocol{Revision: "2025-11-25", Version: "2.0.0"}
	newer := schemas.ServerProtocol{Revision: transport.ProtocolStateless, Version: "2.0.0"}
	for _, tc := range []struct {
		name          string
		server        *era
		known, learnt schemas.ServerProtocol
		asked, again  []string
	}{
		{"an older server became a newer one", onlyStateless(), older, newer, []string{shakes, asks}, []string{asks}},
		{"a newer server became an older one", &era{real: withHandshake(goodServer())}, newer, older, []string{asks, shakes}, []string{shakes}},
		{"one that never answers", &era{real: withHandshake(goodServer()), discover: hangs}, newer, older, []string{asks, shakes}, []string{shakes}},
		{
			"an older server of another version is asked at its next start", &era{real: server.NewStreamableHTTPServer(goodServer())},
			schemas.ServerProtocol{Revision: "2025-06-18", Version: "1.0.0"},
			schemas.ServerProtocol{},
			[]string{shakes},
			[]string{asks},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNotebook()
				n.knows(atTest(), tc.known)
				if st, _ := tc.server.attach(t, n, atTest()); st.State != schemas.StateReady {
					t.Fatalf("%+v", st)
				}
				if diff := cmp.Diff(tc.asked, tc.server.asked); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(tc.learnt, n.kept["web"+cfgIdentity()]); diff != "" {
					t.Error(diff)
				}
				if st, _ := tc.server.attach(t, n, atTest()); st.State != schemas.StateReady {
					t.Fatalf("%+v", st)
				}
				if diff := cmp.Diff(tc.again, tc.server.asked); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func cfgIdentity() string { cfg := atTest(); return cfg.Identity() }

// Over stdio too each way is learnt, in both directions.
func TestProtocol_IsLearntOverStdio(t *testing.T) {
	n := newNotebook()
	for _, tc := range []struct {
		name, flag, want string
		ways             []string
	}{
		{"unknown, without a handshake", "-stateless", "2026-07-28", []string{"2025-11-25", "2026-07-28"}},
		{"known", "-stateless", "2026-07-28", []string{"2026-07-28"}},
		{"replaced by one that exits", "-touchy", "2025-11-25", []string{"2026-07-28", "2025-11-25"}},
		{"known again", "-touchy", "2025-11-25", []string{"2025-11-25"}},
		{"replaced by one that names the newer revision", "-stateless", "2026-07-28", []string{"2025-11-25", "2026-07-28"}},
	} {
		var ways []string
		cfg := servers(bad("s", tc.flag))
		cfg.Protocols = n
		cfg.Wrap = func(inner transport.Dialer) transport.Dialer {
			return func(ctx context.Context, server transport.ServerConfig, notify transport.Notify) (transport.Conn, error) {
				ways = append(ways, server.Protocol)
				return inner(ctx, server, notify)
			}
		}
		m := start(t, cfg)
		if st := status(t, m); st.State != schemas.StateReady || st.Protocol != tc.want {
			t.Errorf("%s: %+v", tc.name, st)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tc.ways, ways); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

// A server whose answer to the handshake names the newer revision is asked without one.
func TestProtocol_NamedInTheHandshake(t *testing.T) {
	m := start(t, servers(bad("s", "-stateless", "-newer")))
	if st := status(t, m); st.State != schemas.StateReady || st.Protocol != "2026-07-28" {
		t.Errorf("%+v", st)
	}
}

// A server that wants a login gets the question once, and the login comes before anything else.
func TestProtocol_LoginComesFirst(t *testing.T) {
	guarded := oauthserver.New()
	t.Cleanup(guarded.Close)
	cfg := servers(overHTTP(guarded.MCP()))
	cfg.Logins = &logins{}
	st := status(t, start(t, cfg))
	if st.State != schemas.StateFailed || !strings.HasPrefix(st.Reason, "the server wants a login: run molar servers login web") {
		t.Errorf("%+v", st)
	}
}

// The reason never sends a person the wrong way.
func TestProtocol_Refusals(t *testing.T) {
	const ours = "this host speaks 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05: update one of the two sides"
	future := `{"supported":["2031-01-01"]}`
	result := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.Context().Value(rpcID{}), body)
		}
	}
	unknown := refuses(200, -32601, "Method not found", "null")
	missing := answers(400, "Missing MCP-Protocol-Version header")
	for _, tc := range []struct {
		name, protocol      string
		discover, handshake http.HandlerFunc
		want                string
		not                 []string
	}{
		{
			"pinned to a handshake, and the server has none", "2025-11-25", unknown, missing,
			"the server answered HTTP 400 Bad Request: Missing MCP-Protocol-Version header: set mcpServers.web.protocol: auto (or remove it); the host keeps trying",
			[]string{"url", "streamable"},
		},
		{
			"pinned, and the server refuses as JSON-RPC", "2025-11-25", unknown, unknown,
			"initialize was refused with error -32601: Method not found: set mcpServers.web.protocol: auto (or remove it)",
			[]string{"url"},
		},
		{
			"pinned, and the server names the newer revision", "2025-06-18", unknown, result(`{"protocolVersion":"2026-07-28"}`),
			`it answered initialize with protocol version "2026-07-28": set mcpServers.web.protocol: auto (or remove it)`,
			[]string{"update", "url"},
		},
		{
			"pinned to the newer revision, and the server has only older ones", "2026-07-28", unknown, nil,
			"does not speak protocol 2026-07-28",
			[]string{"url"},
		},
		{"later than ours, by its refusals", "", refuses(400, -32022, "Unsupported protocol version", future), missing, "it speaks 2031-01-01, and " + ours, []string{"Missing", "url"}},
		{"later than ours, by its discovery", "auto", result(`{"supportedVersions":["2031-01-01"]}`), unknown, "it speaks 2031-01-01, and " + ours, []string{"url"}},
		{"older than ours, by its handshake", "", unknown, result(`{"protocolVersion":"2023-01-01"}`), "it speaks 2023-01-01, and " + ours, []string{"url"}},
		{"no revision at all", "", result(`{}`), result(`{}`), "it answered initialize without a protocol version (asked without a handshake: ", []string{"it speaks", "update"}},
		{"later than ours, pinned", "2025-11-25", unknown, refuses(400, -32602, "Unsupported", future), "it speaks 2031-01-01, and " + ours, []string{"url"}},
		{
			"both refusals say something", "", answers(500, "the database is away"), missing,
			"HTTP 400 Bad Request: Missing MCP-Protocol-Version header (asked without a handshake: ", nil,
		},
		{"both refusals, the other one", "", answers(500, "the database is away"), missing, "HTTP 500 Internal Server Error: the database is away)", nil},
		{"both refusals are the same", "", answers(404, "no such page"), answers(404, "no such page"), "HTTP 404 Not Found: no such page: it does not speak streamable HTTP there: start the server or correct mcpServers.web.url", []string{"asked without"}},
		{"one says nothing", "", hangs, unknown, "initialize was refused with error -32601: Method not found: start", []string{"asked without"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &era{real: withHandshake(goodServer()), discover: tc.discover, handshake: tc.handshake}
				cfg := atTest()
				cfg.Protocol = tc.protocol
				st, _ := e.attach(t, newNotebook(), cfg)
				if st.State != schemas.StateFailed || !strings.Contains(st.Reason, tc.want) {
					t.Errorf("%s: %s\nwant %s", st.State, st.Reason, tc.want)
				}
				for _, not := range tc.not {
					if strings.Contains(st.Reason, not) {
						t.Errorf("%s\nsays %q", st.Reason, not)
					}
				}
			})
		})
	}
}

// A server that refuses to be asked for a revision that is newer than its own is asked for its own.
func TestProtocol_AStrictServerIsAskedForItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		real := withHandshake(goodServer())
		e := &era{real: real, discover: refuses(200, -32601, "no", "null")}
		e.handshake = func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if !bytes.Contains(body, []byte("2025-06-18")) {
				refuses(400, -32602, "Unsupported protocol version", `{"supported":["2024-11-05","2025-06-18"]}`)(w, r)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			real.ServeHTTP(w, r)
		}
		if st, _ := e.attach(t, newNotebook(), atTest()); st.State != schemas.StateReady || st.Protocol != "2025-06-18" {
			t.Errorf("%+v", st)
		}
	})
}

// Only what the host uses of a server's capabilities has to have its form.
func TestProtocol_FormOfCapabilities(t *testing.T) {
	for _, logging := range []string{`{}`, `[]`, `true`, `null`} {
		for _, begin := range []string{`"protocolVersion":"2025-11-25"`, `"supportedVersions":["2026-07-28"]`} {
			synctest.Test(t, func(t *testing.T) {
				result := func(body string) http.HandlerFunc {
					return func(w http.ResponseWriter, r *http.Request) {
						answers(200, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.Context().Value(rpcID{}), body), "Content-Type", "application/json")(w, r)
					}
				}
				begun := result(`{` + begin + `,"capabilities":{"tools":{},"logging":` + logging + `}}`)
				e := &era{real: result(`{"tools":[]}`), discover: begun, handshake: begun}
				if st, _ := e.attach(t, newNotebook(), atTest()); st.State != schemas.StateReady {
					t.Errorf("%s, logging %s: %s", begin, logging, st.Reason)
				}
			})
		}
	}
}
