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

// A changed file is read once no event has come for quietPeriod, but at most maxDelay after the
// first event, even if it is saved again and again.
const (
	quietPeriod = 200 * time.Millisecond
	maxDelay    = time.Second
)

// maxWatched is the size of the largest file whose content is compared, in bytes. A config file is
// much smaller.
const maxWatched = 4 << 20

// WatchFile calls changed, one call at a time, whenever the content of the named file changes:
// first compared with the SHA-256 known, then with the content at the last call. Deleting the file
// is a change. If the folder does not exist yet, WatchFile watches the nearest existing folder
// above it. It returns nil when ctx ends, and an error if no folder of the path can be watched.
func WatchFile(ctx context.Context, name string, known [sha256.Size]byte, changed func()) error {
	w, err := newWatcher(name)
	if err != nil {
		return fmt.Errorf("watch the folder of %s: %w", name, err)
	}
	defer w.close()
	events := make(chan struct{}, 1)
	events <- struct{}{} // it may have changed before the folder was watched
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		settle(ctx, events, func() {
			if now := digest(name); now != known {
				known = now
				changed()
			}
		})
	}()
	return w.forward(ctx, events)
}

// settle calls f once no event has come for quietPeriod, but at most maxDelay after the first
// event. It returns when ctx ends.
func settle(ctx context.Context, events <-chan struct{}, f func()) {
	var first time.Time // the time of the first event since the last call of f
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
			timer.Reset(min(quietPeriod, maxDelay-time.Since(first)))
		case <-timer.C:
			first = time.Time{}
			f()
		}
	}
}

// digest returns the SHA-256 of a file; zero if the file cannot be read.
func digest(name string) (sum [sha256.Size]byte) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return sum
	}
	if info.Size() > maxWatched { // compare size and time instead of the content
		return sha256.Sum256(fmt.Append(nil, info.Size(), info.ModTime()))
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return sum
	}
	return sha256.Sum256(data)
}

// A watcher watches the folder of a file and, if that is a symbolic link, the folder of its target.
type watcher struct {
	fs           *fsnotify.Watcher
	name, target string
	// folder is the watched folder: that of name, or the nearest existing one above it.
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
	if err := w.watchFolder(); err != nil {
		w.close()
		return nil, err
	}
	w.updateTarget()
	return w, nil
}

// watchFolder watches the folder of the name, or the nearest existing one above it.
func (w *watcher) watchFolder() error {
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
		// The missing folder may have been created before the one above it was watched.
	}
}

// isParent reports whether path is an ancestor folder of the watched file.
func (w *watcher) isParent(path string) bool {
	return strings.HasPrefix(w.name, strings.TrimSuffix(path, string(filepath.Separator))+string(filepath.Separator))
}

func (w *watcher) close() { _ = w.fs.Close() }

// updateTarget resolves the symbolic link, watches the folder of its target, and reports whether
// the target changed.
func (w *watcher) updateTarget() bool {
	target, err := filepath.EvalSymlinks(w.name)
	if err != nil || target == w.target {
		return false
	}
	w.target = target
	// If this folder cannot be watched, that of the link still is.
	_ = w.fs.Add(filepath.Dir(target))
	return true
}

// forward sends to events whenever the file may have changed. It ignores events of other files,
// which are frequent: the database is often in the same folder.
func (w *watcher) forward(ctx context.Context, events chan<- struct{}) error {
	for {
		concerns := true // after an error, events may have been lost
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
			if w.isParent(path) {
				if err := w.watchFolder(); err != nil {
					return fmt.Errorf("watch the folder of %s: %w", w.name, err)
				}
				concerns = true
			}
			// A write to another file changes no link.
			if linked := w.target != w.name; concerns || linked && event.Op != fsnotify.Write {
				concerns = w.updateTarget() || concerns
			}
		}
		if concerns {
			select {
			case events <- struct{}{}:
			default: // an event is already pending
			}
		}
	}
}
