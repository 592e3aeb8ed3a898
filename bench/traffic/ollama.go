package traffic

import "errors"

// readOllama reads an answer of Ollama's /api/chat
// (https://github.com/ollama/ollama/blob/main/docs/api.md).
func readOllama(all []object) (Reading, error) {
	var r Reading
	for _, event := range all {
		if r.Error = failure(event); r.Error != "" {
			return r, nil
		}
		if event["done"] == true {
			r.Usage = Usage{Prompt: number(event["prompt_eval_count"]), Completion: number(event["eval_count"])}
			r.Finish = asText(event["done_reason"])
		}
		message := dict(event["message"])
		r.Text += asText(message["content"])
		r.Thinking += asText(message["thinking"])
		for _, c := range list(message["tool_calls"]) {
			function := dict(dict(c)["function"])
			// The ids that newer servers give are not required back.
			r.Calls = append(r.Calls, Call{Name: asText(function["name"]), Args: encoded(function["arguments"])})
		}
	}
	if all[len(all)-1]["done"] != true {
		return r, errors.New("the answer has no end")
	}
	if r.Finish != "length" {
		r.Finish = "stop"
	}
	r.think()
	r.settle()
	return r, nil
}
