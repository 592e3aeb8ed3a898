package skills

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"molar/internal/text"
	"molar/schemas"
)

const (
	// maxHead bounds the YAML of a skill, in bytes.
	maxHead = 16 << 10
	// maxDescription bounds the description of a skill, in characters; a longer one is cut, as there are such.
	maxDescription = 1024
)

// isName matches the names of skills.
var isName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`).MatchString

// parse returns the name and description in the head of a SKILL.md, and the text below it. Other keys of
// the head are ignored.
func parse(data []byte) (s schemas.Skill, body string, err error) {
	all, err := textOf(data)
	if err != nil {
		return s, "", err
	}
	head, body, ok := cutHead(all)
	switch {
	case !ok:
		return s, "", errors.New("it does not begin with a head: a line ---, the name and the description of the skill in YAML, a line ---")
	case len(head) > maxHead:
		return s, "", fmt.Errorf("its head has %d bytes; at most %d are read", len(head), maxHead)
	}
	var said struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := yaml.Unmarshal([]byte(head), &said); err != nil {
		return s, "", fmt.Errorf("its head is not YAML: %s", firstLine(err.Error()))
	}
	s = schemas.Skill{Name: said.Name, Description: text.Truncate(strings.Join(strings.Fields(text.Visible(said.Description)), " "), maxDescription)}
	switch {
	case s.Name == "":
		return s, "", errors.New("its head has no name")
	case !isName(s.Name):
		return s, "", fmt.Errorf("the name %q: want small letters, digits and hyphens, at most 64", s.Name)
	case s.Description == "":
		return s, "", errors.New("its head has no description: a model chooses skills by it")
	}
	return s, strings.TrimSpace(body), nil
}

// cutHead returns the YAML between the first two lines ---, and what follows them.
func cutHead(text string) (head, body string, ok bool) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != "---" {
		return "", "", false
	}
	for from := 0; from < len(rest); {
		line, _, _ := strings.Cut(rest[from:], "\n")
		next := min(from+len(line)+1, len(rest))
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:from], rest[next:], true
		}
		from = next
	}
	return "", "", false
}

// textOf returns the text in a file, with \n as the end of each line and without a mark of its encoding.
func textOf(data []byte) (string, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case bytes.IndexByte(data, 0) >= 0:
		return "", errors.New("it is not text")
	case !utf8.Valid(data):
		return "", errors.New("it is not UTF-8; save it in that encoding")
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n"), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
