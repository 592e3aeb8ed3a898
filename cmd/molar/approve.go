package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/terminal"
	"molar/schemas"
)

func newApproveCmd(a *app, listen, format *string) *cobra.Command {
	return &cobra.Command{
		Use:   "approve NAME",
		Short: "Take the tools of a pinned server as they are now",
		Long: `Take the tools of a pinned server as they are now.

With pin: true, tools that are new or changed since they were first listed are withheld.
They are printed here as the server describes them now, and from then on in use.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(words(a.serverNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(*format); err != nil {
				return err
			}
			if far, err := a.findHost(*listen); err == nil {
				if status, err := a.runningServers(cmd.Context(), far); err == nil {
					return a.approve(cmd.Context(), *format, args[0], status, &runningHost{a, far})
				}
			}
			return a.withServers(cmd.Context(), nil, func(ctx context.Context, h *host) error {
				return a.approve(ctx, *format, args[0], h.mcp.Status(), ownHost{h})
			})
		},
	}
}

// A pinHolder approves the tools of a pinned server, and shows what it would.
type pinHolder interface {
	tools(ctx context.Context) ([]schemas.ToolInfo, error)
	approve(ctx context.Context, server, digest string) ([]string, error)
}

// approve prints what is withheld and approves exactly that.
func (a *app) approve(ctx context.Context, format, name string, all []schemas.ServerStatus, from pinHolder) error {
	i := slices.IndexFunc(all, func(s schemas.ServerStatus) bool { return s.Name == name })
	if i < 0 {
		return &exitError{exitUsage, fmt.Errorf("no server is called %q; see: molar servers list", name)}
	}
	tools, err := from.tools(ctx)
	if err != nil {
		return err
	}
	approved, err := from.approve(ctx, name, all[i].Digest)
	if err != nil {
		return err
	}
	if format == formatJSON {
		return a.printJSON(map[string]any{"server": name, "approved": approved})
	}
	if len(approved) == 0 {
		a.say("nothing of %s was withheld", terminal.Clean(name))
	}
	for _, tool := range tools {
		if tool.Server == name && slices.Contains(approved, tool.ToolName) {
			a.say("approved: %s\n  %s\n  %s", terminal.Clean(tool.ToolName), terminal.Clean(tool.Description), terminal.Clean(string(tool.InputSchema)))
		}
	}
	return nil
}

// ownHost approves in this process, for a host that does not run.
type ownHost struct{ *host }

func (h ownHost) tools(context.Context) ([]schemas.ToolInfo, error) {
	var infos []schemas.ToolInfo
	for _, t := range h.mcp.Catalogue().Tools() {
		infos = append(infos, t.ToolInfo)
	}
	return infos, nil
}

func (h ownHost) approve(ctx context.Context, server, digest string) ([]string, error) {
	return h.mcp.Approve(ctx, server, digest)
}

// runningHost asks the host that listens.
type runningHost struct {
	*app
	far *farHost
}

func (r *runningHost) tools(ctx context.Context) ([]schemas.ToolInfo, error) {
	data, err := r.askHost(ctx, r.far, "/v1/tools")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []schemas.ToolInfo `json:"data"`
	}
	return list.Data, json.Unmarshal(data, &list)
}

func (r *runningHost) approve(ctx context.Context, server, digest string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	body, err := json.Marshal(map[string]string{"digest": digest})
	if err != nil {
		return nil, err
	}
	req, err := r.hostRequest(ctx, http.MethodPost, r.far, "/v1/servers/"+url.PathEscape(server)+"/approve")
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res, err := r.far.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the host at %s: %w", r.far.address, err)
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
		return nil, fmt.Errorf("the host at %s is no molar: it answered %s", r.far.address, res.Status)
	}
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(terminal.Clean(strings.TrimPrefix(answer.Error.Message, "conflict: ")))
	}
	return answer.Approved, nil
}
