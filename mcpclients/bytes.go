package mcpclients

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// leastBytes is how long a text must be to be taken for bytes in base64: below it, it
// costs a model little.
const leastBytes = 1 << 10

// withoutBytes replaces the strings of a JSON text that hold bytes in base64, alone or as a
// data address, which no model can read. All else stays as it is.
func withoutBytes(raw []byte) []byte {
	if len(raw) < leastBytes {
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

// withoutAddresses replaces the data addresses in a text, and a text that is nothing else
// than bytes in base64.
func withoutAddresses(text string) string {
	if len(text) < leastBytes {
		return text
	}
	note := func(size int) string { return fmt.Sprintf("[%d bytes in base64, left out]", size) }
	if size, ok := encoded([]byte(strings.NewReplacer("\n", "", "\r", "").Replace(strings.TrimSpace(text)))); ok {
		return note(size)
	}
	return longAddress().ReplaceAllStringFunc(text, func(address string) string {
		_, data, _ := strings.Cut(address, ",")
		return note(len(strings.TrimRight(data, "=")) * 3 / 4)
	})
}

// longAddress is a data address that holds much.
func longAddress() *regexp.Regexp {
	return regexp.MustCompile(`data:[^,"\s]{0,200};base64,[A-Za-z0-9+/_-]{1000}[A-Za-z0-9+/_-]*={0,2}`)
}

// stringEnd returns where the string that begins at start ends.
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

// encoded reports whether the inside of a JSON string is base64, and of how many bytes. A
// text of one kind of letters is a word, a number or a sequence of something.
func encoded(inside []byte) (size int, ok bool) {
	if len(inside) < leastBytes {
		return 0, false
	}
	if address := dataAddress().Find(inside); address != nil {
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

// dataAddress begins a data address whose content is base64 (RFC 2397).
func dataAddress() *regexp.Regexp { return regexp.MustCompile(`^data:[^,"]{0,200};base64,`) }
