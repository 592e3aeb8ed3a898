package knowledge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"molar/internal/documents"
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
	s.Threshold, s.Learned = f.shelves.threshold()
	if f.meaning != nil {
		s.Meaning = new(f.meaning.status())
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

// wait waits until the folder is read, but not for long after its beginning: what is read so far answers then.
func (f *Folder) wait(ctx context.Context) error {
	f.begin()
	select {
	case <-f.ready:
	case <-f.late:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// passages reads a file. left says what is left out of it; the error says why it is not read.
func (f *Folder) passages(ctx context.Context, name string) (title string, passages []passage, left string, err error) {
	if isText(name) && !f.cfg.Documents.Converts(name) {
		text, err := readText(f.cfg.Files, name)
		if err != nil {
			return "", nil, "", err
		}
		title, passages = cut(name, text)
		return title, passages, "", nil
	}
	data, err := readFile(f.cfg.Files, name, documents.Largest)
	if err != nil {
		return "", nil, "", err
	}
	d, err := f.cfg.Documents.Read(ctx, name, data)
	if err != nil {
		return "", nil, "", err
	}
	title, passages = cutDocument(name, d)
	return title, passages, d.Left, nil
}

// readText reads a file of plain text.
func readText(files fs.FS, name string) (string, error) {
	data, err := readFile(files, name, largestFile)
	if err != nil {
		return "", err
	}
	return documents.Text(data)
}

// readFile reads a file that may have changed since it was listed.
func readFile(files fs.FS, name string, largest int64) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, &openError{bare(err)}
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("it is no file any more")
	}
	data, err := io.ReadAll(io.LimitReader(f, largest+1))
	switch {
	case err != nil:
		return nil, &openError{bare(err)}
	case int64(len(data)) > largest:
		return nil, tooLarge(largest)
	case strings.TrimSpace(string(data[:min(len(data), 1<<10)])) == "" && len(data) <= 1<<10:
		return nil, errEmpty
	}
	return data, nil
}

// An openError is why a file cannot be opened or read at present. Whether it can be says no stamp of it: access
// may be given, and a disk may answer again.
type openError struct{ error }

// Unwrap returns the reason.
func (e *openError) Unwrap() error { return e.error }

var errEmpty = errors.New("it is empty")

func tooLarge(largest int64) error { return fmt.Errorf("over %d MiB", largest>>20) }

// bare returns the reason of an error of a file, without its name.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// of returns the passages of a file, in order.
func (ix *index) of(file string) []passage {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var all []passage
	span := ix.files[file]
	for id := span.from; id < span.to; id++ {
		all = append(all, ix.passage(id))
	}
	return all
}

// keep notes that a file is read.
func (f *Folder) keep(name, title string, passages []passage) {
	d := document{title: strings.Clone(title), passages: len(passages)} // else it would hold the whole text in memory
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

// all returns how many files there are, read or not.
func (f *Folder) all(unread []schemas.UnreadFile) int {
	n := len(f.read)
	for _, u := range unread {
		if _, there := f.read[u.File]; !there {
			n++
		}
	}
	return n
}

func (f *Folder) setUnread(unread []schemas.UnreadFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unread = unread
}
