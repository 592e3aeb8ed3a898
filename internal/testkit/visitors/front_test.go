package visitors_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"time"

	"molar/internal/testkit/visitors"
	"molar/schemas"
)

// A front is a public front in memory that can be spoilt.
type front struct {
	limits visitors.Limits
	spoilt string

	mu      sync.Mutex
	windows map[string]*window
	asked   map[string][]string // by token
	turns   map[string]string   // owner by turn
	refused int
}

type window struct {
	until time.Time
	count int
}

func newFront(limits visitors.Limits, spoilt string) *front {
	return &front{limits: limits, spoilt: spoilt, windows: map[string]*window{}, asked: map[string][]string{}, turns: map[string]string{}}
}

// RoundTrip answers a request without a network.
func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	f.serve(w, r)
	res := w.Result()
	res.Request = r
	return res, nil
}

func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	token := r.Header.Get("X-Molar-Visitor")
	if c, err := r.Cookie("__Host-molar_visitor"); err == nil {
		token = c.Value
	}
	switch {
	case r.URL.Path == "/embed/visit":
		f.visit(w, r)
	case token == "":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/embed/chat":
		f.chat(w, r, token)
	case r.URL.Path == "/embed/conversation", r.URL.Path == "/embed/export":
		f.read(w, token)
	case strings.HasPrefix(r.URL.Path, "/embed/turns/"):
		id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/embed/turns/"), "/")
		if f.turns[id] != token && f.spoilt != "turns" {
			w.WriteHeader(http.StatusNotFound)
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (f *front) visit(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Storage bool }
	_ = json.NewDecoder(r.Body).Decode(&ask)
	token := fmt.Sprintf("token%d", len(f.asked))
	f.asked[token] = nil
	if ask.Storage {
		_, _ = fmt.Fprintf(w, `{"token":%q}`, token)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: "__Host-molar_visitor", Value: token, Path: "/", Secure: true, HttpOnly: true})
	_, _ = fmt.Fprint(w, `{}`)
}

func (f *front) chat(w http.ResponseWriter, r *http.Request, token string) {
	var ask struct{ Text string }
	_ = json.NewDecoder(r.Body).Decode(&ask)
	if limit, until := f.count(token, r.Header.Get("X-Forwarded-For")); limit != "" {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprintf(w, `{"error":{"code":"too_many_questions","message":"Please wait.","limit":%q,"until":%q}}`, limit, until.Format(time.RFC3339))
		return
	}
	f.asked[token] = append(f.asked[token], ask.Text)
	id := fmt.Sprintf("turn%d", len(f.turns))
	f.turns[id] = token
	_, _ = fmt.Fprintf(w, "id: 1\nevent: start\ndata: {\"turn\":%q}\n\nid: 2\nevent: text\ndata: {\"text\":%q}\n\nid: 3\nevent: done\ndata: {}\n\n", id, ask.Text)
}

// count counts a question, or returns the limit that refuses it.
func (f *front) count(token, client string) (limit string, until time.Time) {
	address := netip.MustParseAddr(client)
	if address.Is6() {
		address = netip.PrefixFrom(address, 64).Masked().Addr()
	}
	if f.spoilt == "address" && address.Is6() {
		address = netip.MustParseAddr(client) // each address of a network by itself
	}
	counted := []schemas.CountedLimit{
		{Name: "visitor " + token, Rate: f.limits.Visitor}, {Name: "address " + address.String(), Rate: f.limits.Address}, {Name: "all", Rate: f.limits.All},
	}
	switch f.spoilt {
	case "more":
		counted[0].Count++
	case "fewer":
		counted[1].Count -= 2
	}
	now := time.Now()
	for _, c := range counted {
		if w := f.windows[c.Name]; w != nil && c.Count > 0 && now.Before(w.until) && w.count >= c.Count {
			f.refused++
			name, _, _ := strings.Cut(c.Name, " ")
			return name, w.until
		}
	}
	for _, c := range counted {
		w := f.windows[c.Name]
		if w == nil || !now.Before(w.until) {
			w = &window{until: now.Add(c.Per)}
			f.windows[c.Name] = w
		}
		w.count++
	}
	return "", time.Time{}
}

func (f *front) read(w http.ResponseWriter, token string) {
	if f.spoilt == "shared" {
		_ = json.NewEncoder(w).Encode(f.asked)
		return
	}
	if f.spoilt == "lost" && len(f.asked[token]) > 0 {
		f.asked[token] = f.asked[token][1:]
	}
	_ = json.NewEncoder(w).Encode(f.asked[token])
}
