package main

import (
	"context"
	"encoding/json"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/compat_oai"
)

// openGenkit is genkit's Generate with tools, over its plugin for OpenAI's API.
func openGenkit(ctx context.Context, model string, tools *toolbox) (peer, error) {
	const provider = "stub"
	service := &compat_oai.OpenAICompatible{Provider: provider, APIKey: "none", BaseURL: model}
	g := genkit.Init(ctx, genkit.WithPlugins(service))
	llm := service.DefineModel(provider, modelName, ai.ModelOptions{Supports: &compat_oai.BasicText})
	var offered []ai.ToolRef
	for _, t := range tools.tools {
		offered = append(offered, genkit.DefineToolWithInputSchema(g, t.name, t.description, t.schema, func(ctx *ai.ToolContext, input any) (string, error) {
			arguments, err := json.Marshal(input)
			if err != nil {
				return "", err
			}
			return tools.call(ctx, t.name, string(arguments))
		}))
	}
	return func(ctx context.Context, question string, emit func(string) error) error {
		_, err := genkit.Generate(ctx, g, ai.WithModel(llm), ai.WithTools(offered...), ai.WithPrompt("%s", question),
			ai.WithStreaming(func(_ context.Context, c *ai.ModelResponseChunk) error {
				if text := c.Text(); text != "" {
					return emit(text)
				}
				return nil
			}))
		return err
	}, nil
}
