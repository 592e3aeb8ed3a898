package sealed_test

import (
	"strings"
	"testing"

	"molar/internal/sealed"
)

func TestBox(t *testing.T) {
	key := func(c string) string { return strings.Repeat(c, 64) } // hex
	box := func(keys ...string) *sealed.Box {
		t.Helper()
		b, err := sealed.New(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	text := box(key("a")).Seal([]byte("token"), "login", "anna", "desk")
	if strings.Contains(text, "token") {
		t.Fatal("the text is in clear")
	}
	for _, tt := range []struct {
		name  string
		box   *sealed.Box
		text  string
		place []string
		ok    bool
	}{
		{"same place", box(key("a")), text, []string{"login", "anna", "desk"}, true},
		{"rotated key", box(key("b"), key("a")), text, []string{"login", "anna", "desk"}, true},
		{"another key", box(key("b")), text, []string{"login", "anna", "desk"}, false},
		{"another person", box(key("a")), text, []string{"login", "binh", "desk"}, false},
		{"another server", box(key("a")), text, []string{"login", "anna", "shop"}, false},
		{"parts that move", box(key("a")), text, []string{"login", "annad", "esk"}, false},
		{"a changed text", box(key("a")), text[:len(text)-2] + "AA", []string{"login", "anna", "desk"}, false},
		{"no text", box(key("a")), "", []string{"login", "anna", "desk"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.box.Open(tt.text, tt.place...)
			if (err == nil) != tt.ok || tt.ok && string(got) != "token" {
				t.Errorf("opened %q, %v", got, err)
			}
		})
	}
	for _, bad := range []string{"", "short", strings.Repeat("a", 62)} {
		if _, err := sealed.New(bad); err == nil || !strings.Contains(err.Error(), "openssl rand -base64 32") {
			t.Errorf("the key %q got %v", bad, err)
		}
	}
}

// A box of one key, and what it sealed for a place of one part.
func TestOf(t *testing.T) {
	box, err := sealed.Of(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	text := box.Seal([]byte("state"), "anna")
	if got, err := box.Open(text, "anna"); err != nil || string(got) != "state" {
		t.Errorf("opened %q, %v", got, err)
	}
	for _, place := range [][]string{{"binh"}, {"anna", ""}} {
		if got, err := box.Open(text, place...); err == nil {
			t.Errorf("opened %q at %q", got, place)
		}
	}
	if _, err := sealed.Of([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
}
