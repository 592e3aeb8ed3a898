package knowledge

import (
	"fmt"
	"io/fs"
	"mime"
	"path"
	"slices"
	"strings"

	"molar/schemas"
)

// Unread returns a line on which files of a folder are not read, and which would be; it is empty
// if all are.
func Unread(files fs.FS) string {
	stamps, unread := list(files, func() error { return nil }, func(string, error) {})
	return unreadText(len(stamps), unread)
}

// list returns the readable files, and the names of the others, except hidden files and the
// styling of pages, which people do not expect to be read. It ends when stop returns an error.
func list(files fs.FS, stop func() error, failed func(name string, err error)) (stamps map[string]stamp, unread []schemas.UnreadFile) {
	skip := func(name, why string) { unread = append(unread, schemas.UnreadFile{File: name, Why: why}) }
	stamps = make(map[string]stamp)
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
		case d.IsDir() || isHidden(name) || isAsset(name):
		case d.Type()&fs.ModeSymlink != 0:
			skip(name, "a link")
		case !d.Type().IsRegular():
		case !isText(name):
			skip(name, "")
		default:
			info, err := d.Info()
			switch {
			case err != nil: // it was removed meanwhile
			case info.Size() > largestFile:
				skip(name, fmt.Sprintf("over %d MiB", largestFile>>20))
			default:
				stamps[name] = stamp{info.Size(), info.ModTime()}
			}
		}
		return nil
	})
	return stamps, unread
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

// unreadText names a few unread files, first one of each kind.
func unreadText(read int, unread []schemas.UnreadFile) string {
	const few = 5
	if len(unread) == 0 {
		return ""
	}
	seen := make(map[string]bool)
	var first, rest []string
	for _, u := range unread {
		name, kind := u.File, strings.ToLower(path.Ext(u.File))
		if u.Why != "" {
			name += " (" + u.Why + ")"
		}
		if seen[kind] {
			rest = append(rest, name)
			continue
		}
		seen[kind] = true
		first = append(first, name)
	}
	named := slices.Concat(first, rest)
	more := ""
	if len(named) > few {
		named, more = named[:few], fmt.Sprintf(" and %d more", len(named)-few)
	}
	return fmt.Sprintf("%d of %d files are not read: %s%s; what is read is Markdown, HTML and plain text (%s)",
		len(unread), read+len(unread), strings.Join(named, ", "), more, strings.Join(texts(), ", "))
}
