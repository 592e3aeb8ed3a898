package responses_test

import (
	"bytes"
	"errors"
	"testing"

	"molar/web/responses"
)

func sealer(t *testing.T, key byte) *responses.Sealer {
	t.Helper()
	s, err := responses.NewSealer(bytes.Repeat([]byte{key}, responses.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealer(t *testing.T) {
	s := sealer(t, 1)
	text, err := s.Seal("owner", "secret words")
	if err != nil || bytes.Contains([]byte(text), []byte("secret")) {
		t.Fatalf("%q, %v", text, err)
	}
	var got string
	if err := s.Open("owner", text, &got); err != nil || got != "secret words" {
		t.Errorf("%q, %v", got, err)
	}
	if again, _ := s.Seal("owner", "secret words"); again == text {
		t.Error("two seals of one text are equal")
	}
	changed := []byte(text)
	changed[10] ^= 1
	for name, open := range map[string]func() error{
		"another owner": func() error { return s.Open("other", text, &got) },
		"another key":   func() error { return sealer(t, 2).Open("owner", text, &got) },
		"changed":       func() error { return s.Open("owner", string(changed), &got) },
		"cut":           func() error { return s.Open("owner", text[:20], &got) },
		"no base64":     func() error { return s.Open("owner", "{}", &got) },
		"empty":         func() error { return s.Open("owner", "", &got) },
	} {
		if err := open(); !errors.Is(err, responses.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := responses.NewSealer([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
}
