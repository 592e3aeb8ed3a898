package skills

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"molar/internal/text"
	"molar/schemas"
)

// File is the file that makes a folder a skill.
const File = "SKILL.md"

const (
	// maxSkill bounds a SKILL.md, and maxFile any other file of a skill, in bytes.
	maxSkill, maxFile = 256 << 10, 1 << 20
	// maxNamed bounds how many files an error names, and maxWalked how many are looked at for it.
	maxNamed, maxWalked = 20, 1000
	// Folders are looked at again after shortestPause, or after pauseTimes the time that looking took if that
	// is longer, so that turns wait little for it.
	shortestPause = 2 * time.Second
	pauseTimes    = 100
)

// Config configures a [Library].
type Config struct {
	// Folders hold skills as subfolders, or are one skill each.
	Folders []string
	// Logger is told which skills are left out; it may be nil.
	Logger *slog.Logger
	// Now is the clock; nil is the real one.
	Now func() time.Time
}

// A Library reads the skills in folders. It sees changes of their files. It is safe for concurrent use.
type Library struct {
	cfg Config

	mu      sync.Mutex
	next    time.Time // when the folders are looked at again
	skills  []skill
	leftOut []string
	// heads are what was read of each SKILL.md, as long as it does not change.
	heads map[place]head
}

// A skill is a skill and the place of its folder.
type skill struct {
	schemas.Skill
	place
}

// A place is a subfolder of a folder of the configuration; "." is that folder itself.
type place struct{ folder, dir string }

func (p place) String() string { return filepath.Join(p.folder, filepath.FromSlash(p.dir)) }

// A head is what was read of a SKILL.md: a skill, or why it is none.
type head struct {
	size    int64
	changed time.Time
	skill   schemas.Skill
	fault   error
}

// New reads the skills. It fails if a folder cannot be read.
func New(cfg Config) (*Library, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	for _, folder := range cfg.Folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("skills: %s is not a folder that can be read: name one with skills", folder)
		}
	}
	l := &Library{cfg: cfg}
	l.refresh()
	return l, nil
}

// Skills returns the skills by name.
func (l *Library) Skills() []schemas.Skill {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	all := make([]schemas.Skill, len(l.skills))
	for i, s := range l.skills {
		all[i] = s.Skill
	}
	return all
}

// LeftOut returns a line for each skill that is left out, with the reason.
func (l *Library) LeftOut() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	return slices.Clone(l.leftOut)
}

// Read returns the text of a skill, or of another file in its folder. The error is for a model: it says
// what else there is.
func (l *Library) Read(name, file string) (string, error) {
	l.mu.Lock()
	i := slices.IndexFunc(l.skills, func(s skill) bool { return s.Name == name })
	var at place
	if i >= 0 {
		at = l.skills[i].place
	}
	l.mu.Unlock()
	if i < 0 {
		return "", fmt.Errorf("there is no skill %q", name)
	}
	root, err := at.open()
	if err != nil {
		return "", fmt.Errorf("the skill %q cannot be read any more", name)
	}
	defer root.Close()
	if clean := path.Clean(file); file != "" && clean != File {
		return readFile(root, name, clean)
	}
	data, err := read(root, File, maxSkill)
	if err == nil {
		var body string
		if _, body, err = parse(data); err == nil {
			return body, nil
		}
	}
	return "", fmt.Errorf("the skill %q cannot be read: %w", name, err)
}

// readFile returns the text of another file of a skill.
func readFile(root *os.Root, name, file string) (string, error) {
	if !fs.ValidPath(file) {
		return "", fmt.Errorf("%q is not a file of the skill %q: name one by its path within the skill, such as references/more.md", file, name)
	}
	data, err := read(root, file, maxFile)
	var said string
	if err == nil {
		if said, err = textOf(data); err == nil {
			return said, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the skill %q has no file %q; it has %s", name, file, strings.Join(filesIn(root), ", "))
	}
	return "", fmt.Errorf("the file %q of the skill %q cannot be read: %w", file, name, err)
}

// filesIn returns the paths of the files of a skill, not more than a person wants to read.
func filesIn(root *os.Root) []string {
	files, walked := []string{File}, 0
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error { // what cannot be read is not named
		walked++
		switch {
		case walked > maxWalked || len(files) == maxNamed:
			return fs.SkipAll
		case err == nil && d.Type().IsRegular() && name != File:
			files = append(files, name)
		}
		return nil
	})
	return files
}

