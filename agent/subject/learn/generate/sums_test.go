package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// The tables were learned from the lines and the code in the repository.
func TestTables_HoldInTheRepository(t *testing.T) {
	for _, table := range tables() {
		if err := table.holds(os.DirFS(root)); err != nil {
			t.Errorf("%v: run go generate ./agent/subject", err)
		}
	}
}

// A change of a file that a table depends on is reported, for that table alone.
func TestTable_Holds(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it sums up all files that tables are learned from, again for each case")
	}
	all := []string{"talk", "letters", "topic"}
	for name, test := range map[string]struct {
		change  func(copied fstest.MapFS)
		changed []string
	}{
		"nothing":             {func(fstest.MapFS) {}, nil},
		"a line of data":      {replace("topics/general/conversation.jsonl", "}\n", " }\n"), []string{"talk", "topic"}},
		"a question":          {replace("topics/dental/lines/questions.jsonl", "?", "!"), all},
		"a line of no topic":  {replace("topics/general/others.jsonl", "?", "!"), all},
		"a writer's line":     {replace("topics/dental/lines/emergencies/writers/six.jsonl", "I", "i"), []string{"topic"}},
		"a further writer":    {add("topics/dental/lines/emergencies/writers/eight.jsonl"), []string{"topic"}},
		"a passage":           {replace("topics/dental/guide/en/people.md", ".", "!"), []string{"topic"}},
		"how it is learned":   {replace("agent/subject/features.go", "reach = 4", "reach = 5"), []string{"talk", "topic"}},
		"what is learned":     {replace("agent/subject/learn/letters.go", "unseen = 0.2", "unseen = 0.3"), []string{"letters", "topic"}},
		"how words are cut":   {replace("internal/text/words.go", "func ", "func  "), []string{"talk", "topic"}},
		"a byte of a table":   {flip("topics/dental/learned/emergencies"), []string{"topic"}},
		"a byte of letters":   {flip("agent/subject/english.letters"), []string{"letters", "topic"}},
		"a figure":            {replace("topics/dental/card.json", "1", "2"), []string{"topic"}},
		"a missing table":     {remove("topics/dental/learned/messages"), []string{"topic"}},
		"missing data":        {remove("topics/dental/lines/answers.txt"), []string{"topic"}},
		"no sums":             {remove(sumsFile), all},
		"other code":          {add("agent/subject/learn/generate/other.go"), nil},
		"lines nobody learns": {add("topics/dental/held/unseen.jsonl"), nil},
		"the ends of lines": {func(copied fstest.MapFS) {
			for path, file := range copied {
				if slices.Contains([]string{".go", ".jsonl", ".json", ".md", ".txt", ".sums"}, filepath.Ext(path)) {
					file.Data = bytes.ReplaceAll(file.Data, []byte("\n"), []byte("\r\n"))
				}
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			copied := inputs(t)
			test.change(copied)
			var changed []string
			for _, table := range tables() {
				if table.holds(copied) != nil {
					changed = append(changed, table.name)
				}
			}
			if diff := cmp.Diff(test.changed, changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
		})
	}
}

// A table whose sums match is left unchanged; one whose sums differ is learned and its sums are
// recorded.
func TestRun_LearnsWhatChanged(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, inputs(t)); err != nil {
		t.Fatal(err)
	}
	before := modified(t, folder)
	if err := run(t.Context(), folder, nil, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, modified(t, folder)); diff != "" {
		t.Errorf("all sums hold, and these were written:\n%s", diff)
	}
	path := filepath.Join(folder, "agent/subject/english.letters")
	if err := os.WriteFile(path, []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), folder, nil, false); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables() {
		if err := table.holds(os.DirFS(folder)); err != nil {
			t.Error(err)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) == "spoilt" {
		t.Errorf("the table was not learned again: %v", err)
	}
	after := modified(t, folder)
	delete(before, "agent/subject/english.letters")
	delete(before, sumsFile)
	delete(after, "agent/subject/english.letters")
	delete(after, sumsFile)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("beside the one table these were written:\n%s", diff)
	}
	written := modified(t, folder)[sumsFile]
	if err := run(t.Context(), folder, []string{"letters"}, true); err != nil {
		t.Fatal(err)
	}
	if modified(t, folder)[sumsFile] == written {
		t.Error("-force learned nothing")
	}
}

func TestRun_NamesTheTables(t *testing.T) {
	if err := run(t.Context(), t.TempDir(), []string{"tongues"}, false); err == nil || !strings.Contains(err.Error(), `"tongues"`) {
		t.Errorf("got %v, want an error that names the table", err)
	}
}

// inputs returns a copy of all files that tables depend on, and of the tables and their sums.
func inputs(t *testing.T) fstest.MapFS {
	t.Helper()
	module, copied := os.DirFS(root), make(fstest.MapFS)
	patterns := []string{sumsFile}
	for _, table := range tables() {
		patterns = slices.Concat(patterns, table.from, table.files)
	}
	for _, pattern := range patterns {
		paths, err := fs.Glob(module, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := fs.ReadFile(module, path)
			if err != nil {
				t.Fatal(err)
			}
			copied[path] = &fstest.MapFile{Data: data, Mode: 0o600}
		}
	}
	return copied
}

func replace(path, old, new string) func(fstest.MapFS) {
	return func(copied fstest.MapFS) {
		copied[path].Data = bytes.Replace(copied[path].Data, []byte(old), []byte(new), 1)
	}
}

// flip changes the last byte of a file.
func flip(path string) func(fstest.MapFS) {
	return func(copied fstest.MapFS) { copied[path].Data[len(copied[path].Data)-1] ^= 1 }
}

func add(path string) func(fstest.MapFS) {
	return func(copied fstest.MapFS) { copied[path] = &fstest.MapFile{Data: []byte("{}\n")} }
}

func remove(path string) func(fstest.MapFS) {
	return func(copied fstest.MapFS) { delete(copied, path) }
}

// modified returns the time of modification of each file below a folder.
func modified(t *testing.T, folder string) map[string]int64 {
	t.Helper()
	times := make(map[string]int64)
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			times[path] = info.ModTime().UnixNano()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return times
}
