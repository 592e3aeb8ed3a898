package mcpclients

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// minEncoded is the length at which a text may be taken for base64: a shorter one costs a model
// little.
const minEncoded = 1 << 10

// withoutBytes replaces the strings of a JSON text that hold base64 bytes, alone or as a data
// URL, since no model can read them. The rest stays unchanged.
func withoutBytes(raw []byte) []byte {
	if len(raw) < minEncoded {
		return raw
	}
	var out []byte
	kept := 0
	for at := bytes.IndexByte(raw, '"'); at >= 0; {
		end := stringEnd(raw, at)
		if size, ok := encoded(raw[at+1 : end]); ok {
			out = append(out, raw[kept:at]...)
			out = fmt.Appendf(out, `"[%d bytes in base64, left out]"`, size)
			kept = end + 1
		}
		next := bytes.IndexByte(raw[min(end+1, len(raw)):], '"')
		if next < 0 {
			break
		}
		at = end + 1 + next
	}
	return append(out, raw[kept:]...)
}

// withoutDataURLs replaces the data URLs in a text, and a text that is nothing but base64.
func withoutDataURLs(text string) string {
	if len(text) < minEncoded {
		return text
	}
	note := func(size int) string { return fmt.Sprintf("[%d bytes in base64, left out]", size) }
	if size, ok := encoded([]byte(strings.NewReplacer("\n", "", "\r", "").Replace(strings.TrimSpace(text)))); ok {
		return note(size)
	}
	return longDataURL().ReplaceAllStringFunc(text, func(address string) string {
		_, data, _ := strings.Cut(address, ",")
		return note(len(strings.TrimRight(data, "=")) * 3 / 4)
	})
}

// longDataURL matches a data URL of at least 1,000 base64 characters.
func longDataURL() *regexp.Regexp {
	return regexp.MustCompile(`data:[^,"\s]{0,200};base64,[A-Za-z0-9+/_-]{1000}[A-Za-z0-9+/_-]*={0,2}`)
}

// stringEnd returns the index of the closing quote of the string that begins at start.
func stringEnd(raw []byte, start int) int {
	for i := start + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(raw)
}

// encoded reports whether the inside of a JSON string is base64, and how many bytes it holds. It
// requires small and large letters and digits: anything less is a word, a number or a sequence.
func encoded(inside []byte) (size int, ok bool) {
	if len(inside) < minEncoded {
		return 0, false
	}
	if address := dataURLPrefix().Find(inside); address != nil {
		inside = inside[len(address):]
	}
	text := strings.NewReplacer(`\/`, "/", `\n`, "", `\r`, "").Replace(string(inside))
	plain := strings.TrimRight(text, "=")
	const small, large, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	if strings.Trim(plain, small+large+digits+"+/-_") != "" || len(text)-len(plain) > 2 {
		return 0, false
	}
	mixed := strings.ContainsAny(plain, small) && strings.ContainsAny(plain, large) && strings.ContainsAny(plain, digits)
	return len(plain) * 3 / 4, mixed
}

// dataURLPrefix matches the start of a base64 data URL (RFC 2397).
func dataURLPrefix() *regexp.Regexp { return regexp.MustCompile(`^data:[^,"]{0,200};base64,`) }
