// Package pages holds the embedded pages of the HTTP side, and renders the Markdown of answers
// as HTML for them.
package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"path"
	"strings"
	"sync"
	"text/template/parse"
	"time"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

//go:embed static
var static embed.FS

// modelsMark is replaced in the chat page by the list of assistants, so that the page does not have
// to request it.
const modelsMark = "[[models]]"

// meMark is replaced there by who the reader is, as JSON.
const meMark = "[[me]]"

// frameFile is the template of all pages: what stands around their own parts.
const frameFile = "frame.html"

// A page is an embedded file.
type page struct {
	content     []byte
	contentType string
	// zipped is the gzipped content, made on first use.
	zipped func() []byte
}

// A Site serves the pages of one host.
type Site struct {
	pages   map[string]page
	models  func(*http.Request) []schemas.AssistantInfo
	me      func(*http.Request) any
	missing gin.HandlerFunc
}

// New returns the site. models returns the assistants that a client may use, and me who it is, as GET /v1/me does. missing answers requests for unknown pages.
func New(models func(*http.Request) []schemas.AssistantInfo, me func(*http.Request) any, missing gin.HandlerFunc) (*Site, error) {
	pages, err := load()
	return &Site{pages: pages, models: models, me: me, missing: missing}, err
}

// Paths returns the paths of the pages, without those of their assets below "/static/".
func (s *Site) Paths() []string {
	var paths []string
	for path := range s.pages {
		if !strings.HasPrefix(path, "/static/") && path != loginPage {
			paths = append(paths, path)
		}
	}
	return paths
}

// zip compresses content; it returns nil if that fails.
func zip(content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil || z.Close() != nil {
		return nil
	}
	return b.Bytes()
}

// pageTypes are the content types of embedded files. The types of package mime depend on the
// machine.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/manifest+json",
}

// load returns the files by the path under which they are served: index.html under "/", tools.html
// under "/tools", and files other than pages below "/static/".
func load() (map[string]page, error) {
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
		if f.Name() == frameFile {
			continue
		}
		if kind == ".html" {
			if content, err = framed(content); err != nil {
				return nil, fmt.Errorf("load page %q: %w", f.Name(), err)
			}
		}
		at := "/static/" + f.Name()
		if kind == ".html" && at != missingPage && at != noGroupPage && at != notYoursPage && at != readerPage {
			at = "/" + strings.TrimSuffix(strings.TrimSuffix(f.Name(), kind), "index")
		}
		if pageTypes[kind] == "" {
			return nil, fmt.Errorf("load page %q: no content type is known for it", f.Name())
		}
		pages[at] = page{content: content, contentType: pageTypes[kind], zipped: sync.OnceValue(func() []byte { return zip(content) })}
	}
	return pages, nil
}

// framed puts a page that names its parts into the frame. Both are Go templates without data, so that
// their parser suffices.
func framed(content []byte) ([]byte, error) {
	frame, err := static.ReadFile("static/" + frameFile)
	if err != nil {
		return nil, err
	}
	parts, err := parse.Parse(frameFile, string(frame), "", "")
	if err != nil {
		return nil, err
	}
	own, err := parse.Parse("page", string(content), "", "")
	if err != nil {
		return nil, err
	}
	maps.Copy(parts, own)
	var whole bytes.Buffer
	err = write(&whole, parts, frameFile)
	return whole.Bytes(), err
}

// write writes a part with the parts that it names.
func write(whole *bytes.Buffer, parts map[string]*parse.Tree, name string) error {
	part, found := parts[name]
	if !found {
		return fmt.Errorf("it does not define the part %q", name)
	}
	for _, node := range part.Root.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			whole.Write(n.Text)
		case *parse.TemplateNode:
			if err := write(whole, parts, n.Name); err != nil {
				return err
			}
		default:
			return fmt.Errorf("part %q: %s: a page has texts and parts only", name, n)
		}
	}
	return nil
}

