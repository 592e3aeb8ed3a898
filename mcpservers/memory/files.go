package memory

import (
	"context"

	"molar/mcpservers"
	"molar/schemas"
)

const (
	// maxFiles bounds the files of a question, maxName a file's name, in bytes.
	maxFiles, maxName = 100, 1000
)

type putFileParams struct {
	Lease  schemas.Lease `json:"lease"`
	TurnID string        `json:"turn_id"`
	schemas.File
	schemas.FileChunk
}

// putFile stores a part of a file of a saved turn's question.
func (m *memory) putFile(ctx context.Context, p putFileParams) (any, error) {
	if err := checkLease(p.Lease); err != nil {
		return nil, err
	}
	switch {
	case p.N < 0 || p.N >= maxFiles:
		return nil, mcpservers.InvalidParams("n is %d, a question has at most %d files", p.N, maxFiles)
	case p.Part < 0 || p.Size < 0:
		return nil, mcpservers.InvalidParams("part and size must not be below 0")
	case len(p.Data) > schemas.FilePartSize:
		return nil, mcpservers.InvalidParams("data has %d bytes, a part has at most %d", len(p.Data), schemas.FilePartSize)
	case len(p.Name) > maxName || len(p.Media) > maxName:
		return nil, mcpservers.InvalidParams("name and media have at most %d bytes each", maxName)
	}
	return status("kept", p.Lease.ConversationID), m.store.PutFile(ctx, p.Lease, p.TurnID, p.File, p.FileChunk, m.files)
}

func (m *memory) listFiles(ctx context.Context, p ref) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	files, err := m.store.ListFiles(ctx, p.Owner, p.ConversationID)
	return struct {
		Files []schemas.File `json:"files"`
	}{files}, err
}

type readFileParams struct {
	ref
	Seq  int64 `json:"seq"`
	N    int   `json:"n"`
	Part int   `json:"part"`
}

// readFile returns one part of a file, with its description.
func (m *memory) readFile(ctx context.Context, p readFileParams) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	file, chunk, err := m.store.ReadFile(ctx, p.Owner, p.ConversationID, p.Seq, p.N, p.Part)
	return struct {
		schemas.File
		schemas.FileChunk
	}{file, chunk}, err
}
