package knowledge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"molar/mcpservers/knowledge"
)

func md(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func anchors(t *testing.T, f *knowledge.Folder, q knowledge.Query) (all []string) {
	t.Helper()
	results, err := f.Search(t.Context(), q, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results.Results {
		all = append(all, r.Place.Anchor)
	}
	return all
}

// Words that differ only in their diacritics match, and the word with equal diacritics comes
// first.
func TestFolder_ExactMarksComeFirst(t *testing.T) {
	text := "## cầu {#bridge}\nx\n## câu {#wish}\nx\n## đinh {#nail}\nx\n"
	for i := range 20 {
		text += fmt.Sprintf("## filler%d\nfiller%d\n", i, i)
	}
	f := open(t, fstest.MapFS{"a.md": md(text)}, "")
	for query, want := range map[string]string{
		"cầu": "bridge wish", "câu": "wish bridge", "cau": "bridge wish", "dinh": "nail", "CẦU": "bridge wish", "ca\u0302\u0300u": "bridge wish",
	} {
		// A match with equal diacritics scores more than twice the other, which may fall below
		// the share of the best.
		got := anchors(t, f, knowledge.Query{Text: query})
		if len(got) == 0 || got[0] != strings.Fields(want)[0] || !strings.HasPrefix(want, strings.Join(got, " ")) {
			t.Errorf("%q: got %v, want %s", query, got, want)
		}
	}
}

// One passage is about dentures, another about mouthwash: a misspelling and a split word find
// them, and so does a synonym.
func TestFolder_MeetsSlipsAndSynonyms(t *testing.T) {
	f := open(t, fstest.MapFS{
		"a.md":         md("## Dentures {#plates}\nkeywords: denture, plate\nx\n## Mouthwash {#rinse}\nkeywords: mouthwash, rinse\nx\n## Loose teeth {#loose}\nkeywords: loose, moving\nx\n"),
		"synonyms.txt": md("loose, wobbly, about to drop\n"),
	}, "")
	for query, want := range map[string]string{
		"dentrue": "plates", "dentture": "plates", "mouth wash": "rinse", "wobbly": "loose", "it is about to drop": "loose",
		"wheelbarrow": "", "dxntxre": "", "synonyms": "",
	} {
		if got := strings.Join(anchors(t, f, knowledge.Query{Text: query}), " "); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}

// A passage that contains all words of a question comes before one that contains a part, and a
// passage that contains too few is no result.
func TestFolder_HoldsEnough(t *testing.T) {
	f := open(t, fstest.MapFS{"a.md": md("## One\nDogs bark at night in the yard.\n## Two\nCats sleep at night, dogs too.\n## Three\nBirds sing.\n## Four\nFish swim.\n## Five\nHorses run.\n")}, "")
	for query, want := range map[string]string{
		"Why do dogs bark?": "one", "dogs and cats": "two", "Which bark cures malaria in horses of Peru?": "", "bark": "one",
	} {
		if got := anchors(t, f, knowledge.Query{Text: query}); len(got) == 0 && want != "" || len(got) > 0 && got[0] != want {
			t.Errorf("%q: got %v, want %q first", query, got, want)
		}
	}
}

// Files below a folder that is named like a language answer questions in it; the language may be
// detected from the question alone.
func TestFolder_Languages(t *testing.T) {
	f := open(t, fstest.MapFS{
		"en/a.md": md("## Bonsai {#en}\nA bonsai wants water each day.\n"),
		"vi/a.md": md("## Bonsai {#vi}\nCây bonsai cần tưới nước hằng ngày.\n"),
		"b.md":    md("## Orchid {#both}\nOrchid, hoa lan.\n"),
	}, "")
	for _, tt := range []struct{ query, lang, want string }{
		{"bonsai", "en", "en"},
		{"bonsai", "vi", "vi"},
		{"tưới nước cho bonsai", "", "vi"},
		{"does a bonsai want water", "", "en"},
		{"orchid", "en", "both"},
		{"hoa lan", "vi", "both"},
	} {
		if got := strings.Join(anchors(t, f, knowledge.Query{Text: tt.query, Language: tt.lang}), " "); got != tt.want {
			t.Errorf("%q in %q: got %q, want %q", tt.query, tt.lang, got, tt.want)
		}
	}
	onlyEnglish := open(t, fstest.MapFS{"en/a.md": md("## Bonsai\nA bonsai.\n")}, "")
	if got := anchors(t, onlyEnglish, knowledge.Query{Text: "bonsai", Language: "vi"}); !slices.Equal(got, []string{"bonsai"}) {
		t.Errorf("a folder without the language of the question: got %v", got)
	}
}

// A passage that is requested by its heading comes alone, whatever the other words: in the
// language of the question if it exists there, and not at all in a folder without it.
func TestFolder_Doubtful(t *testing.T) {
	files := make(fstest.MapFS)
	for i, page := range []string{
		"Returns\n\nA watch with water damage is repaired for free within one year.",
		"Opening hours\n\nThe shop opens at nine. Bring the bill if a battery is empty.",
		"Batteries\n\nWe change them while you wait.",
	} {
		files[fmt.Sprintf("%d.md", i)] = md("# " + page + "\n")
	}
	for i := range 60 {
		files[fmt.Sprintf("filler%d.md", i)] = md(fmt.Sprintf("# Filler%d\n\nWord%d and word%d of page%d, with a bill or a year.\n", i, i, i+1, i))
	}
	for _, set := range []*float64{nil, new(0.2)} {
		f, err := knowledge.Open(knowledge.Config{Name: "shop", Files: files, Path: "shop", Threshold: set})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		for question, doubtful := range map[string]bool{
			"opening hours": false, // its title
			"is a watch with water damage repaired for free within one year": false, // nearly the text
			"empty bill holiday swimming":                                    true,  // words of a text, beside others
		} {
			found, err := f.Search(t.Context(), knowledge.Query{Text: question}, 3)
			if err != nil || found.Doubtful != (doubtful && len(found.Results) > 0) || len(found.Results) == 0 && (!doubtful || set != nil) {
				t.Errorf("%q: %d results, doubtful %v, error %v", question, len(found.Results), found.Doubtful, err)
			}
			if again, _ := f.Search(t.Context(), knowledge.Query{Text: question, Others: []string{"water damage"}}, 3); again.Doubtful {
				t.Errorf("%q in other words is doubtful", question)
			}
		}
	}
}

func TestFolder_Passage(t *testing.T) {
	f := open(t, fstest.MapFS{
		"en/roses.md": md("## Roses\nPrune roses in spring.\n## Poison {#poison}\nAfter eating berries do not vomit.\n"),
		"vi/hoa.md":   md("## Ngộ độc {#poison}\nKhông gây nôn.\n"),
		"en/more.md":  md("## Help {#help}\nSay who is ill.\n"),
	}, "")
	for _, tt := range []struct{ passage, lang, want string }{
		{"poison", "en", "After eating berries do not vomit."},
		{"poison", "vi", "Không gây nôn."},
		{"help", "vi", "Say who is ill."},
		{"gone", "en", ""},
	} {
		found, err := f.Search(t.Context(), knowledge.Query{Text: "prune roses", Language: tt.lang, Passage: tt.passage}, 5)
		var got []string
		for _, r := range found.Results {
			got = append(got, r.Content)
		}
		if err != nil || strings.Join(got, "; ") != tt.want {
			t.Errorf("%s in %s: got %q, %v, want %q", tt.passage, tt.lang, got, err, tt.want)
		}
	}
}

// A follow-up finds the subject of the conversation, even if another passage contains more of its
// own words; a passage about both follows.
func TestFolder_About(t *testing.T) {
	text := "## Moving teeth {#braces}\nBraces take two years. After each visit teeth are sore.\n" +
		"## Extraction {#extraction}\nkeywords: does it hurt, hurt, pain, numb\nIt does not hurt to have a tooth out.\n"
	for i := range 10 {
		text += fmt.Sprintf("## filler%d\nfiller%d\n", i, i)
	}
	f := open(t, fstest.MapFS{"a.md": md(text)}, "")
	if got := anchors(t, f, knowledge.Query{Text: "how long do braces take? does it hurt"}); len(got) == 0 || got[0] != "extraction" {
		t.Errorf("as one question: %v, which shows nothing", got)
	}
	if got := anchors(t, f, knowledge.Query{Text: "does it hurt", About: "how long do braces take?"}); len(got) == 0 || got[0] != "braces" {
		t.Errorf("got %v, want braces first", got)
	}
	if got := anchors(t, f, knowledge.Query{Text: "does it hurt", About: "wheelbarrows"}); len(got) > 0 && got[0] != "extraction" {
		t.Errorf("about nothing that is here: %v", got)
	}
}

// A new subject in the question comes before the subject of the conversation; for a mere
// follow-up it is the other way round.
func TestFolder_TurnsToSomethingElse(t *testing.T) {
	f := open(t, fstest.MapFS{"a.md": md("# Leave\n## Sick leave {#sick}\nTell your manager before nine.\n## Holidays {#holidays}\nEveryone has 25 days.\n" +
		"# Travel\n## Hotels {#hotels}\nA night may cost 120 euros, and your manager books it.\n## Meals {#meals}\n28 euros a day.\n")}, "")
	for question, want := range map[string]string{"and holidays?": "holidays", "what about hotels?": "hotels"} {
		if got := anchors(t, f, knowledge.Query{Text: "sick leave " + question, About: question}); len(got) == 0 || got[0] != want {
			t.Errorf("%q: got %v, want %s first", question, got, want)
		}
	}
	if got := anchors(t, f, knowledge.Query{Text: "does my manager know?", About: "sick leave"}); len(got) == 0 || got[0] != "sick" {
		t.Errorf("got %v, want sick first", got)
	}
}
