package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/httpguard"
	"molar/schemas"
)

// office writes a folder of knowledge beside a secret, with links out of it, and returns the setting of the folder.
func office(t *testing.T) (setting, secret string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"docs/rules/leave #1.md": "# Leave\n\n## Annual leave\n\nEverybody has thirty days of annual leave.\n\n## Sick leave\n\nTell your manager in the morning.\n",
		"docs/.hidden.md":        "s3cret", "docs/key.pem": "s3cret", "secret.md": "s3cret",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for to, from := range map[string]string{"secret.md": "docs/link.md", ".": "docs/up"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	return "knowledge: {handbook: {path: '" + filepath.Join(dir, "docs") + "'}}\n", filepath.Join(dir, "secret.md")
}

// An answer names the place of its passage, which is kept with it and opens there, also where the folder is
// read by another process. Nothing else of the disk can be read.
func TestKnowledge_ASourceOpens(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"here", "elsewhere"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			knowledge, secret := office(t)
			memory := "memory: {store: " + filepath.Join(folder, "host.db") + "}\n"
			if at == "elsewhere" {
				m := serveAlone(t, writeFile(t, "mcp.yaml", "memory: {store: "+filepath.Join(folder, "memory.db")+"}\n"+knowledge), "127.0.0.1:0")
				memory = "memory: {url: \"" + m.url + "\"}\nstate: " + filepath.Join(folder, "host.db") + "\n"
			}
			s := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: offline}\nassistants: {office: {search: [handbook]}}\n"+memory+knowledge), nil)
			answer := s.ask(t, "office", "chat_1", "How many days of annual leave are there?")
			if !strings.Contains(answer.text, "\n1. Leave - Annual leave (rules/leave #1.md)") {
				t.Errorf("the answer is %s", answer.text)
			}
			place := schemas.Place{Folder: "handbook", File: "rules/leave #1.md", Line: 5, Part: 1, Heading: "Annual leave", Anchor: "annual-leave"}
			want := []schemas.Source{{Title: "Leave - Annual leave", Place: &place}}
			var c conversation
			s.get(t, "/v1/conversations/chat_1", &c)
			if diff := cmp.Diff(want, c.Messages[1].Sources); diff != "" {
				t.Errorf("stored (-want +got)\n%s", diff)
			}
			if place.Address() != "/knowledge/handbook/rules/leave%20%231.md?part=1#annual-leave" {
				t.Errorf("the address is %s", place.Address())
			}
			page, _, _ := strings.Cut(place.Address(), "?")
			if status, text := s.do(t, http.MethodGet, page, ""); status != http.StatusOK || !strings.Contains(text, "/static/reader.js") {
				t.Errorf("the page: %d", status)
			}
			var d schemas.Document
			s.get(t, "/v1/knowledge/handbook/document?file="+url.QueryEscape(place.File), &d)
			if len(d.Parts) != 2 || d.Parts[0].Place != place || d.Parts[0].Text != "Everybody has thirty days of annual leave." {
				t.Errorf("the document is %+v", d)
			}
			for _, file := range []string{
				"", ".", "..", "../secret.md", "rules/../../secret.md", "%2e%2e%2fsecret.md", "..%2fsecret.md", "%252e%252e%252fsecret.md", secret, url.QueryEscape(secret), "/", "//etc/passwd",
				"file://" + secret, "link.md", "up/secret.md", "up/docs/rules/leave%20%231.md", ".hidden.md", "key.pem", "rules", "rules/", "./rules/leave%20%231.md", "rules//leave%20%231.md",
				"rules%5Cleave%20%231.md", "rules/leave%20%231.md%00", "rules/leave%20%231.md%00.md", "rules/leave%20%231.md%3Ffrom=1", "RULES/LEAVE%20%231.md",
			} {
				if status, text := s.do(t, http.MethodGet, "/v1/knowledge/handbook/document?file="+file, ""); status != http.StatusNotFound || strings.Contains(text, "s3cret") {
					t.Errorf("%q: %d %s", file, status, text)
				}
			}
			for _, folder := range []string{"..", "%2e%2e", ".", "handbook%2f..", "other", "handbook%00", "user@handbook", "handbook:1", "status", "HANDBOOK"} {
				if status, text := s.do(t, http.MethodGet, "/v1/knowledge/"+folder+"/document?file=rules/leave%20%231.md", ""); status == http.StatusOK {
					t.Errorf("the folder %q: %d %s", folder, status, text)
				}
			}
			var list struct{ Data []schemas.KnowledgeStatus }
			s.get(t, "/v1/knowledge", &list)
			at := slices.IndexFunc(list.Data, func(k schemas.KnowledgeStatus) bool { return k.Name == "handbook" })
			if at < 0 || list.Data[at].Files != 1 || list.Data[at].UnreadFiles != 3 {
				t.Errorf("the folders are %+v", list.Data)
			}
		})
	}
}

// A guide of a topic is read like any other folder; a person of another group learns nothing of a folder.
func TestKnowledge_Groups(t *testing.T) {
	t.Parallel()
	knowledge, _ := office(t)
	text := "llm: {provider: offline}\nmemory: {store: " + filepath.Join(t.TempDir(), "m.db") + "}\n" + knowledge +
		"assistants: {office: {search: [handbook]}, tools: {tools: ['tool-server__handbook']}, teeth: {topic: dental, search: [dental_guide_search]}}\ndefault: office\n" +
		"groups: {staff: {assistants: [office]}, models: {assistants: [tools], tools: ['*__handbook']}, none: {assistants: [tools], tools: ['family__*']}, clinic: {assistants: [teeth]}}\napi_keys:\n"
	for _, name := range []string{"staff", "models", "none", "clinic"} {
		text += "  - {name: " + name + ", hash: '" + httpguard.HashOf("key-"+name).String() + "', scopes: [chat], groups: [" + name + "]}\n"
	}
	s := serveHost(t, writeFile(t, "molar.yaml", text), nil)
	eventually(t, "the servers of the folders are attached", func() bool { status, _ := s.do(t, http.MethodGet, "/ready", ""); return status == http.StatusOK })
	as := func(who, path string) int {
		c := caller{t: t, url: s.url, client: &http.Client{Transport: bearer("key-" + who)}}
		status, _, _ := c.do(http.MethodGet, path, "")
		return status
	}
	for who, want := range map[string][2]int{"staff": {200, 404}, "models": {200, 404}, "none": {404, 404}, "clinic": {404, 200}, "nobody": {401, 401}} {
		for i, path := range []string{"handbook/rules/leave%20%231.md", "dental_guide_search/vi/people.md"} {
			folder, file, _ := strings.Cut(path, "/")
			if got := as(who, "/v1/knowledge/"+folder+"/document?file="+file); got != want[i] {
				t.Errorf("%s reads %s: %d, want %d", who, path, got, want[i])
			}
			if got := as(who, "/knowledge/"+path); got != want[i] {
				t.Errorf("%s opens %s: %d, want %d", who, path, got, want[i])
			}
		}
	}
}
