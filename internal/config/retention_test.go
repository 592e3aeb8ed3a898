package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLoad_Retention(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                            0,
		"memory: {retention: 90d}":    90 * 24 * time.Hour,
		"memory: {retention: '1d'}":   24 * time.Hour,
		"memory: {retention: 36h30m}": 36*time.Hour + 30*time.Minute,
		"memory: {retention: 0}":      0,
		"memory: {retention: 0d}":     0,
		"memory: {retention: 0s}":     0,
	} {
		if got := mustLoad(t, text+"\n").Memory.Retention; got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := mustLoad(t, "", "MOLAR_MEMORY_RETENTION", "7d").Memory.Retention; got != 7*24*time.Hour {
		t.Errorf("from the environment: %s", got)
	}
	for text, want := range map[string]time.Duration{"": 365 * 24 * time.Hour, "audit: {retention: 730d}": 730 * 24 * time.Hour, "audit: {retention: 0s}": 0} {
		if got := mustLoad(t, text+"\n").Audit.Retention; got != want {
			t.Errorf("%q: the audit is kept for %s, want %s", text, got, want)
		}
	}
	for _, bad := range []string{"1m", "-1h", "-3d", "1.5d", "d", "99999999d", "forever", "3"} {
		if _, err := load(t, "audit: {retention: "+bad+"}\n"); err == nil || !strings.Contains(err.Error(), ":1: audit.retention: want ") {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := load(t, "memory: {retention: "+bad+"}\n"); err == nil || !strings.Contains(err.Error(), ":1: memory.retention: want ") {
			t.Errorf("%q: %v", bad, err)
		}
		text := "assistants:\n  a: {retention: " + bad + "}\n"
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), ":2: assistants.a.retention: want ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// An assistant's own retention may be longer or shorter than that of the memory, or for ever; without one
// it has that of the memory.
func TestLoad_RetentionOfAnAssistant(t *testing.T) {
	cfg := mustLoad(t, "memory: {retention: 30d}\nassistants: {a: {retention: 365d}, b: {retention: 1h}, c: {retention: 0s}, d: {}}\n")
	day := 24 * time.Hour
	want := map[string]*time.Duration{"a": new(365 * day), "b": new(time.Hour), "c": new(time.Duration(0)), "d": nil}
	for name, age := range want {
		if a, _ := cfg.Assistants.Get(name); !cmp.Equal(a.Retention, age) {
			t.Errorf("%s: %v, want %v", name, a.Retention, age)
		}
	}
}
