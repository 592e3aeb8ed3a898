package knowledge

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"molar/schemas"
)

// shownUnread is how many unread files a status names.
const shownUnread = 200

// A document is a file that is read.
type document struct {
	title    string
	passages int
	bytes    int64
}

// Status returns what the folder has read so far, and what it does not read.
func (f *Folder) Status() schemas.KnowledgeStatus {
	f.begin()
	f.mu.RLock()
	defer f.mu.RUnlock()
	s := schemas.KnowledgeStatus{
		Name: f.cfg.Name, Description: f.cfg.About, Path: f.cfg.Path, Done: f.progress.Done, Files: f.progress.Files,
		Unread: append([]schemas.UnreadFile{}, f.unread[:min(len(f.unread), shownUnread)]...), UnreadFiles: len(f.unread),
	}
	for _, d := range f.read {
		s.Passages += d.passages
		s.Bytes += d.bytes
	}
	return s
}

// Document returns a file of the folder as the search reads it: its passages, in order. The error is
// [fs.ErrNotExist] for any path but those of files that are read.
func (f *Folder) Document(ctx context.Context, file string) (schemas.Document, error) {
	if err := f.wait(ctx); err != nil {
		return schemas.Document{}, err
	}
	f.mu.RLock()
	read, there := f.read[file]
	ix := f.shelves.of(file)
	f.mu.RUnlock()
	if !there {
		return schemas.Document{}, fmt.Errorf("folder %q: file %q is not read: %w", f.cfg.Name, file, fs.ErrNotExist)
	}
	d := schemas.Document{Folder: f.cfg.Name, File: file, Title: read.title, Parts: []schemas.DocumentPart{}}
	if f.cfg.Link != "" {
		d.Link = f.link(passage{file: file})
	}
	for _, p := range ix.of(file) {
		d.Parts = append(d.Parts, schemas.DocumentPart{Place: f.place(p), Title: p.title, Text: p.text})
	}
	return d, nil
}

// wait waits until the folder is read, but not for long: what is read so far answers then.
func (f *Folder) wait(ctx context.Context) error {
	f.begin()
	wait := time.NewTimer(firstWait)
	defer wait.Stop()
	select {
	case <-f.ready:
	case <-wait.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// of returns the passages of a file, in order.
func (ix *index) of(file string) []passage {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var all []passage
	for _, id := range ix.files[file] {
		all = append(all, ix.passages[id].passage)
	}
	return all
}

// keep notes that a file is read.
func (f *Folder) keep(name, title string, passages []passage) {
	d := document{title: title, passages: len(passages)}
	for _, p := range passages {
		d.bytes += int64(len(p.text))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read[name] = d
}

// forget notes that a file is read no more.
func (f *Folder) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.read, name)
}

func (f *Folder) setUnread(unread []schemas.UnreadFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unread = unread
}
