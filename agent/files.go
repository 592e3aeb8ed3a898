package agent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"molar/agent/memory"
	"molar/schemas"
)

// files returns the files that a person attached to a question: parts of the message, and texts.
// Files that are only addresses, and those of servers, are not included.
func files(parts []schemas.Part, attached []Attachment) []memory.File {
	var files []memory.File
	add := func(name, media string, data []byte) {
		if name == "" {
			name = path.Base(media)
		}
		files = append(files, memory.File{File: schemas.File{N: len(files), Name: name, Media: media}, Data: data})
	}
	for _, p := range parts {
		if p.Kind == schemas.PartContext && p.Name != "" {
			add(p.Name, schemas.MediaOf(p.Name, []byte(p.Text)), []byte(p.Text))
		}
	}
	for _, at := range attached {
		if at.Server == "" && len(at.Media) == 0 {
			add(at.Name, schemas.MediaOf(at.Name, []byte(at.Text)), []byte(at.Text))
		}
		if at.Server == "" {
			parts = append(slices.Clip(parts), at.Media...)
		}
	}
	for _, p := range parts {
		if p.Kind != schemas.PartImage && p.Kind != schemas.PartFile {
			continue
		}
		if media, data, err := schemas.DataOf(p.Text); err == nil {
			add(p.Name, media, data)
		}
	}
	return files
}

// putFiles stores the files of the question of a saved turn. The error names those that were not
// stored.
func putFiles(ctx context.Context, store Memory, lease schemas.Lease, turnID string, files []memory.File) error {
	ctx, cancel := context.WithTimeout(ctx, filesWait)
	defer cancel()
	var lost []error
	for _, f := range files {
		if err := store.PutFile(ctx, lease, turnID, f); err != nil {
			lost = append(lost, fmt.Errorf("%s is not stored with the conversation: %w", f.Name, err))
		}
	}
	return errors.Join(lost...)
}
