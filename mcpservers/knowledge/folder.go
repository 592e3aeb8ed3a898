package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/internal/documents"
	"molar/schemas"
)

const (
	// largestFile bounds the files that are read, in bytes.
	largestFile = 8 << 20
	// firstWait is how long after its beginning questions wait for the first scan of a folder: that
	// suffices for a small folder; for a large one the part indexed so far answers.
	firstWait = 3 * time.Second
	// A folder is rescanned after shortestPause, or after pauseTimes the time that listing its files took if
	// that is longer, so that scanning costs little processor time.
	shortestPause = 2 * time.Second
	pauseTimes    = 100
	// convertFor is how long a scan begins to have files converted: the next one sees what has changed meanwhile,
	// and goes on with the rest.
	convertFor = 2 * time.Second
	// reportEvery is how often the log reports the progress of the first scan.
	reportEvery = 5 * time.Second
)

// Config describes a folder.
type Config struct {
	// Name is the name of the tool that searches it.
	Name string
	// About says what the folder holds, in a sentence for the model that may search it.
	About string
	// Files is the folder, Path its location, for messages.
	Files fs.FS
	Path  string
	// Languages are the languages of the files, as ISO codes; "vi" and "en" if empty. Endings, typing mistakes
	// and words without meaning are known of these two, of others only how often each word occurs.
	Languages []string
	// Threshold is the least share of a question that a passage must hold, of 0 to 1. Nil learns from the
	// files what suffices.
	Threshold *float64
	// Link is the URL prefix of the files, followed by a file's path. Empty gives paths alone.
	Link string
	// Foreign is set for a folder that somebody else wrote than whoever runs the assistant: what it
	// says is no more trusted than a page of the web.
	Foreign bool
	// Corrections is set if the files below [CorrectionsDir] answer the questions in their headings
	// before all else.
	Corrections bool
	// Documents reads the files that are no texts; nil reads those that need no setting.
	Documents *documents.Reader
	// Fixed is set if the files never change; they are indexed at the first question.
	Fixed bool
	// Meaning compares passages by their meaning too; nil compares words alone.
	Meaning *Meaning
	// Logger may be nil. It gets counts, never a question.
	Logger *slog.Logger
}

// A Folder answers questions from its files. It is safe for concurrent use.
type Folder struct {
	cfg         Config
	log         *slog.Logger
	corrections *corrections  // nil without any
	meaning     *meaning      // nil for words alone
	begin       func()        // starts the watch once
	ready       chan struct{} // closed after the first scan
	late        chan struct{} // closed when questions wait for it no more
	stop        context.CancelFunc
	ended       sync.WaitGroup

	mu       sync.RWMutex
	shelves  shelves
	progress Progress
	read     map[string]document // by path
	unread   []schemas.UnreadFile

	// What follows belongs to the scanning goroutine.
	known      map[string]stamp
	faults     map[string]string // why a file is not read, or only in part, by path
	lastUnread string            // last log text about unread files
}

// Progress is the progress of a folder's scan.
type Progress struct {
	// Done and Files count the indexed files and all files.
	Done  int `json:"done"`
	Files int `json:"files"`
}

// A stamp detects changes of a file.
type stamp struct {
	size    int64
	changed time.Time
}

// unreadable is the size in the stamp of a file that is tried again at each scan.
const unreadable = -1

// Open starts to index a folder in the background. It fails if the folder does not exist. The
// caller closes it.
func Open(cfg Config) (*Folder, error) {
	if cfg.Name == "" || cfg.Files == nil {
		return nil, errors.New("open a folder of knowledge: want a name and files")
	}
	if info, err := fs.Stat(cfg.Files, "."); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("knowledge %q: %s is not a folder that can be read: name one with documents", cfg.Name, cfg.Path)
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	f := &Folder{cfg: cfg, log: log.With("knowledge", cfg.Name), ready: make(chan struct{}), late: make(chan struct{}), stop: stop, known: make(map[string]stamp), faults: make(map[string]string), read: make(map[string]document)}
	if f.cfg.Documents == nil {
		var err error
		if f.cfg.Documents, err = documents.New(documents.Config{}); err != nil {
			stop()
			return nil, err
		}
	}
	f.shelves = newShelves(cfg.Languages, cfg.Threshold, nil)
	if cfg.Corrections {
		f.corrections = newCorrections(cfg.Files)
	}
	if cfg.Meaning != nil {
		f.meaning = newMeaning(*cfg.Meaning, f.log)
	}
	f.begin = sync.OnceFunc(func() {
		time.AfterFunc(firstWait, func() { close(f.late) })
		f.ended.Go(func() { f.watch(ctx) })
		if f.meaning != nil {
			f.ended.Go(func() { f.meaning.run(ctx) })
		}
	})
	if !cfg.Fixed { // a fixed folder is indexed at the first question
		f.begin()
	}
	return f, nil
}

