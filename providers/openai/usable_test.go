package openai_test

import (
	"net/http"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/openai"
)

// An operator's own server has its own models: a missing default is replaced, a missing
// configured model is not.
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

// A gateway without a list is accepted if the configuration names the model; without a name its
// answer counts as a sign of a wrong address.
func TestUsable_NoList(t *testing.T) {
	t.Parallel()
	for _, step := range []http.HandlerFunc{status(404, "404 page not found"), status(404, `{"error":{"message":"Unknown endpoint"}}`), status(405, ""), status(501, "")} {
		p := at(t, newFake(t, step))
		if model, small, why, err := p.Usable(t.Context(), "mine", ""); model != "mine" || small != "mine" || !strings.Contains(why, "no list") || err != nil {
			t.Errorf("got %q, %q, %q, %v", model, small, why, err)
		}
		if _, _, _, err := p.Usable(t.Context(), "", ""); providers.KindOf(err) != providers.KindUnavailable || !strings.Contains(err.Error(), "name one in llm.openai.model") {
			t.Errorf("without a name: %v", err)
		}
	}
	page := raw("text/html", "\n<!doctype html><html></html>")
	if _, _, _, err := at(t, newFake(t, page)).Usable(t.Context(), "mine", ""); providers.KindOf(err) != providers.KindProtocol || !strings.Contains(err.Error(), "web page: check ") {
		t.Errorf("a page: %v", err)
	}
	for _, code := range []int{401, 403, 500, 503} {
		if _, _, _, err := at(t, newFake(t, status(code, ""))).Usable(t.Context(), "mine", ""); err == nil {
			t.Errorf("status %d: no error", code)
		}
	}
}

// A refusal because of a missing key names the setting of the key.
func TestRefusal_NamesTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, setting, want string }{
		{"", "llm.openai.key", "such as key: ${OPENAI_API_KEY}, which unnamed goes to OpenAI alone"},
		{"mk", "llm.openai.key", "check llm.openai.key"},
		{"mk", "", "check OPENAI_API_KEY"},
	} {
		p := newProvider(t, openai.Config{BaseURL: newFake(t, status(401, `{"error":{"message":"no"}}`)).url, APIKey: c.key, KeySetting: c.setting})
		if _, err := p.Models(t.Context()); providers.KindOf(err) != providers.KindAuth || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
