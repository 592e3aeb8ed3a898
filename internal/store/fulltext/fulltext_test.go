package fulltext_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/store/fulltext"
)

func newIndex(t *testing.T, docs ...string) *fulltext.Index {
	t.Helper()
	all := make([][][]string, len(docs))
	for i, d := range docs {
		title, body, _ := strings.Cut(d, "|")
		all[i] = [][]string{strings.Fields(title), strings.Fields(body)}
	}
	x, err := fulltext.New(t.Context(), []fulltext.Field{{Name: "title", Weight: 5}, {Name: "body", Weight: 1}}, all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func found(t *testing.T, x *fulltext.Index, limit int, terms ...string) []int {
	t.Helper()
	hits, err := x.Find(t.Context(), terms, limit)
	if err != nil {
		t.Fatal(err)
	}
	docs := []int{}
	for _, h := range hits {
		docs = append(docs, h.Doc)
	}
	return docs
}

func TestIndex_Find(t *testing.T) {
	x := newIndex(t, "rang khon|nho", "nho|rang khon răng_khôn", "x|y", "z|w", "a|b", "c|d")
	for _, tt := range []struct {
		terms string
		limit int
		want  []int
	}{
		{"khon", 5, []int{0, 1}},         // the title counts for more
		{"răng_khôn", 5, []int{1}},       // with its marks
		{"răng", 5, []int{}},             // nothing is folded here
		{"nho y", 1, []int{2}},           // the rarest first, and no more than asked for
		{`" OR * body : y`, 5, []int{2}}, // no syntax gets through
		{"", 5, []int{}},
	} {
		if diff := cmp.Diff(tt.want, found(t, x, tt.limit, strings.Fields(tt.terms)...)); diff != "" {
			t.Errorf("%q: %s", tt.terms, diff)
		}
	}
}

func TestIndex_ManyTermsAndCallersAtOnce(t *testing.T) {
	x := newIndex(t, "one|two", "three|four", "five|six")
	terms := []string{"one"}
	for i := range 1000 {
		terms = append(terms, fmt.Sprintf("word%d", i))
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if hits, err := x.Find(t.Context(), terms, 3); err != nil || len(hits) != 1 || hits[0].Doc != 0 {
				t.Errorf("%v, %v", hits, err)
			}
		})
	}
	all.Wait()
}

// A caller that has gone gets its own error and costs nobody the index.
func TestIndex_Cancelled(t *testing.T) {
	x := newIndex(t, "one|two", "three|four")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Find(ctx, []string{"one"}, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := found(t, x, 3, "one"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestIndex_BadFieldAndClosed(t *testing.T) {
	if _, err := fulltext.New(t.Context(), []fulltext.Field{{Name: "no name"}, {Name: "no name"}}, nil); err == nil {
		t.Error("a bad field was taken")
	}
	x := newIndex(t, "one|two")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Find(t.Context(), []string{"one"}, 3); err == nil {
		t.Error("a closed index answered")
	}
}
