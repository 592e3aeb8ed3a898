package main

import (
	"context"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"
)

// openLangchain runs the loop that langchaingo's documentation shows for tools. Its
// streaming function also gets the pieces of tool calls, so that only the pass after the
// results is streamed.
func openLangchain(model string, tools *toolbox) (peer, error) {
	llm, err := openai.New(openai.WithBaseURL(model), openai.WithToken("none"), openai.WithModel(modelName))
	if err != nil {
		return nil, err
	}
	var offered []llms.Tool
	for _, t := range tools.tools {
		offered = append(offered, llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: t.name, Description: t.description, Parameters: t.schema}})
	}
	return func(ctx context.Context, question string, emit func(string) error) error {
		messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, question)}
		first, err := llm.GenerateContent(ctx, messages, llms.WithTools(offered))
		if err != nil {
			return err
		}
		choice := first.Choices[0]
		if len(choice.ToolCalls) == 0 {
			return emit(choice.Content)
		}
		said := llms.MessageContent{Role: llms.ChatMessageTypeAI}
		for _, c := range choice.ToolCalls {
			said.Parts = append(said.Parts, c)
		}
		messages = append(messages, said)
		for _, c := range choice.ToolCalls {
			text, err := tools.call(ctx, c.FunctionCall.Name, c.FunctionCall.Arguments)
			if err != nil {
				return err
			}
			messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
				llms.ToolCallResponse{ToolCallID: c.ID, Name: c.FunctionCall.Name, Content: text},
			}})
		}
		_, err = llm.GenerateContent(ctx, messages, llms.WithTools(offered), llms.WithStreamingFunc(func(_ context.Context, piece []byte) error {
			return emit(string(piece))
		}))
		return err
	}, nil
}
