package wire

import (
	"net/http"
	"strings"
)

// TakesGzip reports whether the client accepts gzip, as browsers do. Quality values are not parsed.
func TakesGzip(r *http.Request) bool {
	for form := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(form) == "gzip" {
			return true
		}
	}
	return false
}
