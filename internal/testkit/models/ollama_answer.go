package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// An ollamaAnswer writes newline-delimited JSON, or one object if the client asked for no stream.
type ollamaAnswer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	model   string
	started time.Time
	stream  bool
	// first is called when the first output is sent.
	first func()

	whole strings.Builder
	call  []ollamaCall
	line  []byte
	sent  bool
}

type ollamaCall struct {
	ID       string `json:"id"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type ollamaMessage struct {
	Role      string       `json:"role"`
	Content   string       `json:"content"`
	ToolCalls []ollamaCall `json:"tool_calls,omitempty"`
}

func (a *ollamaAnswer) refuse(r *Reply) error {
	if r.RetryAfter > 0 {
		a.w.Header().Set("Retry-After", strconv.Itoa(r.RetryAfter))
	}
	if r.RetryAfterMS > 0 {
		a.w.Header().Set("Retry-After-Ms", strconv.Itoa(r.RetryAfterMS))
	}
	ollamaError(a.w, r.Status, r.Error)
	return nil
}

// token is the hot path of a load run: it appends to one reused line.
func (a *ollamaAnswer) token(text string) error {
	if !a.stream {
		a.whole.WriteString(text)
		return nil
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return err
	}
	a.line = a.open(a.line[:0])
	a.line = append(a.line, `"message":{"role":"assistant","content":`...)
	a.line = append(a.line, quoted...)
	a.line = append(a.line, "},\"done\":false}\n"...)
	return a.send()
}

func (a *ollamaAnswer) calls(calls []Call) error {
	for i, c := range calls {
		call := ollamaCall{ID: fmt.Sprintf("call_%08x", rand.Uint32())}
		call.Function.Index, call.Function.Name, call.Function.Arguments = i, c.Name, c.Args
		a.call = append(a.call, call)
	}
	if !a.stream {
		return nil
	}
	message, err := json.Marshal(ollamaMessage{Role: "assistant", ToolCalls: a.call})
	if err != nil {
		return err
	}
	a.line = append(append(append(a.open(a.line[:0]), `"message":`...), message...), ",\"done\":false}\n"...)
	return a.send()
}

func (a *ollamaAnswer) done(reason string, tokens int) error {
	message := ollamaMessage{Role: "assistant"}
	if !a.stream {
		message.Content, message.ToolCalls = a.whole.String(), a.call
	}
	encoded, err := json.Marshal(message)
	if err != nil {
		return err
	}
	took := time.Since(a.started).Nanoseconds()
	a.line = append(append(a.open(a.line[:0]), `"message":`...), encoded...)
	a.line = fmt.Appendf(a.line, `,"done_reason":%q,"done":true,"total_duration":%d,"load_duration":1000000,`+
		`"prompt_eval_count":100,"prompt_eval_duration":1000000,"eval_count":%d,"eval_duration":%d}`+"\n",
		cmp.Or(reason, "stop"), took, max(tokens, 1), took)
	return a.send()
}

// open appends the beginning of every line.
func (a *ollamaAnswer) open(line []byte) []byte {
	line = append(line, `{"model":`...)
	line = strconv.AppendQuote(line, a.model)
	line = append(line, `,"created_at":"`...)
	line = time.Now().UTC().AppendFormat(line, time.RFC3339Nano)
	return append(line, `",`...)
}

func (a *ollamaAnswer) send() error {
	if !a.sent {
		a.sent = true
		a.first()
		kind := "application/x-ndjson"
		if !a.stream {
			kind = "application/json; charset=utf-8"
		}
		a.w.Header().Set("Content-Type", kind)
	}
	if _, err := a.w.Write(a.line); err != nil {
		return err
	}
	return a.rc.Flush()
}
