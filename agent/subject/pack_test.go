package subject_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"molar/agent/subject"
	"molar/topics"
)

// bicycles is a small pack with everything that a person writes.
func bicycles() fstest.MapFS {
	return fstest.MapFS{
		"topic.txt": file("What a bicycle is.\n\n# languages\nde, en\n\n# names\nbicycle*, fahrrad\n"),
		"de.txt":    file("# description\nFahrräder.\n\n# not\nMotorräder.\n\n# notice fall\nNicht bewegen, {number} rufen.\n\n# call\nJetzt {number} anrufen.\n"),
		"en.txt":    file("# description\nbicycles.\n\n# notice fall\nDo not move.\n\nTalk to somebody: {crisis}.\n\n# crisis line\na crisis line\n"),
		"emergencies.txt": file("# number\n112\n\n# kind fall\nfell + head\n\n# instead fall\nhead: fall\n\n# sign fell, that lasts\nfell|fallen\n\n# unless fell\nasleep\n\n" +
			"# sign head\nhead\n\n# cue mild\nscratch\n"),
		"guide/en/chain.md": file("# Chains\n\nOil them.\n"),
		"lines/own.txt":     file("never read"),
		"card.json":         file("{}"),
		"README.md":         file("About it."),
		".git/config":       file("x"),
	}
}

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func TestReadPack(t *testing.T) {
	topic, err := subject.ReadPack(bicycles(), "bicycles")
	if err != nil {
		t.Fatal(err)
	}
	if v := topic.Voice("vi"); v.Description != "Fahrräder." || v.Not != "Motorräder." {
		t.Errorf("the first language is not the fallback: %+v", v)
	}
	if kinds := subject.NewDetector(topic).Find("I fell on my head just now", ""); len(kinds) != 1 {
		t.Errorf("kinds %q", kinds)
	}
	if got, want := subject.Notice(topic, []string{"fall"}, "vi"), "Jetzt 112 anrufen.\n\nNicht bewegen, 112 rufen."; got != want {
		t.Errorf("notice %q, want %q", got, want)
	}
	if got := subject.Notice(topic, []string{"fall"}, "en"); !strings.HasSuffix(got, "Do not move.\n\nTalk to somebody: a crisis line.") {
		t.Errorf("no crisis line is set: %q", got)
	}
	topic.Emergencies.CrisisLine = "116 123"
	if got := subject.Notice(topic, []string{"fall"}, "en"); !strings.HasSuffix(got, "Talk to somebody: 116 123.") {
		t.Errorf("the crisis line is missing: %q", got)
	}
}

