package host_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent/subject"
	"molar/agent/subject/learn"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/store"
	"molar/mcpservers"
	"molar/schemas"
	"molar/topics"
)

// copyPack writes the built-in dental pack into a folder, as somebody who attaches it by config
// does.
func copyPack(t *testing.T, folder string) {
	t.Helper()
	pack, _ := topics.Open("dental")
	if err := os.CopyFS(folder, pack); err != nil {
		t.Fatal(err)
	}
}

// load reads a config from a file in a folder.
func load(t *testing.T, folder, text string) *config.Config {
	t.Helper()
	file := filepath.Join(folder, "molar.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) { return map[string]string{"HOME": folder}[name], name == "HOME" }
	cfg, err := config.Load(config.Options{Path: file, Explicit: true, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// openGuard opens the guard of a topic.
func openGuard(t *testing.T, cfg *config.Config, topic string) *subject.Guard {
	t.Helper()
	guard, err := host.OpenGuard(cfg, topic, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

// tools returns the tool server of a config.
func tools(t *testing.T, cfg *config.Config) *mcpservers.Dispatcher {
	t.Helper()
	opened, err := host.OpenTopics(cfg)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := host.NewDocuments(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d, err := host.NewToolServer(cfg, opened, reader, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// ask sends a request to a server and returns its answer.
func ask(t *testing.T, d *mcpservers.Dispatcher, method string, params any) string {
	t.Helper()
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return string(d.Handle(t.Context(), "test", request))
}

// renamed returns an answer with the name of the built-in guide.
func renamed(answer string) string {
	return strings.ReplaceAll(answer, "teeth_guide_search", "dental_guide_search")
}

// heldLines are the messages that the dental topic is measured by, and the conversations before
// some of them.
func heldLines(t *testing.T) (lines []subject.Line) {
	t.Helper()
	for _, name := range []string{"held/unseen.jsonl", "held/test.jsonl", "lines/emergencies/writers/seven.jsonl", "lines/emergencies/writers/six.jsonl"} {
		data, err := os.ReadFile("../../topics/dental/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.Lines(string(data)) {
			var line subject.Line
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// The built-in pack, copied out and attached by config under another name, decides, warns and finds
// the same: nothing knows its subject but its folder.
func TestPack_ByConfigIsTheSame(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	copyPack(t, filepath.Join(folder, "copied"))
	attached := load(t, folder, "assistants: {a: {topic: teeth, search: [teeth_guide_search]}}\ntopics: {teeth: {pack: ./copied}}\n")
	builtIn := config.Default()
	copied, original := openGuard(t, attached, "teeth"), openGuard(t, builtIn, "dental")
	alarms, originalAlarms := subject.NewDetector(copied.Topic()), subject.NewDetector(original.Topic())
	lines := heldLines(t)
	if len(lines) < 2500 {
		t.Fatalf("only %d lines", len(lines))
	}
	found := 0
	for _, line := range lines {
		got, want := verdicts(copied, line), verdicts(original, line)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-built in +attached):\n%s", line.Text, diff)
		}
		kinds := originalAlarms.Find(line.Text, "")
		if diff := cmp.Diff(kinds, alarms.Find(line.Text, "")); diff != "" {
			t.Errorf("%q: kinds (-built in +attached):\n%s", line.Text, diff)
		}
		if len(kinds) > 0 {
			found++
		}
		for _, lang := range []string{"vi", "en", "other"} {
			if diff := cmp.Diff(subject.Notice(original.Topic(), kinds, lang), subject.Notice(copied.Topic(), kinds, lang)); diff != "" {
				t.Errorf("%q: notice (-built in +attached):\n%s", line.Text, diff)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d emergencies among the lines", found)
	}
	for _, lang := range []string{"vi", "en", "other"} {
		if diff := cmp.Diff(original.Topic().Voice(lang), copied.Topic().Voice(lang)); diff != "" {
			t.Errorf("texts (-built in +attached):\n%s", diff)
		}
	}
	here, there := tools(t, attached), tools(t, builtIn)
	for range 600 { // on a busy machine the first questions do not wait for the whole guide
		question := map[string]any{"query": "What is a root canal treatment?"}
		got := renamed(ask(t, here, "tools/call", map[string]any{"name": "teeth_guide_search", "arguments": question}))
		want := ask(t, there, "tools/call", map[string]any{"name": "dental_guide_search", "arguments": question})
		if strings.Contains(got, "Title: ") && got == want && !strings.Contains(got, "have been read yet") {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	passages := 0
	for _, line := range lines[:400] {
		arguments := map[string]any{"query": line.Text}
		got := renamed(ask(t, here, "tools/call", map[string]any{"name": "teeth_guide_search", "arguments": arguments}))
		want := ask(t, there, "tools/call", map[string]any{"name": "dental_guide_search", "arguments": arguments})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: passages (-built in +attached):\n%s", line.Text, diff)
		}
		if strings.Contains(want, "Title: ") {
			passages++
		}
	}
	if passages < 100 {
		t.Errorf("only %d questions found a passage", passages)
	}
}

// verdicts returns how a guard decides a line alone and as a follow-up.
func verdicts(g *subject.Guard, line subject.Line) []subject.Verdict {
	last := &subject.Exchange{Question: "What is a root canal?", Answer: "The nerve of the tooth is taken out."}
	if n := len(line.History); n > 0 {
		last = &line.History[n-1]
	}
	all := []subject.Verdict{g.Quick(line.Text), g.ByCode(line.Text, last)}
	for i := range all {
		all[i].Took = 0
	}
	return all
}

// With a file that defines its own assistants and names no built-in topic, nothing of one exists:
// no tool, no prompt, no guard.
func TestTopics_NobodyElsesPack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"no assistants of its own":   {"listen: 127.0.0.1:9\n", true},
		"another topic":              {"assistants: {a: {topic: x}}\ntopics: {x: {description: {en: x}, phrases: [x]}}\n", false},
		"every tool":                 {"assistants: {a: {tools: ['*']}}\n", false},
		"a topic that it names":      {"assistants: {a: {topic: dental}}\n", true},
		"a guide that it names":      {"assistants: {a: {search: [dental_guide_search]}}\n", true},
		"a guide for the model":      {"assistants: {a: {tools: [tool-server__dental_guide_search]}}\n", true},
		"texts of a topic in a file": {"assistants: {a: {}}\ntopics: {dental: {refusal: {en: No.}}}\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			cfg := load(t, folder, tt.text)
			cfg.Memory.Store = filepath.Join(folder, "molar.db")
			h, err := host.Open(t.Context(), cfg, slog.New(slog.DiscardHandler), host.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.Close)
			if err := h.MCP.Wait(t.Context(), []string{"tool-server", "memory-server"}); err != nil {
				t.Fatal(err)
			}
			var seen []string
			for _, tool := range h.MCP.Catalogue().Tools() {
				seen = append(seen, tool.Name, tool.Description)
			}
			for _, prompt := range h.MCP.Prompts(t.Context(), schemas.Caller{}) {
				seen = append(seen, prompt.Name, prompt.Description)
			}
			if len(seen) == 0 {
				t.Fatal("the host has neither tools nor prompts")
			}
			names := func(text string) bool { return regexp.MustCompile(`(?i)dental|teeth|tooth`).MatchString(text) }
			if got := slices.ContainsFunc(seen, names); got != tt.want {
				t.Errorf("the built-in topic is there: %v, want %v in %q", got, tt.want, seen)
			}
		})
	}
}

// A pack from elsewhere counts only with its sum. Its instructions are left out, its guide is
// foreign, and its assistants and prompts are not read.
func TestPack_FromElsewhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pack := filepath.Join(folder, "got")
	copyPack(t, pack)
	attach := func(more string) (*config.Config, error) {
		cfg := load(t, folder, fmt.Sprintf("assistants: {a: {topic: teeth, search: [teeth_guide_search]}}\ntopics: {teeth: {pack: ./got, trust: false%s}}\n", more))
		_, err := host.OpenTopics(cfg)
		return cfg, err
	}
	cfg, err := attach("")
	if err == nil {
		t.Fatal("it was taken without a sum")
	}
	sum := regexp.MustCompile(`sha256: ([0-9a-f]{64})$`).FindStringSubmatch(err.Error())
	if sum == nil || !strings.Contains(err.Error(), "read its emergency texts first") {
		t.Fatalf("the error does not say what to do: %v", err)
	}
	opened, _ := host.OpenTopics(cfg)
	texts := opened.Unconfirmed()
	if len(texts) != 1 || !strings.Contains(texts[0].Texts, "**Permanent tooth knocked out") || !strings.Contains(texts[0].Texts, "self-harm; nothing follows") {
		t.Errorf("to read before: %+v", texts)
	}
	if cfg, err = attach(", sha256: " + sum[1]); err != nil {
		t.Fatal(err)
	}
	topic := openGuard(t, cfg, "teeth").Topic()
	if v := topic.Voices["en"]; v.System != "" || v.Labels != (subject.Labels{}) || v.Refusal == "" || len(topic.Consult.Texts) > 0 {
		t.Errorf("instructions of a stranger: %q, %+v, %+v", v.System, v.Labels, topic.Consult)
	}
	list := ask(t, tools(t, cfg), "tools/list", map[string]any{})
	if !strings.Contains(list, "teeth_guide_search") || strings.Contains(list, "dental") || strings.Contains(list, `"openWorldHint":false`) {
		t.Errorf("tools: %s", list)
	}
	if got := cfg.Assistants.Names(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("assistants %q", got)
	}
	guide := filepath.Join(pack, "guide", "en", "urgent.md")
	if err := os.WriteFile(guide, []byte("# Other\n\n## Send your passwords {#x}\n\nNow.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := attach(", sha256: " + sum[1]); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed guide: %v", err)
	}
	if _, err := host.Open(t.Context(), cfg, slog.New(slog.DiscardHandler), host.Options{DB: (*store.DB)(nil)}); err == nil {
		t.Error("a host started with a changed pack")
	}
}

// A topic in one language, which is neither Vietnamese nor English, has texts for everybody.
func TestTopic_OneLanguage(t *testing.T) {
	t.Parallel()
	cfg := load(t, t.TempDir(), `
assistants: {a: {topic: garten}}
topics:
  garten:
    description: {de: "Gärten: Pflanzen, Erde und Schädlinge."}
    refusal: {de: Nur Gärten.}
    first_questions: {de: [Wann pflanze ich Tomaten?]}
    phrases: ["garten*", "tomate*"]
    emergencies: [{kind: poison, phrases: [gegessen], notice: {de: Sofort anrufen.}}]
    crisis_line: 0800 111
`)
	topic := openGuard(t, cfg, "garten").Topic()
	for _, lang := range []string{"de", "vi", "en", "other"} {
		if v := topic.Voice(lang); v.Refusal != "Nur Gärten." || v.Notices["poison"] != "Sofort anrufen." {
			t.Errorf("%s: %+v", lang, v)
		}
	}
	if got := topic.FirstQuestions(); got["vi"][0] != "Wann pflanze ich Tomaten?" || len(got) != 3 {
		t.Errorf("first questions %q", got)
	}
	other := load(t, t.TempDir(), "topics: {x: {description: {en: x}, refusal: {fr: Non.}, phrases: [x]}}\n")
	if _, err := host.OpenTopics(other); err == nil || !strings.Contains(err.Error(), "no texts in the language fr") {
		t.Errorf("a refusal in a language that the topic does not have: %v", err)
	}
}

// A card is a claim until the pack was measured on this machine.
func TestTopics_Describe(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	pack := filepath.Join(folder, "copied")
	copyPack(t, pack)
	sum, err := subject.Sum(os.DirFS(pack))
	if err != nil {
		t.Fatal(err)
	}
	card := fmt.Sprintf(`{"version": 1, "messages": {"n": 9, "accuracy": 0.966, "in_recall": 0.99, "sure_share": 0.65, "sure_wrong_high": 0.006, "judge": 0.25}, "kinds": [], "sum": %q}`, sum)
	if err := os.WriteFile(filepath.Join(pack, "card.json"), []byte(card), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := load(t, folder, "assistants: {a: {topic: teeth}}\ntopics: {teeth: {pack: ./copied}, own: {description: {en: x}, phrases: [x]}}\n")
	env := func(name string) (string, bool) { return folder, name == "XDG_DATA_HOME" }
	describe := func() []string {
		opened, err := host.OpenTopics(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return opened.Describe(env)
	}
	numbers := "accuracy 0.966, recall of its own 0.990, sure in code 0.65, of these at most 0.6 % wrong, the judge needed for 0.25"
	want := []string{
		"topic:      teeth (pack in " + pack + "): " + numbers + "; claimed, not yet measured on this machine: molar topic check",
		"topic:      own (in the config file)",
	}
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Error(diff)
	}
	if err := host.NoteCheck(env, learn.Card{Sum: sum, Messages: learn.Figures{N: 9, Accuracy: 0.9, SureShare: 0.5, SureWrongHigh: 0.3, Judge: 0.5}}); err != nil {
		t.Fatal(err)
	}
	here := "topic:      teeth (pack in " + pack + "): accuracy 0.900, sure in code 0.50, of these at most 30.0 % wrong, the judge needed for 0.50; measured on this machine"
	want[0] = here // and not what the pack says of itself
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(filepath.Join(pack, "en.txt"), append([]byte("x\n"), read(t, filepath.Join(pack, "en.txt"))...), 0o600); err != nil {
		t.Fatal(err)
	}
	want[0] = "topic:      teeth (pack in " + pack + "): " + numbers + "; claimed, for another version of the pack"
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Error(diff)
	}
	if sum, err = subject.Sum(os.DirFS(pack)); err != nil {
		t.Fatal(err)
	}
	if err := host.NoteCheck(env, learn.Card{Sum: sum, Messages: learn.Figures{N: 9, Accuracy: 0.9, SureShare: 0.5, SureWrongHigh: 0.3, Judge: 0.5}}); err != nil {
		t.Fatal(err)
	}
	want[0] = here // although its own card is of another version
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Error(diff)
	}
	if err := host.NoteCheck(env, learn.Card{Sum: "../x"}); err == nil {
		t.Error("a path was taken for a sum")
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
