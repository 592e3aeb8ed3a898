package _test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/testkit/models"
	"molar/internal/testkit/npm"
	"molar/schemas"
)

// setup selects the servers of an office, and what its operator says about them.
type setup struct {
	// marks are those that attaching the servers proposes and an operator confirms: the servers that
	// reach nobody outside, and the tools that only add there.
	marks bool
	// npm uses the third-party server for files, which annotates tools that write as destructive;
	// mild overrides that in the configuration.
	npm, mild bool
	// more is the rest of the configuration, key the API key to use.
	more, key string
}

func (s setup) String() string {
	return fmt.Sprintf("marks-%v npm-%v mild-%v", s.marks, s.npm, s.mild)
}

// marksOf returns what the operator says about a server of the office, as YAML.
func (s setup) marksOf(server string) string {
	if !s.marks {
		return ""
	}
	return map[string]string{
		"booking": "    closed: true\n    tools: {book_visit: {adds: true}}\n", "files": "    closed: true\n    tools: {append_file: {adds: true}}\n", "folders": "    closed: true\n",
		"mail": "    tools: {add_contact: {adds: true}}\n", "web": "    public: true\n", "db": "    closed: true\n    readonly: true\n",
	}[server]
}

// office is molar as a program, with the servers of an ordinary working day.
type office struct {
	setup
	url, files string
	mu         sync.Mutex
	task       task
	next       int // the next call of the task
}

// output collects the output of a program.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.String()
}

// wordAfter waits until the program has written the text, and returns the word after it.
func (o *output) wordAfter(t *testing.T, text string) string {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, rest, found := strings.Cut(o.String(), text); found && strings.ContainsAny(rest, " \n") {
			return strings.Fields(rest + " .")[0]
		}
		if time.Now().After(late) {
			t.Fatalf("%q did not come:\n%s", text, o)
		}
	}
}

// start runs a program until the test ends.
func start(t *testing.T, dir, program string, args ...string) *output {
	t.Helper()
	out := &output{}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // the exit status does not matter
	})
	return out
}

