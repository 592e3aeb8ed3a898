package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"molar/schemas"
)

// The policy of the pages forbids inline code, so a page with inline code would be broken.
func TestPage_HoldsNoInlineCode(t *testing.T) {
	h := handler(t, play(nil))
	for _, path := range []string{"/", "/tools", "/config", "/turn", "/desk", "/account"} {
		w := serve(h, request(http.MethodGet, path, ""))
		doc, err := goquery.NewDocumentFromReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Find("style, [style], script:not([src])").Length() > 0 {
			t.Errorf("%s holds inline style or script", path)
		}
		doc.Find("*").Each(func(_ int, s *goquery.Selection) {
			for _, a := range s.Nodes[0].Attr {
				if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(a.Val), "javascript:") {
					t.Errorf("%s: <%s %s> runs code", path, s.Nodes[0].Data, a.Key)
				}
			}
		})
		doc.Find("textarea, select, input").Each(func(_ int, s *goquery.Selection) {
			id, _ := s.Attr("id")
			if s.ParentsFiltered("label").Length()+doc.Find(`label[for="`+id+`"]`).Length() == 0 && s.AttrOr("aria-label", "") == "" {
				t.Errorf("%s: control %q has no label", path, id)
			}
		})
		found := 0
		doc.Find("script[src], link[href]").Each(func(_ int, s *goquery.Selection) {
			at := s.AttrOr("src", s.AttrOr("href", ""))
			if strings.HasPrefix(at, "data:image/svg+xml,") {
				return
			}
			if res := serve(h, request(http.MethodGet, at, "")); res.Code != http.StatusOK || !strings.HasPrefix(at, "/static/") {
				t.Errorf("%s: %s: status %d", path, at, res.Code)
			}
			found++
		})
		if found < 2 {
			t.Errorf("%s uses %d files", path, found)
		}
	}
}

// HTML is inserted into a page by one function only, which is given HTML that the server has
// sanitised.
func TestPage_Scripts(t *testing.T) {
	h := handler(t, play(nil))
	sinks := 0
	for _, path := range []string{"app.js", "chat.js", "view.js", "frame.js", "tools.js", "config.js", "turn.js", "pages.js", "toolform.js", "questions.js", "reasons.js", "trace.js", "again.js", "why.js", "desk.js", "desk_queue.js", "desk_turn.js", "account.js", "desk_approvals.js", "desk_handovers.js", "reader.js", "knowledge.js", "picker.js", "welcome.js", "reading.js", "pastes.js"} {
		w := serve(h, request(http.MethodGet, "/static/"+path, ""))
		code := w.Body.String()
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d", path, w.Code)
		}
		for _, sink := range []string{"outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "//cdn", "setHTMLUnsafe", "createContextualFragment"} {
			if strings.Contains(code, sink) {
				t.Errorf("%s uses %s", path, sink)
			}
		}
		sinks += strings.Count(code, "innerHTML")
	}
	if sinks != 1 {
		t.Errorf("HTML is set in %d places", sinks)
	}
}

func TestPage_IsKeptByTheBrowser(t *testing.T) {
	h := handler(t, play(nil))
	for _, path := range []string{"/static/chat.js", "/"} {
		w := serve(h, request(http.MethodGet, path, ""))
		again := request(http.MethodGet, path, "")
		again.Header.Set("If-None-Match", w.Header().Get("ETag"))
		if got := serve(h, again); got.Code != http.StatusNotModified || got.Body.Len() > 0 {
			t.Errorf("%s was sent again unchanged: %d", path, got.Code)
		}
	}
	if got := serve(h, request(http.MethodGet, "/static/chat.js", "")).Header().Get("Content-Type"); got != "text/javascript; charset=utf-8" {
		t.Errorf("Content-Type = %q", got)
	}
}

func TestPage_Packed(t *testing.T) {
	h := handler(t, play(nil))
	plain := serve(h, request(http.MethodGet, "/static/app.js", ""))
	r := request(http.MethodGet, "/static/app.js", "")
	r.Header.Set("Accept-Encoding", "br, gzip")
	packed := serve(h, r)
	if packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("ETag") == plain.Header().Get("ETag") || packed.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("%v", packed.Header())
	}
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != plain.Body.String() {
		t.Errorf("the packed file is another one (%v)", err)
	}
}

// Names from the config file are inserted into the page as text.
func TestPage_NamesTheAssistants(t *testing.T) {
	cfg := config(t, play(nil))
	cfg.Models = func() []schemas.AssistantInfo {
		return []schemas.AssistantInfo{{Name: `a"><script>x</script>`, Description: `"onload="y`}, {Name: "b"}}
	}
	w := serve(build(t, cfg), request(http.MethodGet, "/", ""))
	if strings.Contains(w.Body.String(), "<script>x") {
		t.Fatal("a name became a script")
	}
	doc, err := goquery.NewDocumentFromReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	doc.Find("#model option").Each(func(_ int, s *goquery.Selection) { names = append(names, s.AttrOr("value", "")) })
	if !slices.Equal(names, []string{`a"><script>x</script>`, "b"}) {
		t.Errorf("%q", names)
	}
	policy := w.Header().Get("Content-Security-Policy")
	for _, rule := range []string{"require-trusted-types-for 'script'", "trusted-types molar", "script-src 'self'", "style-src 'self'"} {
		if !strings.Contains(policy, rule) {
			t.Errorf("policy %q lacks %q", policy, rule)
		}
	}
}
