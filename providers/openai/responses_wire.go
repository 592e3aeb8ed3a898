package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"molar/schemas"
	"molar/schemas/responses"
)

// The parts of an answer that this wire reads.
type (
	responsesEvent = responses.Event[responsesWhole, item]
	responsesWhole = responses.Response[item]
)

// An item is an item of an output. A field of the wrong type counts as missing.
type item struct{ responses.Item }

// UnmarshalJSON keeps the JSON too.
func (i *item) UnmarshalJSON(data []byte) error {
	i.Raw = bytes.Clone(data)
	return decode(data, &i.Item)
}

// content returns the parts of the item's content.
func (i *item) content() []responses.Part { return partsOf(i.Content) }

// summary returns the parts of the item's summary.
func (i *item) summary() []responses.Part { return partsOf(i.Summary) }

func partsOf(raw json.RawMessage) []responses.Part {
	var parts []responses.Part
	_ = json.Unmarshal(raw, &parts) // none if it is no list
	return parts
}

// thought returns reasoning in the form in which it goes back, or nil if it holds nothing: without
// storage an id alone means nothing to the service. Its text goes back only if it is not encrypted.
func (i *item) thought() json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(i.Raw, &fields) != nil {
		return nil
	}
	kept := map[string]json.RawMessage{"type": fields["type"], "summary": json.RawMessage("[]")}
	if strings.HasPrefix(string(i.Summary), "[") {
		kept["summary"] = i.Summary
	}
	if i.ID != "" {
		kept["id"] = fields["id"]
	}
	switch {
	case i.EncryptedContent != "":
		kept["encrypted_content"] = fields["encrypted_content"]
	case len(i.content()) > 0:
		kept["content"] = i.Content
	default:
		return nil
	}
	return encoded(kept)
}

// usageOf returns the tokens of a response.
func usageOf(u *responses.Usage) *schemas.Usage {
	if u == nil {
		return nil
	}
	total := u.TotalTokens
	if total == 0 {
		total = u.InputTokens + u.OutputTokens
	}
	return &schemas.Usage{
		PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: total,
		CachedTokens: u.InputDetails.CachedTokens, ReasoningTokens: u.OutputDetails.ReasoningTokens,
	}
}
