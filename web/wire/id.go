package wire

import (
	"net/http"
	"strings"
)

// RequestIDHeader is the header with the id of a request, in the request and in its answer.
const RequestIDHeader = "X-Request-Id"

// IsID reports whether s is an id that clients may choose for conversations and requests: 1 to
// 128 characters of [A-Za-z0-9._:-].
func IsID(s string) bool {
	if len(s) == 0 || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("._:-", rune(c)) {
			return false
		}
	}
	return true
}

// RequestID returns the id of the request that w answers.
func RequestID(w http.ResponseWriter) string { return w.Header().Get(RequestIDHeader) }
