package config_test

import (
	"strings"
	"testing"
	"time"
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
	}
}
