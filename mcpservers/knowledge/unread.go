package knowledge

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"slices"
	"strings"

	"molar/internal/documents"
	"molar/schemas"
)

// inPart begins why a file is only read in part.
const inPart = "read in part: "

// unknownKind is why a file is not read whose kind says nothing to anybody here.
const unknownKind = "nothing reads this kind of file; a program can be named for it in convert"

// Unread returns a line on which files of a folder are not read, by their names, and which would be; it is
// empty if all are. Documents nil reads those that need no setting.
func Unread(files fs.FS, reader *documents.Reader) string {
	if reader == nil {
		var err error
		if reader, err = documents.New(documents.Config{}); err != nil {
			return err.Error()
		}
	}
	stamps, unread := list(files, reader, func() error { return nil }, func(string, error) {})
	return unreadText(len(stamps)+len(unread), unread, reader)
}

// list returns the readable files, and the others with why they are not read. Hidden files, and what pages consist of
// besides their texts, are neither: people do not expect them to be read. It ends when stop returns an error.
func list(files fs.FS, reader *documents.Reader, stop func() error, failed func(name string, err error)) (stamps map[string]stamp, unread []schemas.UnreadFile) {
	skip := func(name, why string) { unread = append(unread, schemas.UnreadFile{File: name, Why: why}) }
	stamps = make(map[string]stamp)
	var pictures []string
	hasPages := false
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if stop := stop(); stop != nil {
			return stop
		}
		switch {
		case err != nil:
			failed(name, err)
		case name == ".":
		case isHidden(name) && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || isHidden(name):
		case d.Type()&fs.ModeSymlink != 0:
			skip(name, "a link")
		case !d.Type().IsRegular():
		default:
			hasPages = hasPages || isPage(name)
			err := reader.Check(name)
			switch {
			case isText(name) && !reader.Converts(name):
				err = within(d, stamps, name, largestFile)
			case err == nil:
				err = within(d, stamps, name, documents.Largest)
			case isAsset(name):
				pictures = append(pictures, name)
				return nil
			case errors.Is(err, documents.ErrUnknown):
				skip(name, unknownKind)
				return nil
			}
			if err != nil {
				skip(name, err.Error())
			}
		}
		return nil
	})
	for _, name := range pictures {
		if !hasPages && strings.HasPrefix(mime.TypeByExtension(path.Ext(name)), "image/") { // else it belongs to a page
			skip(name, "a picture: save its text as a document, or name a program for it in convert")
		}
	}
	return stamps, unread
}

// within adds the stamp of a file that is not too large.
func within(d fs.DirEntry, stamps map[string]stamp, name string, largest int64) error {
	info, err := d.Info()
	switch {
	case err != nil: // it was removed meanwhile
		return nil
	case info.Size() > largest:
		return tooLarge(largest)
	}
	stamps[name] = stamp{info.Size(), info.ModTime()}
	return nil
}

// isHidden reports whether a file or folder has a name that systems and editors use for their own
// data.
func isHidden(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "~") || strings.HasSuffix(base, "~")
}

// isAsset reports whether a file is a picture, a font, or a style or script of pages.
func isAsset(name string) bool {
	kind := mime.TypeByExtension(path.Ext(name))
	return slices.ContainsFunc([]string{"image/", "font/", "text/css", "text/javascript"}, func(prefix string) bool { return strings.HasPrefix(kind, prefix) })
}

// unreadText names a few unread files of all, first one of each kind.
func unreadText(all int, unread []schemas.UnreadFile, reader *documents.Reader) string {
	const few = 5
	if len(unread) == 0 {
		return ""
	}
	seen := make(map[string]bool)
	var first, rest []string
	how, unknown := "not read", false
	for _, u := range unread {
		name, kind := u.File, strings.ToLower(path.Ext(u.File))
		if u.Why == unknownKind {
			unknown = true
		} else {
			name += " (" + u.Why + ")"
		}
		if strings.HasPrefix(u.Why, inPart) {
			how = "not read, or only in part"
		}
		if seen[kind] {
			rest = append(rest, name)
			continue
		}
		seen[kind] = true
		first = append(first, name)
	}
	named := slices.Concat(first, rest)
	text := ""
	if len(named) > few {
		named, text = named[:few], fmt.Sprintf(" and %d more", len(named)-few)
	}
	text = fmt.Sprintf("%d of %d files are %s: %s%s", len(unread), all, how, strings.Join(named, ", "), text)
	if unknown {
		text += "; what is read is " + strings.Join(slices.Concat(texts(), reader.Kinds()), ", ")
	}
	return text
}
