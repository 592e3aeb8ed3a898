package importers

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// render fills a template of nunjucks or of OpenAI's evals with values, such as {{item.answer}} or
// {{ messages[0].content }}. It rejects everything that computes: blocks, filters, functions.
func render(template string, vars *node) (string, error) {
	placeholder := regexp.MustCompile(`(?s)\{\{-?(.*?)-?\}\}`)
	valuePath := regexp.MustCompile(`^[\w$-]+(?:\.[\w$-]+|\[\d+\])*$`)
	if start := strings.Index(template, "{%"); start >= 0 {
		return "", fmt.Errorf("the template has code, which is not run: %.40q", template[start:])
	}
	var fault error
	left := maxFilled
	text := placeholder.ReplaceAllStringFunc(template, func(found string) string {
		path := strings.TrimSpace(placeholder.FindStringSubmatch(found)[1])
		value := lookup(vars, path)
		filled := value.text()
		left -= len(filled)
		switch {
		case fault != nil:
		case !valuePath.MatchString(path):
			fault = fmt.Errorf("the template has code, which is not run: %.60q", found)
		case value == nil:
			fault = fmt.Errorf("the template needs %s, which is not given", found)
		case left < 0:
			fault = errLong
		}
		if fault != nil {
			return ""
		}
		return filled
	})
	return text, fault
}

// maxFilled bounds the values in a template, in bytes: values in values in values multiply.
const maxFilled = 1 << 20

var errLong = fmt.Errorf("the values in a template have more than %d bytes", maxFilled)

// lookup returns the value at a path, such as item.answer or messages[0].content; nil if there is none.
func lookup(vars *node, path string) *node {
	if vars == nil || path == "" {
		return vars
	}
	if whole, there := vars.fields[path]; there {
		return whole
	}
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if vars == nil {
			return nil
		}
		if i, err := strconv.Atoi(part); err == nil && vars.list != nil {
			if i >= len(vars.list) || i < 0 {
				return nil
			}
			vars = vars.list[i]
			continue
		}
		vars = vars.fields[part]
	}
	return vars
}