// Serve serves an embedded file. Browsers cache it and revalidate it each time.
func (s *Site) Serve(c *gin.Context) {
	p, found := s.pages[c.Request.URL.Path]
	if !found {
		s.missing(c)
		return
	}
	s.write(c.Writer, c.Request, p)
}

// Pages that have no address of their own, and the one for signing in.
const (
	missingPage  = "/static/missing.html"
	noGroupPage  = "/static/nogroup.html"
	notYoursPage = "/static/notyours.html"
	readerPage   = "/static/reader.html"
	loginPage    = "/login"
)

// Missing serves the 404 page.
func (s *Site) Missing(c *gin.Context) {
	s.writeInstead(c.Writer, c.Request, http.StatusNotFound, missingPage)
}

// Reader serves the page that shows the document of its address.
func (s *Site) Reader(c *gin.Context) { s.write(c.Writer, c.Request, s.pages[readerPage]) }

// NotYours serves the page for somebody who lacks the scope of a page.
func (s *Site) NotYours(c *gin.Context) {
	s.writeInstead(c.Writer, c.Request, http.StatusForbidden, notYoursPage)
}

// NoGroup serves the page for somebody none of whose groups is admitted.
func (s *Site) NoGroup(w http.ResponseWriter, r *http.Request) {
	s.writeInstead(w, r, http.StatusForbidden, noGroupPage)
}

// Login serves the page for signing in.
func (s *Site) Login(c *gin.Context) { s.write(c.Writer, c.Request, s.pages[loginPage]) }

// writeInstead serves a page with a status instead of what the client asked for. A browser must not take
// it for what it has of that address, so conditions of the request do not count.
func (s *Site) writeInstead(w http.ResponseWriter, r *http.Request, status int, name string) {
	r = r.Clone(r.Context())
	for _, condition := range []string{"If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range"} {
		r.Header.Del(condition)
	}
	s.write(statusWriter{w, status}, r, s.pages[name])
}

// A statusWriter sets the status of the page.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w statusWriter) WriteHeader(int) { w.ResponseWriter.WriteHeader(w.status) }

func (s *Site) write(w http.ResponseWriter, r *http.Request, p page) {
	content, zipped := p.content, p.zipped
	h := w.Header()
	if bytes.Contains(content, []byte(modelsMark)) {
		content = bytes.Replace(content, []byte(modelsMark), s.options(r), 1)
		content = bytes.Replace(content, []byte(meMark), s.reader(r), 1)
		whole := content
		zipped = func() []byte { return zip(whole) }
	}
	h.Set("Vary", "Accept-Encoding")
	if wire.TakesGzip(r) {
		if z := zipped(); z != nil {
			content = z
			h.Set("Content-Encoding", "gzip")
		}
	}
	sum := sha256.Sum256(content)
	h.Set("Content-Type", p.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", fmt.Sprintf(`"%x"`, sum[:12]))
	// The pages allow one Trusted Types policy and the manifest.
	h.Set("Content-Security-Policy", h.Get("Content-Security-Policy")+"; manifest-src 'self'; trusted-types molar")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// reader returns who makes a request, as JSON for an attribute.
func (s *Site) reader(r *http.Request) []byte {
	me, err := json.Marshal(s.me(r))
	if err != nil {
		return nil // then the page asks
	}
	return []byte(html.EscapeString(string(me)))
}

// options returns the assistants as options of the chat page.
func (s *Site) options(r *http.Request) []byte {
	var b bytes.Buffer
	for _, m := range s.models(r) {
		questions, err := json.Marshal(m.FirstQuestions)
		if err != nil || m.FirstQuestions == nil {
			questions = []byte("{}")
		}
		fmt.Fprintf(&b, `<option value="%s" title="%s" data-topic="%s" data-questions="%s">%s</option>`, html.EscapeString(m.Name),
			html.EscapeString(m.Description), html.EscapeString(m.Topic), html.EscapeString(string(questions)), html.EscapeString(m.Name))
	}
	return b.Bytes()
}
