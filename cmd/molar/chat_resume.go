package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"molar/internal/terminal"
	"molar/schemas"
)

const (
	// resumeChoose is the value of --resume without an ID.
	resumeChoose = "?"
	// recentCount is how many conversations are listed.
	recentCount = 30
)

// looksLikeID tells the ID behind "--resume" from a prompt: it is one word of at least
// a digit, "_" or "-".
func looksLikeID(arg string) bool {
	return !strings.ContainsAny(arg, " \t\n") && strings.ContainsAny(arg, "0123456789_-") && arg != "-"
}

// chosenConversation is the ID that the flags mean; empty for a new conversation.
func (h *host) chosenConversation(ctx context.Context, f chatFlags) (string, error) {
	switch {
	case f.goOn:
		recent, err := h.recent(ctx, 1)
		if err != nil {
			return "", err
		}
		if len(recent) == 0 {
			return "", &exitError{exitUsage, errors.New("there is no conversation to continue yet")}
		}
		return recent[0].ID, nil
	case f.resume != "" && f.resume != resumeChoose:
		_, err := h.stored(ctx, f.resume)
		return f.resume, err
	}
	return f.conversation, nil
}

// recent are the newest conversations of the memory.
func (h *host) recent(ctx context.Context, most int) ([]schemas.Conversation, error) {
	if err := h.awaitMemory(ctx); err != nil {
		return nil, err
	}
	list, _, err := h.memory.List(ctx, "", "", most, "")
	return list, err
}

// stored are the messages of a conversation; an unknown one is a usage error.
func (h *host) stored(ctx context.Context, id string) ([]schemas.StoredMessage, error) {
	if err := h.awaitMemory(ctx); err != nil {
		return nil, err
	}
	messages, _, known, err := h.memory.Messages(ctx, "", id)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, &exitError{exitUsage, fmt.Errorf("there is no conversation %q; molar chat --list shows what there is", id)}
	}
	return messages, nil
}

// awaitMemory waits for the memory server, which may be elsewhere.
func (h *host) awaitMemory(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("the memory server does not answer"))
	defer cancel()
	if err := h.mcp.Wait(ctx, []string{memoryServer}); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// listConversations prints the newest conversations. The configured servers stay off.
func (a *app) listConversations(ctx context.Context, format string) error {
	cfg, err := a.loadConfig(nil)
	if err != nil {
		return err
	}
	cfg.MCPServers = cfg.MCPServers[:0:0]
	h, err := openHost(ctx, cfg, slog.New(slog.DiscardHandler), hostOptions{})
	if err != nil {
		return err
	}
	defer h.Close()
	list, err := h.recent(ctx, recentCount)
	if err != nil {
		return err
	}
	if format != formatText {
		return a.printJSON(map[string]any{"version": outputVersion, "conversations": list})
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, c := range list {
		_, _ = fmt.Fprintln(w, conversationLine(c, "\t"))
	}
	if len(list) == 0 {
		_, _ = fmt.Fprintln(a.stderr, "there is no conversation yet")
	}
	return w.Flush()
}

// conversationLine is a conversation in a list.
func conversationLine(c schemas.Conversation, gap string) string {
	return strings.Join([]string{
		terminal.Clean(c.ID), c.UpdatedAt.Local().Format("2006-01-02 15:04"),
		fmt.Sprintf("%d messages", c.Messages), preview(terminal.Clean(c.Title)),
	}, gap)
}
