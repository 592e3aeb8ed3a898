package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"

	"molar/providers"
)

// mark logs a step under its number.
func (r *run) mark(step, message string, attrs ...any) {
	r.a.log.Info("[STEP "+step+"] "+message, append([]any{"turn", r.turn.ID}, attrs...)...)
}

// step logs a step that has a text: length and hash at info, the text at debug.
func (r *run) step(ctx context.Context, step, message, text string) {
	sum := sha256.Sum256([]byte(text))
	r.mark(step, message, "length", len([]rune(text)), "sha256", hex.EncodeToString(sum[:4]))
	r.between(ctx, "QUESTION", text)
}

// logPrompt logs a model call's prompt, at debug only.
func (r *run) logPrompt(ctx context.Context, req providers.Request) {
	if !r.a.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	text := promptText(req)
	r.mark("7.4", "Prompt built", "pass", req.Pass, "length", len([]rune(text)))
	r.between(ctx, "PROMPT", text)
}

// between logs a text at debug, between separators that are easy to find.
func (r *run) between(ctx context.Context, name, text string) {
	if !r.a.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	r.a.log.Debug("--- "+name+" START ---\n"+text+"\n--- "+name+" END ---", "turn", r.turn.ID)
}

// promptText is a prompt as a person reads it.
func promptText(req providers.Request) string {
	var b strings.Builder
	b.WriteString(req.System)
	for _, m := range req.Messages {
		b.WriteString("\n\n" + string(m.Role) + ": " + m.FullText())
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				b.WriteString("\n" + p.Call.Function.Name + " " + p.Call.Function.Arguments)
			case p.Kind == "result":
				b.WriteString("\n" + p.Text)
			}
		}
	}
	return b.String()
}
