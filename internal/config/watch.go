package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How long a file must lie still before it is read, and how long a file that is
// saved over and over can put that off.
const (
	still   = 200 * time.Millisecond
	longest = time.Second
)

// maxWatched bounds what is read of the file, in bytes; a config is far below.
const maxWatched = 4 << 20

// WatchedFile calls changed, one call at a time, whenever the content of the named file
// is not what it was: first in comparison with seen, its SHA-256, then with what it
// held at the last call. A file that is gone counts as one with another content.
// The folder may come later than the watch: until then what is there of its path is watched.
// File returns nil when ctx ends, and an error when nothing of the path can be watched.
func WatchedFile(ctx context.Context, name string, seen [sha256.Size]byte, changed func()) error {
	w, err := newWatcher(name)
	if err != nil {
		return fmt.Errorf("watch the folder of %s: %w", name, err)
	}
	defer w.close()
	moved := make(chan struct{}, 1)
	moved <- struct{}{} // it may have changed before the folder was watched
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		settle(ctx, moved, func() {
			if now := digest(name); now != seen {
				seen = now
				changed()
			}
		})
	}()
	return w.forward(ctx, moved)
}

// settle calls f once no event has come for still, and longest after the first
// event at the latest. It returns when ctx ends.
func settle(ctx context.Context, events <-chan struct{}, f func()) {
	var first time.Time // of the events that f has not been called for
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
			if first.IsZero() {
				first = time.Now()
			}
			timer.Reset(min(still, longest-time.Since(first)))
		case <-timer.C:
			first = time.Time{}
			f()
		}
	}
}

// digest is zero for a file that cannot be read.
func digest(name string) (sum [sha256.Size]byte) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return sum
	}
	if info.Size() > maxWatched { // not worth reading; the size tells such files apart
		return sha256.Sum256(fmt.Append(nil, info.Size(), info.ModTime()))
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return sum
	}
	return sha256.Sum256(data)
}

// A watcher watches the folder of a name and, where that is a symbolic link, of
// what it points at.
type watcher struct {
	fs           *fsnotify.Watcher
	name, target string
	// folder is watched: the name's own, or the nearest above it that is there.
	folder string
}

func newWatcher(name string) (*watcher, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watcher{fs: notify, name: name}
	if err := w.reach(); err != nil {
		w.close()
		return nil, err
	}
	w.follow()
	return w, nil
}

// reach watches the folder of the name, or the nearest above it that is there.
func (w *watcher) reach() error {
	for {
		folder := filepath.Dir(w.name)
		err := w.fs.Add(folder)
		for errors.Is(err, fs.ErrNotExist) && folder != filepath.Dir(folder) {
			folder = filepath.Dir(folder)
			err = w.fs.Add(folder)
		}
		settled := folder == w.folder || folder == filepath.Dir(w.name)
		if w.folder != "" && w.folder != folder {
			_ = w.fs.Remove(w.folder) // it may be gone
		}
		if w.folder = folder; err != nil || settled {
			return err
		}
		// What is missing may have come before the folder above it was watched.
	}
}

// leads reports whether a path is one of the folders that lead to the name.
func (w *watcher) leads(path string) bool {
	return strings.HasPrefix(w.name, strings.TrimSuffix(path, string(filepath.Separator))+string(filepath.Separator))
}

func (w *watcher) close() { _ = w.fs.Close() }

// follow finds what the name points at now, and reports whether that is new.
func (w *watcher) follow() bool {
	target, err := filepath.EvalSymlinks(w.name)
	if err != nil || target == w.target {
		return false
	}
	w.target = target
	// When this folder cannot be watched, the link's own still is.
	_ = w.fs.Add(filepath.Dir(target))
	return true
}

// forward passes on the events that may concern the file. Others are frequent: the
// database often lives in the same folder.
func (w *watcher) forward(ctx context.Context, moved chan<- struct{}) error {
	for {
		concerns := true // a lost event may have been the file's
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-w.fs.Errors:
			if !open {
				return fmt.Errorf("watch the folder of %s: the watch ended", w.name)
			}
		case event, open := <-w.fs.Events:
			if !open {
				return fmt.Errorf("watch the folder of %s: the watch ended", w.name)
			}
			path := filepath.Clean(event.Name)
			concerns = path == w.name || path == w.target
			if w.leads(path) {
				if err := w.reach(); err != nil {
					return fmt.Errorf("watch the folder of %s: %w", w.name, err)
				}
				concerns = true
			}
			if linked := w.target != w.name; linked || concerns {
				concerns = w.follow() || concerns
			}
		}
		if concerns {
			select {
			case moved <- struct{}{}:
			default: // one is waiting already
			}
		}
	}
}
