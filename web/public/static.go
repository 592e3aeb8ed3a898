package public

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/web/wire"
)

//go:embed static
var static embed.FS

// An asset is a file that browsers load.
type asset struct {
	content, zipped []byte
	kind, tag       string
}

// kinds returns the content types of files.
func kinds() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml", ".png": "image/png",
	}
}

func newAsset(kind string, content []byte) asset {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(content)                               // to memory
	_ = z.Close()
	sum := sha256.Sum256(content)
	a := asset{content: content, kind: kind, tag: fmt.Sprintf("%x", sum[:12])}
	if b.Len() < len(content) {
		a.zipped = b.Bytes()
	}
	return a
}

// load reads the files, fills in the settings, and makes the colours and the mark.
func (s *Surface) load(from fs.FS) (map[string]asset, error) {
	files := map[string]asset{}
	colours, err := coloursOf(s.Colour)
	if err != nil {
		return nil, err
	}
	files["/embed/colours.css"] = newAsset(kinds()[".css"], colours.css())
	if len(s.Mark) > 0 {
		files["/embed/mark"] = newAsset(s.MarkType, s.Mark)
	}
	known := s.settings(colours)
	whole, err := json.Marshal(known)
	if err != nil {
		return nil, err
	}
	button, err := json.Marshal(known.buttonSettings)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(from, "static")
	if err != nil {
		return nil, fmt.Errorf("read its files: %w", err)
	}
	for _, entry := range entries {
		kind := kinds()[path.Ext(entry.Name())]
		if kind == "" {
			continue
		}
		content, err := fs.ReadFile(from, "static/"+entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read its files: %w", err)
		}
		if path.Ext(entry.Name()) == ".html" {
			content = bytes.ReplaceAll(content, []byte(settingsMark), []byte(html.EscapeString(string(whole))))
		} else {
			content = bytes.ReplaceAll(content, []byte(`"`+settingsMark+`"`), button)
		}
		switch entry.Name() {
		case "embed.js":
			comments := regexp.MustCompile(`(?m)^ *//.*\n`) // browsers need not load them
			files["/embed.js"] = newAsset(kind, comments.ReplaceAll(content, nil))
		case "embed.html":
			for _, lang := range []string{"vi", "en"} {
				page := bytes.ReplaceAll(content, []byte("[[lang]]"), []byte(lang))
				page = bytes.ReplaceAll(page, []byte("[[title]]"), []byte(html.EscapeString(s.title(lang))))
				files["/embed?lang="+lang] = newAsset(kind, page)
			}
		default:
			files["/embed/static/"+entry.Name()] = newAsset(kind, content)
		}
	}
	return files, nil
}

const settingsMark = "[[settings]]"

// A buttonSettings is what the script on a site knows of the config.
type buttonSettings struct {
	// Titles are pairs of a language and a title, that of the operator's first language first.
	Titles [][2]string `json:"titles"`
	// Colour is that of what can be pressed, On of the text on it; both are as #rrggbb.
	Colour string `json:"colour"`
	On     string `json:"on"`
}

// A settings is what the frame knows of the config.
type settings struct {
	buttonSettings
	// Mark is set if /embed/mark is an image.
	Mark bool `json:"mark"`
	// Notices are the notices as pairs like the titles; Privacy is an address or empty.
	Notices [][2]string `json:"notices,omitempty"`
	Privacy string      `json:"privacy,omitempty"`
	// Consent is the hash of what has to be agreed to before the first question; empty if nothing has.
	Consent string `json:"consent,omitempty"`
	// MaxText is the maximum length of a question, in characters.
	MaxText int `json:"max_text"`
	// Marks is set if answers can be marked, and Desk if somebody can be reached.
	Marks bool `json:"marks"`
	Desk  bool `json:"desk"`
	// KeepHours is how long a conversation is kept after its last message, in hours.
	KeepHours float64 `json:"keep_hours"`
}

func (s *Surface) settings(c colours) settings {
	all := settings{
		buttonSettings: buttonSettings{Colour: c.brand.hex(), On: textOn(c.brand).hex()},
		Mark:           len(s.Mark) > 0, Privacy: s.Privacy, MaxText: MaxText,
		Marks: s.Marks != nil, Desk: s.Desk != nil, KeepHours: s.Keep.Hours(),
	}
	for _, lang := range []string{"vi", "en"} {
		all.Titles = append(all.Titles, [2]string{lang, s.title(lang)})
		if text := inLanguage(s.Notice, lang); text != "" {
			all.Notices = append(all.Notices, [2]string{lang, text})
		}
	}
	if s.Title["vi"] == "" && s.Title["en"] != "" {
		slices.Reverse(all.Titles)
	}
	if s.Consent {
		all.Consent = s.consent
	}
	return all
}

func (s *Surface) title(lang string) string {
	if title := inLanguage(s.Title, lang); title != "" {
		return title
	}
	return words{"Hỏi đáp", "Ask us"}.in(lang)
}

// loader answers GET /embed.js, which pages of other sites load.
func (s *Surface) loader(c *gin.Context) {
	c.Header("Cross-Origin-Resource-Policy", "cross-origin")
	s.send(c, "/embed.js", "public, max-age=300")
}

// page answers GET /embed, the frame.
func (s *Surface) page(c *gin.Context) {
	httpguard.AllowFrame(c.Writer.Header(), s.Origins)
	c.Writer.Header().Add("Vary", "Accept-Language")
	s.send(c, "/embed?lang="+languageOf(c.Request, ""), "no-cache")
}

func (s *Surface) static(c *gin.Context) { s.send(c, c.Request.URL.Path, "no-cache") }

func (s *Surface) colours(c *gin.Context) { s.send(c, "/embed/colours.css", "no-cache") }

// mark answers GET /embed/mark, which the button on a page of another site shows. An image may hold
// scripts, which must not run if it is opened by itself.
func (s *Surface) mark(c *gin.Context) {
	c.Header("Cross-Origin-Resource-Policy", "cross-origin")
	c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'")
	s.send(c, "/embed/mark", "public, max-age=300")
}

// send sends a file.
func (s *Surface) send(c *gin.Context, name, caching string) {
	a, found := s.files[name]
	if !found {
		s.fail(c, &failure{Status: http.StatusNotFound, Code: "not_found"})
		return
	}
	h := c.Writer.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", caching)
	h.Add("Vary", "Accept-Encoding")
	content, tag := a.content, a.tag
	if a.zipped != nil && wire.TakesGzip(c.Request) {
		content, tag = a.zipped, a.tag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, bytes.NewReader(content))
}
