package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/chain"
	"molar/providers/wire"
	"molar/schemas"
)

// withFiles returns a request with a call whose result contains files.
func withFiles(model string, files ...schemas.Part) providers.Request {
	call := func(id string) schemas.Part {
		return schemas.Part{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: "cam__look", Arguments: "{}"}}}
	}
	result := func(id string, files ...schemas.Part) schemas.Part {
		return schemas.Part{Kind: schemas.PartResult, Text: "seen", Result: &schemas.ToolResult{ID: id, ToolName: "look", Server: "cam", Output: json.RawMessage(`"seen"`), Media: files}}
	}
	return providers.Request{Model: model, Messages: []schemas.Message{
		schemas.Text(schemas.RoleUser, "look"),
		{Role: schemas.RoleAssistant, Parts: []schemas.Part{call("a"), call("b")}},
		{Role: schemas.RoleTool, Parts: []schemas.Part{result("a", files...), result("b")}},
	}}
}

func picture(media string, data []byte) schemas.Part {
	return schemas.Part{Kind: schemas.PartImage, Text: "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(data)}
}

// The files of a tool's result are sent on each wire that supports them: whole, and after the
// results of all calls of the round. A model is informed of files that it cannot be shown.
func TestResultFiles(t *testing.T) {
	t.Parallel()
	megabyte := bytes.Repeat([]byte("picture!"), 1<<17)
	encoded := base64.StdEncoding.EncodeToString(megabyte)
	sound := schemas.Part{Kind: schemas.PartFile, Text: "data:audio/wav;base64,QUJD"}
	unseen := quoted("seen\n" + wire.Unseen)
	for name, tt := range map[string]struct {
		file                                       schemas.Part
		openai, gemini2, gemini, ollama, anthropic string // parts of the body
	}{
		"a picture of a megabyte": {
			picture("image/png", megabyte),
			`{"role":"tool","content":"seen","tool_call_id":"b"},{"role":"user","content":[{"type":"text","text":"Files of the result of look:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + encoded + `"}}]}`,
			`{"functionResponse":{"name":"cam__look","response":{"output":"seen"}}},{"inlineData":{"data":"` + encoded + `","mimeType":"image/png"}}],"role":"user"}`,
			`{"functionResponse":{"name":"cam__look","parts":[{"inlineData":{"data":"` + encoded + `","mimeType":"image/png"}}],"response":{"output":"seen"}}}`,
			`"content":"seen","images":["` + encoded + `"]`,
			`"content":[{"type":"text","text":"seen"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + encoded + `"}}]},{"type":"tool_result"`,
		},
		"a sound": {
			sound,
			`{"type":"input_audio","input_audio":{"data":"QUJD","format":"wav"}}`,
			`{"inlineData":{"data":"QUJD","mimeType":"audio/wav"}}],"role":"user"}`,
			`{"inlineData":{"data":"QUJD","mimeType":"audio/wav"}}],"role":"user"}`,
			unseen,
			unseen,
		},
		"what no model takes": {
			picture("image/svg+xml", []byte("<svg/>")), unseen, `"files":` + quoted(wire.Unseen), `"files":` + quoted(wire.Unseen), unseen, unseen,
		},
	} {
		for _, w := range wires() {
			for model, want := range map[string]string{
				"gemini-2.5-flash": map[string]string{"openai": tt.openai, "gemini": tt.gemini2, "ollama": tt.ollama, "anthropic": tt.anthropic}[w.name],
				"gemini-3-flash":   map[string]string{"openai": tt.openai, "gemini": tt.gemini, "ollama": tt.ollama, "anthropic": tt.anthropic}[w.name],
			} {
				s := &service{body: whole(w.says("ok", 2))}
				p := w.on(t, s)
				if _, _, err := read(t, p, withFiles(model, tt.file)); err != nil || !strings.Contains(string(s.sent), want) {
					t.Errorf("%s, %s to %s: %v, sent %.3000s; want %.300s", name, w.name, model, err, s.sent, want)
				}
			}
		}
	}
}

// refusing answers 400 with a text while a body contains a string.
type refusing struct {
	service
	holds, says string
	refused     int
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.service.RoundTrip(req)
	if strings.Contains(string(r.sent), r.holds) {
		r.refused++
		resp.StatusCode, resp.Body = http.StatusBadRequest, io.NopCloser(strings.NewReader(r.says))
	}
	return resp, err
}

// If a model refuses files of results, the request is repeated in another form, at last without
// them, and later requests do not contain them.
func TestResultFiles_Refused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wire, model, holds, says string
		refused                  int
	}{
		{"openai", "m", "image_url", `{"error":{"message":"Invalid content type. image_url is only supported by certain models."}}`, 1},
		{"openai", "m", "image_url", `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"}}`, 1},
		{"anthropic", "m", `"type":"image"`, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0: tool_result with image content is not supported"}}`, 1},
		{"gemini", "gemini-3-flash", `"parts":[{"inlineData"`, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Multimodal function response is not supported for this model"}}`, 1},
		{"gemini", "gemini-3-flash", "inlineData", `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Image input modality is not enabled for models/x"}}`, 2},
		{"gemini", "gemini-2.5-flash", "inlineData", `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Image input modality is not enabled for models/x"}}`, 1},
	} {
		for _, w := range wires() {
			if w.name != tt.wire {
				continue
			}
			s := &refusing{service: service{body: whole(w.says("ok", 2))}, holds: tt.holds, says: tt.says}
			p := w.on(t, s)
			for range 2 { // the second time it is known
				got, _, err := read(t, chain.Again(p, 0), withFiles(tt.model, picture("image/png", []byte("x"))))
				if err != nil || got.Text != "ok" || s.refused != tt.refused {
					t.Errorf("%s, %s: %q %v after %d refusals, want %d; sent %s", tt.wire, tt.says, got.Text, err, s.refused, tt.refused, s.sent)
				}
			}
		}
	}
}
