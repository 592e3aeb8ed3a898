package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molar/internal/testkit/models"
)

// noteServer is an MCP server with one tool, whose result is long.
func noteServer(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "Line %d: the warranty of part %d lasts a year. ", i, i*7)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		result := "{}"
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"read_note","description":"Read a note.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
		case "tools/call":
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text.String())
		}
		if len(m.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestEval_cutResult: a replay of a result that was cut gives the call the id by which the recording named
// the rest, also where the model reads on with it. Recorded again, its calls are the same.
func TestEval_cutResult(t *testing.T) {
	t.Parallel()
	rest := regexp.MustCompile(`goes on with result \\+"([^"\\]+)\\+" from (\d+)`)
	for name, reads := range map[string]bool{"cut": false, "read on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := models.New(models.Config{ContextLength: 4096, Script: func(r models.Request) *models.Reply {
				notes := rest.FindAllStringSubmatch(r.Body, -1)
				switch roles := r.Roles; {
				case len(r.Tools) == 0:
					return nil
				case roles[len(roles)-1] == "user":
					return &models.Reply{Calls: []models.Call{{Name: "notes__read_note", Args: json.RawMessage(`{}`)}}}
				case reads && len(notes) > 0 && roles[len(roles)-3] == "user":
					note := notes[len(notes)-1]
					return &models.Reply{Calls: []models.Call{{Name: "read_result", Args: json.RawMessage(fmt.Sprintf(`{"result":%q,"from":%s}`, note[1], note[2]))}}}
				}
				return models.Text("A year.")
			}})
			url, err := model.Start(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = model.Close() })
			dir := t.TempDir()
			config, file := filepath.Join(dir, "molar.yaml"), filepath.Join(dir, "case.yaml")
			put(t, config, []byte("default: desk\nassistants:\n  desk: {system_prompt: You read notes., tools: [\"*\"]}\nmcpServers:\n  notes: {url: "+noteServer(t)+"}\n"))
			molar := func(ollama string, args ...string) string {
				t.Helper()
				code, out, errs := evalRun(t, ollama, args...)
				if code != 0 {
					t.Fatalf("%s: exit code %d: %s%s", args, code, out, errs)
				}
				return out + errs
			}
			record := func(out string) string {
				t.Helper()
				molar(url, "eval", "record", "--config", config, "--provider", "ollama", "--out", out, "How long is the warranty?", "And again, how long is the warranty?")
				return readText(t, strings.TrimSuffix(out, ".yaml")+".tape.jsonl")
			}
			first := record(file)
			if n := strings.Count(first, "goes on with result"); n == 0 {
				t.Fatalf("nothing was cut: %s", first)
			}
			if found := strings.Contains(first, `"name":"read_result","arguments"`); found != reads {
				t.Fatalf("read_result was called: %t, want %t", found, reads)
			}
			molar(nowhere, "eval", "run", file)
			if out := molar(url, "eval", "accept", file); !strings.Contains(out, "no difference") {
				t.Errorf("accept: %s", out)
			}
			molar(nowhere, "eval", "run", file)
			one, two := callLines(first), callLines(record(filepath.Join(dir, "again.yaml")))
			if one != two {
				t.Errorf("recorded again, the calls differ:\n%s\n%s", one, two)
			}
		})
	}
}

// callLines returns the lines of a tape with the calls of a model and their results.
func callLines(text string) string {
	return strings.Join(regexp.MustCompile(`(?m)^\{"type":"tool_.*\n`).FindAllString(text, -1), "")
}
