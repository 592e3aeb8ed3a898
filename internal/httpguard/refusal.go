package httpguard

import (
	"encoding/json"
	"net/http"
)

// contentPolicy lets a page use its own origin's files only, and no inline code.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'"

const permissionsPolicy = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), usb=()"

// setHeaders sets the security headers of every answer. A handler of static files
// may loosen Cache-Control.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", permissionsPolicy)
	h.Set("Cache-Control", "no-store")
}

// A refusal is an answer of the guard itself.
type refusal struct {
	status  int
	code    string
	message string
}

func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, code: code, message: message}
}

// write sends the refusal as an OpenAI error object.
func (f *refusal) write(w http.ResponseWriter, r *http.Request) {
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	}
	body, err := json.Marshal(map[string]object{
		"error": {Message: f.message, Type: "invalid_request_error", Code: f.code},
	})
	if err != nil {
		http.Error(w, f.message, f.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone; there is nobody else to tell
	}
}
