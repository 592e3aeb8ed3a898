package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval"
)

const suites = "../../eval/suites"

// TestEval_suites replays the suites that ship with Molar twice: every case passes
// with no service to be had, and both runs print the same. Where prompts or tools were
// changed on purpose, [TestEval_suitesRecord] makes the tapes again.
func TestEval_suites(t *testing.T) {
	long(t, ".ci/run runs the same suites")
	t.Parallel()
	code, rep, first := reportOf(t, suites)
	for _, c := range rep.Cases {
		if c.Status != eval.StatusPass {
			t.Errorf("%s: %s: %s", c.ID, c.Status, c.Why)
		}
	}
	if code != 0 || rep.Summary.Cases < 40 {
		t.Fatalf("exit code %d, %d cases", code, rep.Summary.Cases)
	}
	_, _, second := reportOf(t, suites)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
}

// TestEval_suitesCover: the suites cover three assistants, the wires of all providers, and each
// kind of case.
func TestEval_suitesCover(t *testing.T) {
	t.Parallel()
	cases, err := eval.Load(suites)
	if err != nil {
		t.Fatal(err)
	}
	tags, wires := make(map[string]int), make(map[string]int)
	for _, c := range cases {
		for _, tag := range c.Tags {
			tags[tag]++
		}
		line, _, _ := strings.Cut(readText(t, c.TapeFile()), "\n")
		var first struct {
			Header struct {
				Provider string `json:"provider"`
			} `json:"header"`
		}
		if err := json.Unmarshal([]byte(line), &first); err != nil {
			t.Fatal(err)
		}
		wires[first.Header.Provider]++
	}
	for _, tag := range []string{"family", "dental", "sdi", "choice", "parallel", "errors", "refusals", "follow-ups", "memory", "injections"} {
		if tags[tag] == 0 {
			t.Errorf("no case has the tag %s", tag)
		}
	}
	for _, wire := range []string{"gemini", "ollama", "openai"} {
		if wires[wire] < 10 {
			t.Errorf("%d cases over the wire of %s", wires[wire], wire)
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// BenchmarkEval replays a case with one tool call; one iteration includes the start of a host with
// its own store.
func BenchmarkEval(b *testing.B) {
	var out, errs bytes.Buffer
	env := func(name string) (string, bool) { return b.TempDir(), name == "HOME" }
	args := []string{"eval", "run", "--quiet", "--id", "family-details", "--trials", strconv.Itoa(max(b.N, 1)), suites}
	b.ResetTimer()
	for done := 0; done < b.N; {
		n := min(b.N-done, 1000)
		args[6] = strconv.Itoa(n)
		if code := execute(b.Context(), args, env, strings.NewReader(""), &out, &errs); code != 0 {
			b.Fatalf("exit code %d: %s", code, errs.String())
		}
		done += n
	}
}
