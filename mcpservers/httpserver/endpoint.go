package httpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/internal/httpguard"
	"molar/mcpservers"
)

// An endpoint is one path of standard MCP, in front of mcp-go's streamable HTTP: it answers the
// dispatcher's own methods and passes on the rest.
type endpoint struct {
	*Server
	d        *mcpservers.Dispatcher
	http     *server.StreamableHTTPServer
	sessions *sessions
}

// endpoint builds the handler of a dispatcher and ends its idle sessions.
func (s *Server) endpoint(d *mcpservers.Dispatcher, cfg Config) *endpoint {
	e := &endpoint{Server: s, d: d, sessions: newSessions(cfg.Now)}
	e.http = server.NewStreamableHTTPServer(d.MCP(),
		server.WithSessionIdManagerResolver(e.sessions),
		server.WithEventStore(newEvents()),
		server.WithHeartbeatInterval(30*time.Second),
		server.WithDisableLocalhostProtection(cfg.Guard != nil), // the guard checks the host
		server.WithStreamableHTTPLogger(s.log))
	s.mcp = append(s.mcp, e)
	s.work.Go(func() { e.sweep(s.closing) })
	return e
}

// sweep ends idle sessions.
func (e *endpoint) sweep(ctx context.Context) {
	tick := time.NewTicker(sessionTTL / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, id := range e.sessions.idle(sessionTTL) {
			e.end(ctx, id)
		}
	}
}

// end ends a session as a client would: mcp-go offers no other way.
func (e *endpoint) end(ctx context.Context, id string) {
	ctx = httpguard.WithPrincipal(ctx, e.sessions.holder(id))
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, "/", http.NoBody)
	if err != nil {
		return
	}
	r.Header.Set(server.HeaderKeySessionID, id)
	e.http.ServeHTTP(discard{}, r)
}

// discard is a response that is not read.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.closing.Err() != nil {
		http.Error(w, "the server is shutting down", http.StatusServiceUnavailable)
		return
	}
	// A session belongs to the key that started it; for others it is unknown.
	who := httpguard.PrincipalOf(r.Context())
	session := r.Header.Get(server.HeaderKeySessionID)
	if session != "" && who.Key != "" && e.sessions.check(who, session) != nil {
		http.Error(w, errSession.Error(), http.StatusNotFound)
		return
	}
	// An open stream ends with the server, or with the key.
	ctx, cancel := e.keys.Bind(r.Context(), who)
	defer cancel()
	switch r.Method {
	case http.MethodPost:
		e.post(w, r.WithContext(ctx), cancel)
	case http.MethodGet:
		defer e.sessions.hold(session)()
		defer context.AfterFunc(e.closing, cancel)()
		e.http.ServeHTTP(w, r.WithContext(ctx))
	default:
		e.http.ServeHTTP(w, r)
	}
}

func (e *endpoint) post(w http.ResponseWriter, r *http.Request, cancel func()) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	if isBatch(body) {
		refuse(w, nil, mcpservers.CodeInvalidRequest,
			"Invalid request: MCP has no batches, send one message at a time; /jsonrpc takes batches")
		return
	}
	req, bad := mcpservers.Parse(body)
	if !e.allow(w, r, req.ID, 1) {
		return
	}
	if bad != nil {
		refuse(w, req.ID, bad.Code, bad.Message)
		return
	}
	if string(req.ID) == "null" {
		refuse(w, req.ID, mcpservers.CodeInvalidRequest, "Invalid request: MCP has no id of null")
		return
	}
	if req.Method == string(mcp.MethodInitialize) {
		for _, id := range e.sessions.excess(maxSessions) {
			e.end(r.Context(), id)
		}
	}
	if e.d.Owns(req.Method) && !req.Reply {
		e.own(w, r, req, body)
		return
	}
	if req.Method == string(mcp.MethodSubscriptionsListen) {
		if e.listenToNothing(w, r, req) {
			return
		}
		defer context.AfterFunc(e.closing, cancel)()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	e.http.ServeHTTP(w, r)
}

// own answers a method in front of mcp-go, with mcp-go's checks of session and revision.
func (e *endpoint) own(w http.ResponseWriter, r *http.Request, req mcpservers.Request, body []byte) {
	revision := revisionOf(req.Params)
	header := r.Header.Get(mcp.HeaderProtocolVersion)
	modern := mcp.IsModernProtocol(revision) || mcp.IsModernProtocol(header)
	session := r.Header.Get(server.HeaderKeySessionID)
	if modern {
		if code, err := checkModern(r.Header, revision, req); err != nil {
			refuse(w, req.ID, code, err.Error())
			return
		}
		session = e.freshSession()
	} else if err := e.checkSession(r.Context(), session, header); err != nil {
		status := http.StatusNotFound
		if !errors.Is(err, errSession) {
			status = http.StatusBadRequest
		}
		http.Error(w, err.Error(), status)
		return
	}
	answer := e.answer(r.Context(), e.d, session, req, body)
	switch {
	case answer == nil:
		w.WriteHeader(http.StatusAccepted)
	case modern:
		writeJSON(w, http.StatusOK, e.modernize(req.Method, answer))
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

func (e *endpoint) checkSession(ctx context.Context, session, revision string) error {
	if revision != "" && !mcp.IsValidProtocolVersion(revision) {
		return errors.New("unsupported protocol version: use 2025-11-25 or 2026-07-28")
	}
	return e.sessions.check(httpguard.PrincipalOf(ctx), session)
}

// checkModern checks a stateless request's declarations in body and headers.
func checkModern(h http.Header, revision string, req mcpservers.Request) (int, error) {
	header := h.Get(mcp.HeaderProtocolVersion)
	switch {
	case revision == "":
		return mcp.INVALID_PARAMS, errors.New("the request's _meta must name " + mcp.MetaKeyProtocolVersion)
	case header != revision:
		return mcp.HEADER_MISMATCH, errors.New("the header " + mcp.HeaderProtocolVersion + " must name the revision of the request's _meta")
	case !mcp.IsValidProtocolVersion(revision):
		return mcp.UNSUPPORTED_PROTOCOL_VERSION, errors.New("unsupported protocol version: use 2025-11-25 or 2026-07-28")
	}
	return mcp.HEADER_MISMATCH, mcp.ValidateStandardHeaders(h.Get, revision, mcp.MCPMethod(req.Method), req.Params)
}

func refuse(w http.ResponseWriter, id []byte, code int, message string) {
	writeJSON(w, http.StatusBadRequest, mcpservers.Fail(id, &mcpservers.RPCError{Code: code, Message: message}))
}
