package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// The policy of the page forbids inline code, so a page that holds any is broken.
func TestPage_HoldsNoInlineCode(t *testing.T) {
	h := handler(t, play(nil))
	w := serve(h, request(http.MethodGet, "/", ""))
	doc, err := goquery.NewDocumentFromReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Find("style, [style], script:not([src])").Length() > 0 {
		t.Error("the page holds inline style or script")
	}
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, a := range s.Nodes[0].Attr {
			if strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(a.Val), "javascript:") {
				t.Errorf("<%s %s> runs code", s.Nodes[0].Data, a.Key)
			}
		}
	})
	doc.Find("textarea, select").Each(func(_ int, s *goquery.Selection) {
		if id, _ := s.Attr("id"); doc.Find(`label[for="`+id+`"]`).Length() != 1 {
			t.Errorf("control %q has no label", id)
		}
	})
	found := 0
	doc.Find("script[src], link[href]").Each(func(_ int, s *goquery.Selection) {
		path := s.AttrOr("src", s.AttrOr("href", ""))
		if res := serve(h, request(http.MethodGet, path, "")); res.Code != http.StatusOK || !strings.HasPrefix(path, "/static/") {
			t.Errorf("%s: status %d", path, res.Code)
		}
		found++
	})
	if found < 3 {
		t.Errorf("the page uses %d files", found)
	}
}

func TestPage_Scripts(t *testing.T) {
	h := handler(t, play(nil))
	for _, path := range []string{"/static/chat.js", "/static/text.js"} {
		code := serve(h, request(http.MethodGet, path, "")).Body.String()
		for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "//cdn"} {
			if strings.Contains(code, sink) {
				t.Errorf("%s uses %s", path, sink)
			}
		}
	}
}

func TestPage_IsKeptByTheBrowser(t *testing.T) {
	h := handler(t, play(nil))
	w := serve(h, request(http.MethodGet, "/static/chat.js", ""))
	if got := w.Header().Get("Content-Type"); got != "text/javascript; charset=utf-8" {
		t.Errorf("Content-Type = %q", got)
	}
	again := request(http.MethodGet, "/static/chat.js", "")
	again.Header.Set("If-None-Match", w.Header().Get("ETag"))
	if got := serve(h, again); got.Code != http.StatusNotModified || got.Body.Len() > 0 {
		t.Errorf("an unchanged file was sent again: %d", got.Code)
	}
}
