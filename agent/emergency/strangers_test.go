package emergency_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Messages of people who had seen neither the signs nor the lines that are learned. At first
// sight the signs alone found 59 of 120 emergencies, and 6 of 120 harmless messages.
func TestDetector_Find_strangers(t *testing.T) {
	d := dental()
	share := func(file string) float64 {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found, all := 0, 0
		for line := range strings.Lines(string(data)) {
			var l struct{ Text string }
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%s: %q: %v", file, line, err)
			}
			if all++; d.Find(l.Text, "") != nil {
				found++
			}
		}
		t.Logf("%s: %d of %d found", file, found, all)
		return float64(found) / float64(all)
	}
	if got := share("emergencies.jsonl"); got < 0.88 {
		t.Errorf("%.3f of the emergencies are found", got)
	}
	if got := share("harmless.jsonl"); got > 0.02 {
		t.Errorf("%.3f of the harmless messages raise an alarm", got)
	}
}
