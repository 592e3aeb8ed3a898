package subject

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"molar/internal/text"
)

// The sizes of the largest pack. A pack may come from a stranger, and all of it is held in memory.
const (
	maxTable = 16 << 20 // a learned table
	maxTexts = 2 << 20  // the text files together
	maxGuide = 64 << 20 // the guide
	maxFiles = 5000
)

// A packFile is a file that counts: it is read, and the sum of the pack covers it.
type packFile struct {
	name string
	size int64
}

// packFiles returns the files of a pack that count: texts, tables and the guide. The faults are
// files of an unknown name, links, and what is too large.
func packFiles(pack fs.FS) (files []packFile, faults []error) {
	fault := func(name, format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: %w", name, fmt.Errorf(format, args...)))
	}
	sizes := make(map[string]int64)
	err := fs.WalkDir(pack, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case strings.HasPrefix(entry.Name(), "."): // of git, an editor or the system
			return skip(entry)
		case entry.Type()&fs.ModeSymlink != 0:
			fault(name, "is a link, and what it leads to may lie outside of the folder: put a copy in its place")
			return nil
		case entry.IsDir():
			if name == LinesFolder || name == HeldFolder {
				return fs.SkipDir
			}
			if near, known := isPackFolder(name); !known {
				fault(name+"/", "there is no such folder in a pack%s: rename it, or take it out", near)
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			fault(name, "is no regular file: take it out")
			return nil
		}
		part, near := partOf(name)
		if part == "" {
			fault(name, "there is no such file in a pack%s: rename it, or take it out", near)
			return nil
		}
		if part == aside {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		sizes[part] += info.Size()
		switch { // what is too large is not read
		case part == learnedFolder && info.Size() > maxTable:
			fault(name, "has %d bytes, and a table at most %d: train it from fewer lines", info.Size(), maxTable)
			return nil
		case part == texts && sizes[part] > maxTexts, part == GuideFolder && sizes[part] > maxGuide:
			return nil
		}
		if files = append(files, packFile{name, info.Size()}); len(files) > maxFiles {
			return fmt.Errorf("a pack has at most %d files: take some out of %s/, or search them as knowledge", maxFiles, GuideFolder)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no such folder: write a pack with: molar topic new, or name another folder (%w)", err)
	}
	if err != nil {
		faults = append(faults, err)
	}
	if sizes[texts] > maxTexts {
		fault("*.txt", "the texts have %d bytes, at most %d are read: shorten them", sizes[texts], maxTexts)
	}
	if sizes[GuideFolder] > maxGuide {
		fault(GuideFolder+"/", "has %d bytes, at most %d are read: take files out, or search them as knowledge", sizes[GuideFolder], maxGuide)
	}
	slices.SortFunc(files, func(a, b packFile) int { return strings.Compare(a.name, b.name) })
	return files, faults
}

func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// The parts of a pack that are bounded, and what stands beside them and is not read.
const (
	learnedFolder = "learned"
	texts         = "texts"
	aside         = "aside"
)

// isPackFolder reports whether a folder may be in a pack; near suggests a name.
func isPackFolder(name string) (near string, known bool) {
	top, _, _ := strings.Cut(name, "/")
	folders := []string{GuideFolder, learnedFolder, LinesFolder, HeldFolder}
	if top == GuideFolder || name == learnedFolder {
		return "", true
	}
	return didYouMean(name, folders), false
}

// partOf returns the part of a pack that a file belongs to, or "" and a suggestion. Text files on
// top are texts: whether one belongs to a language is known only later.
func partOf(name string) (part, near string) {
	folder, base := path.Split(name)
	tables := []string{MessagesTable, EmergenciesTable}
	tops := []string{TopicFile, EmergencyFile, ConsultFile, AssistantsFile, CardFile, "README.md", "LICENSE"}
	switch {
	case strings.HasPrefix(name, GuideFolder+"/"):
		return GuideFolder, ""
	case folder == learnedFolder+"/":
		if slices.Contains(tables, name) {
			return learnedFolder, ""
		}
		return "", didYouMean(name, tables)
	case path.Ext(base) == ".txt":
		return texts, ""
	case slices.Contains(tops, base):
		return aside, ""
	}
	return "", didYouMean(name, tops)
}

// didYouMean returns the end of a sentence that suggests a known name, or "".
func didYouMean(name string, known []string) string {
	if near := text.Nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// Sum returns the SHA-256, in hexadecimal digits, of the files of a pack that are read: texts,
// tables and the guide.
func Sum(pack fs.FS) (string, error) {
	_, sum, err := Copied(pack)
	return sum, err
}

// Copied returns a copy of the files of a pack that are read, in memory, and their sum. What is
// checked against a sum is so what is used, even if the folder changes.
func Copied(pack fs.FS) (held fs.FS, sum string, err error) {
	files, faults := packFiles(pack)
	if len(faults) > 0 {
		return nil, "", errors.Join(faults...)
	}
	contents := make(map[string]string, len(files))
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, f := range files {
		data, err := readAtMost(pack, f)
		if err != nil {
			return nil, "", err
		}
		entry, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Store})
		if err == nil {
			_, err = entry.Write(data)
		}
		if err != nil {
			return nil, "", fmt.Errorf("copy %s: %w", f.name, err)
		}
		contents[f.name] = string(data)
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("copy the pack: %w", err)
	}
	held, err = zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	return held, sumOf(contents), err
}

// readAtMost reads a file of a pack, which must not have grown.
func readAtMost(pack fs.FS, f packFile) ([]byte, error) {
	file, err := pack.Open(f.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, f.size+1))
	if err == nil && int64(len(data)) > f.size {
		err = fmt.Errorf("%s: it grows while it is read: try again", f.name)
	}
	return data, err
}

// sumOf returns a SHA-256 over files by name.
func sumOf(files map[string]string) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(all, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return hex.EncodeToString(all.Sum(nil))
}
