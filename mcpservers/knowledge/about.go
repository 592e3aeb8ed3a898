package knowledge

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Languages returns the languages of the folder's documents, as codes such as "vi", "en" or "de".
func (f *Folder) Languages() []string {
	if len(f.cfg.Languages) == 0 {
		return []string{"vi", "en"}
	}
	return slices.Clone(f.cfg.Languages)
}

// mostLooked is how many entries of a folder are looked at for names.
const mostLooked = 200

// Names returns the names of the folder's first documents, at most n, without their endings: what it is
// about, if nobody says so. There are none of a folder that somebody else wrote, as a model reads them.
func (f *Folder) Names(n int) (names []string) {
	if f.Foreign() {
		return nil
	}
	looked := 0
	_ = fs.WalkDir(f.cfg.Files, ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		base := path.Base(name)
		switch {
		case len(names) == n || looked > mostLooked:
			return fs.SkipAll
		case err != nil || name == ".":
		case d.IsDir() && (isHidden(name) || name == CorrectionsDir):
			return fs.SkipDir
		case d.Type().IsRegular() && !isHidden(name) && base != synonymFile && (isText(name) || f.cfg.Documents.Check(name) == nil):
			if short := strings.TrimSuffix(base, path.Ext(base)); !slices.Contains(names, short) {
				names = append(names, short)
			}
		}
		return nil
	})
	return names
}
