// Package floor is the same one-tool turn that the host runs, made by hand with
// net/http and encoding/json only. It is the yardstick of the load program: what a
// turn costs when nothing is checked, limited, logged or stored. It must stay as
// it is while figures are compared, and must never import the host.
package floor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// A Model is an Ollama-wire server.
type Model struct {
	URL    string
	Name   string
	Client *http.Client
}

// A Message is one entry of the history on that wire.
type Message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []Call `json:"tool_calls,omitempty"`
	ToolName  string `json:"tool_name,omitempty"`
}

// A Call is a tool call on that wire.
type Call struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type chatRequest struct {
	Model    string          `json:"model"`
	Messages []Message       `json:"messages"`
	Tools    json.RawMessage `json:"tools,omitempty"`
	Stream   bool            `json:"stream"`
}

type chatChunk struct {
	Message Message `json:"message"`
	Done    bool    `json:"done"`
}

// Ask runs the tool pass: not streamed, with the tools offered.
func (m *Model) Ask(ctx context.Context, history []Message, tools json.RawMessage) (Message, error) {
	resp, err := m.post(ctx, chatRequest{Model: m.Name, Messages: history, Tools: tools})
	if err != nil {
		return Message{}, err
	}
	defer resp.Body.Close()
	var chunk chatChunk
	if err := json.NewDecoder(resp.Body).Decode(&chunk); err != nil {
		return Message{}, fmt.Errorf("read the tool pass: %w", err)
	}
	return chunk.Message, nil
}

// Stream runs the text pass and hands over each piece of text as it comes.
func (m *Model) Stream(ctx context.Context, history []Message, each func(text string) error) error {
	resp, err := m.post(ctx, chatRequest{Model: m.Name, Messages: history, Stream: true})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var chunk chatChunk
		if err := json.Unmarshal(lines.Bytes(), &chunk); err != nil {
			return fmt.Errorf("read the text pass: %w", err)
		}
		if chunk.Done {
			return nil
		}
		if err := each(chunk.Message.Content); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the text pass: %w", err)
	}
	return fmt.Errorf("read the text pass: %w", io.ErrUnexpectedEOF)
}

func (m *Model) post(ctx context.Context, in chatRequest) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+"/api/chat", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := m.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("model answered %s", resp.Status)
	}
	return resp, nil
}

// NewClient returns the floor's HTTP client: one transport with 4,096 idle
// connections to each host.
func NewClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, DisableCompression: true,
	}}
}
