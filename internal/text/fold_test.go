package text_test

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"molar/internal/text"
)

func TestFold(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"Đánh Răng", "danh rang"},
		{"  hai\t\n khoảng  trắng ", "hai khoang trang"},
		{"NIỀNG RĂNG?", "nieng rang?"},
		{"Ｒｏｏｔ　ｃａｎａｌ", "root canal"},
		{"ﬁlling", "filling"},
		{"café", "cafe"},
	} {
		if got := text.Fold(tc.in); got != tc.want {
			t.Errorf("Fold(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"", "Đánh răng", "\xff\xfe", "\xf7ǳ", "ﬁ", "İ", "ꭰ", "a\u0300\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := text.Fold(s)
		if twice := text.Fold(once); twice != once {
			t.Errorf("Fold(Fold(%q)) = %q, want %q", s, twice, once)
		}
	})
}

// Every letter loses its marks as decomposition takes them off, and đ, which it leaves, is a d.
func TestFold_EveryLetter(t *testing.T) {
	for upper := rune(0xC0); upper < 0x1F00; upper++ {
		if !unicode.IsLetter(upper) {
			continue
		}
		r := unicode.ToLower(upper)
		want := strings.ToLower(strings.TrimSpace(strings.Map(func(r rune) rune {
			switch {
			case r == 'đ':
				return 'd'
			case unicode.Is(unicode.Mn, r):
				return -1
			}
			return r
		}, norm.NFKD.String(string(r)))))
		if got := text.Fold(string(r)); got != want {
			t.Fatalf("fold(%q) = %q, want %q", r, got, want)
		}
	}
	if got := text.Fold("nghiến răng đường ruột"); got != "nghien rang duong ruot" {
		t.Error(got)
	}
}
