package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// byHand is the turn on net/http alone: the least work that it can be.
func byHand(model string, tools *toolbox) peer {
	var offered []any
	for _, t := range tools.tools {
		offered = append(offered, map[string]any{"type": "function", "function": map[string]any{"name": t.name, "description": t.description, "parameters": t.schema}})
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	return func(ctx context.Context, question string, emit func(string) error) error {
		messages := []message{{Role: "user", Content: question}}
		for {
			calls, err := stream(ctx, client, model, map[string]any{"model": modelName, "stream": true, "messages": messages, "tools": offered}, emit)
			if err != nil || len(calls) == 0 {
				return err
			}
			messages = append(messages, message{Role: "assistant", ToolCalls: calls})
			for _, c := range calls {
				text, err := tools.call(ctx, c.Function.Name, c.Function.Arguments)
				if err != nil {
					return err
				}
				messages = append(messages, message{Role: "tool", ToolCallID: c.ID, Content: text})
			}
		}
	}
}

// stream makes one model call. The stub sends each tool call whole.
func stream(ctx context.Context, client *http.Client, model string, body any, emit func(string) error) (calls []call, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, model+"/chat/completions", bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the model answered %s", res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		event, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || event == "[DONE]" {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(event), &c); err != nil {
			return nil, err
		}
		for _, choice := range c.Choices {
			calls = append(calls, choice.Delta.ToolCalls...)
			if choice.Delta.Content != "" {
				if err := emit(choice.Delta.Content); err != nil {
					return nil, err
				}
			}
		}
	}
	return calls, lines.Err()
}
