package wire

import "strings"

// named is a call that is a name and then the arguments as JSON:
//
//	NAME [ before ID ] between {"argument": value}
//
// If fenced, the JSON may stand in a fence instead of after between; if bare, right after the name.
type named struct {
	before, between string
	fenced, bare    bool
}

func (n named) read(c *cursor) {
	c.trim(blanks)
	name, number, _ := strings.Cut(c.word(), ":") // Kimi K2 numbers the calls
	if strings.Trim(number, "0123456789") != "" {
		c.fail(wrong)
	}
	if n.before != "" && c.next(n.before) {
		c.word()
	}
	fence := false
	if !c.next(n.between) && n.fenced {
		c.trim(blanks)
		fence = true
		c.must("```json")
	} else if n.bare {
		c.trim(blanks)
	}
	c.trim(blanks)
	if c.name = name; c.text != "" && c.text[0] != '{' {
		c.fail(wrong)
	}
	c.sure = c.state == reading && c.text != ""
	raw := c.value()
	if c.trim(blanks); fence {
		c.must("```")
		c.trim(blanks)
	}
	c.call(name, raw)
}

// around is an item in marks of its own: open [ kind ] item shut.
type around struct {
	open, kind string
	item       item
	shut       string
}

func (a around) read(c *cursor) {
	c.trim(blanks)
	c.must(a.open)
	c.trim(blanks)
	if a.kind != "" {
		c.next(a.kind)
	}
	if c.state == reading {
		a.item(c)
	}
	c.trim(blanks)
	c.must(a.shut)
}
