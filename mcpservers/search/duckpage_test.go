package search

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func page(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParsePage_Results(t *testing.T) {
	got, err := parsePage(page(t, "results.html"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{
		{Title: "Sâu răng: nguyên nhân & cách phòng", Content: "Vi khuẩn biến đường thành axit làm hỏng men răng.", Link: "https://clinic.example/s%C3%A2u-r%C4%83ng?a=1&b=2"},
		{Title: "Tooth decay", Content: "How cavities form.", Link: "https://www.example.org/tooth-decay"},
		{Title: "No snippet", Link: "http://no-snippet.example/"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParsePage_WithoutResults(t *testing.T) {
	for _, tc := range []struct{ name, page, want string }{
		{"nothing found", string(page(t, "nothing.html")), ""},
		{"challenge", string(page(t, "blocked.html")), "blocked"},
		{"captcha", "<html><body>Please solve this CAPTCHA</body></html>", "blocked"},
		{"other site", "<html><body><h1>Welcome to the hotel</h1></body></html>", "unknown form"},
		{"empty", "", "unknown form"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parsePage([]byte(tc.page))
			if len(got) > 0 {
				t.Errorf("got %v", got)
			}
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestUnwrap(t *testing.T) {
	for _, tc := range []struct{ href, want string }{
		{"//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx%3Fy%3D1&rut=1", "https://a.example/x?y=1"},
		{"/l/?uddg=http%3A%2F%2Fa.example%2F", "http://a.example/"},
		{"https://a.example/", "https://a.example/"},
		{"https://evil.example/l/?uddg=https%3A%2F%2Fa.example", "https://evil.example/l/?uddg=https%3A%2F%2Fa.example"},
		{"https://duckduckgo.com/y.js?ad_domain=x", ""},
		{"//duckduckgo.com/l/?uddg=ftp%3A%2F%2Fa.example", ""},
		{"//duckduckgo.com/l/", ""},
		{"https://user:pw@a.example/", ""},
		{"javascript:alert(1)", ""},
		{"%zz", ""},
		{"", ""},
	} {
		got, ok := unwrap(tc.href)
		if !ok {
			got = ""
		}
		if got != tc.want {
			t.Errorf("unwrap(%q) = %q, want %q", tc.href, got, tc.want)
		}
	}
}

func FuzzParsePage(f *testing.F) {
	for _, name := range []string{"results.html", "blocked.html", "nothing.html"} {
		f.Add(page(f, name))
	}
	f.Add([]byte(`<div class=result><a class=result__a href="//duckduckgo.com/l/?uddg=http://x">t`))
	f.Fuzz(func(t *testing.T, data []byte) {
		results, err := parsePage(data)
		if err != nil && len(results) > 0 {
			t.Error("results beside an error")
		}
		for _, r := range results {
			if !strings.HasPrefix(r.Link, "http://") && !strings.HasPrefix(r.Link, "https://") {
				t.Errorf("link %q is no web address", r.Link)
			}
			if r.Title == "" || strings.ContainsAny(r.Title+r.Content, "\n\r") {
				t.Errorf("title %q or content %q is not one line", r.Title, r.Content)
			}
		}
	})
}
