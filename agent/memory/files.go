package memory

import (
	"bytes"
	"context"
	"errors"

	"molar/schemas"
)

// A File is a file attached to a question, with its data.
type File struct {
	schemas.File
	Data []byte
}

// PutFile stores a file with the question of a turn that was saved under the lease.
func (c *Client) PutFile(ctx context.Context, lease schemas.Lease, turnID string, f File) error {
	f.Size = int64(len(f.Data))
	for part := 0; ; part++ {
		rest := f.Data[part*schemas.FilePartSize:]
		chunk := schemas.FileChunk{Part: part, Data: rest[:min(len(rest), schemas.FilePartSize)], Last: len(rest) <= schemas.FilePartSize}
		params := struct {
			Lease  schemas.Lease `json:"lease"`
			TurnID string        `json:"turn_id"`
			schemas.File
			schemas.FileChunk
		}{lease, turnID, f.File, chunk}
		if err := c.request(ctx, "memory/put_file", params, nil); err != nil || chunk.Last {
			return err
		}
	}
}

// Files returns the files of a conversation, of all its branches; none from a memory server without
// that method.
func (c *Client) Files(ctx context.Context, owner, id string) ([]schemas.File, error) {
	var list struct {
		Files []schemas.File `json:"files"`
	}
	err := c.request(ctx, "memory/list_files", map[string]string{"conversation_id": id, "owner": owner}, &list)
	if errors.Is(err, ErrForeign) {
		return nil, nil
	}
	return list.Files, err
}

// ReadFile returns a file with its data, or [ErrUnknown] if it does not exist.
func (c *Client) ReadFile(ctx context.Context, owner, id string, seq int64, n int) (File, error) {
	var data bytes.Buffer
	for part := 0; ; part++ {
		var read struct {
			schemas.File
			schemas.FileChunk
		}
		params := map[string]any{"conversation_id": id, "owner": owner, "seq": seq, "n": n, "part": part}
		if err := c.request(ctx, "memory/read_file", params, &read); err != nil {
			return File{}, err
		}
		data.Write(read.Data)
		if read.Last {
			return File{File: read.File, Data: data.Bytes()}, nil
		}
	}
}
