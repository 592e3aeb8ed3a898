package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A ConfigFile replaces the content of a config file.
type ConfigFile struct {
	// Path is the file as a person named it. New reports that it does not exist yet.
	Path string
	New  bool
	// Text is its content; not nil, even if the file does not exist.
	Text []byte

	real string // without symbolic links
	info fs.FileInfo
}

// OpenConfigFile reads the file, if it exists. It returns an error for a file that its owner has made
// read-only, and for a device or a pipe, in whose place a file must not come.
func OpenConfigFile(path string) (*ConfigFile, error) {
	f := &ConfigFile{Path: path, real: path, Text: []byte{}}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.New = true
		return f, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		f.real, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		f.info, err = os.Stat(f.real)
	}
	if err == nil && !f.info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file that can be changed", path)
	}
	if err == nil && f.info.Mode().Perm()&0o200 == 0 {
		return nil, fmt.Errorf("%s is read-only: to let it be changed, chmod u+w %[1]s", path)
	}
	if err == nil {
		f.Text, err = os.ReadFile(f.real)
	}
	if err != nil {
		return nil, fmt.Errorf("read the config file: %w", err)
	}
	return f, nil
}

// Replace writes the text in place of the content: as a whole, or not at all. A link to the file, its
// mode and, where possible, its owner stay. A new file can be read only by its owner. Replace returns
// an error if somebody else has changed the file since it was read.
func (f *ConfigFile) Replace(text []byte) error {
	if err := f.Unchanged(); err != nil {
		return err
	}
	folder := filepath.Dir(f.real)
	if f.New {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("make the folder of %s: %w", f.Path, err)
		}
	}
	part, err := os.CreateTemp(folder, ".molar-*.part") // of mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // a no-op once it has its name
	_, err = part.Write(text)
	if err == nil && !f.New {
		keepOwner(part, f.info)
		err = part.Chmod(f.info.Mode().Perm())
	}
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		if err := f.Unchanged(); err != nil { // writing took its time
			return err
		}
		err = os.Rename(part.Name(), f.real)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
}

// Unchanged returns an error unless the file is as it was read.
func (f *ConfigFile) Unchanged() error {
	now, err := os.ReadFile(f.real)
	if f.New != errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, f.Text) {
		return fmt.Errorf("%s was changed meanwhile; run the command again", f.Path)
	}
	return nil
}
