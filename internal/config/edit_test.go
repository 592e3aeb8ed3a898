package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
)

// newFiles converts a server of that name.
func newFiles(t testing.TB, name string) *config.HostFile {
	t.Helper()
	f, err := config.NewServer{Name: name, Command: "npx", Args: []string{"-y", "a: # b"}, Env: map[string]string{"LEVEL": "debug"}}.Convert(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// layouts returns how editors begin a file and end its lines.
func layouts() iter.Seq2[string, string] {
	return func(yield func(mark, end string) bool) {
		_ = yield("", "\n") && yield("", "\r\n") && yield("\ufeff", "\n") && yield("\ufeff", "\r\n")
	}
}

// A server is added as the last one, in the layout of the file.
func TestAddServers(t *testing.T) {
	const entry = "  new:\n    command: npx\n    args: [\"-y\", \"a: # b\"]\n    env:\n      LEVEL: debug\n"
	const flow = `"new": {"command": "npx", "args": ["-y", "a: # b"], "env": {"LEVEL": "debug"}}`
	deep := strings.ReplaceAll("\n"+strings.TrimSuffix(entry, "\n"), "\n", "\n  ")[1:] + "\n"
	tests := []struct{ name, file, want string }{
		{"an empty file", "", "mcpServers:\n" + entry},
		{"comments alone", "# mine\n", "# mine\n\nmcpServers:\n" + entry},
		{"another key", "listen: 127.0.0.1:1\n", "listen: 127.0.0.1:1\n\nmcpServers:\n" + entry},
		{"no line end at the end", "listen: 127.0.0.1:1 # mine", "listen: 127.0.0.1:1 # mine\n\nmcpServers:\n" + entry},
		{"a section", "mcpServers:\n  old: {command: a} # why\n\n# next\nlisten: 127.0.0.1:1\n", "mcpServers:\n  old: {command: a} # why\n" + entry + "\n# next\nlisten: 127.0.0.1:1\n"},
		{"a section at the end", "mcpServers:\n  old:\n    command: a", "mcpServers:\n  old:\n    command: a\n" + entry},
		{"a comment at the end", "mcpServers:\n  old: {command: a}\n  # b: {command: b}\n# end\n", "mcpServers:\n  old: {command: a}\n  # b: {command: b}\n\n" + entry + "# end\n"},
		{"an end marker", "---\nmcpServers:\n  old: {command: a}\n...\n", "---\nmcpServers:\n  old: {command: a}\n" + entry + "...\n"},
		{"a deep section", "mcpServers: # all\n    # first\n    old:\n        command: a\n", "mcpServers: # all\n    # first\n    old:\n        command: a\n" + deep},
		{"a key without a value", "mcpServers:\n  # old: {command: a}\ndefault: dental\n", "mcpServers:\n" + entry + "  # old: {command: a}\ndefault: dental\n"},
		{"a key without a value at the end", "mcpServers:", "mcpServers:\n" + entry},
		{"null", "mcpServers: null # none\nlisten: 127.0.0.1:1\n", "mcpServers: # none\n" + entry + "listen: 127.0.0.1:1\n"},
		{"a tilde", "mcpServers: ~\n", "mcpServers:\n" + entry},
		{"no servers", "mcpServers: {}\nlisten: 127.0.0.1:1\n", "mcpServers:\n" + entry + "listen: 127.0.0.1:1\n"},
		{"an anchor", "mcpServers: &all\n  old: &a {command: a}\n  too: *a\n", "mcpServers: &all\n  old: &a {command: a}\n  too: *a\n" + entry},
		{"a merge", "mcpServers:\n  old: &a {command: a}\n  too: {<<: *a, timeout: 5s}\n", "mcpServers:\n  old: &a {command: a}\n  too: {<<: *a, timeout: 5s}\n" + entry},
		{"braces", "mcpServers: {old: {command: a}} # x\n", "mcpServers: {" + flow + ", old: {command: a}} # x\n"},
		{"braces over lines", "mcpServers: {\n  old: {command: a},\n}\n", "mcpServers: {\n  " + flow + ",\n  old: {command: a},\n}\n"},
		{"empty braces over lines", "mcpServers: {\n}\n", "mcpServers: {" + flow + "\n}\n"},
		{"a JSON file", `{"listen": "127.0.0.1:1", "mcpServers": {"old": {"command": "ăâ"}}}`, `{"listen": "127.0.0.1:1", "mcpServers": {` + flow + `, "old": {"command": "ăâ"}}}`},
		{"a JSON file without servers", "{\n\t\"mcpServers\": {}\n}\n", "{\n\t\"mcpServers\": {" + flow + "}\n}\n"},
		{"a JSON file without the key", "{\n  \"listen\": \"127.0.0.1:1\"\n}\n", "{\n  \"mcpServers\": {" + flow + "},\n  \"listen\": \"127.0.0.1:1\"\n}\n"},
		{"a tab in a comment", "mcpServers:\n  old: {command: a} #\tx\n  #\ty\nlisten: 127.0.0.1:1\n", "mcpServers:\n  old: {command: a} #\tx\n  #\ty\n\n" + entry + "listen: 127.0.0.1:1\n"},
		{"a block text", "mcpServers:\n  old:\n    command: sh\n    args:\n      - |\n        # a\n\n        b\n\nlisten: 127.0.0.1:1\n", "mcpServers:\n  old:\n    command: sh\n    args:\n      - |\n        # a\n\n        b\n" + entry + "\nlisten: 127.0.0.1:1\n"},
	}
	for _, tt := range tests {
		for mark, end := range layouts() {
			t.Run(fmt.Sprintf("%s, lines end with %q", tt.name, mark+end), func(t *testing.T) {
				layout := func(text string) string { return mark + strings.ReplaceAll(text, "\n", end) }
				got, err := config.AddServers([]byte(layout(tt.file)), newFiles(t, "new"))
				if err != nil {
					t.Fatal(err)
				}
				want := layout(tt.want)
				if !strings.Contains(tt.file, "\n") {
					want = mark + tt.want // nothing tells that its lines end otherwise
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if tt.name == "a merge" || tt.name == "an anchor" { // only a parser reads them
					return
				}
				path := filepath.Join(t.TempDir(), "molar.yaml")
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
				cfg, err := config.Load(config.Options{Path: path, Explicit: true, Env: func(name string) (string, bool) {
					return map[string]string{"HOME": "/home/me", "USERPROFILE": "/home/me"}[name], true
				}})
				if err != nil {
					t.Fatalf("%v\n%s", err, got)
				}
				if s, _ := cfg.MCPServers.Get("new"); !slices.Equal(s.Args, []string{"-y", "a: # b"}) || s.Env["LEVEL"] != "debug" {
					t.Errorf("the server is %+v", s)
				}
			})
		}
	}
}

// A file to which nothing can be added without changing the rest of it stays as it is.
func TestAddServers_NotEditable(t *testing.T) {
	for _, file := range []string{
		"all: &all\n  old: {command: a}\nmcpServers: *all\n", "mcpServers: [\n", "- a\n", "mcpServers: none\n", "a: 1\n---\nb: 2\n",
		"{\"mcpServers\": null}\n", "a: 1\n...\n", "mcpServers:\n  a: \"\xf7\"\n", "mcpServers: # x\r  a: b\n", "mcpServers:\n  new: {command: a}\n",
	} {
		if got, err := config.AddServers([]byte(file), newFiles(t, "new")); err == nil {
			t.Errorf("%q became\n%s", file, got)
		}
	}
}

// A server goes with the comments that are its own, and nothing else.
func TestRemoveServer(t *testing.T) {
	tests := []struct {
		name, file, want string
		comments         int
	}{
		{"the last one", "mcpServers:\n  a: {command: a}\n  # the old\n  # one\n  old:\n    # inside\n    command: b\n\n# end\nlisten: 127.0.0.1:1\n", "mcpServers:\n  a: {command: a}\n\n# end\nlisten: 127.0.0.1:1\n", 2},
		{"one in the middle", "mcpServers:\n  a: {command: a}\n  old:\n    command: b\n    # inside\n  # of b\n  b: {command: b}\n", "mcpServers:\n  a: {command: a}\n  # of b\n  b: {command: b}\n", 0},
		{"the only one", "mcpServers:\n  # mine\n  old: {command: b}\n", "mcpServers:\n", 1},
		{"a heading", "mcpServers:\n  # all of them\n  old: {command: b}\n  b: {command: b}\n", "mcpServers:\n  # all of them\n  b: {command: b}\n", 0},
		{"the first one", "mcpServers:\n  # mine\n  old: {command: b}\n  # yours\n  b: {command: b}\n", "mcpServers:\n  # yours\n  b: {command: b}\n", 1},
		{"a comment further above", "mcpServers:\n  a: {command: a}\n  # local\n\n  old: {command: b}\n", "mcpServers:\n  a: {command: a}\n  # local\n\n", 0},
		{"braces", "mcpServers: {old: {command: a}, b: {command: b}} # x\n", "mcpServers: {b: {command: b}} # x\n", 0},
		{"the last one in braces", "mcpServers: {b: {command: b}, old: {command: a}}\n", "mcpServers: {b: {command: b}}\n", 0},
		{"a trailing comma", "mcpServers: {\n  b: {command: b},\n  old: {command: a},\n}\n", "mcpServers: {\n  b: {command: b},\n}\n", 0},
		{"the only one in braces", `{"mcpServers": { "old": {"command": "a"} }, "listen": "127.0.0.1:1"}`, `{"mcpServers": {}, "listen": "127.0.0.1:1"}`, 0},
		{"quotes", "mcpServers:\n  \"old\":\n    command: a\n  b: {command: b}\n", "mcpServers:\n  b: {command: b}\n", 0},
		{"no line end at the end", "mcpServers:\n  b: {command: b}\n  old:\n    command: a", "mcpServers:\n  b: {command: b}\n", 0},
	}
	for _, tt := range tests {
		for mark, end := range layouts() {
			t.Run(fmt.Sprintf("%s, lines end with %q", tt.name, mark+end), func(t *testing.T) {
				layout := func(text string) string { return mark + strings.ReplaceAll(text, "\n", end) }
				got, comments, err := config.RemoveServer([]byte(layout(tt.file)), "old")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(layout(tt.want), string(got)); diff != "" || comments != tt.comments {
					t.Errorf("%d comments (-want +got):\n%s", comments, diff)
				}
			})
		}
	}
	for _, file := range []string{"", "mcpServers: {}\n", "mcpServers:\n  old: &a {command: a}\n  b: *a\n", "all: &all\n  old: {command: a}\nmcpServers: *all\n", "mcpServers: {old: {command: a},\n  # of b\n  b: {command: b}}\n"} {
		if got, _, err := config.RemoveServer([]byte(file), "old"); !errors.Is(err, config.ErrNotEditable) {
			t.Errorf("%q: %v\n%s", file, err, got)
		}
	}
}

// A comment that stood in the file before a server was added does not go with it.
func TestRemoveServer_keepsOlderComments(t *testing.T) {
	const file = "mcpServers:\n  old: {command: a}\n  # off: {command: off}\n"
	text, err := config.AddServers([]byte(file), newFiles(t, "new"))
	if err != nil {
		t.Fatal(err)
	}
	text, comments, err := config.RemoveServer(text, "new")
	if err != nil || comments != 0 || !strings.HasPrefix(string(text), file) {
		t.Errorf("%d comments, %v:\n%s", comments, err, text)
	}
}

// Whatever the file holds, the text is only inserted into it, and removing the server restores it.
func FuzzAddServers(f *testing.F) {
	for _, seed := range []string{
		"", "# x", "listen: 127.0.0.1:1", "mcpServers:\r\n  # c\r\n  old: {command: \"ă\"}\r\n", "mcpServers: {\n \"a\": {}, # y\n}\nb: |+\n  # z\n\n\n", "mcpServers: &a\n  b: &c\n    - d\n  e: *c\n",
		"{\"mcpServers\": {\"a\": {}, }, \"b\": [1,\n2]}", "? mcpServers\n: a: 1\n", "mcpServers:\n  a: \"b\n\n  c\"\n  d: 'e'\t# f\n\n...\n", "mcpServers: !!map\n  a: b\n", "mcpServers: ~ # x\r", "\xef\xbb\xbfmcpServers:\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := config.AddServers(data, newFiles(t, "fuzz-new"))
		if err != nil {
			return
		}
		parts := [][]byte{data} // what stays of it: all, or all but one word for nothing
		for _, at := range regexp.MustCompile(` *(null|Null|NULL|~|\{ *\}) *`).FindAllIndex(data, -1) {
			for from := at[0]; ; from++ {
				parts = append(parts, slices.Concat(data[:from], data[at[1]:]))
				if data[from] != ' ' {
					break
				}
			}
		}
		if !slices.ContainsFunc(parts, func(part []byte) bool { return isInsertion(part, got) }) {
			t.Errorf("%q became\n%q", data, got)
		}
		back, _, err := config.RemoveServer(got, "fuzz-new")
		if err != nil {
			t.Errorf("%q became\n%q: %v", data, got, err)
		} else if !isInsertion(back, got) {
			t.Errorf("%q became\n%q, and then\n%q", data, got, back)
		}
	})
}

// isInsertion reports whether a text is another one with something inserted at one place.
func isInsertion(before, after []byte) bool {
	if len(after) < len(before) {
		return false
	}
	start := 0
	for start < len(before) && before[start] == after[start] {
		start++
	}
	return bytes.HasSuffix(after, before[start:])
}

// A comment that was there before a server was added stays when the server goes again.
func TestEdit_AddedAndRemoved(t *testing.T) {
	f, err := config.NewServer{Name: "new", Command: "npx"}.Convert(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		"mcpServers:\n  old: {command: a}\n  # b: {command: b}\n# end\n",
		"mcpServers:\n  old:\n    command: a\n    # inside\n  # later\nlisten: 127.0.0.1:1\n",
		"mcpServers:\n  # old: {command: a}\ndefault: dental\n",
	} {
		with, err := config.AddServers([]byte(file), f)
		if err != nil {
			t.Fatal(err)
		}
		without, comments, err := config.RemoveServer(with, "new")
		if err != nil || comments > 0 || strings.ReplaceAll(string(without), "\n\n", "\n") != file {
			t.Errorf("%d comments went, %v:\n%s\nthen\n%s", comments, err, with, without)
		}
	}
}
