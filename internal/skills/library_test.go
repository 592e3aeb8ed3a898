package skills_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/skills"
	"molar/schemas"
)

// write writes files below a new folder, by their paths, and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, said := range files {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), said)
	}
	return dir
}

func put(t *testing.T, path, said string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, folders ...string) *skills.Library {
	t.Helper()
	l, err := skills.New(skills.Config{Folders: folders})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func md(name, description, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\n%s\n", name, description, body)
}

func TestLibrary_reads(t *testing.T) {
	for _, tt := range []struct {
		name, said string
		want       schemas.Skill
		body       string
	}{
		{"plain", md("refund", "Give money back.", "# Refund\n\nAsk first."), schemas.Skill{Name: "refund", Description: "Give money back."}, "# Refund\n\nAsk first."},
		{"windows", "\ufeff---\r\nname: refund\r\ndescription: Back.\r\n---\r\nOne\r\ntwo\r\n", schemas.Skill{Name: "refund", Description: "Back."}, "One\ntwo"},
		{
			"Vietnamese, over several lines", "---\nname: tra-hang\ndescription: >-\n  Trả hàng và\n  hoàn tiền.\n---\nHỏi mã đơn.",
			schemas.Skill{Name: "tra-hang", Description: "Trả hàng và hoàn tiền."},
			"Hỏi mã đơn.",
		},
		{
			"other keys", "---\nname: a\ndescription: B\nlicense: MIT\nallowed-tools: Bash(rm:*)\nmetadata:\n  version: 1\n  tags: [x, y]\n---\nC", schemas.Skill{Name: "a", Description: "B"}, "C",
		},
		{"a line in the text", "---\nname: a\ndescription: B\n---\nC\n---\nD", schemas.Skill{Name: "a", Description: "B"}, "C\n---\nD"},
		{"a long description is cut", md("a", strings.Repeat("ồ", 1025), "x"), schemas.Skill{Name: "a", Description: strings.Repeat("ồ", 1023) + "…"}, "x"},
		{"a description of the largest size", md("a", strings.Repeat("ồ", 1024), "x"), schemas.Skill{Name: "a", Description: strings.Repeat("ồ", 1024)}, "x"},
		{"what hides text", "---\nname: a\ndescription: \"Give\\e[31m \\u202Eback \\0money\\u200B.\"\n---", schemas.Skill{Name: "a", Description: "Give[31m back money."}, ""},
		{"digits alone", "---\nname: 365\ndescription: B\n---", schemas.Skill{Name: "365", Description: "B"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, write(t, map[string]string{"some/SKILL.md": tt.said}))
			if diff := cmp.Diff([]schemas.Skill{tt.want}, l.Skills()); diff != "" {
				t.Fatalf("%s%v", diff, l.LeftOut())
			}
			if body, err := l.Read(tt.want.Name, ""); err != nil || body != tt.body {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
}

func TestLibrary_leavesOut(t *testing.T) {
	for _, tt := range []struct{ name, said, want string }{
		{"no head", "# Refund", "does not begin with a head"},
		{"no end of the head", "---\nname: a\ndescription: B", "does not begin with a head"},
		{"empty", "", "does not begin with a head"},
		{"no name", "---\ndescription: B\n---", "has no name"},
		{"no description", "---\nname: a\n---", "has no description"},
		{"blank description", "---\nname: a\ndescription: \"  \"\n---", "has no description"},
		{"bad name", md("Big Name", "B", ""), `"Big Name": want small letters`},
		{"long name", md(strings.Repeat("a", 65), "B", ""), "at most 64"},
		{"path as name", md("../a", "B", ""), "want small letters"},
		{"nothing to see as description", "---\nname: a\ndescription: \"\\u202E \\u200B\"\n---", "has no description"},
		{"what hides text in the name", "---\nname: \"a\\u202E\"\ndescription: B\n---", "want small letters"},
		{"bad YAML", "---\nname: [a\ndescription: B\n---", "not YAML"},
		{"a list as head", "---\n- a\n- b\n---", "not YAML"},
		{"a list as name", "---\nname: [a]\ndescription: B\n---", "not YAML"},
		{"long head", "---\nname: a\ndescription: B\nx: " + strings.Repeat("y", 20<<10) + "\n---", "its head has"},
		{"UTF-16", "\xff\xfe-\x00-\x00", "it is not text"},
		{"Latin-1", md("a", "caf\xe9", ""), "not UTF-8"},
		{"binary", "\x7fELF\x00\x01", "it is not text"},
		{"too large", md("a", "B", strings.Repeat("x", 256<<10)), "too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			l, err := skills.New(skills.Config{
				Folders: []string{write(t, map[string]string{"bad/SKILL.md": tt.said, "good/SKILL.md": md("good", "Fine.", "x")})},
				Logger:  slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]schemas.Skill{{Name: "good", Description: "Fine."}}, l.Skills()); diff != "" {
				t.Error(diff)
			}
			left := l.LeftOut()
			if len(left) != 1 || !strings.Contains(left[0], "bad: ") || !strings.Contains(left[0], tt.want) {
				t.Errorf("left out: %q", left)
			}
			if n := strings.Count(log.String(), "a skill is left out"); n != 1 {
				t.Errorf("%d lines in the log: %s", n, log.String())
			}
		})
	}
}

func TestLibrary_folders(t *testing.T) {
	one := write(t, map[string]string{"SKILL.md": md("one", "A skill as a folder.", "x"), "inner/SKILL.md": md("inner", "No skill of its own.", "x")})
	many := write(t, map[string]string{
		"b/SKILL.md": md("zeta", "Z.", ""), "a/SKILL.md": md("alpha", "A.", ""), "c/SKILL.md": md("alpha", "Another.", ""),
		"d/skill.txt": "x", ".git/config": "x", "README.md": "x",
	})
	if err := os.Symlink("README.md", filepath.Join(many, "link")); err != nil {
		t.Skip("no links: ", err)
	}
	l := open(t, one, many)
	if diff := cmp.Diff([]schemas.Skill{{Name: "alpha", Description: "A."}, {Name: "one", Description: "A skill as a folder."}, {Name: "zeta", Description: "Z."}}, l.Skills()); diff != "" {
		t.Error(diff)
	}
	want := []string{
		filepath.Join(many, "c") + ": the name alpha is that of " + filepath.Join(many, "a") + " too",
		filepath.Join(many, "d") + ": it has no SKILL.md",
	}
	if diff := cmp.Diff(want, l.LeftOut()); diff != "" {
		t.Error(diff)
	}
	if left := open(t, t.TempDir()).LeftOut(); len(left) != 1 || !strings.Contains(left[0], "there is no skill in it") {
		t.Errorf("an empty folder: %q", left)
	}
	if _, err := skills.New(skills.Config{Folders: []string{filepath.Join(one, "gone")}}); err == nil || !strings.Contains(err.Error(), "is not a folder that can be read") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := skills.New(skills.Config{Folders: []string{filepath.Join(one, "SKILL.md")}}); err == nil {
		t.Error("a file is not a folder of skills")
	}
}

func TestLibrary_readsFiles(t *testing.T) {
	secret := write(t, map[string]string{"secret.txt": "the secret", "other/SKILL.md": md("other", "O.", "the secret")})
	dir := write(t, map[string]string{
		"a/SKILL.md": md("a", "A.", "See references/more.md."), "a/references/more.md": "\ufeffMore\r\n", "a/logo.png": "\x89PNG\x00", "a/huge.txt": strings.Repeat("x", 1<<20+1),
		"b/SKILL.md": md("b", "B.", ""), "b/private.md": "of b",
	})
	for link, to := range map[string]string{
		"a/out.txt": filepath.Join(secret, "secret.txt"), "a/up": secret, "a/sibling.md": "../b/private.md", "a/inside.md": "references/more.md", "out": filepath.Join(secret, "other"),
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no links: ", err)
		}
	}
	l := open(t, dir)
	if left := l.LeftOut(); len(left) != 1 || !strings.Contains(left[0], filepath.Join(dir, "out")) {
		t.Errorf("left out: %q", left)
	}
	for _, tt := range []struct{ file, want, fault string }{
		{"", "See references/more.md.", ""},
		{"SKILL.md", "See references/more.md.", ""},
		{"./SKILL.md", "See references/more.md.", ""},
		{"references/more.md", "More\n", ""},
		{"references/../references/more.md", "More\n", ""},
		{"inside.md", "More\n", ""},
		{"references/less.md", "", `has no file "references/less.md"; it has SKILL.md, huge.txt, logo.png, references/more.md`},
		{"../b/private.md", "", "is not a file of the skill"},
		{"references/../../b/private.md", "", "is not a file of the skill"},
		{secret + "/secret.txt", "", "is not a file of the skill"},
		{"..", "", "is not a file of the skill"},
		{"out.txt", "", "cannot be read"},
		{"up/secret.txt", "", "cannot be read"},
		{"sibling.md", "", "cannot be read"},
		{"references", "", "it is a folder"},
		{".", "", "it is a folder"},
		{"logo.png", "", "it is not text"},
		{"huge.txt", "", "too large"},
	} {
		said, err := l.Read("a", tt.file)
		if said != tt.want || (err == nil) != (tt.fault == "") || err != nil && (!strings.Contains(err.Error(), tt.fault) || strings.Contains(err.Error(), dir)) {
			t.Errorf("%q: %q, %v", tt.file, said, err)
		}
	}
	if _, err := l.Read("c", ""); err == nil {
		t.Error("an unknown skill was read")
	}
}

