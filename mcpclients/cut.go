package mcpclients

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
)

// cutDescription is how many bytes of a description earlier versions kept.
const cutDescription = 2 << 10

// looksCut reports whether a description can be the beginning that earlier versions kept of a longer one.
// The digest of one that is decided about as it is differs from that of the beginning, so that the
// decision holds for no longer one.
func looksCut(description string) bool {
	return strings.HasSuffix(description, text.Mark) && len(description) <= cutDescription && len(description) > cutDescription-utf8.UTFMax
}

// adoptWhole takes over what people decided about tools of a server while only the beginning of their
// descriptions was kept: what was decided about the beginning holds for the whole, once. It may write to
// the store.
func (d *InForce) adoptWhole(server string, infos []schemas.ToolInfo, log *slog.Logger) {
	d.mu.Lock()
	pinned, confirmed := maps.Clone(d.pins[server]), d.confirmed[server]
	confirmed.Tools = maps.Clone(confirmed.Tools)
	repinned, reconfirmed := false, false
	for _, info := range infos {
		if len(info.Description) <= cutDescription {
			continue
		}
		cut := info
		cut.Description = text.Shorten(info.Description, cutDescription)
		if !looksCut(cut.Description) {
			continue
		}
		before := saltedPin(cut, "")
		if known, ok := pinned[info.ToolName]; ok && samePin(known, before) {
			pinned[info.ToolName], repinned = pin(info), true
		}
		if marks, ok := confirmed.Tools[info.ToolName]; ok && samePin(marks.Digest, before) {
			marks.Digest = digest(info)
			confirmed.Tools[info.ToolName], reconfirmed = marks, true
		}
	}
	if repinned {
		d.pins[server] = pinned
	}
	if reconfirmed {
		d.confirmed[server] = confirmed
	}
	if repinned || reconfirmed {
		d.decided++
	}
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), keepTimeout)
	defer cancel()
	if repinned {
		if err := d.keep(ctx, server, pinned); err != nil {
			log.Warn("the pins of the server's whole descriptions hold only until molar ends", "error", err)
		}
	}
	if reconfirmed && d.keeper != nil {
		if err := d.keeper.KeepConfirmation(ctx, server, confirmed); err != nil {
			log.Warn("what was confirmed of the server's tools holds for their whole descriptions only until molar ends", "error", err)
		}
	}
}
