package web_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web"
)

// someKnowledge holds folders and documents; a document comes in pieces of at most pieces parts.
type someKnowledge struct {
	status []schemas.KnowledgeStatus
	docs   map[string]schemas.Document // by folder and file
	pieces int
	err    error
}

func (k *someKnowledge) Status(context.Context) ([]schemas.KnowledgeStatus, error) {
	return k.status, k.err
}

func (k *someKnowledge) Document(_ context.Context, folder, file string, from int) (schemas.Document, bool, error) {
	d, found := k.docs[folder+"/"+file]
	if d.Parts = d.Parts[min(from, len(d.Parts)):]; k.pieces > 0 && len(d.Parts) > k.pieces {
		d.Parts, d.Next = d.Parts[:k.pieces], from+k.pieces
	}
	return d, found, k.err
}

// theHandbook is a folder with a document of three places, and one that nobody's assistant searches.
func theHandbook() *someKnowledge {
	place := func(line int, heading, anchor string) schemas.Place {
		return schemas.Place{Folder: "handbook", File: "rules/leave.md", Line: line, Heading: heading, Anchor: anchor}
	}
	return &someKnowledge{
		status: []schemas.KnowledgeStatus{
			{
				Name: "handbook", Description: "The rules of the office.", Path: "/srv/handbook", Done: 3, Files: 3, Passages: 40, Bytes: 52_000, Threshold: 0.42, Learned: true,
				Unread: []schemas.UnreadFile{{File: "old/scan.pdf", Why: "a scan: it has no text"}, {File: "logo.psd", Why: "nothing reads this kind of file"}}, UnreadFiles: 2,
				Meaning: &schemas.MeaningStatus{Provider: "ollama", Model: "bge-m3", Done: 40, Passages: 40},
			},
			{Name: "payroll", Description: "What everybody earns.", Path: "/srv/payroll", Done: 1, Files: 2, Unread: []schemas.UnreadFile{}},
		},
		docs: map[string]schemas.Document{
			"handbook/rules/leave.md": {Folder: "handbook", File: "rules/leave.md", Title: "Leave", Link: "https://docs.example.com/rules/leave.md", Parts: []schemas.DocumentPart{
				{Place: place(3, "Leave", "leave"), Title: "Leave", Text: "Leave is paid.\n  It keeps  its spaces.\n\n```go\nfmt.Println(1)\n\nreturn\n```"},
				{Place: place(9, "Annual leave", "annual-leave"), Title: "Leave - Annual leave", Text: "Everybody has 30 days.\n\n| grade | days |\n|---|---|\n| A | 30 |\n| B | 32 |"},
				{Place: place(20, "Sick leave", "sick-leave"), Title: "Leave - Sick leave", Text: strings.Repeat("Tell your manager in the morning. ", 200)},
			}},
			"payroll/pay.xlsx": {Folder: "payroll", File: "pay.xlsx", Title: "Pay", Parts: []schemas.DocumentPart{{Place: schemas.Place{Folder: "payroll", File: "pay.xlsx", Sheet: "2026", Line: 2}, Text: "Ann: secret salary"}}},
		},
	}
}

// knowing serves two folders: the assistant "staff" searches the handbook by code, "tools" may call its tool,
// and "boss" searches the payroll.
func knowing(t *testing.T, k web.KnowledgeStore) web.Config {
	t.Helper()
	cfg := operated(t, play(nil))
	cfg.Knowledge = k
	cfg.Models = func() []schemas.AssistantInfo {
		return []schemas.AssistantInfo{{Name: "plain"}, {Name: "staff"}, {Name: "tools"}, {Name: "boss"}}
	}
	tool := func(name string) []schemas.Tool {
		return []schemas.Tool{{ToolInfo: schemas.ToolInfo{Name: schemas.ToolServer + "__" + name, Server: schemas.ToolServer, ToolName: name}}}
	}
	cfg.Searches = func(assistant string) (byModel, byCode []schemas.Tool) {
		switch assistant {
		case "staff":
			return nil, tool("handbook")
		case "tools":
			return tool("handbook"), nil
		case "boss":
			return nil, tool("payroll")
		case "plain": // another server's tool of that name
			return []schemas.Tool{{ToolInfo: schemas.ToolInfo{Name: "notes__handbook", Server: "notes", ToolName: "handbook"}}}, nil
		}
		return nil, nil
	}
	return cfg
}

