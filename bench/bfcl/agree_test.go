package bfcl_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/bench/bfcl"
)

// TestOfficialVerdicts compares with verdicts of the official checker, if MOLAR_BFCL names a
// folder of them.
func TestOfficialVerdicts(t *testing.T) {
	dir := os.Getenv("MOLAR_BFCL")
	if dir == "" {
		t.Skip("MOLAR_BFCL is not set: no folder with the benchmark's files and checker_verdicts.jsonl to read")
	}
	files, err := filepath.Glob(filepath.Join(dir, "BFCL*.json"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]bfcl.Case{}
	for _, file := range files {
		for _, c := range readCases(t, file, filepath.Join(dir, "possible_answer", filepath.Base(file))) {
			cases[c.ID] = c
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "checker_verdicts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	agreed, total := 0, 0
	for line := range strings.Lines(string(data)) {
		var row struct {
			Valid *bool  `json:"official_valid"`
			Type  string `json:"official_error_type"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		err := bfcl.ReadCalls("verdicts", strings.NewReader(line), func(l bfcl.Line) error {
			c := cases[l.ID]
			v := c.Judge(l)
			total++
			if v.Valid == *row.Valid && v.Type == row.Type {
				agreed++
				return nil
			}
			t.Errorf("%s: valid %v (%s: %s), the official checker says %v (%s)", l.ID, v.Valid, v.Type, v.Reason, *row.Valid, row.Type)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d verdicts agree", agreed, total)
}

func readCases(t *testing.T, file, answers string) []bfcl.Case {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases, err := bfcl.ReadCases(file, f)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := os.Open(answers); err == nil {
		defer a.Close()
		if err := bfcl.ReadAnswers(answers, a, cases); err != nil {
			t.Fatal(err)
		}
	}
	return cases
}
