package traffic

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"molar/agent"
	"molar/eval/match"
	"molar/providers"
	"molar/schemas"
)

// A service gives every call of a model the same answer, and keeps the last request.
type service struct {
	status int
	header http.Header
	body   func() io.Reader
	sent   []byte
}

// RoundTrip answers a request. Nothing is sent anywhere.
func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	status, header, body := http.StatusOK, http.Header{}, otherAnswer(req)
	if body == nil {
		var err error
		if s.sent, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		status, header, body = s.status, s.header, s.body()
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body), Request: req}, nil
}

// otherAnswer answers what adapters ask for beside answers, such as lists of models; of calls of a
// model it returns nil.
func otherAnswer(req *http.Request) io.Reader {
	switch path := req.URL.Path; {
	case strings.HasSuffix(path, "/api/show"):
		return strings.NewReader(`{"template":"{{ .Tools }}","capabilities":["completion","tools","thinking","vision"],"model_info":{"general.architecture":"q","q.context_length":32768}}`)
	case req.Method == http.MethodGet, strings.HasSuffix(path, "/api/generate"):
		return strings.NewReader(`{"models":[],"data":[]}`)
	}
	return nil
}

// A chunking cuts a body into the pieces in which it arrives.
type chunking struct {
	name string
	cut  func(body string) io.Reader
}

func chunkings() []chunking {
	return []chunking{
		{"whole", func(body string) io.Reader { return strings.NewReader(body) }},
		{"lines", func(body string) io.Reader {
			return &pieces{body, func(rest string) int { return strings.IndexByte(rest, '\n') + 1 }}
		}},
		{"bytes", func(body string) io.Reader { return &pieces{body, func(string) int { return 1 }} }},
	}
}

// pieces reads a text in pieces.
type pieces struct {
	rest string
	// length returns the length of the first piece of a text; 0 means all of it.
	length func(rest string) int
}

func (r *pieces) Read(p []byte) (int, error) {
	if r.rest == "" {
		return 0, io.EOF
	}
	end := r.length(r.rest)
	if end == 0 {
		end = len(r.rest)
	}
	n := copy(p, r.rest[:end])
	r.rest = r.rest[n:]
	return n, nil
}

// contentType returns the type of a body.
func contentType(body string) string {
	switch start := strings.TrimSpace(body[:min(len(body), 64)]); {
	case json.Valid([]byte(body)):
		return "application/json"
	case strings.HasPrefix(start, "{"):
		return "application/x-ndjson"
	default:
		return "text/event-stream"
	}
}

// ask makes one call and returns what the host sees of the answer.
func ask(ctx context.Context, p providers.Provider, req providers.Request) (Reading, *agent.Reply, error) {
	var r Reading
	var said agent.Reply
	for chunk, err := range p.Stream(ctx, req) {
		if err != nil {
			return r, &said, err
		}
		if chunk.Retract {
			r.Text, r.Thinking = "", r.Thinking+"\n\n"+r.Text
			said.Retract()
		}
		said.Add(chunk)
		r.Text += chunk.Text
		r.Thinking += chunk.Thinking
		if chunk.Finish != "" {
			r.Finish = string(chunk.Finish)
		}
		if u := chunk.Usage; u != nil {
			r.Usage = Usage{u.PromptTokens, u.CompletionTokens, u.CachedTokens, u.ReasoningTokens}
		}
	}
	for _, c := range said.Calls() {
		r.Calls = append(r.Calls, Call{Name: c.Function.Name, Args: match.CanonicalJSON([]byte(c.Function.Arguments))})
	}
	return r, &said, nil
}

// question returns the request whose answer is read: the recorded model and tools, and any question.
func question(model string, tools []schemas.ToolInfo) providers.Request {
	return providers.Request{Pass: providers.PassTool, Model: model, System: "!", Tools: tools, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "?")}}
}
