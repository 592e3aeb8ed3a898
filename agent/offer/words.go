package offer

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"molar/internal/text"
	"molar/schemas"
)

const (
	// maxText bounds the read part of a description, in bytes: its beginning says what a tool is
	// for.
	maxText = 800
)

// wordsOf returns the stems of a tool's words, field by field.
func wordsOf(t schemas.ToolInfo) reading {
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema, &schema) // a bad schema has no words
	var names, explanations []string
	for name, p := range schema.Properties {
		names = append(names, stems(name)...)
		explanations = append(explanations, stems(text.Clip(p.Description, maxText/4, ""))...)
		for _, member := range p.Enum {
			if s, ok := member.(string); ok {
				names = append(names, stems(s)...)
			}
		}
	}
	return reading{
		inName: stems(cmp.Or(t.ToolName, t.Name)), inTitle: stems(t.Title), inServer: stems(t.Server),
		inDescription: stems(text.Clip(t.Description, maxText, "")), inParameters: names, inExplanations: explanations,
	}
}

// stems returns the meaningful words of a text or a name ("getFile", "get_file", "Get a file"),
// folded and without endings.
func stems(s string) []string {
	var out []string
	for _, w := range split(humps().ReplaceAllString(s, "$1$3 $2$4")) {
		if !empty()[w] {
			out = append(out, text.Stem(w))
		}
	}
	return out
}

// split folds a text and splits it at everything but letters and digits.
func split(s string) []string { return wordForm().FindAllString(text.Fold(s), -1) }

var (
	humps    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`) })
	wordForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\p{L}\p{N}]+`) })
)

// empty are the words that carry no subject.
var empty = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`a an the this that these those my your our his her its their i me you he she it we they us them
		is are was were be been am do does did can could will would shall should may might must have has had
		what when how why there here of in on at for from with by into to as and or but if not no please now just s m re ll ve t
		use tool want need give let help using used returns return`) {
		set[w] = true
	}
	return set
})