// built builds a command into a folder.
func built(t *testing.T, dir, name, pkg string) string {
	t.Helper()
	program := filepath.Join(dir, name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// officePrograms builds the programs of an office into a folder.
func officePrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	built(t, dir, "molar", "molar/cmd/molar")
	built(t, dir, "family", "molar/examples/family/server")
	built(t, dir, "sdi", "molar/examples/sdi/server")
	return dir
}

const officeConfig = `
default: general
llm: {provider: ollama, ollama: {base_url: %q}}
assistants:
  general: {tools: ["*"]}
  dental: {topic: dental, tools: ["booking__*"]}
memory: {store: %q}
%s
mcpServers:
  family: {command: %q}
  sdi: {type: message, url: %q}
`

// open starts an office.
func open(t *testing.T, s setup, programs string) *office {
	t.Helper()
	dir := t.TempDir()
	o := &office{setup: s, files: filepath.Join(dir, "home")}
	fill(t, o.files)
	model := httptest.NewServer(models.New(models.Config{Script: o.answers}))
	t.Cleanup(model.Close)
	catalogue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"hits":{"total":{"value":0},"hits":[]}}`)
	}))
	t.Cleanup(catalogue.Close)
	sdi := strings.TrimSuffix(start(t, dir, filepath.Join(programs, "sdi"), "--listen", "127.0.0.1:0", "--catalogue", catalogue.URL).wordAfter(t, "sdi server: "), "/mcp")
	config := fmt.Sprintf(officeConfig, model.URL, filepath.Join(dir, "molar.db"), s.more, filepath.Join(programs, "family"), sdi)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	attach := func(name, marks, command string, args ...string) {
		raw, _ := json.Marshal(args) // strings always marshal
		config += fmt.Sprintf("  %s:\n    command: %q\n    args: %s\n%s", name, command, raw, marks)
	}
	servers := []string{"mail", "booking", "web", "github", "db"}
	if s.npm {
		marks := "    closed: true\n"
		if s.mild {
			marks += "    tools: {\"*\": {destructive: false}}\n"
		}
		attach("files", marks, "node", filepath.Join(npm.Installed(t, "npm", "node_modules"), "@modelcontextprotocol", "server-filesystem", "dist", "index.js"), o.files)
		servers = append(servers, "folders")
	} else {
		servers = append(servers, "files")
	}
	for _, server := range servers {
		attach(server, s.marksOf(server), self, deskArg, server)
	}
	path := filepath.Join(dir, "molar.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	log := start(t, dir, filepath.Join(programs, "molar"), "serve", "--config", path, "--listen", "127.0.0.1:0")
	o.url = log.wordAfter(t, "listens on ")
	for _, server := range append(servers, "family", "sdi", "files") {
		log.wordAfter(t, `msg="MCP server is ready" server=`+server)
	}
	if s.marks {
		o.confirm(t)
	}
	return o
}

// confirm confirms what is proposed about the servers that the configuration says nothing about.
func (o *office) confirm(t *testing.T) {
	t.Helper()
	var got struct {
		Data []struct {
			Name     string
			Proposal *schemas.Proposal
		}
	}
	body := o.send(t, http.MethodGet, "/v1/servers", nil)
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for _, server := range got.Data {
		if server.Proposal != nil {
			o.send(t, http.MethodPost, "/v1/servers/"+server.Name+"/approve", map[string]any{"marks": server.Proposal}).Close()
		}
	}
}

// fill replaces the files by those that the tasks use.
func fill(t *testing.T, home string) {
	t.Helper()
	before, _ := filepath.Glob(filepath.Join(home, "*"))
	for _, old := range before {
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"Maple lease.pdf": "x", "q3_expenses.csv": "A,D\n1,20\n2,30\n", "q4_expenses.csv": "A,D\n1,20\n", "blackboard.txt": "a picture", "standup_0613.m4a": "a recording", "sales_by_month.xlsx": "1,2", "chi_phi.csv": "1,2", "loi_nhuan_1.csv": "1", "loi_nhuan_2.csv": "2",
		"Du lich/IMG_2.txt": "núi", "whiteboard.txt": "a picture", "standup_0612.m4a": "a recording", "sales_by_region.xlsx": "north,120\nsouth,95\n",
		"reports/january.txt": "one", "reports/february.txt": "two", "desktop/keep": "", "hop dong thue nha.docx": "x", "chi_tieu.csv": "tháng,chi\n1,20\n", "Du lich/IMG_1.txt": "biển",
		"doanh_thu_1.csv": "một,120\n", "doanh_thu_2.csv": "hai,95\n", "README": "read me", "bien_ban.txt": "Đã họp.", "notes.txt": "",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// begin gives the model a new task.
func (o *office) begin(k task) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.task, o.next = k, 0
}

// call returns a call of the task with the names of the office's servers.
func (o *office) call(i int) models.Call {
	name := o.task.Calls[i]
	if o.npm {
		name = strings.NewReplacer("files__append_file", "files__write_file", "files__delete_folder", "folders__delete_folder").Replace(name)
	}
	name = strings.Replace(name, "sdi__search_records", "sdi__search_catalogue", 1)
	return models.Call{Name: name, Args: json.RawMessage(strings.ReplaceAll(string(o.task.Args[i]), `"~`, `"`+o.files))}
}

// answers is the model's script: it makes the calls of the task one by one, and reports a call
// that may not run.
func (o *office) answers(r models.Request) *models.Reply {
	var body struct {
		Messages []struct{ Role, Content string }
	}
	if len(r.Tools) == 0 || r.Decode(&body) != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	last := body.Messages[len(body.Messages)-1]
	switch {
	case strings.Contains(last.Content, "was not executed"):
		return models.Text("I may not do that yet.")
	case o.next > 0 && last.Role != "tool":
		return models.Text("I do not know what you mean.")
	case o.next == len(o.task.Calls):
		return models.Text("It is done.")
	}
	o.next++
	return &models.Reply{Calls: []models.Call{o.call(o.next - 1)}}
}
