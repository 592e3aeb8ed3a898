package prompts

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// An Asked is the question to a person about a call, in plain words. Each part is a sentence.
type Asked struct {
	// What would happen.
	What string `json:"what"`
	// Why it is asked: which text was read, and where it came from.
	Why string `json:"why"`
	// Where the call goes.
	Where string `json:"where"`
}

// An AskInput is a call to ask a person about.
type AskInput struct {
	Language string
	Tool     schemas.Tool
	// Arguments are a JSON object.
	Arguments string
	Reason    toolhandler.Reason
	// Quote marks what others wrote as a value; nil puts it between quotation marks where it could be
	// read as a part of the sentence.
	Quote func(value string) string
}

// Bounds of what a question shows of a text, in bytes, and of how many values and origins it names:
// the arguments stand below it.
const (
	maxText   = 160
	maxValues = 6
	maxListed = 3
)

// Ask writes the question about a call.
func Ask(in AskInput) Asked {
	w := &asking{AskInput: in, askWords: askWordsOf(in.Language), explained: make(map[string]bool)}
	return Asked{What: sentence(w.what()) + w.described(), Why: sentence(w.why()), Where: sentence(w.where())}
}

type asking struct {
	AskInput
	askWords
	// explained are the signs that the question has explained.
	explained map[string]bool
}

// what returns the tool's verb and object with the values of the call: first where, then what.
func (w *asking) what() string {
	verb, object := toolhandler.VerbOf(w.Tool)
	values := toolhandler.ValuesOf(w.Tool, w.Arguments)
	if class, _ := toolhandler.Classify(w.Tool); class == toolhandler.Reads && len(object) > 0 {
		isFlag := func(v toolhandler.Value) bool { // as in "get newest mail"
			return v.IsFlag && len(v.Texts) == 1 && v.Texts[0] == "true" && len(toolhandler.Words(v.Path)) == 1
		}
		for _, v := range values {
			if isFlag(v) {
				object = append(toolhandler.Words(v.Path), object...)
			}
		}
		values = slices.DeleteFunc(values, isFlag)
	}
	var said strings.Builder
	said.WriteString(w.verb(verb, object))
	slices.SortStableFunc(values, func(a, b toolhandler.Value) int { return rank(a) - rank(b) })
	contents := 0
	for _, v := range values {
		contents += rank(v)
	}
	for i, v := range values {
		if i == maxValues {
			fmt.Fprintf(&said, w.moreValues, len(values)-i)
			break
		}
		value, label := w.texts(v), labelOf(v)
		switch between := prepositionOf(verb, label); {
		case value == "":
		case v.Use == toolhandler.Content && contents == 1 && (replaces(verb) || verb == "append"):
			said.WriteString(", " + w.exactly + " " + value)
		case v.Use != toolhandler.Content && i == 0 && verb != "" && namesIt(label, object):
			if between = prepositionOf(verb, nil); between != "" {
				said.WriteString(" " + w.name([]string{between}))
			}
			said.WriteString(" " + value)
			if replaces(verb) && !w.Tool.Rules.Adds {
				said.WriteString(w.replaces)
			}
		case v.Use != toolhandler.Content && between != "" && len(label) == 1:
			if between == "every" {
				value = w.name([]string{value})
			} else if _, isMoment := w.momentOf(v, v.Texts[0]); isMoment && between == "at" && w.names == nil {
				between = "on" // its date comes first
			}
			said.WriteString(" " + w.name([]string{between}) + " " + value)
		default:
			said.WriteString("; " + w.name(label) + ": " + value)
		}
	}
	return said.String()
}

// described returns what the service itself says of the action, if a person has confirmed the service and
// it says more than the name.
func (w *asking) described() string {
	first := ""
	if all := text.Sentences(strings.TrimSpace(w.Tool.Description)); len(all) > 0 {
		first = strings.TrimRight(strings.Join(strings.Fields(all[0]), " "), ".")
	}
	if first == "" || w.Tool.Rules.Marks.Unseen || slices.Equal(toolhandler.Words(first), toolhandler.Words(w.Tool.ToolName)) {
		return ""
	}
	return " " + sentence(fmt.Sprintf(w.describes, w.service(w.Tool.Server), w.quoted(text.Clip(first, maxText, "…"), true)))
}

// replaces reports whether a verb puts something in the place of what is there.
func replaces(verb string) bool {
	return slices.Contains([]string{"write", "save", "put", "upload", "upsert"}, verb)
}