func TestLibrary_changes(t *testing.T) {
	now := time.Now()
	dir := write(t, map[string]string{"a/SKILL.md": md("a", "A.", "first")})
	l, err := skills.New(skills.Config{Folders: []string{dir}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "a/SKILL.md"), md("a", "A changed.", "second"))
	put(t, filepath.Join(dir, "b/SKILL.md"), md("b", "B.", "new"))
	if all := l.Skills(); len(all) != 1 || all[0].Description != "A." {
		t.Errorf("the folder is looked at in each turn: %v", all)
	}
	if body, err := l.Read("a", ""); err != nil || body != "second" {
		t.Errorf("%q, %v: texts are read when they are asked for", body, err)
	}
	now = now.Add(time.Minute)
	if diff := cmp.Diff([]schemas.Skill{{Name: "a", Description: "A changed."}, {Name: "b", Description: "B."}}, l.Skills()); diff != "" {
		t.Error(diff)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read("a", ""); err == nil {
		t.Error("a skill that is gone was read")
	}
	now = now.Add(time.Minute)
	if all := l.Skills(); len(all) != 1 || all[0].Name != "b" {
		t.Errorf("%v", all)
	}
}

func many(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("task-%03d", i)
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		said := md(name, fmt.Sprintf("How the task of customers with number %d is done, step by step, from the first question to the last letter.", i), strings.Repeat("A step.\n", 100))
		if err := os.WriteFile(filepath.Join(dir, name, skills.File), []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLibrary_manySkills(t *testing.T) {
	l := open(t, many(t, 500))
	if all := l.Skills(); len(all) != 500 || all[0].Name != "task-000" || all[499].Name != "task-499" || len(l.LeftOut()) > 0 {
		t.Errorf("%d skills, left out: %q", len(all), l.LeftOut())
	}
}

// What a turn waits when the folders are looked at again, and nothing has changed.
func BenchmarkLibrary_look(b *testing.B) {
	for _, n := range []int{10, 100, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			now := time.Now()
			l, err := skills.New(skills.Config{Folders: []string{many(b, n)}, Now: func() time.Time { return now }})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				now = now.Add(time.Hour)
				l.Skills()
			}
		})
	}
}

// What every other turn waits.
func BenchmarkLibrary_known(b *testing.B) {
	l, err := skills.New(skills.Config{Folders: []string{many(b, 500)}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l.Skills()
	}
}
