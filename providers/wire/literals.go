package wire

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep values are nested.
const maxDepth = 64

// pythonCalls reads a list of calls: [NAME(argument=value, …), …].
func pythonCalls(c *cursor) {
	c.trim(blanks)
	c.must("[")
	for c.state == reading {
		c.pythonCall()
		if c.trim(blanks); c.next("]") {
			return
		}
		c.must(",")
	}
}

// pythonCall reads a call, which may be the argument of print.
func pythonCall(c *cursor) {
	c.trim(blanks)
	if c.next("print(") {
		c.pythonCall()
		c.trim(blanks)
		c.must(")")
		return
	}
	c.pythonCall()
}

func (c *cursor) pythonCall() {
	c.trim(blanks)
	name := c.word()
	if c.must("("); c.set != nil && c.set.Resolve(name) == nil {
		c.fail(wrong)
	}
	c.sure = c.state == reading
	c.call(name, c.members(")", "=", 0))
}

// looseCall reads Gemma's form: call:NAME{argument:value, …}.
func looseCall(c *cursor) {
	c.trim(blanks)
	c.must("call:")
	name := c.word()
	c.must("{")
	c.sure = c.state == reading
	c.call(name, c.members("}", ":", 0))
}

// members takes names and values up to the end mark and returns them as a JSON object.
func (c *cursor) members(end, sep string, depth int) json.RawMessage {
	var members object
	for c.trim(blanks); c.state == reading && !c.next(end); c.trim(blanks) {
		var key string
		if mark := c.quotation(); mark != "" {
			key = c.quoted(mark)
		} else {
			key = c.key()
		}
		c.trim(blanks)
		c.must(sep)
		members.add(key, c.literal(depth))
		c.trim(blanks)
		if c.state == reading && !c.next(",") && !strings.HasPrefix(c.text, end) {
			c.must(end) // short or wrong
		}
	}
	return members.json()
}

// key takes a name without quotes.
func (c *cursor) key() string {
	n := strings.IndexFunc(c.text, func(r rune) bool { return strings.ContainsRune(blanks+":=,(){}[]\"'", r) })
	switch {
	case c.state != reading:
		return ""
	case n < 0:
		c.fail(short)
		return ""
	case n == 0:
		c.fail(wrong)
		return ""
	}
	key := c.text[:n]
	c.text = c.text[n:]
	return key
}

// literal takes a value of Python, JSON or Gemma and returns it as JSON.
func (c *cursor) literal(depth int) json.RawMessage {
	c.trim(blanks)
	if c.state == reading && c.text == "" {
		c.fail(short)
	}
	if depth > maxDepth {
		c.fail(wrong)
	}
	switch mark := c.quotation(); {
	case c.state != reading:
		return nil
	case mark != "":
		return quote(c.quoted(mark))
	case c.next("{"):
		return c.members("}", ":", depth+1)
	case c.next("["):
		return c.elements("]", depth+1)
	case c.next("("):
		return c.elements(")", depth+1)
	}
	return c.bare()
}

func (c *cursor) elements(end string, depth int) json.RawMessage {
	list := []json.RawMessage{}
	for c.trim(blanks); c.state == reading && !c.next(end); c.trim(blanks) {
		list = append(list, c.literal(depth))
		c.trim(blanks)
		if c.state == reading && !c.next(",") && !strings.HasPrefix(c.text, end) {
			c.must(end)
		}
	}
	if c.state != reading {
		return nil
	}
	data, _ := json.Marshal(list)
	return data
}

// bare takes a number or a constant.
func (c *cursor) bare() json.RawMessage {
	n := strings.IndexAny(c.text, blanks+",)]}")
	if n < 0 {
		n = len(c.text)
		if !c.last {
			c.fail(short)
		}
	}
	word := c.text[:n]
	c.text = c.text[n:]
	switch word {
	case "True":
		word = "true"
	case "False":
		word = "false"
	case "None":
		word = "null"
	}
	if !json.Valid([]byte(word)) {
		c.fail(wrong)
		return nil
	}
	return json.RawMessage(word)
}

// quotation takes the mark that begins a string, or returns "".
func (c *cursor) quotation() string {
	for _, mark := range []string{`"""`, `'''`, `"`, `'`, `<|"|>`, `<escape>`} {
		if c.state == reading && strings.HasPrefix(c.text, mark) {
			if len(mark) == 1 && !c.last && c.text == mark+mark { // an empty string, or three marks
				c.fail(short)
			}
			c.text = c.text[len(mark):]
			return mark
		}
		if !c.last && c.text != "" && mark[0] == '<' && strings.HasPrefix(mark, c.text) {
			c.fail(short)
		}
	}
	return ""
}

// quoted takes the rest of a string. Only Python's and JSON's have escapes.
func (c *cursor) quoted(mark string) string {
	if c.state != reading {
		return ""
	}
	var out strings.Builder
	escapes := mark[0] != '<'
	for text := c.text; text != ""; {
		if after, ended := strings.CutPrefix(text, mark); ended {
			c.text = after
			return out.String()
		}
		if !escapes || text[0] != '\\' {
			out.WriteByte(text[0])
			text = text[1:]
			continue
		}
		value, size := unescape(text)
		if size == 0 {
			break
		}
		out.WriteString(value)
		text = text[size:]
	}
	c.fail(short)
	return ""
}

// unescape returns the meaning of the escape that begins a text, and its length; 0 if more is to
// come. An unknown escape means itself.
func unescape(text string) (value string, size int) {
	if len(text) < 2 {
		return "", 0
	}
	if i := strings.IndexByte("ntrbf0\n", text[1]); i >= 0 {
		return []string{"\n", "\t", "\r", "\b", "\f", "\x00", ""}[i], 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[1]]
	switch {
	case digits == 0 && strings.IndexByte(`\'"/`, text[1]) >= 0:
		return text[1:2], 2
	case digits == 0:
		return text[:2], 2
	case len(text) < 2+digits:
		return "", 0
	}
	r, size, ok := codepoint(text, digits)
	if !ok {
		return text[:2], 2
	}
	return string(utf8.AppendRune(nil, r)), size
}

// codepoint returns the character of an escape with so many digits, which may be a pair of
// UTF-16, and its length.
func codepoint(text string, digits int) (r rune, size int, ok bool) {
	n, err := strconv.ParseUint(text[2:2+digits], 16, 31)
	if err != nil {
		return 0, 0, false
	}
	r, size = rune(n), 2+digits
	if utf16.IsSurrogate(r) && len(text) >= 2*size && text[size:size+2] == `\u` {
		if low, err := strconv.ParseUint(text[size+2:2*size], 16, 31); err == nil {
			return utf16.DecodeRune(r, rune(low)), 2 * size, true
		}
	}
	return r, size, true
}