func rank(v toolhandler.Value) int {
	if v.Use == toolhandler.Content {
		return 1
	}
	return 0
}

// verb returns what a tool does: from its name, if that begins with a known verb, else by its title.
func (w *asking) verb(verb string, object []string) string {
	if known := w.verbs[verb]; known != "" {
		return strings.TrimSpace(known + " " + w.name(object))
	}
	if verb != "" && w.names == nil { // it is in the person's language already
		return strings.Join(append([]string{verb}, object...), " ")
	}
	called := cmp.Or(w.Tool.Title, strings.Join(append(strings.Fields(verb), object...), " "), w.Tool.ToolName, w.Tool.Name)
	return fmt.Sprintf(w.use, w.quoted(text.Clip(called, maxText, "…"), true))
}

// prepositionOf returns the word between a verb and an argument with a label, or between the verb and
// its object if there is no label; "" if none belongs there.
func prepositionOf(verb string, label []string) string {
	if len(label) == 0 {
		if slices.Contains([]string{"browse", "find", "list", "search"}, verb) {
			return "in"
		}
		return ""
	}
	switch label[0] {
	case "to", "from", "at", "in", "on", "for", "with", "into", "by", "since", "until", "every":
		return label[0]
	case "source":
		return "from"
	case "destination", "target":
		return "to"
	}
	return ""
}

// namesIt reports whether an argument names the object of a tool.
func namesIt(label, object []string) bool {
	if len(label) == 0 {
		return false
	}
	last := label[len(label)-1]
	return isNaming(label) || slices.ContainsFunc(object, func(word string) bool { return strings.TrimSuffix(word, "s") == strings.TrimSuffix(last, "s") })
}

// isNaming reports whether a label says that the value is a name.
func isNaming(label []string) bool {
	naming := []string{"path", "file", "filename", "folder", "directory", "url", "uri", "address", "link", "name", "id", "ids", "key"}
	return len(label) > 0 && slices.Contains(naming, label[len(label)-1])
}

// labelOf returns the words of the name of an argument.
func labelOf(v toolhandler.Value) []string {
	return toolhandler.Words(v.Path[strings.LastIndexByte(v.Path, '.')+1:])
}

// name returns words of a name in the person's language, as far as they are known. In Vietnamese
// what a thing belongs to stands behind it.
func (w *asking) name(words []string) string {
	all, known := make([]string, len(words)), w.names != nil
	for i, word := range words {
		translated := cmp.Or(w.names[word], w.names[strings.TrimSuffix(word, "s")])
		all[i], known = cmp.Or(translated, word), known && translated != ""
	}
	if known {
		slices.Reverse(all)
	}
	return strings.Join(all, " ")
}

// why returns the reasons of the question.
func (w *asking) why() string {
	var all []string
	r := w.Reason
	switch r.Rule {
	case toolhandler.RuleUnsure:
		all = append(all, w.unsure)
	case toolhandler.RuleDestructive:
		all = append(all, fmt.Sprintf(w.destructive, w.service(w.Tool.Server)))
	}
	if len(r.Orders) > 0 {
		all = append(all, fmt.Sprintf(w.order, w.origins(r.Orders)))
	}
	var others []schemas.Origin
	for _, o := range r.Flows {
		if o.Server() != w.Tool.Server {
			others = append(others, o)
		}
	}
	class, _ := toolhandler.Classify(w.Tool)
	carried, server, to := w.carried(), w.service(w.Tool.Server), w.recipients()
	if len(others) > 0 {
		all = append(all, fmt.Sprintf(w.flow, carried, w.origins(others), cmp.Or(to, server)))
	}
	switch inside := len(others) < len(r.Flows); {
	case inside && class == toolhandler.Reads:
		all = append(all, fmt.Sprintf(w.flowAgain, server))
	case inside && to != "":
		all = append(all, fmt.Sprintf(w.flow, carried, server, to))
	case inside && len(r.Orders) == 0:
		all = append(all, fmt.Sprintf(w.flowInside, carried, server))
	}
	advice := w.advice
	if who := w.Tool.Rules.Approvers; len(who) > 0 {
		all, advice = append([]string{fmt.Sprintf(w.approvers, strings.Join(who, w.or))}, all...), w.adviseApprover
	}
	if len(all) == 0 {
		all = append(all, w.confirm)
	}
	said := w.because + strings.Join(all, w.also)
	if r.Rule == toolhandler.RuleDestructive || len(r.Orders)+len(r.Flows) > 0 {
		said += advice
	}
	return said
}

