package openai_test

import (
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/openai"
)

// A server of one's own has models of its own: a default that it lacks is replaced, a
// model that is named is not.
func TestUsable(t *testing.T) {
	t.Parallel()
	const big, small = openai.DefaultModel, openai.DefaultSmallModel
	for _, c := range []struct {
		ids, model, small   string
		want, wantSmall, in string
	}{
		{big + " " + small, "", "", big, small, "it answers"},
		{"other " + big, "", "", big, big, "it answers"},
		{"other " + small, "", "", "other", small, "has no " + big},
		{"other", "", "", "other", "other", "has no " + big},
		{"", "", "", big, small, "it answers"},
		{"", "mine", "", "mine", "mine", "it answers"},
		{"other mine", "mine", "", "mine", "mine", "it answers"},
		{"other mine", "mien", "", "", "", "did you mean mine? (it has: other, mine)"},
		{"other mine", "mine", "absent-model", "", "", "openai model absent-model: the server has no such model (it has"},
	} {
		var list []string
		for id := range strings.FieldsSeq(c.ids) {
			list = append(list, `{"id":"`+id+`"}`)
		}
		p := at(t, newFake(t, raw("application/json", `{"data":[`+strings.Join(list, ",")+`]}`)))
		model, small, why, err := p.Usable(t.Context(), c.model, c.small)
		if err != nil {
			why = err.Error()
		}
		if model != c.want || small != c.wantSmall || !strings.Contains(why, c.in) || (err != nil) != (c.want == "") ||
			err != nil && providers.KindOf(err) != providers.KindModelNotFound {
			t.Errorf("%+v: got %q, %q, %q", c, model, small, why)
		}
	}
}
