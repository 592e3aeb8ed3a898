package prompts

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"molar/schemas"
)

// fence puts a text that the person did not write between two fixed lines. <, > and & in it are
// escaped, so that no text can close the fence or forge a control token of a chat template. The
// lines are the same in every turn, so that prompts can be cached.
func fence(source, text string) string {
	return fmt.Sprintf("<data source=%q>\n%s\n</data>", escape(source), escape(text))
}

// Enclose puts a text that is only to be read between two lines with a name and a nonce that the text
// cannot contain. The text stays as it is, except that control tokens of chat templates are broken
// up: what is quoted from it can be found in it.
func Enclose(name, nonce, text string) string {
	return fmt.Sprintf("<%s %s>\n%s\n</%s %s>", name, nonce, harmless(text), name, nonce)
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// Results returns the message that answers the calls of one round, in call order. Each result is a
// separate part; an output of more than maxBytes is cut, with a mark, and 0 means no limit. A
// failure begins with "Error: ".
func Results(results []schemas.ToolResult, maxBytes int) schemas.Message {
	message := schemas.Message{Role: schemas.RoleTool}
	for _, r := range results {
		r = Shorten(r, maxBytes)
		text := harmless(r.OutputText())
		if r.IsError {
			text = "Error: " + text
		}
		message.Parts = append(message.Parts, schemas.Part{Kind: schemas.PartResult, Text: text, Result: &r})
	}
	return message
}

// Result fences a result for a user message, bounded like [Results].
func Result(r schemas.ToolResult, maxBytes int) string {
	return fence(r.Server, bounded(r, maxBytes))
}

// bounded returns the text of a result, cut by [Shorten].
func bounded(r schemas.ToolResult, maxBytes int) string { return Shorten(r, maxBytes).OutputText() }

// harmless breaks up the control tokens of chat templates. The rest of a result stays unchanged:
// its role already marks it as data.
func harmless(text string) string {
	if !strings.ContainsAny(text, "<[") {
		return text
	}
	return controlToken().ReplaceAllStringFunc(text, func(token string) string { return token[:1] + " " + token[1:] })
}

// controlToken matches the beginnings of the control tokens of the common chat
// templates: ChatML, Llama, Mistral, Gemma, and the tags of thoughts and calls.
var controlToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<\||<<SYS>>|\[/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\]|</?(?:s|bos|eos|start_of_turn|end_of_turn|tool_call|tool_response|think|thinking)>`)
})
