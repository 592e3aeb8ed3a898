package public

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gin-gonic/gin"
)

// site returns a router of a surface with files of its own.
func site(t *testing.T, cfg Config, files map[string]string) http.Handler {
	t.Helper()
	from := fstest.MapFS{}
	for name, content := range files {
		from["static/"+name] = &fstest.MapFile{Data: []byte(content)}
	}
	s := &Surface{Config: cfg}
	loaded, err := s.load(from)
	if err != nil {
		t.Fatal(err)
	}
	s.files = loaded
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	s.Routes(func(method, path string, h gin.HandlerFunc) { e.Handle(method, path, h) })
	return e
}

// Only the frame names the sites that may show it; the loader and the mark may be loaded by other sites. The texts
// of the config can leave neither an attribute nor a string.
func TestFiles(t *testing.T) {
	const title = `"><script>alert(1)</script>&'`
	to := site(t, Config{
		Origins: []string{"https://clinic.example", "https://www.clinic.example"}, Title: map[string]string{"vi": title}, Colour: "#ffdd00",
		Mark: []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), MarkType: "image/svg+xml",
	}, map[string]string{
		"embed.js": `const { titles, colour, on } = "[[settings]]";`, "embed.html": `<html lang="[[lang]]" data-settings="[[settings]]"><title>[[title]]</title>` + strings.Repeat(" ", 200),
		"embed.css": "p {}", "notes.txt": "x",
	})
	get := func(path string, headers ...string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w.Header().Set("X-Frame-Options", "DENY") // as the guard does
		w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		to.ServeHTTP(w, r)
		return w
	}
	for path, want := range map[string]struct {
		status                       int
		kind, frames, resource, text string
	}{
		"/embed?lang=vi":          {200, "text/html; charset=utf-8", "frame-ancestors https://clinic.example https://www.clinic.example; ", "same-origin", `<html lang="vi"`},
		"/embed?lang=fr":          {200, "text/html; charset=utf-8", "frame-ancestors https://clinic.example https://www.clinic.example; ", "same-origin", `<title>&#34;&gt;&lt;script&gt;`},
		"/embed.js":               {200, "text/javascript; charset=utf-8", "frame-ancestors 'none'", "cross-origin", `"colour":"#ffdd00","on":"#000000"`},
		"/embed/mark":             {200, "image/svg+xml", "frame-ancestors 'none'", "cross-origin", "<svg"},
		"/embed/static/embed.css": {200, "text/css; charset=utf-8", "frame-ancestors 'none'", "same-origin", "p {}"},
		"/embed/colours.css":      {200, "text/css; charset=utf-8", "frame-ancestors 'none'", "same-origin", "--brand: light-dark(#ffdd00, #ffdd00); --on-brand: light-dark(#000000, #000000)"},
		"/embed/static/notes.txt": {404, "application/json", "frame-ancestors 'none'", "same-origin", "not_found"},
	} {
		w := get(path)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != want.status || w.Header().Get("Content-Type") != want.kind || !strings.Contains(policy, want.frames) || w.Header().Get("Cross-Origin-Resource-Policy") != want.resource || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
		if frame := strings.HasPrefix(path, "/embed?"); frame != (w.Header().Get("X-Frame-Options") == "") || frame != strings.Contains(policy, "script-src 'self'") {
			t.Errorf("%s: X-Frame-Options %q, policy %q", path, w.Header().Get("X-Frame-Options"), policy)
		}
		if strings.Contains(w.Body.String(), "<script") {
			t.Errorf("%s: a text of the config is markup: %s", path, w.Body)
		}
		if tag := w.Header().Get("ETag"); want.status == 200 && (tag == "" || get(path, "If-None-Match", tag).Code != http.StatusNotModified) {
			t.Errorf("%s: ETag %q", path, tag)
		}
	}
	if w := get("/embed", "Accept-Language", "de, vi;q=0.8", "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("not compressed: %v", w.Header())
	}
}

func TestLanguageOf(t *testing.T) {
	for _, tt := range []struct{ named, query, header, want string }{
		{"vi", "en", "en", "vi"},
		{"", "vi-VN", "en", "vi"},
		{"xx", "", "de, vi;q=0.8, en;q=0.5", "vi"},
		{"", "", "EN-us", "en"},
		{"", "", "", "en"},
		{"vietnamese", "", "", "en"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/embed?lang="+tt.query, nil)
		r.Header.Set("Accept-Language", tt.header)
		if got := languageOf(r, tt.named); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

// Whatever the colour of a site, its text is as readable as WCAG AA wants, and its parts stand out on a dark frame.
func TestColours(t *testing.T) {
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 15 {
			for b := 0; b < 256; b += 15 {
				c, err := coloursOf(colour{float64(r) / 255, float64(g) / 255, float64(b) / 255}.hex())
				if err != nil {
					t.Fatal(err)
				}
				if contrast(c.brand, textOn(c.brand)) < 4.5 || contrast(c.dark, textOn(c.dark)) < 4.5 || contrast(c.dark, colour{0.08, 0.1, 0.11}) < 3 {
					t.Errorf("%s: %s", c.brand.hex(), c.css())
				}
			}
		}
	}
	for _, text := range []string{"", "red", "#fff", "#12345g", "123456", "#1234567"} {
		if _, err := coloursOf(text); err == nil {
			t.Errorf("colour %q passes", text)
		}
	}
}

// Every text has both languages, and every code that is sent has a text.
func TestMessages(t *testing.T) {
	for code, w := range messages() {
		if w.vi == "" || w.en == "" || w.vi == w.en {
			t.Errorf("%s: %+v", code, w)
		}
	}
	for code, w := range warnings() {
		if w.vi == "" || w.en == "" || w.vi == w.en {
			t.Errorf("%s: %+v", code, w)
		}
	}
}
