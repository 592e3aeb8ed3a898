package anthropic_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/anthropic"
	"molar/providers/chain"
	"molar/schemas"
)

// service answers requests in turn, the last answer for ever, and keeps the bodies.
type service struct {
	answers []reply
	bodies  []string
	headers []http.Header
	models  func(query string) string // the list of models
}

// reply is an answer with a status; 0 means 200.
type reply struct {
	status int
	body   string
}

func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	r := reply{status: http.StatusNotFound, body: `{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}`}
	switch {
	case req.Method == http.MethodGet && s.models != nil:
		r = reply{body: s.models(req.URL.RawQuery)}
	case req.Method == http.MethodPost:
		data, _ := io.ReadAll(req.Body)
		s.bodies = append(s.bodies, string(data))
		s.headers = append(s.headers, req.Header)
		r = s.answers[min(len(s.bodies), len(s.answers))-1]
	}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return &http.Response{StatusCode: r.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.body)), Request: req}, nil
}

func refused(message string) reply {
	data, _ := json.Marshal(message)
	return reply{http.StatusBadRequest, `{"type":"error","error":{"type":"invalid_request_error","message":` + string(data) + `},"request_id":"req_1"}`}
}

// whole returns an answer that is not streamed.
func whole(reason string, blocks ...string) reply {
	return reply{body: `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + strings.Join(blocks, ",") + `],"stop_reason":"` + reason + `","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":7}}`}
}

func says(text string) reply { return whole("end_turn", `{"type":"text","text":"`+text+`"}`) }

func (s *service) open(t *testing.T, cfg anthropic.Config) *anthropic.Provider {
	t.Helper()
	cfg.HTTPClient = &http.Client{Transport: s}
	cfg.APIKey, cfg.Logger = "sk-ant-test", slog.New(slog.DiscardHandler)
	p, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// heard is an answer as the host receives it.
type heard struct {
	text, thinking string
	parts          []schemas.Part
	notes          []string
	usage          *schemas.Usage
	finish         providers.FinishReason
	err            error
}

// ask makes a call with retries.
func ask(t *testing.T, p providers.Provider, req providers.Request) heard {
	t.Helper()
	var h heard
	for c, err := range chain.Again(p, 0).Stream(t.Context(), req) {
		if h.err = err; err != nil {
			break
		}
		if c.Retract {
			h.text, h.parts = "", nil
		}
		h.text, h.thinking, h.finish = h.text+c.Text, h.thinking+c.Thinking, h.finish+c.Finish
		if c.Usage != nil {
			h.usage = c.Usage
		}
		if c.Note != "" {
			h.notes = append(h.notes, c.Note)
		}
		switch {
		case c.Call != nil:
			h.parts = append(h.parts, schemas.Part{Kind: schemas.PartCall, Call: c.Call, State: c.State})
		case c.Text != "" && len(h.parts) > 0 && h.parts[len(h.parts)-1].Call == nil:
			h.parts[len(h.parts)-1].Text += c.Text
		case c.Text != "":
			h.parts = append(h.parts, schemas.Part{Kind: schemas.PartText, Text: c.Text, State: c.State})
		}
	}
	return h
}

func question() providers.Request {
	return providers.Request{Model: "m", Pass: providers.PassAnswer, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "q")}}
}

func find() schemas.ToolInfo {
	return schemas.ToolInfo{Name: "w__find", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
}

// field returns a field of a body, as compact JSON; "" if it is not there.
func field(t *testing.T, body, name string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if len(fields[name]) > 0 && json.Compact(&b, fields[name]) != nil {
		t.Fatalf("%s is no JSON", fields[name])
	}
	return b.String()
}
