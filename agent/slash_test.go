package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/schemas"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][2]string{
		"/record":         {"record", ""},
		" /record 42  x ": {"record", "42  x"},
		"/sdi:record\n42": {"sdi:record", "42"},
		"/":               {},
		"/ 42":            {},
		"/etc/passwd":     {},
		"24/12":           {},
		"see /record":     {},
	} {
		name, rest, ok := agent.Split(text)
		if ok != (want[0] != "") || ok && (name != want[0] || rest != want[1]) {
			t.Errorf("%q: %q, %q, %v", text, name, rest, ok)
		}
	}
}

func TestNamed(t *testing.T) {
	all := []schemas.Prompt{{Server: "a", Name: "x"}, {Server: "b", Name: "x"}, {Server: "b", Name: "y"}}
	for name, want := range map[string][]schemas.Prompt{"x": all[:2], "b:x": all[1:2], "y": all[2:], "z": nil} {
		if diff := cmp.Diff(want, agent.Named(all, name)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestArguments(t *testing.T) {
	plain := schemas.Prompt{Name: "hello"}
	record := schemas.Prompt{Name: "record", Arguments: []schemas.PromptArgument{{Name: "id", Required: true}, {Name: "note"}}}
	for _, tt := range []struct {
		prompt  schemas.Prompt
		rest    string
		args    map[string]string
		extra   string
		missing []string
	}{
		{plain, "and more", map[string]string{}, "and more", nil},
		{record, "", map[string]string{}, "", []string{"id"}},
		{record, "42", map[string]string{"id": "42"}, "", nil},
		{record, `42 "two words"`, map[string]string{"id": "42", "note": "two words"}, "", nil},
		{record, "42 two words", map[string]string{"id": "42", "note": "two words"}, "", nil},
		{record, "note='a b' id=42", map[string]string{"id": "42", "note": "a b"}, "", nil},
		{record, "note=what id means", map[string]string{"note": "what id means"}, "", []string{"id"}},
	} {
		args, extra := agent.Arguments(tt.prompt, tt.rest)
		if diff := cmp.Diff(tt.args, args); diff != "" || extra != tt.extra {
			t.Errorf("%q: extra %q (-want +got)\n%s", tt.rest, extra, diff)
		}
		if diff := cmp.Diff(tt.missing, agent.Missing(tt.prompt, args)); diff != "" {
			t.Errorf("%q: missing (-want +got)\n%s", tt.rest, diff)
		}
	}
}