// Whoever may use an assistant that searches a folder may read it; for everybody else it is as if it did
// not exist.
func TestKnowledge_Rights(t *testing.T) {
	cfg := knowing(t, theHandbook())
	ring := httpguard.NewKeyring(nil)
	cfg.Access = web.Access{Keys: ring}
	group := func(assistants, tools []string) *schemas.Rights {
		return &schemas.Rights{Groups: []schemas.Group{{Name: "g", Assistants: assistants, Tools: tools}}}
	}
	people := []struct {
		name             string
		scopes           []string
		rights           *schemas.Rights
		handbook, salary int
	}{
		{"a key without groups", []string{"chat"}, nil, 200, 200},
		{"the assistant that searches it", []string{"chat"}, group([]string{"staff"}, nil), 200, 404},
		{"the same, and no tool: code searches", []string{"chat"}, group([]string{"staff"}, []string{"!*"}), 200, 404},
		{"the assistant whose model may call it", []string{"chat"}, group([]string{"tools"}, nil), 200, 404},
		{"the same, without the tool", []string{"chat"}, group([]string{"tools"}, []string{"family__*"}), 404, 404},
		{"the same, with its own name", []string{"chat"}, group([]string{"tools"}, []string{"handbook"}), 200, 404},
		{"another assistant", []string{"chat"}, group([]string{"plain"}, nil), 404, 404},
		{"all but one", []string{"chat"}, group([]string{"*", "!boss"}, nil), 200, 404},
		{"a reviewer of one assistant", []string{"review"}, group([]string{"boss"}, nil), 404, 200},
		{"an operator", []string{"admin"}, group([]string{"plain"}, nil), 200, 200},
		{"metrics alone", []string{"metrics"}, nil, 403, 403},
	}
	var keys []httpguard.Key
	for _, p := range people {
		keys = append(keys, httpguard.Key{ID: p.name, Owner: p.name, Name: p.name, Hash: httpguard.HashOf(p.name), Scopes: p.scopes, Rights: p.rights})
	}
	ring.Set(keys)
	h := build(t, cfg)
	get := func(who, path string) (status int, body string) {
		r := request(http.MethodGet, path, "")
		if who != "" {
			r.Header.Set("Authorization", "Bearer "+who)
		}
		w := serve(h, r)
		return w.Code, w.Body.String()
	}
	_, missing := get(people[0].name, "/v1/knowledge/nothing/document?file=pay.xlsx")
	for _, p := range people {
		for _, c := range []struct {
			folder, file string
			want         int
		}{{"handbook", "rules/leave.md", p.handbook}, {"payroll", "pay.xlsx", p.salary}} {
			status, body := get(p.name, "/v1/knowledge/"+c.folder+"/document?file="+c.file)
			if status != c.want || strings.Contains(body, `"parts":[{`) != (c.want == 200) {
				t.Errorf("%s reads %s: %d %s, want %d", p.name, c.folder, status, body, c.want)
			}
			if status == 404 && body != missing {
				t.Errorf("%s learns that %s exists: %s", p.name, c.folder, body)
			}
			if status, _ := get(p.name, "/knowledge/"+c.folder+"/"+c.file); status != c.want {
				t.Errorf("%s opens the page of %s: %d, want %d", p.name, c.folder, status, c.want)
			}
		}
		status, body := get(p.name, "/v1/knowledge")
		if operator := p.scopes[0] == "admin"; (status == 200) != operator || strings.Contains(body, "/srv/") != operator {
			t.Errorf("%s lists the folders: %d %s", p.name, status, body)
		}
	}
	for _, path := range []string{"/v1/knowledge", "/v1/knowledge/handbook/document?file=rules/leave.md", "/knowledge/handbook/rules/leave.md"} {
		for _, who := range []string{"", "nobody"} {
			if status, body := get(who, path); status != http.StatusUnauthorized {
				t.Errorf("%s without a key: %d %s", path, status, body)
			}
		}
	}
}

// Without keys whoever reaches the port operates the host.
func TestKnowledge_WithoutKeys(t *testing.T) {
	k := theHandbook()
	k.pieces = 2
	h := build(t, knowing(t, k))
	checked := openDocument(t, knowing(t, k))
	for _, tt := range []struct {
		path, answer string
		status       int
		want         string
	}{
		{"/v1/knowledge", "/v1/knowledge", 200, `"why":"a scan: it has no text"`},
		{"/v1/knowledge/handbook/document?file=rules/leave.md", "/v1/knowledge/{name}/document", 200, `"next":2}`},
		{"/v1/knowledge/handbook/document?file=rules%2Fleave.md&from=2", "/v1/knowledge/{name}/document", 200, `"anchor":"sick-leave"`},
		{"/v1/knowledge/handbook/document?file=rules/leave.md&from=-1", "/v1/knowledge/{name}/document", 400, `"param":"from"`},
		{"/v1/knowledge/handbook/document?file=rules/leave.md&from=x", "/v1/knowledge/{name}/document", 400, `"param":"from"`},
		{"/v1/knowledge/handbook/document", "/v1/knowledge/{name}/document", 404, "document_not_found"},
		{"/v1/knowledge/none/document?file=rules/leave.md", "/v1/knowledge/{name}/document", 404, "document_not_found"},
	} {
		w := serve(h, request(http.MethodGet, tt.path, ""))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.path, w.Code, w.Body, tt.status, tt.want)
		}
		checked.check(t, http.MethodGet, tt.answer, strconv.Itoa(tt.status), "application/json", w.Body.Bytes())
	}
	for path, want := range map[string]int{"/knowledge/handbook/rules/leave.md": 200, "/knowledge/handbook/": 404, "/knowledge/handbook": 404, "/knowledge/": 404, "/knowledge": 404} {
		r := request(http.MethodGet, path, "")
		r.Header.Set("Accept", "text/html")
		if w := serve(h, r); w.Code != want || !strings.Contains(w.Header().Get("Content-Security-Policy"), "script-src 'self'") || strings.Contains(w.Body.String(), "<script>") {
			t.Errorf("%s: %d, policy %s", path, w.Code, w.Header().Get("Content-Security-Policy"))
		}
	}
	k.err = errors.New("tool server: secret path")
	for _, path := range []string{"/v1/knowledge", "/v1/knowledge/handbook/document?file=rules/leave.md"} {
		w := serve(h, request(http.MethodGet, path, ""))
		if code, _, message := errorOf(t, w.Body.Bytes()); w.Code != 500 || strings.Contains(message, "secret") {
			t.Errorf("%s: %d %s %s", path, w.Code, code, message)
		}
	}
}

// A host without folders has no such routes.
func TestKnowledge_None(t *testing.T) {
	cfg := operated(t, play(nil))
	cfg.Knowledge = nil
	h := build(t, cfg)
	for _, path := range []string{"/v1/knowledge", "/v1/knowledge/handbook/document?file=a.md", "/knowledge/handbook/a.md"} {
		if w := serve(h, request(http.MethodGet, path, "")); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
