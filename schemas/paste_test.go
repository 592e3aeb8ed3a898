package schemas_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

func TestPastedParts(t *testing.T) {
	t.Parallel()
	long, other := strings.Repeat("a letter. ", 50), strings.Repeat("another. ", 60)
	long, other = strings.TrimSpace(long), strings.TrimSpace(other)
	typed := func(text string) schemas.Part { return schemas.Part{Kind: schemas.PartText, Text: text} }
	pasted := func(text string) schemas.Part {
		return schemas.Part{Kind: schemas.PartText, Text: text, Origin: schemas.FromPaste}
	}
	tests := map[string]struct {
		text   string
		pastes []string
		want   []schemas.Part
	}{
		"typed":                 {"Hello", nil, []schemas.Part{typed("Hello")}},
		"a short paste":         {"Hello there", []string{"there"}, []schemas.Part{typed("Hello there")}},
		"a long paste":          {"Sum up: " + long + "\nin a line", []string{long + "\n"}, []schemas.Part{typed("Sum up: "), pasted(long), typed("\nin a line")}},
		"only a paste":          {long, []string{" " + long}, []schemas.Part{pasted(long)}},
		"two pastes":            {long + " and " + other, []string{other, long}, []schemas.Part{pasted(long), typed(" and "), pasted(other)}},
		"the same twice":        {long + long, []string{long, long}, []schemas.Part{pasted(long + long)}},
		"a paste that changed":  {"Sum up: " + long[1:], []string{long}, []schemas.Part{pasted("Sum up: " + long[1:])}},
		"one of two is gone":    {"Sum up: " + long, []string{long, other}, []schemas.Part{pasted("Sum up: " + long)}},
		"once more than it was": {"x" + long, []string{long, long}, []schemas.Part{pasted("x" + long)}},
	}
	for name, tt := range tests {
		got := schemas.PastedParts(tt.text, tt.pastes)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if said := (schemas.Message{Role: schemas.RoleUser, Parts: got}).Said(); said != tt.text {
			t.Errorf("%s: the parts say %q", name, said)
		}
	}
}

func TestMessage_OneText(t *testing.T) {
	t.Parallel()
	m := schemas.Message{Role: schemas.RoleUser, Parts: []schemas.Part{
		{Kind: schemas.PartText, Text: "Read "},
		{Kind: schemas.PartImage, Text: "data:image/png;base64,AA=="},
		{Kind: schemas.PartText, Text: "this", Origin: schemas.FromWeb},
		{Kind: schemas.PartText, Text: " now"},
		{Kind: schemas.PartText, Text: "please"},
	}}
	want := []schemas.Part{{Kind: schemas.PartText, Text: "Read this now\nplease"}, m.Parts[1]}
	if diff := cmp.Diff(want, m.OneText().Parts); diff != "" {
		t.Error(diff)
	}
	plain := schemas.Message{Role: schemas.RoleUser, Parts: []schemas.Part{m.Parts[0], m.Parts[4]}}
	if diff := cmp.Diff(plain, plain.OneText()); diff != "" {
		t.Error(diff)
	}
}
