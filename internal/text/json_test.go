package text_test

import (
	"strings"
	"testing"

	"molar/internal/text"
)

func TestEditJSON(t *testing.T) {
	for raw, want := range map[string]string{
		`{"b":"x","a":["y<",{"x":"z"}],"n":12345678901234567890,"o":null}`: `{"a":["Y<",{"x":"Z"}],"b":"X","n":12345678901234567890,"o":null}`,
		`"x"`: `"X"`, `3`: `3`, `{"a":`: `{"a":`, ``: ``,
	} {
		if got := text.EditJSON(raw, strings.ToUpper); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	var order []string
	text.EditJSON(`{"b":["2","3"],"a":"1"}`, func(s string) string { order = append(order, s); return s })
	if got := strings.Join(order, ""); got != "123" {
		t.Errorf("in the order %s", got)
	}
}
