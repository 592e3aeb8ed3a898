package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"

	"molar/internal/cli"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/schemas"
)

const (
	// ResumeChoose is the value of --resume without an ID.
	ResumeChoose = "?"
	// RecentCount is how many conversations are listed.
	RecentCount = 30
)

// looksLikeID reports whether the argument after "--resume" is an ID and not a prompt: one
// word with at least a digit, "_" or "-".
func looksLikeID(arg string) bool {
	return !strings.ContainsAny(arg, " \t\n") && strings.ContainsAny(arg, "0123456789_-") && arg != "-"
}

// chosenConversation returns the ID that the flags select, empty for a new conversation, and
// its assistant.
func chosenConversation(ctx context.Context, h *host.Host, f Flags) (id, assistant string, err error) {
	switch {
	case f.GoOn:
		recent, err := h.Recent(ctx, 1)
		if err != nil {
			return "", "", err
		}
		if len(recent) == 0 {
			return "", "", cli.Usage(errors.New("there is no conversation to continue yet"))
		}
		return recent[0].ID, recent[0].Assistant, nil
	case f.Resume != "" && f.Resume != ResumeChoose:
		messages, err := h.Stored(ctx, f.Resume)
		return f.Resume, assistantOf(messages), err
	}
	return f.Conversation, "", nil
}

// assistantOf returns the assistant that answered last; empty if unknown.
func assistantOf(messages []schemas.StoredMessage) string {
	for _, m := range slices.Backward(messages) {
		if m.Assistant != "" {
			return m.Assistant
		}
	}
	return ""
}

// listConversations prints the newest conversations. It starts no servers.
func listConversations(ctx context.Context, a *cli.CLI, format string) error {
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	cfg.MCPServers = cfg.MCPServers[:0:0]
	h, err := host.Open(ctx, cfg, slog.New(slog.DiscardHandler), host.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	list, err := h.Recent(ctx, RecentCount)
	if err != nil {
		return err
	}
	if format != cli.Text {
		return a.PrintJSON(map[string]any{"version": outputVersion, "conversations": list})
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	for _, c := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d messages\t%s\t%s\n", terminal.Clean(c.ID), c.UpdatedAt.Local().Format("2006-01-02 15:04"),
			c.Messages, cmp.Or(terminal.Clean(c.Assistant), "-"), terminal.Preview(c.Title))
	}
	if len(list) == 0 {
		_, _ = fmt.Fprintln(a.Stderr, "there is no conversation yet")
	}
	return w.Flush()
}
