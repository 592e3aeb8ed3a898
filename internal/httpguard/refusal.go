package httpguard

import (
	"encoding/json"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// contentPolicy lets a page use its own origin's files only, and no inline code.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; media-src data:; form-action 'self'; base-uri 'none'; " + noFrame + "; " +
	"require-trusted-types-for 'script'"

// noFrame forbids every page to show an answer in a frame.
const noFrame = "frame-ancestors 'none'"

// AllowFrame lets pages of the origins show an answer in a frame; nothing else of its policy changes. It
// may use one Trusted Types policy, named molar.
func AllowFrame(h http.Header, origins []string) {
	policy := contentPolicy
	if len(origins) > 0 {
		policy = strings.Replace(policy, noFrame, "frame-ancestors "+strings.Join(origins, " "), 1)
		h.Del("X-Frame-Options") // it can't name origins
	}
	h.Set("Content-Security-Policy", policy+"; trusted-types molar")
}

const permissionsPolicy = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), usb=()"

// strictFor is how long a browser must use a named host over TLS only, in seconds: a year.
const strictFor = "max-age=31536000"

// setHeaders sets the security headers of every answer to r. A handler of static files
// may loosen Cache-Control.
func setHeaders(h http.Header, r *http.Request) {
	if r.TLS != nil && !isLocal(r.Host) {
		h.Set("Strict-Transport-Security", strictFor)
	}
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", permissionsPolicy)
	h.Set("Cache-Control", "no-store")
}

// isLocal reports whether the host is a name of this machine or a bare address. Browsers
// ignore Strict-Transport-Security for the latter, and for localhost it would block all other
// programs of the machine, on every port.
func isLocal(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	_, err = netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}

// A Refusal is a refused request, in the form of an OpenAI error object.
type Refusal struct {
	Status int
	// Type is the error's type; empty means "invalid_request_error".
	Type    string
	Code    string
	Message string
	// RetryAfter is when a retry makes sense; zero if never.
	RetryAfter time.Duration
}

func refuse(status int, code, message string) *Refusal {
	return &Refusal{Status: status, Code: code, Message: message}
}

// NoGroup refuses a person none of whose groups is admitted.
func NoGroup() *Refusal {
	return &Refusal{
		Status: http.StatusForbidden, Type: "permission_error", Code: "no_group",
		Message: "none of your groups is admitted here; ask the person who runs this assistant",
	}
}

// Write answers the request with the refusal; nothing may have been written before.
func (f *Refusal) Write(w http.ResponseWriter, r *http.Request) {
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	kind := f.Type
	if kind == "" {
		kind = "invalid_request_error"
	}
	body, err := json.Marshal(map[string]object{
		"error": {Message: f.Message, Type: kind, Code: f.Code},
	})
	if err != nil {
		http.Error(w, f.Message, f.Status)
		return
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	if f.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone; no one else can get the error
	}
}
