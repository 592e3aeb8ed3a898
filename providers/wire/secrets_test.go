package wire_test

import (
	"net/url"
	"testing"

	"molar/providers/wire"
)

// A key is hidden wherever it stands; a placeholder of a few letters is no key, and words keep theirs.
func TestFaults_HidesKeys(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"sk-12345678": "the key [key] is blocked",
		"k":           "the key sk-12345678 is blocked",
	} {
		faults := wire.NewFaults(wire.FaultConfig{Base: &url.URL{}, Secrets: []string{key}})
		if got := faults.Clean("the key sk-12345678 is blocked"); got != want {
			t.Errorf("with the key %q: %q", key, got)
		}
	}
}
