package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
)

const marked = `
mcpServers:
  mail: {command: m, readonly: true, tools: {"add_*": {adds: true, content: [text, a.b]}}}
  web: {command: w, public: true}
  notes: {command: n, closed: true}
flows:
- {from: mail, to: web, allow: false}
- {from: file, to: "*", allow: true}
- {from: web, to: tool-server, allow: true}
api_keys:
- {name: hook, hash: "sha256:0000000000000000000000000000000000000000000000000000000000000000", input: data, system: trusted, ask: never}
knowledge:
  wiki: {path: docs, trust: false}
`

func TestLoad_Marks(t *testing.T) {
	cfg, err := load(t, marked)
	if err != nil {
		t.Fatal(err)
	}
	mail, _ := cfg.MCPServers.Get("mail")
	web, _ := cfg.MCPServers.Get("web")
	notes, _ := cfg.MCPServers.Get("notes")
	wiki, _ := cfg.Knowledge.Get("wiki")
	rule, _ := mail.Tools.Get("add_*")
	if !mail.ReadOnly || !web.Public || !notes.Closed || !rule.Adds || !wiki.Foreign() {
		t.Errorf("mail %+v, web %+v, notes %+v, wiki %+v", mail, web, notes, wiki)
	}
	if diff := cmp.Diff([]string{"text", "a.b"}, rule.Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	no, yes := new(bool), new(true)
	if diff := cmp.Diff([]config.Flow{{"mail", "web", no}, {"file", "*", yes}, {"web", "tool-server", yes}}, cfg.Flows); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
	if key := cfg.APIKeys[0]; key.Input != "data" || key.System != "trusted" || key.Ask != "never" {
		t.Errorf("key %+v", key)
	}
	shown := make(map[string]string)
	for _, s := range cfg.Settings() {
		shown[s.Key] = s.Value
	}
	for key, want := range map[string]string{
		"flows[0]": "text of mail never goes to web", "flows[1]": "text of file may go to *", "api_keys[0]": "hook (chat), input data, system trusted, ask never",
	} {
		if shown[key] != want {
			t.Errorf("%s is shown as %q, want %q", key, shown[key], want)
		}
	}
	if !strings.HasSuffix(shown["mcpServers.web"], ", public") || !strings.HasSuffix(shown["knowledge.wiki"], "docs, not trusted") {
		t.Errorf("shown: web %q, wiki %q", shown["mcpServers.web"], shown["knowledge.wiki"])
	}
}

func TestLoad_MarksFaults(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"an unknown origin":  {"from: mail", "from: maill", `flows[0].from: want one of mail, web, notes, file, client, paste, web, *, did you mean "mail"?`},
		"an unknown server":  {"to: web,", "to: wob,", `did you mean "web"?`},
		"a file as a target": {`to: "*"`, "to: file", "flows[1].to: want one of"},
		"nothing allowed":    {", allow: false", "", "flows[0].allow: want true or false"},
		"public and closed":  {"public: true", "public: true, closed: true", "mcpServers.web.closed: cannot be combined with public"},
		"adds and reads":     {"adds: true", "adds: true, readOnly: true", "add_*.adds: cannot be combined with readOnly"},
		"an empty argument":  {"[text, a.b]", `[""]`, "add_*.content[0]: want the path of an argument"},
		"egress":             {"adds: true", "egress: false", "egress\": it is gone; say closed: true"},
		"an unknown input":   {"input: data", "input: dat", "api_keys[0].input: want typed or data"},
		"an unknown ask":     {"ask: never", "ask: no", "api_keys[0].ask: want person or never"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, strings.Replace(marked, tc.from, tc.to, 1))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
