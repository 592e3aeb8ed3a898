// Command goclient runs the official OpenAI client for Go, with its defaults, through the test
// cases of the clients in other languages, against the host at MOLAR_URL, and prints one verdict
// per line. It is a separate module, so that the client is no dependency of Molar.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// goClient is the official client for Go, with its defaults: it retries twice.
type goClient struct{ openai.Client }

func (c goClient) body(question string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "all",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)},
	}
}

// withTool returns a body with the client's own tool.
func (c goClient) withTool(question string) openai.ChatCompletionNewParams {
	body := c.body(question)
	body.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
		Name: "get_weather", Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]string{"type": "string"}}},
	})}
	return body
}

func (c goClient) whole(ctx context.Context, body openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	return c.Chat.Completions.New(ctx, body)
}

// read collects a stream with the client's own accumulator, which silently drops what does not
// fit.
func (c goClient) read(ctx context.Context, body openai.ChatCompletionNewParams) (*openai.ChatCompletion, error) {
	stream := c.Chat.Completions.NewStreaming(ctx, body)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			return nil, errors.New("the accumulator refuses a chunk")
		}
	}
	return &all.ChatCompletion, stream.Err()
}

type completing func(context.Context, openai.ChatCompletionNewParams) (*openai.ChatCompletion, error)

// says sends a body and compares the answer.
func (c goClient) says(ctx context.Context, run completing, body openai.ChatCompletionNewParams, want string) error {
	answer, err := run(ctx, body)
	if err != nil {
		return err
	}
	if got := answer.Choices[0]; got.Message.Content != want || got.FinishReason != "stop" || len(got.Message.ToolCalls) > 0 {
		return fmt.Errorf("got %q, finish %q, %d calls", got.Message.Content, got.FinishReason, len(got.Message.ToolCalls))
	}
	return nil
}

// roundTrip calls the client's tool and sends its result.
func (c goClient) roundTrip(ctx context.Context, run completing, question, want string) error {
	body := c.withTool(question)
	first, err := run(ctx, body)
	if err != nil {
		return err
	}
	message := first.Choices[0].Message
	if first.Choices[0].FinishReason != "tool_calls" || len(message.ToolCalls) != 1 || message.ToolCalls[0].Function.Name != "get_weather" {
		return fmt.Errorf("finish %q, calls %+v", first.Choices[0].FinishReason, message.ToolCalls)
	}
	var args struct{ City string }
	if err := json.Unmarshal([]byte(message.ToolCalls[0].Function.Arguments), &args); err != nil || args.City != "Hanoi" {
		return fmt.Errorf("arguments %q: %w", message.ToolCalls[0].Function.Arguments, err)
	}
	body.Messages = append(body.Messages, message.ToParam(), openai.ToolMessage("sunny", message.ToolCalls[0].ID))
	return c.says(ctx, run, body, want)
}

// fails checks that there is an error with the expected text.
func fails(err error, want string) error {
	if err == nil || !strings.Contains(err.Error(), want) {
		return fmt.Errorf("failed as %w, want %q", err, want)
	}
	return nil
}

func (c goClient) abort(ctx context.Context) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stream := c.Chat.Completions.NewStreaming(ctx, c.body("slow"))
	defer stream.Close()
	for stream.Next() {
		if chunk := stream.Current(); len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			return nil
		}
	}
	return fmt.Errorf("no text came: %w", stream.Err())
}

func (c goClient) usage(ctx context.Context) error {
	body := c.body("plain")
	body.StreamOptions.IncludeUsage = openai.Bool(true)
	answer, err := c.read(ctx, body)
	if err == nil && answer.Usage.TotalTokens == 0 {
		return errors.New("no usage")
	}
	return err
}

func (c goClient) typedError(ctx context.Context) error {
	body := c.body("plain")
	body.Model = "nobody"
	_, err := c.whole(ctx, body)
	if typed, ok := errors.AsType[*openai.Error](err); !ok || typed.StatusCode != 404 || typed.Code != "model_not_found" {
		return fmt.Errorf("failed as %w", err)
	}
	return nil
}

// verdict is the result of one case.
type verdict struct {
	Case string `json:"case"`
	OK   bool   `json:"ok"`
	Note string `json:"note"`
}

func main() {
	if err := run(context.Background(), os.Getenv("MOLAR_URL")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string) error {
	c := goClient{openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("none"))}
	out := json.NewEncoder(os.Stdout)
	for _, one := range c.cases(ctx) {
		v := verdict{Case: one.name, OK: true}
		if err := one.run(); err != nil {
			v.OK, v.Note = false, err.Error()
		}
		if err := out.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// testCase is a case of the matrix, in its order.
type testCase struct {
	name string
	run  func() error
}

func (c goClient) cases(ctx context.Context) []testCase {
	return []testCase{
		{"whole", func() error { return c.says(ctx, c.whole, c.body("plain"), "Hello from the model.") }},
		{"stream", func() error { return c.says(ctx, c.read, c.body("plain"), "Hello from the model.") }},
		{"usage", func() error { return c.usage(ctx) }},
		{"serverTool", func() error { return c.says(ctx, c.read, c.withTool("book for serverTool"), "It is booked.") }},
		{"clientTool", func() error {
			return errors.Join(c.roundTrip(ctx, c.whole, "weather", "It is sunny."), c.roundTrip(ctx, c.read, "weather", "It is sunny."))
		}},
		{"mixedTools", func() error { return c.roundTrip(ctx, c.read, "both for mixedTools", "It is sunny and booked.") }},
		{"typedError", func() error { return c.typedError(ctx) }},
		{"faultAfterTool", func() error {
			_, err := c.whole(ctx, c.body("fault for faultAfterTool"))
			return fails(err, "400")
		}},
		{"faultAfterToolStream", func() error {
			_, err := c.read(ctx, c.body("fault for faultAfterToolStream"))
			return fails(err, "a tool had already run")
		}},
		{"abort", func() error { return c.abort(ctx) }},
	}
}
