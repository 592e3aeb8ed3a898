package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"molar/providers"
	"molar/providers/wire"
)

// A mender is the transport of the SDK's client. It passes each answer of a model on in the form that
// the SDK reads, event by event: the SDK panics at JSON of an unexpected shape, logs errors of the
// connection, and knows no form of events but the service's own.
type mender struct {
	next http.RoundTripper
	p    *Provider
}

// RoundTrip sends a request and mends its answer.
func (m mender) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := m.next.RoundTrip(req)
	_, method, _ := strings.Cut(req.URL.Path, ":")
	stream := method == "streamGenerateContent"
	switch {
	case err != nil || !stream && !embeds(method):
	case resp.StatusCode/100 == 2 && !stream:
		resp.Body = bounded{io.LimitReader(resp.Body, maxVectors), resp.Body}
	case resp.StatusCode/100 == 2:
		next, stop := iter.Pull(m.events(req, resp.Body))
		resp.Body = &mended{raw: resp.Body, next: next, stop: stop}
	default:
		data, _ := io.ReadAll(io.LimitReader(resp.Body, wire.MaxErrorBody))
		_ = resp.Body.Close()
		data, _ = json.Marshal(event{Error: readFault(data).answered(resp)}) // strings and numbers always marshal
		resp.Body = io.NopCloser(bytes.NewReader(data))
	}
	return resp, err
}

// events yields the events of an answer, checked. A broken stream ends with a fault of ours.
func (m mender) events(req *http.Request, raw io.Reader) iter.Seq[event] {
	return func(yield func(event) bool) {
		start, body, _ := wire.First(raw) // the body returns its error again
		if start == '<' {
			yield(own(m.p.faults.Fail(providers.KindProtocol, "", errors.New(m.p.faults.Page()))))
			return
		}
		var broken error
		for e, err := range wire.Events(body) {
			var read event
			switch {
			case err != nil:
				broken = err
			case e.IsDone():
			case json.Unmarshal(e.Data, &read) == nil:
				read.mend()
				if !yield(read) {
					return
				}
			case e.Cut:
				broken = io.ErrUnexpectedEOF
			default:
				yield(own(m.p.unreadable("")))
				return
			}
		}
		if broken != nil {
			yield(own(m.p.faults.Broken(req.Context(), "", broken)))
		}
	}
}

// mended is the mended body of an answer. It returns no error, which the SDK would log.
type mended struct {
	raw   io.Closer
	next  func() (event, bool)
	stop  func()
	event bytes.Buffer // the rest of the current event
}

// Read reads the current event, or waits for the next one.
func (b *mended) Read(p []byte) (int, error) {
	if b.event.Len() == 0 {
		b.event.Reset()
		if e, ok := b.next(); ok {
			b.event.WriteString("data: ")
			_ = json.NewEncoder(&b.event).Encode(e) // strings, numbers and bytes always encode
			b.event.WriteByte('\n')
		}
	}
	return b.event.Read(p)
}

// Close closes the answer.
func (b *mended) Close() error {
	b.stop()
	_ = b.raw.Close()
	return nil
}

// own returns a fault of ours as an event.
func own(e *providers.Error) event {
	return event{Error: &fault{Status: ours + string(e.Kind), Message: e.Err.Error()}}
}

// An event is what Molar reads of an event of the service. Only that is passed on, since any other
// field could make the SDK fail.
type event struct {
	Error          *fault       `json:"error,omitempty"`
	Candidates     []*candidate `json:"candidates,omitempty"`
	PromptFeedback *struct {
		BlockReason string `json:"blockReason,omitempty"`
	} `json:"promptFeedback,omitempty"`
	Usage *struct {
		Prompt     int `json:"promptTokenCount,omitempty"`
		ToolPrompt int `json:"toolUsePromptTokenCount,omitempty"`
		Cached     int `json:"cachedContentTokenCount,omitempty"`
		Candidates int `json:"candidatesTokenCount,omitempty"`
		Thoughts   int `json:"thoughtsTokenCount,omitempty"`
		Total      int `json:"totalTokenCount,omitempty"`
	} `json:"usageMetadata,omitempty"`
}

type candidate struct {
	Content struct {
		Parts []*struct {
			Text         string    `json:"text,omitempty"`
			Thought      bool      `json:"thought,omitempty"`
			Signature    signature `json:"thoughtSignature,omitempty"`
			FunctionCall *struct {
				ID   string   `json:"id,omitempty"`
				Name string   `json:"name,omitempty"`
				Args verbatim `json:"args,omitempty"`
			} `json:"functionCall,omitempty"`
		} `json:"parts,omitempty"`
	} `json:"content"`
	FinishReason  string `json:"finishReason,omitempty"`
	FinishMessage string `json:"finishMessage,omitempty"`
	Grounding     *struct {
		Chunks []*struct {
			Web *struct {
				URI   string `json:"uri,omitempty"`
				Title string `json:"title,omitempty"`
			} `json:"web,omitempty"`
		} `json:"groundingChunks,omitempty"`
		Supports []*struct {
			Segment *struct {
				Text string `json:"text,omitempty"`
			} `json:"segment,omitempty"`
			Chunks []int `json:"groundingChunkIndices,omitempty"`
		} `json:"groundingSupports,omitempty"`
	} `json:"groundingMetadata,omitempty"`
}

// mend drops candidates at which the SDK panics, and saves the message that it drops.
func (e *event) mend() {
	e.Candidates = slices.DeleteFunc(e.Candidates, func(c *candidate) bool { return c == nil })
	for _, c := range e.Candidates {
		if c.FinishMessage != "" {
			c.FinishReason += reasonEnd + c.FinishMessage
		}
	}
}

// reasonEnd separates a finish reason from its message.
const reasonEnd = ": "
