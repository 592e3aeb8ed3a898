package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"molar/internal/store/state"
	"molar/schemas"
)

// keepTime bounds the writing of a refusal: a turn waits for it.
const keepTime = 2 * time.Second

// Refusals are the tools that services of models refused, kept in the host's database.
type Refusals struct {
	store *state.Store
	log   *slog.Logger

	mu    sync.Mutex
	known map[[2]string]state.Refusal // by provider and tool
}

// openRefusals reads what is kept. Without it the services are asked once more.
func openRefusals(ctx context.Context, store *state.Store, log *slog.Logger) *Refusals {
	kept, err := store.Refusals(ctx)
	if err != nil {
		log.Warn("it is not known which tools were refused", "error", err)
	}
	r := &Refusals{store: store, log: log, known: make(map[[2]string]state.Refusal, len(kept))}
	for _, k := range kept {
		r.known[[2]string{k.Provider, k.Tool}] = k
	}
	return r
}

// Refused returns why the provider's service refused the tool as it is now, or "".
func (r *Refusals) Refused(provider string, tool schemas.ToolInfo) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k, ok := r.known[[2]string{provider, tool.Name}]; ok && k.Digest == digest(tool) {
		return k.Reason
	}
	return ""
}

// Refuse keeps a refusal. One that cannot be written holds in this process alone.
func (r *Refusals) Refuse(provider string, tool schemas.ToolInfo, reason string) {
	k := state.Refusal{Provider: provider, Tool: tool.Name, Digest: digest(tool), Reason: reason}
	r.mu.Lock()
	r.known[[2]string{provider, tool.Name}] = k
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	if err := r.store.KeepRefusal(ctx, k); err != nil {
		r.log.Warn("it is not kept that a tool was refused", "tool", tool.Name, "error", err)
	}
}

// digest is the hash of what models see of a tool: it differs when that has changed.
func digest(tool schemas.ToolInfo) string {
	data, _ := json.Marshal([]string{tool.ToolName, tool.Title, tool.Description, string(tool.InputSchema)}) // strings alone
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
