package web

import (
	"net/http"
	"regexp"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"molar/web/pages"
)

// NewUnsanitised is like New, with a Markdown writer that allows all HTML, as if there were no
// sanitiser.
func NewUnsanitised(cfg Config) (http.Handler, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	s.markdown = sync.OnceValue(func() *pages.HTML {
		p := bluemonday.NewPolicy()
		p.AllowUnsafe(true)
		p.AllowElementsMatching(regexp.MustCompile(`.`))
		p.AllowNoAttrs().OnElementsMatching(regexp.MustCompile(`.`))
		p.AllowDataAttributes()
		p.AllowAttrs("src", "href", "srcdoc", "action", "formaction", "data", "style", "id", "class", "autofocus", "open", "onerror", "onload",
			"onclick", "onfocus", "ontoggle", "onmouseover", "onstart", "onbegin", "onpageshow", "onanimationstart", "poster", "background", "xlink:href", "rel", "type").Globally()
		p.AllowURLSchemesMatching(regexp.MustCompile(`.`))
		p.AllowRelativeURLs(true)
		return &pages.HTML{Markdown: goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())), Policy: p}
	})
	return s.handler()
}
