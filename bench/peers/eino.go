package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
)

// openEino is eino's ReAct agent.
func openEino(ctx context.Context, model string, tools *toolbox) (peer, error) {
	llm, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: "none", BaseURL: model, Model: modelName})
	if err != nil {
		return nil, err
	}
	var offered []tool.BaseTool
	for _, t := range tools.tools {
		offered = append(offered, einoTool{t.name, t.description, t.schema, tools})
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: llm, ToolsConfig: compose.ToolsNodeConfig{Tools: offered}})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, question string, emit func(string) error) error {
		out, err := agent.Stream(ctx, []*schema.Message{schema.UserMessage(question)})
		if err != nil {
			return err
		}
		defer out.Close()
		for {
			m, err := out.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if m.Content != "" {
				if err := emit(m.Content); err != nil {
					return err
				}
			}
		}
	}, nil
}

type einoTool struct {
	name, description string
	schema            map[string]any
	box               *toolbox
}

func (t einoTool) Info(context.Context) (*schema.ToolInfo, error) {
	data, err := json.Marshal(t.schema)
	if err != nil {
		return nil, err
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	return &schema.ToolInfo{Name: t.name, Desc: t.description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)}, nil
}

func (t einoTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return t.box.call(ctx, t.name, arguments)
}
