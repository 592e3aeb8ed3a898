package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"molar/internal/terminal"
	"molar/schemas"
	"molar/web"
)

const (
	// queryTimeout is the time limit of queries, which a running host answers at once.
	queryTimeout = time.Second
	// changeTimeout is the time limit of a change, for which the host may read a file.
	changeTimeout = 30 * time.Second
)

// Servers returns the host's servers.
func (h *Host) Servers(ctx context.Context) ([]schemas.ServerStatus, error) {
	return list[schemas.ServerStatus](ctx, h, "/v1/servers")
}

// Knowledge returns what the host has read of its folders of knowledge.
func (h *Host) Knowledge(ctx context.Context) ([]schemas.KnowledgeStatus, error) {
	return list[schemas.KnowledgeStatus](ctx, h, "/v1/knowledge")
}

// Tools returns the tools of the host.
func (h *Host) Tools(ctx context.Context) ([]schemas.ToolInfo, error) {
	return list[schemas.ToolInfo](ctx, h, "/v1/tools")
}

func list[T any](ctx context.Context, h *Host, path string) ([]T, error) {
	data, err := h.ask(ctx, path)
	if err != nil {
		return nil, err
	}
	var all struct {
		Data []T `json:"data"`
	}
	return all.Data, json.Unmarshal(data, &all)
}

// Reload asks the host to reread its config file. An answer with faults becomes one error of
// several lines.
func (h *Host) Reload(ctx context.Context) (web.Reloaded, error) {
	res, err := h.call(ctx, http.MethodPost, "/v1/servers/reload", nil, changeTimeout)
	if err != nil {
		return web.Reloaded{}, err
	}
	var answer struct {
		web.Reloaded
		Error struct {
			Message string   `json:"message"`
			Faults  []string `json:"faults"`
		} `json:"error"`
	}
	switch err := res.decode(&answer); {
	case strings.Contains(string(res.body), "HTTPS server"):
		return web.Reloaded{}, fmt.Errorf("the host at %s speaks TLS: name the config that it runs with, by --config", h.address)
	case err != nil:
		return web.Reloaded{}, err
	case len(answer.Error.Faults) > 0:
		faults := strings.Join(answer.Error.Faults, "\n") + "\nthe last good config stays in force"
		return web.Reloaded{}, errors.New(terminal.Clean(faults))
	case res.code == http.StatusUnauthorized, res.code == http.StatusForbidden:
		return web.Reloaded{}, fmt.Errorf("the host at %s answered: %s; give a key with scope admin in %s", h.address, terminal.Clean(answer.Error.Message), keyVariable)
	case res.code != http.StatusOK:
		return web.Reloaded{}, fmt.Errorf("the host at %s answered %s: %s", h.address, res.status, terminal.Clean(answer.Error.Message))
	}
	return answer.Reloaded, nil
}

// Approve accepts the tools of a pinned server as they were when digest was shown.
func (h *Host) Approve(ctx context.Context, server, digest string) ([]string, error) {
	return h.approve(ctx, server, map[string]any{"digest": digest})
}

// Confirm puts in force what a person confirms about a server.
func (h *Host) Confirm(ctx context.Context, confirmed schemas.Proposal) error {
	_, err := h.approve(ctx, confirmed.Server, map[string]any{"marks": confirmed})
	return err
}

func (h *Host) approve(ctx context.Context, server string, body map[string]any) ([]string, error) {
	res, err := h.call(ctx, http.MethodPost, "/v1/servers/"+url.PathEscape(server)+"/approve", body, changeTimeout)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Approved []string `json:"approved"`
		Error    struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := res.decode(&answer); err != nil {
		return nil, err
	}
	if res.code != http.StatusOK {
		return nil, errors.New(terminal.Clean(strings.TrimPrefix(answer.Error.Message, "conflict: ")))
	}
	return answer.Approved, nil
}
