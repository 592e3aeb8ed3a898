package terminal

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A KeyCode names a key that is not a character.
type KeyCode int

// The keys known to an [Editor] or its owner.
const (
	KeyRune  KeyCode = iota // Key.Text is one character
	KeyPaste                // Key.Text is the pasted text
	KeyEnter
	KeyNewline // Ctrl-J, Alt-Enter, and Shift-Enter where the terminal tells it from Enter
	KeyTab
	KeyBackTab // Shift-Tab
	KeyBackspace
	KeyDelete
	KeyUp
	KeyDown
	KeyLeft
	KeyRight
	KeyWordLeft
	KeyWordRight
	KeyHome
	KeyEnd
	KeyKillLeft  // Ctrl-U
	KeyKillRight // Ctrl-K
	KeyKillWord  // Ctrl-W, Alt-Backspace
	KeyKillNext  // Alt-D
	KeyYank      // Ctrl-Y
	KeyUndo      // Ctrl-_
	KeyClear     // Ctrl-L
	KeySearch    // Ctrl-R
	KeyCancel    // Ctrl-G
	KeyInterrupt // Ctrl-C
	KeyEscape    // Esc by itself
	KeyEOF       // Ctrl-D
	KeyReported  // not a key: the terminal can report Shift-Enter, see [Console.Report]
	KeyNone      // an unknown key
)

// A Key is one key press, or one paste.
type Key struct {
	Code KeyCode
	Text string
}

// maxPaste limits one paste, in bytes; a longer one is dropped.
const maxPaste = 4 << 20

// Marks of a bracketed paste (XTerm control sequences, "Bracketed Paste Mode").
const (
	pasteBegin = "[200~"
	pasteEnd   = "\x1b[201~"
)

// escapeWait is how long the rest of an escape sequence may take: the bytes of one key press
// come together, and over a slow line nearly so.
const escapeWait = 100 * time.Millisecond

// ReadKeys reads a terminal in raw mode and passes each key to key until the input ends or key
// returns false. An escape that nothing follows is the Esc key. A pending read ends with the
// next byte after ReadKeys returns.
func ReadKeys(r io.Reader, key func(Key) bool) error {
	done := make(chan struct{})
	defer close(done)
	chunks, failed := readChunks(r, done)
	var pending []byte
	for {
		var alone <-chan time.Time
		if len(pending) == 1 && pending[0] == escape {
			alone = time.After(escapeWait)
		}
		select {
		case chunk, ok := <-chunks:
			if !ok {
				return <-failed
			}
			pending = append(pending, chunk...)
		case <-alone:
			pending = nil
			if !key(Key{Code: KeyEscape}) {
				return nil
			}
		}
		for {
			k, used := decodeKey(pending)
			if used == 0 {
				break
			}
			pending = pending[used:]
			if k.Code != KeyNone && !key(k) {
				return nil
			}
		}
	}
}

// readChunks reads until the input ends or fails; failed then returns the error.
func readChunks(r io.Reader, done <-chan struct{}) (chunks <-chan []byte, failed <-chan error) {
	out, end := make(chan []byte), make(chan error, 1)
	go func() {
		defer close(out)
		buf := make([]byte, 1024)
		for {
			n, err := r.Read(buf)
			if n > 0 {
				select {
				case out <- bytes.Clone(buf[:n]):
				case <-done:
					return
				}
			}
			if err != nil {
				if err == io.EOF {
					err = nil
				}
				end <- err
				return
			}
		}
	}()
	return out, end
}

// decodeKey decodes the first key of the bytes; used is 0 if more must come.
func decodeKey(b []byte) (k Key, used int) {
	if len(b) == 0 {
		return k, 0
	}
	switch c := b[0]; {
	case c == escape:
		return decodeEscape(b)
	case c < ' ' || c == 0x7f:
		return Key{Code: controlKey(c)}, 1
	case !utf8.FullRune(b):
		return k, 0
	}
	r, size := utf8.DecodeRune(b)
	if forbidden(r) {
		return Key{Code: KeyNone}, size
	}
	return Key{Code: KeyRune, Text: string(r)}, size
}

func controlKey(c byte) KeyCode {
	switch c {
	case '\r':
		return KeyEnter
	case '\n':
		return KeyNewline
	case '\t':
		return KeyTab
	case 0x08, 0x7f:
		return KeyBackspace
	}
	const ctrl = 0x40
	switch c + ctrl {
	case 'A':
		return KeyHome
	case 'B':
		return KeyLeft
	case 'C':
		return KeyInterrupt
	case 'D':
		return KeyEOF
	case 'E':
		return KeyEnd
	case 'F':
		return KeyRight
	case 'G':
		return KeyCancel
	case 'K':
		return KeyKillRight
	case 'L':
		return KeyClear
	case 'N':
		return KeyDown
	case 'P':
		return KeyUp
	case 'R':
		return KeySearch
	case 'U':
		return KeyKillLeft
	case 'W':
		return KeyKillWord
	case 'Y':
		return KeyYank
	case '[':
		return KeyEscape // only from a terminal that reports it as a sequence
	case '_':
		return KeyUndo
	}
	return KeyNone
}

