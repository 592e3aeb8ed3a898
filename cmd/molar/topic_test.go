package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"molar/agent/subject"
	"molar/agent/subject/learn"
	"molar/internal/cli"
)

// A writer is a model that writes lines about cheese, and about trains where they should not belong.
type cheeseWriter struct {
	*httptest.Server
	asked atomic.Int64
}

func newCheeseWriter(t *testing.T) *cheeseWriter {
	t.Helper()
	w := &cheeseWriter{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(rw, `{"data":[{"id":"writer"}]}`)
			return
		}
		var q struct {
			Messages []struct{ Content string }
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		quoted, _ := json.Marshal(w.answer(q.Messages[len(q.Messages)-1].Content, int(w.asked.Add(1))))
		rw.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(rw, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", quoted)
	}))
	t.Cleanup(w.Close)
	return w
}

var wanted = regexp.MustCompile(`(?:Write|list) (\d+)`)

func (w *cheeseWriter) answer(ask string, nth int) string {
	if strings.Contains(ask, "Divide the subject") {
		return `{"aspects":["making","storing","tasting","cutting"],"neighbours":["railways","tickets","stations","delays"],"names":{"en":["cheese","gouda","rennet"]},"first_questions":{"en":["How is gouda made?"]}}`
	}
	things := []string{"gouda cheese", "brie rind", "rennet", "cheddar curd", "blue cheese mould", "goat cheese"}
	if strings.Contains(ask, "do NOT belong") || strings.Contains(ask, "this other subject") {
		things = []string{"the night train", "a railway ticket", "the platform", "a delayed locomotive", "the station clock", "the conductor"}
	}
	verbs := []string{"How long does %s keep, number %d?", "Where do I find %s for %d people?", "Tell me about %s of type %d please", "Is %s worth %d euros?", "My uncle spoke of %s %d times, why?", "What is wrong with %s after %d days?"}
	n, _ := strconv.Atoi(wanted.FindStringSubmatch(ask)[1])
	if n = n/3 + 1; strings.Contains(ask, "exchanges in this form") { // as few as growing takes for enough, so that training is quick
		n *= 2
	}
	var b strings.Builder
	for i := range n {
		k := nth*31 + i
		if strings.Contains(ask, "exchanges in this form") {
			fmt.Fprintf(&b, "Q: How is gouda number %d made?\nA: From milk with rennet, in %d days.\n+ and how long does that take, all %[2]d?\n+ can I do it %[2]d times\n- and how long does the train to town %[2]d take?\n- what does platform %[2]d look like\n", i, k)
			continue
		}
		if strings.Contains(ask, "Separate them by commas") {
			fmt.Fprintf(&b, "%s %d, ", things[k%len(things)], k)
			continue
		}
		fmt.Fprintf(&b, verbs[k%len(verbs)]+"\n", things[(k/len(verbs))%len(things)], k)
	}
	return b.String()
}

// A team goes from a sentence to a guardrail: new, grow, train, check, and attaching it by config.
func TestTopic_FromASentence(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is slow: it trains a topic twice")
	}
	home, model := t.TempDir(), newCheeseWriter(t)
	file := filepath.Join(home, "molar.yaml")
	text := fmt.Sprintf("default: adviser\nassistants: {adviser: {topic: cheese}}\ntopics: {cheese: {pack: ./cheese}}\nllm:\n  provider: writer\n  providers:\n    writer: {api: openai, base_url: %q, key: \"${WRITER_KEY}\", model: writer}\n", model.URL+"/v1")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		switch name {
		case "HOME", "USERPROFILE":
			return home, true
		case "WRITER_KEY":
			return "k", true
		}
		return "", false
	}
	dir := filepath.Join(home, "cheese")
	run := func(input string, want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := execute(t.Context(), append(args, "--config", file), env, strings.NewReader(input), &out, &errs); code != want {
			t.Fatalf("%q: exit code %d, want %d\n%s\n%s", args, code, want, &out, &errs)
		}
		return out.String(), errs.String()
	}
	has := func(what, text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in:\n%s", what, want, text)
			}
		}
	}

	out, _ := run("cheese: making, storing and tasting it\n\n", cli.OK, "topic", "new", dir, "--emergency", "poisoning")
	has("new", out, "molar topic grow", "topics: {cheese: {pack:")
	_, errs := run("", cli.Misuse, "topic", "train", filepath.Join(home, "nowhere"))
	has("no pack", errs, "there is no pack", "molar topic new nowhere")

	// Without anybody at the terminal the lines are kept, and those of emergencies wait.
	_, errs = run("", cli.OK, "topic", "grow", "cheese", "--parallel", "1")
	has("grow", errs, "new lines", "lines of emergencies wait for somebody", "en in plain: making")
	asked := model.asked.Load()
	if _, errs = run("", cli.OK, "topic", "grow", "cheese"); model.asked.Load() != asked {
		t.Errorf("growing again asks the model %d times more: %s", model.asked.Load()-asked, errs)
	}

	// The pack holds nothing back: the check learns without a part of the lines each time.
	out, errs = run("", cli.OK, "topic", "check", "cheese", "--no-model")
	has("check", out, "accuracy", "code alone", "lines left out by group")
	has("check", errs, "no lines in the folder held")
	if strings.Contains(out, "emergencies found") {
		t.Errorf("lines that nobody has seen are learned:\n%s", out)
	}

	// A person turns one line, says that the rest is right, and looks at one page of the emergencies.
	out, errs = run("1\n\n\n", cli.OK, "topic", "grow", "cheese", "--review")
	has("review", out, "Are these right?", "Emergencies, 1 to 30", "poisoning", "harmless")
	has("review", errs, "lines of emergencies wait for somebody")
	out, errs = run("", cli.OK, "topic", "train", "cheese")
	has("train", out, "all", "plain", "follow-up", "emergencies found", "for a judge", "lines left out by group")
	has("train", errs, "nobody has looked at them")
	card := readCard(t, dir)
	if e := card.Emergencies; card.Messages.Accuracy < 0.9 || card.Sum == "" || e == nil || e.Emergencies+e.Harmless > 30 {
		t.Errorf("card %+v, emergencies %+v: want those of the page that was seen", card, e)
	}
	_, errs = run(strings.Repeat("\n", 40), cli.OK, "topic", "grow", "cheese", "--review")
	has("review", errs, "next: molar topic train cheese")
	out, _ = run("", cli.OK, "config", "check", file)
	has("config check", out, "cheese", "measured on this machine")

	out, _ = run("", cli.OK, "topic", "check", "cheese", "How long does gouda cheese keep?", "--no-model")
	has("check of a text", out, "verdict      pass")
	out, _ = run("", cli.OK, "topic", "check", "cheese", "Where do I buy a railway ticket?", "--no-model")
	has("check of a text", out, "verdict      refuse")

	// Lines that are held back measure it from then on.
	if err := os.MkdirAll(filepath.Join(dir, "held"), 0o700); err != nil {
		t.Fatal(err)
	}
	held := `{"text":"How long does brie rind keep?","lang":"en","in_domain":true,"kind":"plain"}` + "\n" + `{"text":"Is the platform far?","lang":"en","in_domain":false,"kind":"near-miss"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "held", "a.jsonl"), []byte(held), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ = run("", cli.OK, "topic", "check", "cheese", "--no-model")
	has("check", out, "given lines", "all        2", "near-miss  1")
}

func readCard(t *testing.T, dir string) learn.Card {
	t.Helper()
	var card learn.Card
	data, err := os.ReadFile(filepath.Join(dir, subject.CardFile))
	if err != nil || json.Unmarshal(data, &card) != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return card
}
