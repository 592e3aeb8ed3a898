package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/terminal"
	"molar/schemas"
	"molar/web"
)

// reloadWait bounds a reload over HTTP, in which the host reads one file.
const reloadWait = 30 * time.Second

func newServersCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "servers", Short: "Look at the attached MCP servers, or reload them", Args: onlyCommands, RunE: showHelp}
	var format, listen string
	var trace bool
	flags := cmd.PersistentFlags()
	flags.StringVar(&format, "output-format", formatText, "text or json")
	flags.StringVar(&listen, "listen", "", "`address` of the running host (default the config's)")
	list := &cobra.Command{
		Use:   "list",
		Short: "List the servers with state and reason, of a running host or by attaching them",
		Long: `List the servers with state and reason, of a running host or by attaching them.

With --trace they are attached here in any case, and each JSON-RPC message is printed
on standard error, with the secrets of the config masked.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if far, err := a.findHost(listen); err == nil && !trace {
				if status, err := a.runningServers(cmd.Context(), far); err == nil {
					return a.listServers(status, format)
				}
			}
			return a.withTracedServers(cmd.Context(), toolsFlags{trace: trace}, func(_ context.Context, h *host) error {
				return a.listServers(h.mcp.Status(), format)
			})
		},
	}
	list.Flags().BoolVar(&trace, "trace", false, "print the JSON-RPC messages on standard error")
	completeFlag(cmd, "output-format", fixed(formatText, formatJSON))
	reload := &cobra.Command{
		Use:   "reload",
		Short: "Let the running host read its config file anew, and say what changed",
		Long: `Let the running host read its config file anew, and say what changed.

Servers that did not change go on undisturbed. When something is wrong with the file,
the last good one stays in force. Saving the file does the same by itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			return a.reloadServers(cmd.Context(), listen, format)
		},
	}
	cmd.AddCommand(list, reload, newApproveCmd(a, &listen, &format), newLoginCmd(a, &format))
	return cmd
}

func checkFormat(format string) error {
	if format != formatText && format != formatJSON {
		return &exitError{exitUsage, fmt.Errorf("--output-format %q: choose text or json", format)}
	}
	return nil
}

// runningServers asks the host that listens, if one does.
func (a *app) runningServers(ctx context.Context, far *farHost) ([]schemas.ServerStatus, error) {
	data, err := a.askHost(ctx, far, "/v1/servers")
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

func (a *app) listServers(status []schemas.ServerStatus, format string) error {
	if format == formatJSON {
		return a.printJSON(status)
	}
	for _, s := range status {
		a.say("%s", terminal.Clean(serverLine(s)))
		for _, skipped := range s.Skipped {
			a.say("  left out: %s", terminal.Clean(skipped))
		}
		if len(s.Pending) > 0 {
			a.say("%s", terminal.Clean("  withheld until approved: "+strings.Join(s.Pending, ", ")))
		}
	}
	return nil
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// reloadServers asks the running host and prints what it answers.
func (a *app) reloadServers(ctx context.Context, listen, format string) error {
	far, err := a.findHost(listen)
	if err != nil {
		return err
	}
	done, err := a.postReload(ctx, far)
	if err != nil {
		return err
	}
	if format == formatJSON {
		return a.printJSON(done)
	}
	changed := false
	for _, part := range []struct {
		what  string
		names []string
	}{
		{"added", done.Added},
		{"removed", done.Removed},
		{"restarted", done.Restarted},
		{"updated, without a restart", done.Updated},
		{"changed too, and takes effect when molar is started again", done.NeedsRestart},
	} {
		if len(part.names) > 0 {
			changed = true
			a.say("%s", terminal.Clean(part.what+": "+strings.Join(part.names, ", ")))
		}
	}
	if !changed {
		a.say("nothing changed")
	}
	return nil
}

// postReload asks a host to reload. An answer that tells of faults becomes one
// error of several lines.
func (a *app) postReload(ctx context.Context, far *farHost) (web.Reloaded, error) {
	ctx, cancel := context.WithTimeout(ctx, reloadWait)
	defer cancel()
	req, err := a.hostRequest(ctx, http.MethodPost, far, "/v1/servers/reload")
	if err != nil {
		return web.Reloaded{}, &exitError{exitUsage, fmt.Errorf("--listen: want host:port such as 127.0.0.1:8000: %w", err)}
	}
	res, err := far.client.Do(req)
	if err != nil {
		return web.Reloaded{}, fmt.Errorf("no host answers at %s: %w; start one with molar serve, or name its address with --listen", far.address, err)
	}
	defer res.Body.Close()
	const largest = 16 << 20
	data, err := io.ReadAll(io.LimitReader(res.Body, largest))
	if err != nil {
		return web.Reloaded{}, fmt.Errorf("read the answer of the host at %s: %w", far.address, err)
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
		return web.Reloaded{}, fmt.Errorf("the host at %s speaks TLS: name the config that it runs with, by --config", far.address)
	case err != nil:
		return web.Reloaded{}, fmt.Errorf("the host at %s is no molar: it answered %s", far.address, res.Status)
	case len(answer.Error.Faults) > 0:
		faults := strings.Join(answer.Error.Faults, "\n") + "\nthe last good config stays in force"
		return web.Reloaded{}, errors.New(terminal.Clean(faults))
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		return web.Reloaded{}, fmt.Errorf("the host at %s answered: %s; give a key with scope admin in %s", far.address, terminal.Clean(answer.Error.Message), keyVariable)
	case res.StatusCode != http.StatusOK:
		return web.Reloaded{}, fmt.Errorf("the host at %s answered %s: %s", far.address, res.Status, terminal.Clean(answer.Error.Message))
	}
	return answer.Reloaded, nil
}