// open opens the folder of a skill. No link leads out of it.
func (p place) open() (*os.Root, error) {
	root, err := os.OpenRoot(p.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot(filepath.FromSlash(p.dir))
}

// read returns the bytes of a file, of which there are at most so many.
func read(root *os.Root, name string, most int64) ([]byte, error) {
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, plain(err)
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > most:
		return nil, fmt.Errorf("it is too large: it has %d bytes, and at most %d are read", info.Size(), most)
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is too large: more than %d bytes", most)
	}
	return data, plain(err)
}

// plain returns an error without the path, which is this machine's.
func plain(err error) error {
	if bad, ok := errors.AsType[*fs.PathError](err); ok {
		return bad.Err
	}
	return err
}

// refresh looks at the folders again when it is time. The caller has the lock.
func (l *Library) refresh() {
	began := l.cfg.Now()
	if began.Before(l.next) {
		return
	}
	before := l.leftOut
	known := l.heads
	l.skills, l.leftOut, l.heads = nil, nil, make(map[place]head, len(known))
	for _, folder := range l.cfg.Folders {
		l.look(folder, known)
	}
	slices.SortFunc(l.skills, func(a, b skill) int { return cmp.Compare(a.Name, b.Name) })
	for _, line := range l.leftOut {
		if !slices.Contains(before, line) {
			l.cfg.Logger.Warn("a skill is left out", "skill", line)
		}
	}
	now := l.cfg.Now()
	l.next = now.Add(max(shortestPause, now.Sub(began)*pauseTimes))
}

// look adds the skills of a folder. known are the heads of files that may be the same.
func (l *Library) look(folder string, known map[place]head) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		l.leave(folder, plain(err))
		return
	}
	defer root.Close()
	if info, err := root.Stat(File); !errors.Is(err, fs.ErrNotExist) {
		l.add(place{folder, "."}, info, err, known)
		return
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		l.leave(folder, plain(err))
		return
	}
	seen := false
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		info, err := root.Stat(filepath.Join(e.Name(), File))
		if errors.Is(err, syscall.ENOTDIR) { // a link to a file
			continue
		}
		seen = true
		l.add(place{folder, e.Name()}, info, err, known)
	}
	if !seen {
		l.leave(folder, fmt.Errorf("there is no skill in it: want a folder with a %s for each", File))
	}
}

// add adds the skill in a folder, or why there is none.
func (l *Library) add(at place, info fs.FileInfo, err error, known map[place]head) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.leave(at.String(), fmt.Errorf("it has no %s", File))
		return
	case err != nil:
		l.leave(at.String(), plain(err))
		return
	}
	h, same := known[at]
	if !same || h.size != info.Size() || !h.changed.Equal(info.ModTime()) {
		h = head{size: info.Size(), changed: info.ModTime()}
		h.skill, h.fault = at.head()
	}
	l.heads[at] = h
	twice := slices.IndexFunc(l.skills, func(s skill) bool { return s.Name == h.skill.Name })
	switch {
	case h.fault != nil:
		l.leave(at.String(), h.fault)
	case twice >= 0:
		l.leave(at.String(), fmt.Errorf("the name %s is that of %s too", h.skill.Name, l.skills[twice].place))
	default:
		l.skills = append(l.skills, skill{h.skill, at})
	}
}

// leave leaves out what stands at a path.
func (l *Library) leave(path string, why error) {
	l.leftOut = append(l.leftOut, text.Shown(path+": "+why.Error()))
}

// head reads what a SKILL.md says of its skill.
func (p place) head() (schemas.Skill, error) {
	root, err := p.open()
	if err != nil {
		return schemas.Skill{}, plain(err)
	}
	defer root.Close()
	data, err := read(root, File, maxSkill)
	if err != nil {
		return schemas.Skill{}, err
	}
	s, _, err := parse(data)
	return s, err
}
