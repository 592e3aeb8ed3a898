package wire

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// WriteJSON answers with v as JSON.
func WriteJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		WriteError(w, ErrInternal)
		return
	}
	WriteBody(w, http.StatusOK, body)
}

// WriteBody answers with a status and a body of JSON.
func WriteBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the error means that the client has disconnected
}

// AsJSON returns a tool's text as JSON: unchanged if it is JSON, else a string.
func AsJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return AppendString(nil, text)
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD, as in
// encoding/json.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	plain := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			b = appendEscape(append(b, s[plain:i]...), c)
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(append(b, s[plain:i]...), `\ufffd`...)
			plain = i + size
		}
		i += size
	}
	return append(append(b, s[plain:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// IsSet reports whether an optional value is present and not null.
func IsSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
