package running

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"molar/internal/cli"
	"molar/internal/terminal"
	"molar/schemas"
	"molar/web"
)

// reloadWait bounds a reload over HTTP, in which the host reads one file.
const reloadWait = 30 * time.Second

// Servers returns the host's servers.
func (h *Host) Servers(ctx context.Context) ([]schemas.ServerStatus, error) {
	data, err := h.Ask(ctx, "/v1/servers")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []schemas.ServerStatus `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	return list.Data, nil
}

// Tools returns the tools of the host.
func (h *Host) Tools(ctx context.Context) ([]schemas.ToolInfo, error) {
	data, err := h.Ask(ctx, "/v1/tools")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []schemas.ToolInfo `json:"data"`
	}
	return list.Data, json.Unmarshal(data, &list)
}

// Reload asks the host to read its config file anew. An answer that tells of faults becomes one
// error of several lines.
func (h *Host) Reload(ctx context.Context) (web.Reloaded, error) {
	ctx, cancel := context.WithTimeout(ctx, reloadWait)
	defer cancel()
	req, err := h.request(ctx, http.MethodPost, "/v1/servers/reload")
	if err != nil {
		return web.Reloaded{}, cli.Usage(fmt.Errorf("--listen: want host:port such as 127.0.0.1:8000: %w", err))
	}
	res, err := h.client.Do(req)
	if err != nil {
		return web.Reloaded{}, fmt.Errorf("no host answers at %s: %w; start one with molar serve, or name its address with --listen", h.address, err)
	}
	defer res.Body.Close()
	const largest = 16 << 20
	data, err := io.ReadAll(io.LimitReader(res.Body, largest))
	if err != nil {
		return web.Reloaded{}, fmt.Errorf("read the answer of the host at %s: %w", h.address, err)
	}
	var answer struct {
		web.Reloaded
		Error struct {
			Message string   `json:"message"`
			Faults  []string `json:"faults"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(data, &answer); {
	case strings.Contains(string(data), "HTTPS server"):
		return web.Reloaded{}, fmt.Errorf("the host at %s speaks TLS: name the config that it runs with, by --config", h.address)
	case err != nil:
		return web.Reloaded{}, fmt.Errorf("the host at %s is no molar: it answered %s", h.address, res.Status)
	case len(answer.Error.Faults) > 0:
		faults := strings.Join(answer.Error.Faults, "\n") + "\nthe last good config stays in force"
		return web.Reloaded{}, errors.New(terminal.Clean(faults))
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		return web.Reloaded{}, fmt.Errorf("the host at %s answered: %s; give a key with scope admin in %s", h.address, terminal.Clean(answer.Error.Message), keyVariable)
	case res.StatusCode != http.StatusOK:
		return web.Reloaded{}, fmt.Errorf("the host at %s answered %s: %s", h.address, res.Status, terminal.Clean(answer.Error.Message))
	}
	return answer.Reloaded, nil
}

// Approve takes the tools of a pinned server as they were when digest was shown.
func (h *Host) Approve(ctx context.Context, server, digest string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	body, err := json.Marshal(map[string]string{"digest": digest})
	if err != nil {
		return nil, err
	}
	req, err := h.request(ctx, http.MethodPost, "/v1/servers/"+url.PathEscape(server)+"/approve")
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res, err := h.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the host at %s: %w", h.address, err)
	}
	defer res.Body.Close()
	var answer struct {
		Approved []string `json:"approved"`
		Error    struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	const largest = 16 << 20
	if err := json.NewDecoder(io.LimitReader(res.Body, largest)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("the host at %s is no molar: it answered %s", h.address, res.Status)
	}
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(terminal.Clean(strings.TrimPrefix(answer.Error.Message, "conflict: ")))
	}
	return answer.Approved, nil
}
