package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

//go:embed static
var static embed.FS

// A page is an embedded file with what a browser needs to keep it.
type page struct {
	content     []byte
	contentType string
	etag        string
}

// loadPages returns the files by the path that they are served under. The types
// are written out, since the machine's own table may know others.
func loadPages() (map[string]page, error) {
	pages := map[string]page{}
	for _, f := range []struct{ path, file, contentType string }{
		{"/", "static/index.html", "text/html; charset=utf-8"},
		{"/static/chat.js", "static/chat.js", "text/javascript; charset=utf-8"},
		{"/static/text.js", "static/text.js", "text/javascript; charset=utf-8"},
		{"/static/style.css", "static/style.css", "text/css; charset=utf-8"},
		{"/static/icon.svg", "static/icon.svg", "image/svg+xml"},
	} {
		content, err := static.ReadFile(f.file)
		if err != nil {
			return nil, fmt.Errorf("load page: %w", err)
		}
		sum := sha256.Sum256(content)
		pages[f.path] = page{content: content, contentType: f.contentType, etag: fmt.Sprintf(`"%x"`, sum[:12])}
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
	h := c.Writer.Header()
	h.Set("Content-Type", p.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", p.etag)
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, bytes.NewReader(p.content))
}
