package traffic

import (
	"encoding/json"
	"errors"
	"strings"

	"molar/schemas"
)

// readGemini reads an answer of generateContent or streamGenerateContent
// (https://ai.google.dev/api/generate-content).
func readGemini(all []object) (Reading, error) {
	var r Reading
	media := false
	for _, event := range all {
		if inner, wrapped := event["response"].(object); wrapped { // Code Assist
			event = inner
		}
		if r.Error = failure(event); r.Error != "" {
			return r, nil
		}
		if u, ok := event["usageMetadata"].(object); ok {
			r.Usage = Usage{
				number(u["promptTokenCount"]) + number(u["toolUsePromptTokenCount"]), number(u["candidatesTokenCount"]) + number(u["thoughtsTokenCount"]),
				number(u["cachedContentTokenCount"]), number(u["thoughtsTokenCount"]),
			}
		}
		if dict(event["promptFeedback"])["blockReason"] != nil {
			r.Finish = "SAFETY"
		}
		for i, c := range list(event["candidates"]) {
			candidate := dict(c)
			if i > 0 || number(candidate["index"]) != 0 {
				continue
			}
			if _, isNumber := candidate["finishReason"].(json.Number); isNumber {
				return r, errors.New("its enums are numbers, which Molar does not ask for")
			}
			if why := asText(candidate["finishReason"]); why != "" && why != "FINISH_REASON_UNSPECIFIED" {
				r.Finish = why
			}
			for _, p := range list(dict(candidate["content"])["parts"]) {
				part := dict(p)
				if call := dict(part["functionCall"]); call["partialArgs"] != nil || call["willContinue"] != nil {
					return r, errors.New("its arguments come in pieces, which Molar does not ask for")
				}
				media = media || part["inlineData"] != nil
				r.geminiPart(part)
			}
		}
	}
	if r.Text == "" && len(r.Calls) == 0 {
		switch {
		case media:
			return r, errors.New("it holds only media, which Molar never asks for")
		case r.Finish == "":
			return r, errors.New("it has neither content nor an end")
		}
	}
	switch r.Finish {
	case "STOP", "OTHER", "":
		r.Finish = "stop"
	case "MAX_TOKENS":
		r.Finish = "length"
	case "UNEXPECTED_TOOL_CALL":
		if len(r.Calls) > 0 { // it holds the call
			r.Finish = "stop"
		}
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		r.Finish = "content_filter"
	}
	r.settle()
	return r, nil
}

func (r *Reading) geminiPart(part object) {
	call, isCall := part["functionCall"].(object)
	switch {
	case isCall:
		r.Calls = append(r.Calls, Call{Name: asText(call["name"]), Args: encoded(call["args"]), ID: asText(call["id"]), Signature: signature(part)})
	case part["thought"] == true:
		r.Thinking += asText(part["text"])
	default:
		r.Text += asText(part["text"])
	}
}

// signature returns a part's thought signature in the standard alphabet of base64; some libraries
// record it in the other one.
func signature(part object) string {
	s := asText(part["thoughtSignature"])
	if s == "" {
		s = asText(part["thought_signature"])
	}
	return strings.NewReplacer("-", "+", "_", "/").Replace(s)
}

func geminiTools(request object) []schemas.ToolInfo {
	var all []schemas.ToolInfo
	for _, t := range list(request["tools"]) {
		tool := dict(t)
		for _, key := range []string{"functionDeclarations", "function_declarations"} {
			for _, f := range list(tool[key]) {
				all = appendTool(all, dict(f), "parametersJsonSchema", "parameters")
			}
		}
	}
	return all
}

func geminiPast(request object) []item {
	var all []item
	for _, c := range list(request["contents"]) {
		for _, p := range list(dict(c)["parts"]) {
			part := dict(p)
			if result, ok := part["functionResponse"].(object); ok {
				all = append(all, item{kind: itemResult, call: Call{Name: asText(result["name"]), ID: asText(result["id"])}, text: encoded(result["response"])})
			}
			var r Reading
			r.geminiPart(object{"functionCall": part["functionCall"], "thoughtSignature": part["thoughtSignature"], "thought_signature": part["thought_signature"]})
			for _, c := range r.Calls {
				all = append(all, item{kind: itemCall, call: c})
			}
		}
	}
	return all
}
