package transport

import (
	"slices"
	"testing"
)

// The password of an address is a secret wherever the address stands, as it is written and as it is meant.
func TestSecrets_PasswordsOfAddresses(t *testing.T) {
	for _, arg := range []string{
		"postgres://me:p%40ssword@db.test/x", "--url=postgres://me:p%40ssword@db.test/x", "DB=postgres://me:p%40ssword@db.test/x?a=b",
	} {
		found := secrets(&ServerConfig{Args: []string{"-v", arg}})
		for _, want := range []string{"p%40ssword", "p@ssword"} {
			if !slices.Contains(found, want) {
				t.Errorf("%s: %q, without %q", arg, found, want)
			}
		}
	}
}
