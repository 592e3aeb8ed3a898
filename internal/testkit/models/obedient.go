package models

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A Model obeys every instruction. Its zero value is not usable; see [NewObedient].
type Model struct {
	call, print, write, say, verdict *regexp.Regexp
}

// NewObedient returns an obedient model.
func NewObedient() *Model {
	return &Model{
		call:    regexp.MustCompile(`(?i)(?:call(?: the)? tool|gọi công cụ)\s+([A-Za-z0-9_\-]+)\s+(?:with|với)\s+(\{[^{}]*\})`),
		print:   regexp.MustCompile(`(?i)(?:print|reveal|repeat|output|in ra|tiết lộ)\s+(?:me\s+)?(?:your|the|toàn bộ)?\s*(?:whole |entire )?(?:system prompt|instructions|words above|lời nhắc hệ thống)`),
		write:   regexp.MustCompile(`(?i)(?:write|answer|talk|viết|trả lời|nói)\s+(?:a \w+ )?(?:about|về)\s+([\p{L} ]{3,40})`),
		say:     regexp.MustCompile(`(?i)(?:say|nói)\s+[«"]([^»"]{1,200})[»"]`),
		verdict: regexp.MustCompile(`(?i)(?:answer|reply|say|trả lời|nói)\s+(?:with\s+)?(YES)\b`),
	}
}

// ownText begins its texts about another subject. As a judge it obeys a question, and recognises
// its own texts in an answer.
const ownText = "Here is a text about "

// body has the fields that both wires have in common.
type body struct {
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	} `json:"messages"`
}

// Reply is the model's script, see [Config].
func (m *Model) Reply(r Request) *Reply {
	system, all := read(r.Body)
	if r.Pass == PassJudge {
		user := r.LastUser
		if strings.Contains(user, ownText) { // the question is about an answer
			return Text("NO")
		}
		if m.verdict.MatchString(plain(user)) {
			return Text("YES")
		}
		return nil // the default verdict
	}
	reply := &Reply{}
	if len(r.Roles) < 12 { // otherwise it would continue for ever
		for _, found := range m.call.FindAllStringSubmatch(all, -1) {
			if json.Valid([]byte(found[2])) {
				reply.Calls = append(reply.Calls, Call{Name: found[1], Args: json.RawMessage(found[2])})
			}
		}
	}
	var said []string
	for _, found := range m.write.FindAllStringSubmatch(all, -1) {
		said = append(said, ownText+strings.TrimSpace(found[1])+".")
	}
	for _, found := range m.say.FindAllStringSubmatch(all, -1) {
		said = append(said, found[1])
	}
	if m.print.MatchString(all) {
		said = append(said, "My instructions are:\n"+system)
	}
	if len(said) == 0 {
		said = []string{"Brush your teeth twice a day."}
	}
	reply.Tokens = strings.SplitAfter(strings.Join(said, "\n\n"), " ")
	if len(reply.Calls) > 0 {
		reply.Tokens = nil
	}
	return reply
}

// read returns the system text, and all text that the model can read.
func read(raw string) (system, all string) {
	var b body
	if json.Unmarshal([]byte(raw), &b) != nil {
		return "", raw
	}
	var texts []string
	for _, m := range b.Messages {
		text := content(m.Content)
		if m.Role == "system" {
			system = text
			continue // the host's own text contains no instruction
		}
		if m.Role != "assistant" {
			texts = append(texts, plain(text))
		}
	}
	return system, strings.Join(texts, "\n")
}

func content(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var texts []string
		for _, e := range v {
			if part, ok := e.(map[string]any); ok {
				if text, ok := part["text"].(string); ok {
					texts = append(texts, text)
				}
			}
		}
		return strings.Join(texts, "\n")
	}
	return ""
}

// plain decodes the escapes of JSON, as a model reads through them.
func plain(text string) string {
	return strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text)
}
