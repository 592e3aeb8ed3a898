package lower

import "strings"

const (
	// maxDesc bounds a description from the schema, in bytes.
	maxDesc = 4096
	// maxFact bounds the text for one keyword, in bytes.
	maxFact = 240
	// maxFacts bounds the facts of one schema.
	maxFacts = 32
)

// skipped reports whether a keyword means nothing to a model.
func skipped(key string) bool {
	switch key {
	case "$schema", "$id", "id", "$comment", "$anchor", "$dynamicAnchor", "$recursiveAnchor",
		"$vocabulary", "$defs", "definitions", "readOnly", "writeOnly", "propertyOrdering":
		return true
	}
	return strings.HasPrefix(key, "x-")
}

// kept reports whether a keyword is kept, to be written or described.
func kept(key string) bool {
	switch key {
	case "default", "examples", "example", "deprecated", "not", "if", "then", "else",
		"minContains", "maxContains", "dependentRequired", "dependentSchemas", "dependencies",
		"unevaluatedProperties", "unevaluatedItems", "additionalItems",
		"contentEncoding", "contentMediaType", "contentSchema":
		return true
	}
	return impliedBy(key) != ""
}

// impliedBy returns the type that a keyword implies if none is named.
func impliedBy(key string) string {
	switch key {
	case "pattern", "format", "minLength", "maxLength":
		return "string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return "number"
	case "minItems", "maxItems", "uniqueItems", "contains":
		return "array"
	case "minProperties", "maxProperties", "patternProperties", "propertyNames":
		return "object"
	}
	return ""
}

// fact describes a kept keyword in words; "" if there is nothing to say.
func fact(m member) string {
	text := cut(string(m.val.raw), maxFact)
	if m.val.isString() {
		text = cut(m.val.str, maxFact)
	}
	switch m.key {
	case "minLength":
		return "at least " + text + " characters"
	case "maxLength":
		return "at most " + text + " characters"
	case "minimum":
		return ">= " + text
	case "maximum":
		return "<= " + text
	case "exclusiveMinimum", "exclusiveMaximum":
		return exclusive(m, text)
	case "multipleOf":
		return "a multiple of " + text
	case "minItems":
		return "at least " + text + " items"
	case "maxItems":
		return "at most " + text + " items"
	case "minProperties":
		return "at least " + text + " properties"
	case "maxProperties":
		return "at most " + text + " properties"
	case "uniqueItems":
		return when(m.val.isTrue(), "no item twice")
	case "deprecated":
		return when(m.val.isTrue(), "deprecated")
	case "unevaluatedProperties", "unevaluatedItems", "additionalItems":
		return when(!m.val.isTrue(), m.key+": "+text)
	case "not":
		return "must not match " + text
	case "default", "example":
		return m.key + ": " + cut(string(m.val.raw), maxFact)
	}
	return m.key + ": " + text
}

// exclusive reads both the number of newer drafts and the flag of draft 4.
func exclusive(m member, text string) string {
	switch {
	case m.val.isFalse():
		return ""
	case m.val.isTrue():
		return when(m.key == "exclusiveMinimum", "the minimum itself excluded") +
			when(m.key == "exclusiveMaximum", "the maximum itself excluded")
	case m.key == "exclusiveMinimum":
		return "> " + text
	}
	return "< " + text
}

func when(cond bool, text string) string {
	if cond {
		return text
	}
	return ""
}

// facts describes what an emitter does not write as keywords. It omits the kept keywords for
// which written is true.
func (n *node) facts(written func(key string) bool) []string {
	var out []string
	for _, m := range n.keep {
		if written != nil && written(m.key) {
			continue
		}
		if f := fact(m); f != "" {
			out = append(out, f)
		}
	}
	if n.others != nil {
		out = append(out, "every other property: "+cut(shape(n.others), maxFact))
	}
	return append(out, n.hints...)
}

// describe joins a description and facts.
func describe(desc string, facts []string) string {
	switch {
	case len(facts) == 0:
		return desc
	case desc == "":
		return strings.Join(facts, "; ")
	}
	return desc + " (" + strings.Join(facts, "; ") + ")"
}

// shape briefly describes what a node accepts.
func shape(n *node) string {
	var b strings.Builder
	switch {
	case len(n.enum) > 0:
		for i, v := range n.enum {
			b.WriteString(when(i > 0, " or ") + cut(string(v.raw), 40))
			if b.Len() > maxFact {
				break
			}
		}
	case len(n.anyOf) > 0:
		for i, branch := range n.anyOf {
			b.WriteString(when(i > 0, " or ") + shape(branch))
			if b.Len() > maxFact {
				break
			}
		}
	case len(n.types) == 0:
		b.WriteString("any value")
	default:
		b.WriteString(strings.Join(n.types, " or "))
	}
	if len(n.props) > 0 {
		b.WriteString(" with")
		for i, p := range n.props {
			b.WriteString(when(i > 0, ",") + " " + cut(p.name, 40))
			if b.Len() > maxFact {
				break
			}
		}
	}
	if n.items != nil && !n.items.isAny() && b.Len() < maxFact {
		b.WriteString(" of " + shape(n.items))
	}
	if n.desc != "" {
		b.WriteString(", " + cut(n.desc, 80))
	}
	return b.String()
}
