package knowledge

import (
	"io/fs"
	"os"
)

// Dir returns the files of a folder on disk. No link leads out of it.
func Dir(path string) fs.FS { return dir(path) }

// A dir is a folder by its path, which may be another folder each time it is opened, as after an exchange of all its
// files.
type dir string

// Open opens a file below the folder.
func (d dir) Open(name string) (fs.File, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close() // what was opened in it stays open
	return root.FS().Open(name)
}