// altKey returns the key of a character that is typed with Alt.
func altKey(c byte) KeyCode {
	switch c {
	case '\r', '\n':
		return KeyNewline
	case 'b':
		return KeyWordLeft
	case 'f':
		return KeyWordRight
	case 'd':
		return KeyKillNext
	case 0x7f, 0x08:
		return KeyKillWord
	}
	return KeyNone
}

// decodeEscape decodes a key that begins with an escape.
func decodeEscape(b []byte) (k Key, used int) {
	if len(b) == 1 {
		return k, 0
	}
	switch b[1] {
	case '[':
	case 'O':
		if len(b) < 3 {
			return k, 0
		}
		return Key{Code: cursorKey(b[2])}, 3
	case escape:
		return Key{Code: KeyNone}, 1
	default:
		if code := altKey(b[1]); code != KeyNone || b[1] >= ' ' {
			return Key{Code: code}, 2
		}
		return Key{Code: KeyEscape}, 1 // before a control key
	}
	if text := string(b[1:min(len(b), 1+len(pasteBegin))]); text == pasteBegin {
		return decodePaste(b)
	}
	end := 2
	for end < len(b) && (b[end] < 0x40 || b[end] > 0x7e) {
		if end++; end > 32 { // no key is that long
			return Key{Code: KeyNone}, end
		}
	}
	if end == len(b) {
		return k, 0
	}
	return Key{Code: sequenceKey(string(b[2:end]), b[end])}, end + 1
}

// decodePaste decodes the text between the marks of a paste.
func decodePaste(b []byte) (k Key, used int) {
	start := 1 + len(pasteBegin)
	text := string(b[start:])
	end := strings.Index(text, pasteEnd)
	if end < 0 {
		if len(text) > maxPaste { // do not keep a paste that never ends
			return Key{Code: KeyPaste, Text: pasted(text[:maxPaste])}, len(b)
		}
		return k, 0
	}
	return Key{Code: KeyPaste, Text: pasted(text[:min(end, maxPaste)])}, start + end + len(pasteEnd)
}

// pasted returns pasted text with normalised line ends.
func pasted(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return Clean(strings.ReplaceAll(text, "\r", "\n"))
}

func cursorKey(final byte) KeyCode {
	switch final {
	case 'A':
		return KeyUp
	case 'B':
		return KeyDown
	case 'C':
		return KeyRight
	case 'D':
		return KeyLeft
	case 'H':
		return KeyHome
	case 'F':
		return KeyEnd
	}
	return KeyNone
}

// sequenceKey returns the key of a CSI sequence. Parameters such as "1;5" name the modifiers.
func sequenceKey(parameters string, final byte) KeyCode {
	first, rest, _ := strings.Cut(parameters, ";")
	held, last, _ := strings.Cut(rest, ";")
	switch final {
	case 'u':
		if strings.HasPrefix(parameters, "?") {
			return KeyReported
		}
		return reportedKey(first, held)
	case 'Z':
		return KeyBackTab
	case '~':
		return tildeKey(first, held, last)
	}
	code := cursorKey(final)
	switch {
	case held == "" && parameters == "":
	case code == KeyLeft:
		return KeyWordLeft
	case code == KeyRight:
		return KeyWordRight
	}
	return code
}

// tildeKey returns the key of a sequence of XTerm that ends with a tilde: an editing key by its
// number, or "27", the modifiers and the character of a modified key.
func tildeKey(number, held, character string) KeyCode {
	switch number {
	case "1", "7":
		return KeyHome
	case "4", "8":
		return KeyEnd
	case "3":
		if held != "" {
			return KeyKillNext
		}
		return KeyDelete
	case "27":
		return reportedKey(character, held)
	}
	return KeyNone
}

// The modifiers of a reported key, as bits of a number that is one less than the one sent.
const (
	shiftHeld = 1
	altHeld   = 2
	ctrlHeld  = 4
)

// reportedKey returns a key that the terminal reports by its character and the modifiers held with it
// (kitty keyboard protocol). The third character, if there is one, is that of a Latin keyboard.
func reportedKey(character, held string) KeyCode {
	all := strings.Split(character, ":")
	if character = all[0]; len(all) > 2 {
		character = all[2]
	}
	c, err := strconv.ParseUint(character, 10, 8)
	if err != nil || c > 0x7f {
		return KeyNone
	}
	held, _, _ = strings.Cut(held, ":")
	modifiers, _ := strconv.Atoi(held)
	modifiers = max(modifiers-1, 0)
	switch key := byte(c); {
	case key == '\r' && modifiers != 0:
		return KeyNewline
	case key == '\t' && modifiers&shiftHeld != 0:
		return KeyBackTab
	case modifiers&altHeld != 0:
		return altKey(key)
	case key == 0x7f && modifiers&ctrlHeld != 0:
		return KeyKillWord
	case key < ' ' || key == 0x7f:
		return controlKey(key)
	case modifiers&ctrlHeld != 0:
		return controlKey(key & 0x1f)
	}
	return KeyNone
}