// Every fault names its file and says what to do.
func TestReadPack_Faults(t *testing.T) {
	for name, tt := range map[string]struct {
		name, content string // without content the file is taken out
		want          []string
	}{
		"no languages":                 {"topic.txt", "# names\nx\n", []string{"topic.txt: it names no languages: write a section"}},
		"no topic":                     {"topic.txt", "", []string{"topic.txt: it names no languages"}},
		"a language that is none":      {"topic.txt", "# languages\nde, English\n", []string{`topic.txt: "English" is no language`, `en.txt: the topic has no language en: add it`}},
		"a language twice":             {"topic.txt", "# languages\nde, en, de\n", []string{"topic.txt: the language de stands twice"}},
		"a language without a file":    {"de.txt", "", []string{"de.txt: it is missing: write it"}},
		"no description":               {"en.txt", "# refusal\nNo.\n", []string{"en.txt: there is no description"}},
		"a section":                    {"en.txt", "# description\nx\n\n# refusl\nNo.\n", []string{`en.txt: there is no section "# refusl" (did you mean "refusal"?): there are `}},
		"a section twice":              {"en.txt", "# description\nx\n\n# description\ny\n", []string{`en.txt: the section "# description" stands twice`}},
		"a notice of no kind":          {"en.txt", "# description\nx\n\n# notice fal\nNo.\n", []string{`en.txt: there is no kind of emergency "fal" in emergencies.txt (did you mean "fall"?)`}},
		"a kind twice":                 {"emergencies.txt", "# kind fall\nfell\n\n# kind fall, alone\nfell\n\n# sign fell\nfell down\n", []string{`the kind of emergency "fall" has no name, or stands twice`}},
		"a sign twice":                 {"emergencies.txt", "# kind fall\nfell\n\n# sign fell\nfell down\n\n# sign fell, that lasts\nfell down\n", []string{`the sign of emergency "fell" has no name, or stands twice`}},
		"a crisis line without words":  {"en.txt", "# description\nx\n\n# notice fall\nTalk: {crisis}.\n", []string{`en.txt: the notice of "fall" names {crisis}: say below "# crisis line"`}},
		"a text too long":              {"en.txt", "# description\n" + strings.Repeat("x", 17<<10), []string{`en.txt: "# description" has 17408 bytes, at most 16384 are read: shorten it`}},
		"no UTF-8":                     {"en.txt", "# description\nG\xe4rten\n", []string{"en.txt: is no UTF-8 text"}},
		"a phrase too long":            {"topic.txt", "# languages\nde, en\n\n# names\n" + strings.Repeat("x", 5000), []string{`topic.txt: "# names": "xxx`, "shorten it"}},
		"phrases too many":             {"topic.txt", "# languages\nde, en\n\n# names\n" + strings.Repeat("x, ", 20_001), []string{`topic.txt: "# names" has 20001 entries`}},
		"texts too large":              {"more.txt", strings.Repeat("x\n", 2<<20), []string{"*.txt: the texts have ", "shorten them"}},
		"a file":                       {"emergences.txt", "# number\n1\n", []string{`emergences.txt: there is no such file in a pack (did you mean "emergencies.txt"?)`}},
		"a file of another kind":       {"card.jsn", "{}", []string{`card.jsn: there is no such file in a pack (did you mean "card.json"?)`}},
		"a folder":                     {"guides/x.md", "x", []string{`guides/: there is no such folder in a pack (did you mean "guide"?)`}},
		"a table":                      {"learned/message", "x", []string{`learned/message: there is no such file in a pack (did you mean "learned/messages"?)`}},
		"a table too large":            {"learned/messages", strings.Repeat("x", 16<<20+1), []string{"learned/messages: has 16777217 bytes"}},
		"a guide too large":            {"guide/x.md", strings.Repeat("x", 64<<20+1), []string{"guide/: has "}},
		"what belongs to no kind":      {"emergencies.txt", "# passage fall\nfall\n", []string{`emergencies.txt: "# passage fall" is not below the kind of that name`, `en.txt: there is no kind of emergency "fall"`}},
		"what belongs to no sign":      {"emergencies.txt", "# unless fall\nx\n", []string{`emergencies.txt: "# unless fall" is not below the sign`}},
		"a kind without signs":         {"emergencies.txt", "# kind fall\nfell\n", []string{`emergencies.txt: emergency "fall": there is no sign "fell"`}},
		"an empty section":             {"emergencies.txt", "# kind fall\nfell\n\n# passage fall\n\n# sign fell\nfell\n", []string{`emergencies.txt: "# passage fall" is empty: fill it`}},
		"a pair without a colon":       {"emergencies.txt", "# kind fall\nfell\n\n# instead fall\nfell fall\n\n# sign fell\nfell\n", []string{`emergencies.txt: "# instead fall": "fell fall" has no ": "`}},
		"a cue":                        {"emergencies.txt", "# kind fall\nfell\n\n# sign fell\nfell\n\n# cue mld\nx\n", []string{`emergencies.txt: there is no cue "mld" (did you mean "mild"?)`}},
		"a kind alone without a text":  {"emergencies.txt", "# kind fall\nfell\n\n# kind burn, alone\nfell\n\n# sign fell\nfell\n", []string{`en.txt: the kind of emergency "burn" has no text`}},
		"a prompt without a language":  {"consult.txt", "# description\nAsk.\n\n# en\nAnswer.\n", []string{"consult.txt: want a section"}},
		"a prompt in another language": {"consult.txt", "# description\nAsk.\n\n# fr\nRéponds.\n", []string{`consult.txt: there is no section "# fr"`}},
	} {
		t.Run(name, func(t *testing.T) {
			pack := bicycles()
			if pack[tt.name] = file(tt.content); tt.content == "" {
				delete(pack, tt.name)
			}
			_, err := subject.ReadPack(pack, "bicycles")
			if err == nil || !strings.HasPrefix(err.Error(), `topic "bicycles": `) {
				t.Fatalf("got %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %q", err, want)
				}
			}
		})
	}
}

