package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
)

// Anybody can check an exported line with a SHA-256 alone, and a line that was changed in the
// database fails the check.
func TestAuditExport_CanBeChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := filepath.Join(dir, "molar.db")
	molar := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		env := map[string]string{"MOLAR_MEMORY_STORE": database, "HOME": dir, "XDG_CONFIG_HOME": dir}
		code = execute(context.Background(), args, func(name string) (string, bool) { value, ok := env[name]; return value, ok }, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	for _, name := range []string{"ann", "bob", "carl"} {
		if code, _, errs := molar("keys", "create", name); code != 0 {
			t.Fatal(errs)
		}
	}
	code, lines, errs := molar("audit", "export")
	if code != 0 || strings.Count(lines, "\n") != 3 {
		t.Fatal(code, lines, errs)
	}
	before := ""
	for line := range strings.Lines(lines) {
		body, hash, _ := strings.Cut(strings.TrimSuffix(line, "\"}\n"), `,"hash":"`)
		sum := sha256.Sum256([]byte(body + "}"))
		if hash != hex.EncodeToString(sum[:]) || !strings.HasSuffix(body, `,"before":"`+before+`"`) {
			t.Errorf("line %s after %q", line, before)
		}
		before = hash
	}
	raw, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`DROP TRIGGER audit_unchanged`, `UPDATE audit SET person = 'bob' WHERE id = 2`} {
		if _, err := raw.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := molar("audit", "export", "--check"); code != 1 || !strings.Contains(errs, "line 2 is not what was written") {
		t.Error(code, out, errs)
	}
}
