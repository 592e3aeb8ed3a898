package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"html"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

//go:embed static
var static embed.FS

// modelsMark stands in the chat page where the assistants are listed, which saves the
// page a request.
const modelsMark = "<!--models-->"

// A page is an embedded file with what a browser needs to keep it.
type page struct {
	content     []byte
	contentType string
	// zipped is the content in gzip's form, made when it is first asked for.
	zipped func() []byte
}

// zip packs content; nil when that cannot be done.
func zip(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil || z.Close() != nil {
		return nil
	}
	return b.Bytes()
}

// pageTypes are the kinds of embedded files. They are written out, since the machine's
// own table may know others.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// loadPages returns the files by the path that they are served under: index.html is
// "/", tools.html is "/tools", and all else stands below "/static/".
func loadPages() (map[string]page, error) {
	files, err := static.ReadDir("static")
	if err != nil {
		return nil, fmt.Errorf("load pages: %w", err)
	}
	pages := make(map[string]page, len(files))
	for _, f := range files {
		content, err := static.ReadFile("static/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("load page: %w", err)
		}
		kind := path.Ext(f.Name())
		at := "/static/" + f.Name()
		if kind == ".html" {
			at = "/" + strings.TrimSuffix(strings.TrimSuffix(f.Name(), kind), "index")
		}
		if pageTypes[kind] == "" {
			return nil, fmt.Errorf("load page %q: no content type is known for it", f.Name())
		}
		pages[at] = page{content: content, contentType: pageTypes[kind], zipped: sync.OnceValue(func() []byte { return zip(content) })}
	}
	return pages, nil
}

// page serves an embedded file. Browsers keep it and ask each time whether it is
// still the same.
func (s *server) page(c *gin.Context) {
	p, found := s.pages[c.Request.URL.Path]
	if !found {
		s.noRoute(c)
		return
	}
	content := p.content
	h := c.Writer.Header()
	if bytes.Contains(content, []byte(modelsMark)) {
		content = bytes.Replace(content, []byte(modelsMark), s.modelOptions(), 1)
	} else if zipped := p.zipped(); zipped != nil {
		h.Set("Vary", "Accept-Encoding")
		if takesGzip(c.Request) {
			content = zipped
			h.Set("Content-Encoding", "gzip")
		}
	}
	sum := sha256.Sum256(content)
	h.Set("Content-Type", p.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", fmt.Sprintf(`"%x"`, sum[:12]))
	// The pages have one policy through which HTML reaches them.
	h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; trusted-types molar")
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, bytes.NewReader(content))
}

// modelOptions are the assistants as choices of the chat page.
func (s *server) modelOptions() []byte {
	var b bytes.Buffer
	for _, m := range s.Models() {
		fmt.Fprintf(&b, `<option value="%s" title="%s">%s</option>`,
			html.EscapeString(m.ID), html.EscapeString(m.Description), html.EscapeString(m.ID))
	}
	return b.Bytes()
}

// takesGzip says whether the client names gzip among the forms that it takes. Browsers
// do; "gzip;q=0" is written by nobody and is not read.
func takesGzip(r *http.Request) bool {
	for form := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(form) == "gzip" {
			return true
		}
	}
	return false
}