// All faults are told at once.
func TestReadPack_AllFaults(t *testing.T) {
	pack := bicycles()
	pack["en.txt"], pack["typo.txt"] = file("# refusl\nNo.\n"), file("x")
	pack["emergencies.txt"] = file("# sing x\ny\n")
	_, err := subject.ReadPack(pack, "bicycles")
	for _, want := range []string{`"# refusl"`, "en.txt: there is no description", "typo.txt: there is no such file", `"# sing x" (did you mean "sign"?)`, "de.txt: there is no kind"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

// A link may lead out of the folder, so that it is never followed.
func TestReadPack_Links(t *testing.T) {
	folder, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret.txt")
	if err := os.CopyFS(folder, bicycles()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("# description\nmy secrets\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"guide/en/secret.md", "en.txt"} {
		link := filepath.Join(folder, name)
		if err := os.RemoveAll(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(secret, link); err != nil {
			t.Fatal(err)
		}
		topic, err := subject.ReadPack(os.DirFS(folder), "bicycles")
		if err == nil || !strings.Contains(err.Error(), name+": is a link") || topic.Voices["en"].Description == "my secrets" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := subject.Sum(os.DirFS(folder)); err == nil {
			t.Errorf("%s: a sum over a link", name)
		}
	}
}

// The sum is that of all that is read, and of nothing else.
func TestSum(t *testing.T) {
	sum := func(change func(fstest.MapFS)) string {
		pack := bicycles()
		change(pack)
		sum, err := subject.Sum(pack)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	same := sum(func(fstest.MapFS) {})
	for _, name := range []string{"en.txt", "emergencies.txt", "guide/en/chain.md", "guide/en/other.md", "learned/messages"} {
		if sum(func(p fstest.MapFS) { p[name] = file("other") }) == same {
			t.Errorf("%s does not count", name)
		}
	}
	for _, name := range []string{"card.json", "README.md", "lines/own.txt", "held/x.jsonl", ".git/config"} {
		if sum(func(p fstest.MapFS) { p[name] = file("other") }) != same {
			t.Errorf("%s counts", name)
		}
	}
	held, copied, err := subject.Copied(bicycles())
	if err != nil || copied != same {
		t.Fatalf("sum %s of a copy, want %s: %v", copied, same, err)
	}
	if again, err := subject.Sum(held); again != same {
		t.Errorf("sum %s of the copy itself, want %s: %v", again, same, err)
	}
	if data, err := fs.ReadFile(held, "guide/en/chain.md"); err != nil || !strings.Contains(string(data), "Oil") {
		t.Errorf("the guide of the copy: %q, %v", data, err)
	}
}

// The built-in packs are read without a fault.
func TestReadPack_BuiltIn(t *testing.T) {
	for _, name := range topics.Names() {
		pack, _ := topics.Open(name)
		if _, err := subject.ReadPack(pack, name); err != nil {
			t.Error(err)
		}
		if _, err := subject.ReadPack(os.DirFS("../../topics/"+name), name); err != nil {
			t.Errorf("with what it was learned from: %v", err)
		}
	}
}

// A pack of any content is a topic or an error, and a topic works.
func FuzzReadPack(f *testing.F) {
	small := bicycles()
	f.Add(string(small["topic.txt"].Data), string(small["en.txt"].Data), string(small["emergencies.txt"].Data), "")
	f.Add("# languages\nen", "# description\nx\n# notice a\n{number}", "# kind a, alone, ends\ns\n# passage a\n# sign s\n*|=\n", "x")
	f.Add("# languages\nen", "# description\nx", "# passage\n# instead \n# unless\n# cue \n# kind\n", "\xff")
	f.Fuzz(func(t *testing.T, top, en, emergencies, table string) {
		pack := fstest.MapFS{"topic.txt": file(top), "en.txt": file(en), "emergencies.txt": file(emergencies), "learned/emergencies": file(table)}
		topic, err := subject.ReadPack(pack, "x")
		if err != nil {
			return
		}
		for _, k := range topic.Emergencies.Kinds {
			subject.Notice(topic, []string{k.Name}, "vi")
		}
		subject.NewDetector(topic).Find("I fell on my head", "what now")
		if topic.Voice("vi").Description == "" {
			t.Error("a topic without a description")
		}
	})
}
