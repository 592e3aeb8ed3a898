package answer

import (
	"bytes"
	"encoding/json"
	"strings"

	"molar/internal/text"
)

// leftOut replaces a sentence that was removed from a result.
const leftOut = "[…]"

// Disarm returns a JSON value without the sentences in its strings that instruct a model instead
// of informing a reader, and the number of removed sentences. The fence around every result is
// the first defence, and this is a second one, for models that obey what they read.
func Disarm(raw json.RawMessage) (json.RawMessage, int) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return raw, 0
	}
	n := 0
	value = disarmValue(value, &n)
	if n == 0 {
		return raw, 0
	}
	clean, err := json.Marshal(value)
	if err != nil {
		return raw, 0
	}
	return clean, n
}

func disarmValue(value any, n *int) any {
	switch v := value.(type) {
	case string:
		text, found := disarm(v)
		*n += found
		return text
	case []any:
		for i := range v {
			v[i] = disarmValue(v[i], n)
		}
	case map[string]any:
		for key := range v {
			v[key] = disarmValue(v[key], n)
		}
	}
	return value
}

// disarm removes the sentences with instructions from a text. It keeps addresses, which are
// sources.
func disarm(text string) (string, int) {
	if !isOrder(text) { // the usual case: one check of the whole
		return text, 0
	}
	var b strings.Builder
	found := 0
	for _, sentence := range sentences(text) {
		label, _, _ := strings.Cut(strings.TrimSpace(sentence), " ")
		switch {
		case !isOrder(sentence):
			b.WriteString(sentence)
			continue
		case label == "Title:" || label == "Content:" || label == "Link:":
			b.WriteString(label + " ")
		}
		found++
		b.WriteString(leftOut)
		if strings.HasSuffix(sentence, "\n") {
			b.WriteString("\n")
		} else if strings.HasSuffix(sentence, " ") {
			b.WriteString(" ")
		}
	}
	return b.String(), found
}

// sentences splits a text after each line end, and after each full stop, question mark or
// exclamation mark that a space follows.
func sentences(text string) []string {
	var all []string
	for last := ""; text != ""; {
		n, _ := sentenceEnd(last, text)
		last, text = text[:n], text[n:]
		all = append(all, last)
	}
	return all
}

// isOrder reports whether a sentence instructs a model.
func isOrder(sentence string) bool {
	words := strings.FieldsFunc(text.Fold(sentence), func(r rune) bool {
		return r == ' ' || strings.ContainsRune(`.,!?"'()*_`, r)
	})
	line := " " + strings.Join(words, " ") + " "
	for _, sign := range orderSigns() {
		if strings.Contains(line, " "+sign+" ") {
			return true
		}
	}
	if strings.Contains(line, " <|") || strings.Contains(line, " [inst]") || strings.Contains(line, " <system") {
		return true
	}
	for _, drop := range dropSigns() {
		_, behind, found := strings.Cut(line, " "+drop+" ")
		for ; found; _, behind, found = strings.Cut(behind, " "+drop+" ") {
			if dropsRules(behind) {
				return true
			}
		}
	}
	return false
}

// dropsRules reports whether rules are among the next words after a verb such as "ignore": the
// model's own rules, not the advice of a person that a page may tell its readers to follow ("your
// surgeon's instructions", "huong dan cua bac si").
func dropsRules(rest string) bool {
	const reach = 60 // bytes
	rest = " " + rest[:min(len(rest), reach)]
	for _, rule := range []string{
		"instruction", "rules", "prompt", "guideline", "all previous", "everything", "the above",
		"huong dan", "chi dan", "quy tac", "menh lenh", "loi nhac", "noi dung o tren",
	} {
		before, after, found := strings.Cut(rest, " "+rule)
		if !found {
			continue
		}
		owned := strings.HasSuffix(before, " s") || strings.HasPrefix(after, " cua ") && !strings.HasPrefix(after, " cua ban")
		if !owned && !strings.Contains(before, " care") {
			return true
		}
	}
	return false
}

func dropSigns() []string {
	return []string{"ignore", "disregard", "forget", "override", "bypass", "bo qua", "quen het", "quen moi", "phot lo", "ghi de"}
}

// orderSigns returns phrases, folded, with which pages address models.
func orderSigns() []string {
	return []string{
		"system prompt", "system prompts", "your prompt", "your instructions", "your system", "new instruction", "new instructions", "you are now", "you must now", "from now on you",
		"call tool", "call the tool", "call the function", "use the tool", "run the tool", "run tool",
		"as an ai", "ai assistant", "ai assistants", "ai model", "ai models", "language model", "language models", "dear ai", "attention ai", "llm", "chatbot must", "assistant must", "note to the assistant",
		"do not tell the user", "don t tell the user", "without telling the user", "reply only", "respond only", "answer only with",
		"answer about", "write about", "write a", "write me", "instead answer", "instead write", "tell the user",
		"repeat the words", "print your", "reveal your", "output your", "show your prompt", "say yes", "developer mode", "jailbreak",
		"system:", "assistant:", "user:", "### instruction", "### system",
		"loi nhac he thong", "cau lenh he thong", "goi cong cu", "dung cong cu", "chay cong cu", "bay gio ban la", "tu gio ban", "tro ly ai", "mo hinh ngon ngu",
		"hay viet ve", "hay viet mot", "hay viet bai", "hay tra loi ve", "hay noi ve", "hay in ra", "hay tiet lo", "tro ly phai", "khong noi voi nguoi dung",
	}
}
