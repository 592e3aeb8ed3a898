package pages_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/testkit"
	"molar/internal/testkit/npm"
)

// The library that draws formulas is the one that package.json of internal/testkit/npm pins, byte by
// byte, as a module with its licence. With -update this test writes it.
func TestVendored(t *testing.T) {
	dir := npm.Installed(t, "npm", "node_modules", "temml")
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var about struct{ Version string }
	if err := json.Unmarshal([]byte(read("package.json")), &about); err != nil {
		t.Fatal(err)
	}
	notice, _, _ := strings.Cut(strings.TrimPrefix(read("contrib/mhchem/mhchem.js"), "\ufeff"), "\n */\n")
	for file, want := range map[string]string{
		"temml.js":  "/*\nTemml " + about.Version + ", dist/temml.min.js of its npm package.\n\n" + read("LICENSE") + "*/\n" + read("dist/temml.min.js") + "\nexport default temml;\n",
		"mhchem.js": notice + "\n *\n *  contrib/mhchem/mhchem.min.js of the npm package temml " + about.Version + "\n */\nimport temml from \"/static/temml.js\";\n" + read("contrib/mhchem/mhchem.min.js") + "\n",
	} {
		testkit.Same(t, filepath.Join("static", file), want)
	}
}