// carried names what a flow may carry by what the values of the call are.
func (w *asking) carried() string {
	kinds := make(map[string]bool)
	for _, v := range toolhandler.ValuesOf(w.Tool, w.Arguments) {
		label := labelOf(v)
		last := strings.Join(label[max(0, len(label)-1):], "")
		switch _, isMoment := w.momentOf(v, v.Texts[0]); {
		case isMoment:
			kinds[w.date] = true
		case slices.Contains([]string{"path", "file", "filename", "folder", "directory"}, last):
			kinds[w.fileName] = true
		case slices.Contains([]string{"query", "q", "pattern", "search", "term", "terms", "keywords"}, last):
			kinds[w.search] = true
		default:
			kinds[w.values] = true
		}
	}
	for kind := range kinds {
		if len(kinds) == 1 {
			return kind
		}
	}
	return w.values
}

func (w *asking) origins(from []schemas.Origin) string {
	var all []string
	for i, o := range from {
		if i == maxListed {
			return strings.Join(all, ", ") + fmt.Sprintf(w.more, len(from)-i)
		}
		all = append(all, w.origin(o))
	}
	last := max(0, len(all)-1)
	if last > 0 {
		all = append(all[:last-1], all[last-1]+w.and+all[last])
	}
	return strings.Join(all, ", ")
}

func (w *asking) origin(o schemas.Origin) string {
	switch {
	case o.FileName() != "":
		return w.file + " " + w.quoted(text.Clip(o.FileName(), maxText, "…"), false)
	case o.IsFile():
		return w.file
	case o == schemas.FromWeb:
		return w.web
	case o == schemas.FromClient:
		return w.client
	case o == schemas.FromPaste:
		return w.paste
	case o.IsInside():
		return w.service(o.Server()) + " " + w.inside
	}
	return w.service(string(o))
}

// service names a server as people know it: what does a part of the work.
func (w *asking) service(server string) string {
	if server == schemas.ToolServer {
		return w.web
	}
	return fmt.Sprintf(w.server, w.quoted(server, true))
}

// where returns which server does it, whether that reaches others, and the hosts and the repository
// that the call names.
func (w *asking) where() string {
	class, _ := toolhandler.Classify(w.Tool)
	said, open := fmt.Sprintf(w.does, w.service(w.Tool.Server)), w.open
	if class == toolhandler.Reads {
		said = fmt.Sprintf(w.reads, w.service(w.Tool.Server))
	} else if to := w.recipients(); to != "" {
		said, open = fmt.Sprintf(w.sends, to, w.service(w.Tool.Server)), w.others
	}
	said = strings.Join(append([]string{said}, w.places()...), ", ")
	switch {
	case w.Tool.Rules.Marks.Closed:
		said += w.closed
	case w.Tool.Server != schemas.ToolServer:
		said += open
	}
	if class == toolhandler.Reads {
		said += w.back
	}
	return said
}

// places returns the hosts of the addresses in a call, which a name before them may hide, and its
// repository.
func (w *asking) places() []string {
	var all []string
	for _, v := range toolhandler.ValuesOf(w.Tool, w.Arguments) {
		for _, s := range v.Texts {
			if u, err := url.Parse(s); v.Use != toolhandler.Content && err == nil && u.Hostname() != "" {
				all = append(all, w.host+" "+w.quoted(text.Clip(u.Hostname(), maxText, "…"), false))
			}
		}
	}
	for _, d := range toolhandler.DestinationsOf(w.Tool, w.Arguments) {
		if d.Width == schemas.WidthRepository {
			all = append(all, w.repository+" "+w.quoted(text.Clip(d.Name, maxText, "…"), false))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxListed)]
}

// recipients returns those whom a call that sends something names.
func (w *asking) recipients() string {
	verb, _ := toolhandler.VerbOf(w.Tool)
	var all []string
	for _, v := range toolhandler.ValuesOf(w.Tool, w.Arguments) {
		label := toolhandler.Words(v.Path)
		if v.Use != toolhandler.Content && len(label) > 0 && slices.Contains([]string{"forward", "invite", "publish", "reply", "send", "submit"}, verb) &&
			slices.Contains([]string{"to", "cc", "bcc", "recipient", "recipients", "channel"}, label[len(label)-1]) {
			all = append(all, w.texts(v))
		}
	}
	return strings.Join(all, ", ")
}

// sentence begins a text with a capital letter and ends it with a full stop.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if s = string(unicode.ToUpper(r)) + s[n:]; !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
