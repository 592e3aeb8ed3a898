package guardrail_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"molar/agent/guardrail"
)

func TestZZ(t *testing.T) {
	for f := range strings.FieldsSeq(os.Getenv("ZZ")) {
		data, _ := os.ReadFile(f)
		var ex []guardrail.Example
		for l := range strings.Lines(string(data)) {
			var e guardrail.Example
			if err := json.Unmarshal([]byte(l), &e); err != nil {
				t.Fatal(err)
			}
			ex = append(ex, e)
		}
		r, _ := dental(t).Evaluate(t.Context(), ex, nil)
		adm, inj := 0, 0
		for _, w := range r.Wrong {
			if w.Kind == "adversarial" && w.Pass {
				adm++
			}
		}
		for _, e := range ex {
			if e.Kind == "adversarial" && !e.InDomain {
				inj++
			}
		}
		t.Logf("%s n %d acc %.3f in %.3f off %.3f vi %.3f en %.3f lang %.3f sure %.3f wrong %d adv %d/%d near %.3f", f[strings.LastIndex(f, "/")+1:], r.N, r.Accuracy, r.InDomainRecall, r.OffDomainRecall, r.Slices["vi"].Accuracy, r.Slices["en"].Accuracy, r.LanguageAccuracy, r.Sure.Share, r.Sure.Wrong, adm, inj, r.Slices["near-miss"].Accuracy)
		if os.Getenv("ZW") != "" {
			for _, w := range r.Wrong {
				t.Logf("   want %v sure %v %.2f [%s/%s] %s", w.InDomain, w.Sure, w.Score, w.Lang, w.Kind, w.Text)
			}
		}
	}
}
