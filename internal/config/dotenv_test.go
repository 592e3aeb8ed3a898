package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
)

// ParseEnvFile reads the lines that EnvLine writes.
func TestEnvLine(t *testing.T) {
	for _, value := range []string{
		"", "plain-1_2./:@%+=,", "two words", "#", "a #b", "it's", `"`, `'"$X\`, "line\nand\ttab", `\n`, "$$", "  ends  ", "é’", `C:\x`, "a\rb'\n",
	} {
		read, err := config.ParseEnvFile("x.env", []byte("A=1\n"+config.EnvLine("NAME", value)+"\nB=2\n"))
		if diff := cmp.Diff(map[string]string{"A": "1", "NAME": value, "B": "2"}, read); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", value, err, diff)
		}
	}
}
