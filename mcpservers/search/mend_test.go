package search

import "testing"

func TestOneSlip(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"denture", "denure", true},
		{"denture", "dennture", true},
		{"denture", "dentire", true},
		{"denture", "detnure", true},
		{"denture", "denture", true},
		{"denture", "denrute", false},
		{"denture", "dent", false},
		{"denture", "dantire", false},
		{"ab", "ba", true},
		{"a", "", true},
		{"", "", true},
	} {
		if got := oneSlip(tc.a, tc.b); got != tc.want {
			t.Errorf("oneSlip(%q, %q) = %v", tc.a, tc.b, got)
		}
		if got := oneSlip(tc.b, tc.a); got != tc.want {
			t.Errorf("oneSlip(%q, %q) = %v", tc.b, tc.a, got)
		}
	}
}

// One entry speaks of dentures, another of mouthwash: a slip and a split word find
// them, and a word of the same sense does.
func TestIndex_MeetsSlipsAndSynonyms(t *testing.T) {
	ix, err := newIndex(t.Context(), "en", topics{
		entries: []entry{
			{id: "plates", title: "dentures", keys: []string{"denture"}, asked: []string{"plate"}, text: "x"},
			{id: "rinse", title: "mouthwash", keys: []string{"mouthwash"}, asked: []string{"rinse"}, text: "x"},
			{id: "loose", title: "loose teeth", keys: []string{"loose"}, asked: []string{"moving"}, text: "x"},
		},
		subject:  []string{"mouth", "wobbly"},
		synonyms: [][]string{{"loose", "wobbly"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"dentrue": "plates", "dentture": "plates", "mouth wash": "rinse", "wobbly": "loose", "wheelbarrow": "", "dxntxre": "",
	} {
		hits, err := ix.find(t.Context(), query, 3)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(hits) > 0 {
			got = ix.entries[hits[0].entry].id
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
}