// Name returns the name of the tool that searches the folder.
func (f *Folder) Name() string { return f.cfg.Name }

// About says what the folder holds, or is empty.
func (f *Folder) About() string { return f.cfg.About }

// Foreign reports whether somebody else wrote the folder.
func (f *Folder) Foreign() bool { return f.cfg.Foreign }

// Close stops the indexing and waits for it.
func (f *Folder) Close() {
	f.stop()
	f.ended.Wait()
}

// Progress returns the progress of the folder's scan.
func (f *Folder) Progress() Progress {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.progress
}

// watch rescans the folder until ctx ends.
func (f *Folder) watch(ctx context.Context) {
	began, isRead := time.Now(), false
	for first := true; first || !f.cfg.Fixed || !isRead; first = false {
		looked, left := f.scan(ctx)
		if ctx.Err() != nil {
			return
		}
		if first {
			close(f.ready)
		}
		if !isRead && left == 0 {
			isRead = true
			f.log.InfoContext(ctx, "knowledge indexed", "files", f.Progress().Files, "passages", f.current().size(), "took", time.Since(began).Round(time.Millisecond))
		}
		pause := min(max(shortestPause, looked*pauseTimes), time.Minute)
		if left > 0 {
			pause = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// scan indexes new and changed files and drops removed ones. If synonyms change, it indexes all passages
// anew, and the old index answers until then. It returns how long listing the files took, and how many are left
// for the next scan that were not tried before.
func (f *Folder) scan(ctx context.Context) (looked time.Duration, left int) {
	began := time.Now()
	stamps, unread := list(f.cfg.Files, f.cfg.Documents, ctx.Err, func(name string, err error) {
		f.log.WarnContext(ctx, "a part of the folder cannot be read", "path", name, "error", err)
	})
	if looked = time.Since(began); ctx.Err() != nil {
		return looked, 0
	}
	f.setUnread(unread)
	into := f.current()
	if synonyms := f.synonyms(ctx, stamps); !maps.EqualFunc(synonyms, into.synonyms, slices.Equal) {
		old := into
		into = newShelves(f.cfg.Languages, f.cfg.Threshold, synonyms)
		for _, name := range slices.Sorted(maps.Keys(f.known)) {
			into.of(name).put(name, old.of(name).of(name))
		}
		if !f.isReady() { // no index is ready yet
			f.replace(into)
		}
	}
	var changed []string
	tried := 0 // of them
	for name, s := range stamps {
		if f.known[name] != s {
			changed = append(changed, name)
		}
		if f.known[name].size == unreadable {
			tried++
		}
	}
	altered := false
	for name := range f.known {
		if _, there := stamps[name]; !there {
			into.of(name).put(name, nil)
			f.forget(name)
			delete(f.known, name)
			altered = true
		}
	}
	maps.DeleteFunc(f.faults, func(name, _ string) bool { _, there := stamps[name]; return !there })
	f.sort(changed)
	reported, done := time.Now(), len(stamps)-len(changed)
	f.advance(done, len(stamps))
	for read := range f.readAhead(ctx, changed, began.Add(convertFor)) {
		if time.Since(reported) > reportEvery {
			reported = time.Now()
			f.log.InfoContext(ctx, "indexing knowledge", "done", done, "files", len(stamps))
		}
		if f.known[read.name] = stamps[read.name]; read.passes() {
			f.known[read.name] = stamp{size: unreadable}
		} else {
			into.of(read.name).put(read.name, read.passages)
			altered = true
		}
		f.note(read)
		if done++; done < len(stamps) { // all are read once the index has learned from them
			f.advance(done, len(stamps))
		}
	}
	if left = max(len(stamps)-done-tried, 0); ctx.Err() != nil {
		return looked, left
	}
	for name, why := range f.faults {
		unread = append(unread, schemas.UnreadFile{File: name, Why: why})
	}
	slices.SortFunc(unread, func(a, b schemas.UnreadFile) int { return strings.Compare(a.File, b.File) })
	f.setUnread(unread)
	if lastUnread := unreadText(f.all(unread), unread, f.cfg.Documents); lastUnread != f.lastUnread {
		f.lastUnread = lastUnread
		f.log.InfoContext(ctx, cmp.Or(lastUnread, "all files are read now"))
	}
	before, fresh := f.current(), into.compacted()
	f.replace(fresh)
	f.advance(len(f.read), len(f.read)+left) // only this goroutine writes it
	if f.meaning != nil && (altered || !maps.Equal(fresh.byName, before.byName) || !f.isReady()) {
		f.meaning.changed(fresh)
	}
	return looked, left
}

// sort sorts the names of files: the same files make the same index. Those that a program converts come after the
// others, and those that are tried again last, so that they hold up no other.
func (f *Folder) sort(names []string) {
	after := func(name string) int {
		switch {
		case f.known[name].size == unreadable:
			return 2
		case f.cfg.Documents.Converts(name):
			return 1
		}
		return 0
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(after(a), after(b)), strings.Compare(a, b)) })
}

// note keeps what a file that was read is, or why it was not.
func (f *Folder) note(read reading) {
	delete(f.faults, read.name)
	if read.err != nil {
		f.faults[read.name] = read.err.Error()
		if !read.passes() { // else what was read before answers
			f.forget(read.name)
		}
		return
	}
	f.keep(read.name, read.title, read.passages)
	if read.left != "" {
		f.faults[read.name] = inPart + read.left
	}
}

// ahead is how many files are read before they are indexed.
const ahead = 8

// A reading is a file that was read, or why it was not.
type reading struct {
	name, title string
	passages    []passage
	left        string // what is left out
	err         error
}

// passes reports whether the file may be read another time, though it does not change.
func (r reading) passes() bool {
	_, closed := errors.AsType[*openError](r.err)
	return closed || errors.Is(r.err, documents.ErrBusy)
}

// readAhead yields files in order. They are read while the ones before them are indexed. It ends early with ctx,
// and before a file that a program converts once it is late.
func (f *Folder) readAhead(ctx context.Context, names []string, late time.Time) iter.Seq[reading] {
	return func(yield func(reading) bool) {
		var reader sync.WaitGroup
		defer reader.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		files := make(chan reading, ahead)
		reader.Go(func() {
			defer close(files)
			for i, name := range names {
				if i > 0 && f.cfg.Documents.Converts(name) && time.Now().After(late) {
					return
				}
				r := reading{name: name}
				r.title, r.passages, r.left, r.err = f.passages(ctx, name)
				if ctx.Err() != nil {
					return
				}
				select {
				case files <- r:
				case <-ctx.Done():
					return
				}
			}
		})
		for r := range files {
			if ctx.Err() != nil || !yield(r) {
				return
			}
		}
	}
}

func (f *Folder) current() shelves {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.shelves
}

func (f *Folder) replace(s shelves) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shelves = s
}

func (f *Folder) advance(done, files int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = Progress{done, files}
}

// synonyms returns the lists of the synonym files, by folder.
func (f *Folder) synonyms(ctx context.Context, stamps map[string]stamp) map[string][]string {
	lists := make(map[string][]string)
	for name := range stamps {
		if path.Base(name) != synonymFile {
			continue
		}
		in := strings.TrimPrefix(path.Dir(name), ".")
		text, err := readText(f.cfg.Files, name)
		if err != nil && !errors.Is(err, errEmpty) {
			f.log.WarnContext(ctx, "a file cannot be read", "path", name, "error", err)
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, ",") {
				lists[in] = append(lists[in], line)
			}
		}
		delete(stamps, name)
	}
	return lists
}

func (f *Folder) isReady() bool {
	select {
	case <-f.ready:
		return true
	default:
		return false
	}
}
