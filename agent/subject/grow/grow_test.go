package grow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/subject"
	"molar/agent/subject/grow"
)

const plan = `Here is the plan:
{"aspects": ["cutting", "storing", "making", "tasting"], "neighbours": ["wine", "bread", "cows", "travel"],
 "names": {"en": ["gouda", "rennet", "wine", "rind"]}, "first_questions": {"en": ["How is gouda made?"]}}`

// begin writes a pack about cheese in English and returns its folder.
func begin(t *testing.T, kinds ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cheese")
	err := grow.New(dir, grow.Draft{Descriptions: []grow.Description{{Lang: "en", Text: "cheese: making and storing it."}}, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func topicOf(t *testing.T, dir string) subject.Topic {
	t.Helper()
	topic, err := subject.ReadPack(os.DirFS(dir), "cheese")
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

// A writer answers requests with numbered lines; some of each answer are no messages.
type writer struct {
	mu    sync.Mutex
	asked []string
	from  int  // its lines are numbered from here, so that they are no other writer's
	fail  int  // the number of the request that fails; zero for none
	gone  bool // the requests after that fail too
}

func (w *writer) ask(_ context.Context, ask grow.Ask) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, ask.User)
	n := w.from + len(w.asked)
	switch {
	case n == w.fail, w.gone && n > w.fail:
		return "", errors.New("the service is away")
	case n == 1 && strings.Contains(ask.User, "Divide the subject"):
		return plan, nil
	case strings.Contains(ask.User, "exchanges in this form"):
		return fmt.Sprintf("Q: How is cheese %[1]d made?\nA: With rennet.\n+ and how long does that take, %[1]d days?\n- and what does flight %[1]d cost?\n+ \n", n), nil
	}
	word := "gouda"
	if strings.Contains(ask.User, "do NOT belong") || strings.Contains(ask.User, "this other subject") {
		word = "wine"
	}
	if strings.Contains(ask.User, "Separate them by commas") {
		return fmt.Sprintf("%[1]s shop %[2]d, %[1]s knife %[2]d;\n%[1]s board %[2]d, %[1]s fair %[2]d, %[1]s cellar %[2]d, %[1]s smell %[2]d, %[1]s price %[2]d, %[1]s label %[2]d, %[1]s box %[2]d, %[1]s tax %[2]d.", word, n), nil
	}
	var b strings.Builder
	b.WriteString("Here are the messages:\n")
	for i := range 26 {
		fmt.Fprintf(&b, "%d. message %s %d %d is this\n", i+1, word, n, i)
	}
	b.WriteString("\n```\n# heading\ncheese\n")
	return b.String(), nil
}

func run(t *testing.T, dir string, w *writer) (grow.Growth, error) {
	t.Helper()
	return grow.Run(t.Context(), grow.Config{Dir: dir, Topic: topicOf(t, dir), Ask: w.ask, By: "writer 1", Parallel: 3})
}

func TestRun_WritesEveryKind(t *testing.T) {
	dir := begin(t, "poison")
	g, err := run(t, dir, &writer{})
	if err != nil {
		t.Fatal(err)
	}
	lines := read(t, dir, "lines/grown.jsonl")
	kinds := map[string]int{}
	for _, l := range lines {
		kinds[fmt.Sprint(l.Kind, *l.InDomain)]++
		if l.By != "writer 1" || l.Group == "" || l.Lang != "en" || strings.HasPrefix(l.Text, "1.") {
			t.Errorf("line %+v", l)
		}
	}
	for _, kind := range []string{"plaintrue", "near-missfalse", "two-sensetrue", "two-sensefalse", "adversarialtrue", "adversarialfalse", "chattrue", "chatfalse", "termtrue", "termfalse", "typicaltrue", "typicalfalse", "follow-uptrue", "follow-upfalse"} {
		if kinds[kind] == 0 {
			t.Errorf("no lines of kind %s: %v", kind, kinds)
		}
	}
	if g.Lines != len(lines) || g.Emergencies == 0 || len(g.Few) == 0 { // a follow-up request brings three lines
		t.Errorf("growth %+v of %d lines", g, len(lines))
	}
	if waiting := read(t, dir, "lines/emergencies.waiting"); len(waiting) != g.Emergencies {
		t.Errorf("%d lines of emergencies wait, want %d", len(waiting), g.Emergencies)
	}
	topic := topicOf(t, dir)
	if diff := cmp.Diff([]string{"gouda", "rennet", "rind"}, topic.Phrases.Names); diff != "" { // wine stands in lines of other subjects
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := topic.Voice("en").FirstQuestions; !slices.Equal(got, []string{"How is gouda made?"}) {
		t.Errorf("first questions %q", got)
	}
}

// The heading of a section that is filled may be written in each way that a pack is read in.
func TestRun_FillsTheSection(t *testing.T) {
	for name, written := range map[string]string{
		"as new writes it":   "# languages\nen\n\n# names\n",
		"no end":             "# languages\nen\n\n# names",
		"trailing spaces":    "# languages\nen\n\n# names \t\n\n# abroad\n",
		"spaces before it":   "# languages\nen\n\n#  names\n",
		"lines of Windows":   "# languages\r\nen\r\n\r\n# names\r\n\r\n# abroad\r\nx\r\n",
		"the first":          "# names\n\n# languages\nen\n",
		"none":               "# languages\nen",
		"none, with Windows": "# languages\r\nen\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := begin(t)
			path := filepath.Join(dir, subject.TopicFile)
			if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := run(t, dir, &writer{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"gouda", "rennet", "rind"}, topicOf(t, dir).Phrases.Names); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			data, err := os.ReadFile(path)
			if n := strings.Count(string(data), "\r\n"); err != nil || n > 0 && n != strings.Count(string(data), "\n") {
				t.Errorf("the lines end in two ways: %q, error %v", data, err)
			}
		})
	}
}

// A run that fails keeps what it has, and the next one asks only for the rest.
func TestRun_GoesOn(t *testing.T) {
	dir := begin(t)
	first := &writer{fail: 6, gone: true}
	if _, err := run(t, dir, first); err == nil || !strings.Contains(err.Error(), "the service is away") {
		t.Fatalf("got %v, want the model's error", err)
	}
	kept := len(read(t, dir, "lines/grown.jsonl"))
	if kept == 0 {
		t.Fatal("nothing is kept")
	}
	second := &writer{from: 1000}
	if _, err := run(t, dir, second); err != nil {
		t.Fatal(err)
	}
	for _, ask := range second.asked {
		if strings.Contains(ask, "Divide the subject") {
			t.Error("it asks for another plan")
		}
	}
	third := &writer{from: 2000}
	g, err := run(t, dir, third)
	if err != nil || len(third.asked) > 0 || g.Lines > 0 {
		t.Errorf("the third run asks %d times and adds %d lines, error %v; want nothing", len(third.asked), g.Lines, err)
	}
}

// A single request that fails, such as one that a model refuses, is left out and asked again later.
func TestRun_LeavesOutWhatFails(t *testing.T) {
	dir := begin(t)
	g, err := run(t, dir, &writer{fail: 6})
	if err != nil || len(g.Failed) != 1 || !strings.HasSuffix(g.Failed[0], " (the service is away)") {
		t.Fatalf("failed %q, error %v; want one left out, and why", g.Failed, err)
	}
	second := &writer{}
	if g, err := run(t, dir, second); err != nil || len(second.asked) != 1 || len(g.Failed) > 0 {
		t.Errorf("the second run asks %d times, error %v; want once", len(second.asked), err)
	}
}

// What a batch brought is kept when it is asked for again and that request fails.
func TestRun_KeepsAnEarlierTry(t *testing.T) {
	dir := begin(t)
	w := &writer{}
	var again string // of the first batch that brings too little
	ask := func(ctx context.Context, ask grow.Ask) (string, error) {
		if strings.Contains(ask.User, "exchanges in this form") {
			if again == ask.User {
				return "", errors.New("the service is away")
			}
			if again == "" {
				again = ask.User
			}
		}
		return w.ask(ctx, ask)
	}
	g, err := grow.Run(t.Context(), grow.Config{Dir: dir, Topic: topicOf(t, dir), Ask: ask})
	if err != nil || len(g.Failed) > 0 {
		t.Fatalf("failed %q, error %v; want none", g.Failed, err)
	}
	if lines := read(t, dir, "lines/grown.jsonl"); len(lines) != g.Lines {
		t.Errorf("%d lines, counted %d", len(lines), g.Lines)
	}
	if !slices.Contains(g.Few, "en out follow-up 1") {
		t.Errorf("few %q", g.Few)
	}
	second := &writer{}
	if g, err := grow.Run(t.Context(), grow.Config{Dir: dir, Topic: topicOf(t, dir), Ask: second.ask}); err != nil || len(second.asked) > 0 {
		t.Errorf("the second run asks %d times and adds %d lines, error %v; want nothing", len(second.asked), g.Lines, err)
	}
}

// Lines that cannot be written end the run at once: each further request would be paid for in vain.
func TestRun_EndsWhenNothingCanBeWritten(t *testing.T) {
	dir := begin(t)
	w := &writer{}
	ask := func(ctx context.Context, ask grow.Ask) (string, error) {
		if !strings.Contains(ask.User, "Divide the subject") {
			if err := os.MkdirAll(filepath.Join(dir, "lines", "grown.jsonl"), 0o700); err != nil {
				t.Error(err)
			}
		}
		return w.ask(ctx, ask)
	}
	g, err := grow.Run(t.Context(), grow.Config{Dir: dir, Topic: topicOf(t, dir), Ask: ask})
	if err == nil || !strings.Contains(err.Error(), "grown.jsonl") || len(w.asked) != 2 || len(g.Failed) > 0 || g.Lines > 0 {
		t.Errorf("asked %d times, growth %+v, error %v; want the error after one batch", len(w.asked), g, err)
	}
}

func TestRun_RefusesABrokenPlan(t *testing.T) {
	dir := begin(t)
	ask := func(context.Context, grow.Ask) (string, error) { return `{"aspects": ["one"], "neighbours": []}`, nil }
	_, err := grow.Run(t.Context(), grow.Config{Dir: dir, Topic: topicOf(t, dir), Ask: ask})
	if err == nil || !strings.Contains(err.Error(), "1 aspects and 0 neighbours") || !strings.Contains(err.Error(), "plan.json") {
		t.Errorf("got %v", err)
	}
}

// Lines of emergencies are learned only after a person has seen them, as corrected.
func TestAccept(t *testing.T) {
	dir := begin(t, "poison")
	if _, err := run(t, dir, &writer{}); err != nil {
		t.Fatal(err)
	}
	waiting, err := grow.Waiting(dir)
	if err != nil || len(waiting) < 10 {
		t.Fatalf("%d wait, error %v", len(waiting), err)
	}
	harmless := slices.IndexFunc(waiting, func(l subject.Line) bool { return *l.Emergency == "" })
	shown := []subject.Line{waiting[0], waiting[1], waiting[2], waiting[harmless]}
	err = grow.Accept(dir, shown, []grow.Correction{{Line: shown[0], Turn: true}, {Line: shown[1], Drop: true}, {Line: shown[3], Kind: "poison"}})
	if err != nil {
		t.Fatal(err)
	}
	learned := map[string]string{}
	for _, l := range read(t, dir, "lines/emergencies.jsonl") {
		learned[l.Text] = *l.Emergency
	}
	want := map[string]string{shown[0].Text: "", shown[2].Text: *shown[2].Emergency, shown[3].Text: "poison"}
	if diff := cmp.Diff(want, learned); diff != "" {
		t.Errorf("learned (-want +got):\n%s", diff)
	}
	left, err := grow.Waiting(dir)
	if err != nil || len(left) != len(waiting)-len(shown) {
		t.Errorf("%d wait still, error %v, want %d", len(left), err, len(waiting)-len(shown))
	}
}

func TestSample_AndCorrect(t *testing.T) {
	dir := begin(t)
	if _, err := run(t, dir, &writer{}); err != nil {
		t.Fatal(err)
	}
	sample, err := grow.Sample(dir, 30)
	if err != nil || len(sample) != 30 {
		t.Fatalf("%d lines, error %v", len(sample), err)
	}
	kinds := map[string]bool{}
	for _, l := range sample {
		kinds[fmt.Sprint(l.Kind, *l.InDomain)] = true
	}
	if len(kinds) < 10 {
		t.Errorf("the sample holds only %v", kinds)
	}
	before := len(read(t, dir, "lines/grown.jsonl"))
	err = grow.Correct(dir, []grow.Correction{{Line: sample[0], Turn: true}, {Line: sample[1], Drop: true}, {Line: sample[2], Text: "other words here"}})
	if err != nil {
		t.Fatal(err)
	}
	after := read(t, dir, "lines/grown.jsonl")
	if len(after) != before-1 {
		t.Errorf("%d lines, want %d", len(after), before-1)
	}
	for _, l := range after {
		switch l.Text {
		case sample[0].Text:
			if *l.InDomain == *sample[0].InDomain || l.By != "person" || l.Weight != 3 {
				t.Errorf("the turned line is %+v", l)
			}
		case sample[1].Text, sample[2].Text:
			t.Errorf("%q is still there", l.Text)
		}
	}
}

// Each correction of a line counts, in their order, and no other line of the same words.
func TestCorrect_EachCorrection(t *testing.T) {
	dir := begin(t)
	after := func(question, text string, in bool) subject.Line {
		return subject.Line{Text: text, Lang: "en", InDomain: &in, Kind: grow.FollowUps, Group: "g", History: []subject.Exchange{{Question: question, Answer: "So."}}}
	}
	in := true
	lines := []subject.Line{
		{Text: "gouda is fine", Lang: "en", InDomain: &in, Group: "g"},
		after("How is gouda made?", "how long is that", true), after("How is brie kept?", "how long is that", true), after("Who buys it?", "how long is that", true),
		{Text: "brie is fine", Lang: "en", InDomain: &in, Group: "g"},
	}
	save(t, dir, "lines/grown.jsonl", lines)
	err := grow.Correct(dir, []grow.Correction{
		{Line: lines[0], Text: "wine is fine"},
		{Line: lines[1], Turn: true},
		{Line: lines[0], Turn: true},
		{Line: lines[3], Drop: true},
		{Line: lines[4], Text: "brie is good"},
		{Line: lines[4], Drop: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := false
	turned := lines[1]
	turned.InDomain, turned.By, turned.Weight = &out, "person", 3
	want := []subject.Line{{Text: "wine is fine", Lang: "en", InDomain: &out, Group: "g", By: "person", Weight: 3}, turned, lines[2]}
	if diff := cmp.Diff(want, read(t, dir, "lines/grown.jsonl")); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestNew_KeepsWhatIsThere(t *testing.T) {
	dir := begin(t)
	err := grow.New(dir, grow.Draft{Descriptions: []grow.Description{{Lang: "en", Text: "x"}}})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("got %v", err)
	}
	if err := grow.New(filepath.Join(t.TempDir(), "x"), grow.Draft{}); err == nil {
		t.Error("a topic without a description is written")
	}
}

// What no other command could read is refused before anything is written.
func TestNew_RefusesABrokenDraft(t *testing.T) {
	in := func(langs ...string) (all []grow.Description) {
		for _, lang := range langs {
			all = append(all, grow.Description{Lang: lang, Text: "cheese."})
		}
		return all
	}
	for name, tt := range map[string]struct {
		draft grow.Draft
		want  string
	}{
		"a word":               {grow.Draft{Descriptions: in("en", "english")}, `"english" is no language: write a code such as en or pt-br`},
		"capitals":             {grow.Draft{Descriptions: in("EN")}, `"EN" is no language`},
		"a path":               {grow.Draft{Descriptions: in("../en")}, `"../en" is no language`},
		"a language twice":     {grow.Draft{Descriptions: in("en", "vi", "en")}, "the language en is given twice: take one out"},
		"an empty text":        {grow.Draft{Descriptions: []grow.Description{{Lang: "en", Text: " "}}}, "the description in the language en is empty"},
		"a heading":            {grow.Draft{Descriptions: []grow.Description{{Lang: "en", Text: "cheese\n# typo"}}}, "a line that begins with"},
		"a kind twice":         {grow.Draft{Descriptions: in("en"), Kinds: []string{"burn", "burn"}}, `the kind of emergency "burn" is given twice: take one out`},
		"a kind without words": {grow.Draft{Descriptions: in("en"), Kinds: []string{" "}}, `" " is no kind of emergency: use letters`},
		"a kind of two lines":  {grow.Draft{Descriptions: in("en"), Kinds: []string{"burn\n# x"}}, "is no kind of emergency"},
		"a kind of two signs":  {grow.Draft{Descriptions: in("en"), Kinds: []string{"burn+fall"}}, "is no kind of emergency"},
		"a kind with a mark":   {grow.Draft{Descriptions: in("en"), Kinds: []string{"burn, alone"}}, "is no kind of emergency"},
		"a kind that is none":  {grow.Draft{Descriptions: in("en"), Kinds: []string{grow.Harmless}}, "choose another name for the kind"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cheese")
			if err := grow.New(dir, tt.draft); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something is written: %v", err)
			}
		})
	}
	dir := filepath.Join(t.TempDir(), "cheese")
	if err := grow.New(dir, grow.Draft{Descriptions: in("pt-br", "fil"), Kinds: []string{"short of breath", "ngộ độc"}}); err != nil {
		t.Fatal(err)
	}
	if topic := topicOf(t, dir); len(topic.Emergencies.Kinds) != 2 || !slices.Equal(topic.Languages, []string{"pt-br", "fil"}) {
		t.Errorf("kinds %+v, languages %q", topic.Emergencies.Kinds, topic.Languages)
	}
}

func read(t *testing.T, dir, name string) []subject.Line {
	t.Helper()
	lines, err := grow.ReadLines(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func save(t *testing.T, dir, name string, lines []subject.Line) {
	t.Helper()
	var b strings.Builder
	for _, l := range lines {
		if err := json.NewEncoder(&b).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
