package floor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
)

// An exchange sends one JSON-RPC message and returns the response to it; nil for
// a notification.
type exchange func(ctx context.Context, message []byte) ([]byte, error)

// Tools is an MCP session: the tools as the model's wire wants them, and calls.
type Tools struct {
	// Offer is the list of tools for Model.Ask, encoded once.
	Offer json.RawMessage
	send  exchange
	ids   atomic.Int64
}

// ConnectHTTP opens a session over streamable HTTP.
func ConnectHTTP(ctx context.Context, client *http.Client, url string) (*Tools, error) {
	var session string
	return connect(ctx, func(ctx context.Context, message []byte) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(message))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
			req.Header.Set("Mcp-Protocol-Version", "2025-06-18")
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			return nil, fmt.Errorf("tool server answered %s", resp.Status)
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" && session == "" {
			session = id // the handshake runs alone, before any call
		}
		return io.ReadAll(resp.Body)
	})
}

// ConnectStdio opens a session over the pipes of a process. Its calls must come one
// after the other.
func ConnectStdio(ctx context.Context, in io.Writer, out io.Reader) (*Tools, error) {
	lines := bufio.NewReader(out)
	return connect(ctx, func(_ context.Context, message []byte) ([]byte, error) {
		if _, err := in.Write(append(message, '\n')); err != nil {
			return nil, err
		}
		if !bytes.Contains(message, []byte(`"id":`)) {
			return nil, nil
		}
		return lines.ReadBytes('\n')
	})
}

func connect(ctx context.Context, send exchange) (*Tools, error) {
	t := &Tools{send: send}
	var hello struct{}
	if err := t.request(ctx, "initialize", json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{},`+
		`"clientInfo":{"name":"floor","version":"1"}}`), &hello); err != nil {
		return nil, err
	}
	if _, err := send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return nil, err
	}
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	if err := t.request(ctx, "tools/list", json.RawMessage(`{}`), &list); err != nil {
		return nil, err
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	offer := []tool{}
	for _, listed := range list.Tools {
		offer = append(offer, tool{"function", function{listed.Name, listed.Description, listed.InputSchema}})
	}
	var err error
	t.Offer, err = json.Marshal(offer)
	return t, err
}

// Call executes a tool and returns its first text.
func (t *Tools) Call(ctx context.Context, c Call) (string, error) {
	params, err := json.Marshal(map[string]any{"name": c.Function.Name, "arguments": c.Function.Arguments})
	if err != nil {
		return "", err
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := t.request(ctx, "tools/call", params, &result); err != nil {
		return "", err
	}
	if len(result.Content) == 0 {
		return "", nil
	}
	return result.Content[0].Text, nil
}

func (t *Tools) request(ctx context.Context, method string, params json.RawMessage, result any) error {
	message := append([]byte(`{"jsonrpc":"2.0","id":`), strconv.FormatInt(t.ids.Add(1), 10)...)
	message = append(append(append(append(message, `,"method":"`...), method...), `","params":`...), params...)
	answer, err := t.send(ctx, append(message, '}'))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	var response struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer, &response); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if response.Error != nil {
		return fmt.Errorf("%s: %s", method, response.Error.Message)
	}
	return json.Unmarshal(response.Result, result)
}
