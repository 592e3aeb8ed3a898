package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/term"

	"molar/internal/cli"
)

// modelKey opens the server of a lockedModel.
const modelKey = "mk-77ab5e9d22"

// A lockedModel is a self-hosted server with OpenAI's API, several models and a key. It calls the
// vault's tool once, and then answers with the tool's word.
type lockedModel struct {
	mu     sync.Mutex
	keys   []string // all that it was sent
	models []string // all that it was asked for
}

func (m *lockedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct {
		Model    string                  `json:"model"`
		Tools    []json.RawMessage       `json:"tools"`
		Messages []struct{ Role string } `json:"messages"`
	}
	_ = json.Unmarshal(body, &in) // a GET has no body
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	m.mu.Lock()
	m.keys = append(m.keys, key)
	if in.Model != "" {
		m.models = append(m.models, in.Model)
	}
	m.mu.Unlock()
	switch {
	case key != modelKey:
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"Who are you?","code":"invalid_api_key"}}`)
	case r.URL.Path == "/v1/models":
		_, _ = io.WriteString(w, `{"data":[{"id":"tiny-model"},{"id":"able-model"}]}`)
	case r.URL.Path != "/v1/chat/completions":
		w.WriteHeader(http.StatusNotFound)
	case len(in.Tools) > 0 && in.Messages[len(in.Messages)-1].Role == "user":
		stream(w, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"vault__read_word","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	default:
		stream(w, `{"choices":[{"index":0,"delta":{"content":"The word is amaranth."},"finish_reason":"stop"}]}`)
	}
}

func stream(w http.ResponseWriter, chunk string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
}

// sent returns all keys that came, and all models that were asked, each once.
func (m *lockedModel) sent() (keys, models []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	once := func(all []string) []string {
		all = slices.Clone(all)
		slices.Sort(all)
		return slices.Compact(all)
	}
	return once(m.keys), once(m.models)
}

// The first minutes of a person who has a server with a token in Claude Desktop and a model server
// with a key: three questions at a terminal lead to answers on both endpoints, without editing a
// file. No secret is shown, or reaches a program that does not need it.
func TestFirstMinutes(t *testing.T) {
	t.Parallel()
	model := &lockedModel{}
	upstream := httptest.NewServer(model)
	t.Cleanup(upstream.Close)
	env := homeEnv(t, nil)
	env["OPENAI_API_KEY"], env["MOLAR_LISTEN"] = "sk-meant-for-openai", "127.0.0.1:0"
	claude := filepath.Join(env["HOME"], ".config", "Claude", "claude_desktop_config.json")
	if err := os.MkdirAll(filepath.Dir(claude), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, claude, []byte(`{"mcpServers": {"vault": {"command": "vault", "env": {"VAULT_TOKEN": "`+vaultToken+`"}}}}`))

	p := sitAt(t, env, "init")
	p.see("[1] ")
	own := regexp.MustCompile(`(\d)  A server of your own`).FindStringSubmatch(p.screen.String())
	p.keys(own[1] + "\r")
	p.see("Its address")
	p.keys(upstream.URL + "\r")
	p.see("It requires a key.")
	p.see("Send it the OPENAI_API_KEY of your environment? [y/N]")
	shown, err := term.GetState(int(p.master.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	p.keys("\r")
	p.see("Its key")
	eventually(t, "the terminal shows nothing that is typed", func() bool {
		now, err := term.GetState(int(p.master.Fd()))
		return err == nil && !reflect.DeepEqual(now, shown)
	})
	p.keys(modelKey + "\r")
	p.see("2  able-model")
	p.keys("2\r")
	p.see("Claude Desktop has vault: take them over? [Y/n]")
	p.keys("\r")
	p.see("(press Enter to continue):")
	p.keys("\r")
	p.see("A subject of your own, and nothing else\r\n  [1]")
	p.keys("\r")
	p.see("only you can read: MODEL_KEY, VAULT_TOKEN")
	p.see("Confirm what the tools of its servers do? They are started once to see it. [Y/n]")
	p.keys("\r")
	p.see("read_word reads: it announces itself as read-only")
	p.see("Is this what its tools do? [y/N]")
	p.keys("y\r")
	p.see("confirmed: what the tools of vault do")
	p.see("  What can I do with the tools of vault?\r\n  > ") // its tool tells of its environment, so it is not offered by name
	p.keys("\r")
	p.see("vault__read_word {}")
	p.see("The word is amaranth.")
	p.see("Start the chat page now? [Y/n]")
	p.keys("\r")
	p.see("molar listens on http://127.0.0.1:")
	_, rest, _ := strings.Cut(p.see("127.0.0.1:"), "molar listens on ")
	eventually(t, "the address", func() bool {
		_, rest, _ = strings.Cut(p.screen.String(), "molar listens on ")
		return strings.Contains(rest, "\r\n")
	})
	url, _, _ := strings.Cut(rest, "\r\n")
	s := &served{url: url, client: upstream.Client()}
	a := s.ask(t, "", "", "What is the word of the vault?")
	if a.text != "The word is amaranth." || len(a.molar.Results) != 1 {
		t.Fatalf("%+v", a)
	}
	result, _ := json.Marshal(a.molar.Results)
	if text := string(result); !strings.Contains(text, "is amaranth") || !strings.Contains(text, "VAULT_TOKEN") ||
		strings.Contains(text, "MODEL_KEY") || strings.Contains(text, "OPENAI_API_KEY") {
		t.Errorf("the server was given, and said: %s", text)
	}
	if _, servers := s.do(t, http.MethodGet, "/v1/servers", ""); strings.Contains(servers, "unconfirmed") {
		t.Errorf("what was confirmed is asked again: %s", servers)
	}
	_, settings := s.do(t, http.MethodGet, "/v1/config", "")
	p.keys("\x03")
	p.exit(cli.OK)

	code, answer := molarIn(t, env, "chat", "What is the word of the vault?")
	if code != cli.OK || !strings.Contains(answer, "The word is amaranth.") {
		t.Errorf("chat: %d %s", code, answer)
	}
	code, found := molarIn(t, env, "doctor")
	if code != cli.OK || !strings.Contains(found, "openai answers with able-model") {
		t.Errorf("doctor: %d %s", code, found)
	}
	for place, text := range map[string]string{"terminal": p.screen.String(), "settings": settings, "answer": answer, "doctor": found} {
		for _, secret := range []string{vaultToken, modelKey, "sk-meant-for-openai"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s:\n%s", place, secret, text)
			}
		}
	}
	keys, models := model.sent()
	if !slices.Equal(keys, []string{"", modelKey}) || !slices.Equal(models, []string{"able-model"}) {
		t.Errorf("the server was sent the keys %q, and asked for %q", keys, models)
	}
	kept := filepath.Join(env["HOME"], ".config", "molar", "molar.env")
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", kept, info, err)
	}
	if text := readText(t, filepath.Join(filepath.Dir(kept), "molar.yaml")); strings.Contains(text, vaultToken) || strings.Contains(text, modelKey) {
		t.Errorf("molar.yaml holds a secret:\n%s", text)
	}
}
