package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"molar/internal/cli"
	"molar/schemas"
)

// Recent returns the newest conversations of the memory.
func (h *Host) Recent(ctx context.Context, most int) ([]schemas.Conversation, error) {
	if err := h.awaitMemory(ctx); err != nil {
		return nil, err
	}
	list, _, err := h.Memory.List(ctx, "", "", most, "")
	return list, err
}

// Stored returns the messages of a conversation, with their files; an unknown one is a usage
// error.
func (h *Host) Stored(ctx context.Context, id string) ([]schemas.StoredMessage, error) {
	if err := h.awaitMemory(ctx); err != nil {
		return nil, err
	}
	messages, _, known, err := h.Memory.Messages(ctx, "", id)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, cli.Usage(fmt.Errorf("there is no conversation %q; molar chat --list shows what there is", id))
	}
	files, err := h.Memory.Files(ctx, "", id)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		for _, f := range files {
			if f.Seq == messages[i].Seq {
				messages[i].Files = append(messages[i].Files, f)
			}
		}
	}
	return messages, nil
}

// awaitMemory waits for the memory server, which may be elsewhere.
func (h *Host) awaitMemory(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("the memory server does not answer"))
	defer cancel()
	if err := h.MCP.Wait(ctx, []string{schemas.MemoryServer}); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}
