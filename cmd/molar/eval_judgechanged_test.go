package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molar/eval"
	"molar/internal/testkit/models"
)

// TestEval_judgeChanged: a verdict on another answer, or on other results, does not count, and the report
// says which of them changed. Asked again, the judge's change of mind is put down to it.
func TestEval_judgeChanged(t *testing.T) {
	long(t, "two conversations are recorded")
	t.Parallel()
	for name, test := range map[string]struct {
		model models.Config
		want  string
	}{
		"the answer":  {models.Config{Tokens: 3, Script: looksUp("Nguyen", false).Script}, "the conversation before and the answer changed"},
		"the results": {looksUp("Phuc", false), "the answer and the results changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, tapeFile := judgedCase(t, "{grounded: true}")
			accept(t, judgedBy(t, says("", "And once more")), file, "--judge", "live")
			verdict := regexp.MustCompile(`(?m)^.*"type":"judge".*\n`).FindString(readText(t, tapeFile))
			text := readText(t, file)
			for _, old := range []string{file, tapeFile} {
				if err := os.Remove(old); err != nil {
					t.Fatal(err)
				}
			}
			other := models.New(test.model)
			url, err := other.Start(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Close() }()
			if code, _, stderr := evalRun(t, url, "eval", "record", "--config", filepath.Join(filepath.Dir(file), "molar.yaml"), "--provider", "ollama",
				"--out", file, "Find the family Nguyen", "And once more, please"); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			put(t, file, []byte(regexp.MustCompile(`query: \w+`).ReplaceAllString(text, "query: {ignore: true}")))
			put(t, tapeFile, []byte(readText(t, tapeFile)+verdict))
			code, rep, _ := reportOf(t, file)
			if code != eval.ExitDrift || rep.Cases[0].Status != eval.StatusNotAsked || !strings.Contains(rep.Cases[0].Why, "no verdict: "+test.want+" since the verdict") {
				t.Errorf("exit code %d: %s", code, rep.Cases[0].Why)
			}
			code, stdout, stderr := evalRun(t, judgedBy(t, says("", "nowhere at all")), "eval", "run", file, "--judge", "live")
			if code != eval.ExitFailed || !strings.Contains(stdout, "pass → fail: "+test.want+"\n") {
				t.Errorf("exit code %d: %s%s", code, stdout, stderr)
			}
		})
	}
}
