package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"molar/eval"
	"molar/eval/importers"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/text"
)

// ImportFlags are the flags of eval import.
type ImportFlags struct {
	From, Out string
	// Map says what the columns of data sets are, see [importers.Options].
	Map   map[string]string
	Force bool
	Mask  []string
	Yes   bool
	TurnFlags
}

// Import makes cases from recordings and data sets of other programs, or from saved turns.
func (a *Commands) Import(ctx context.Context, f ImportFlags, files []string) error {
	if err := a.mayRecord(); err != nil {
		return err
	}
	selects := len(f.Reasons()) > 0
	if selects == (len(files) > 0) {
		return cli.Usage(errors.New("give files, or select turns: --marked down, --refused, --no-result, --asked-twice"))
	}
	if selects {
		return a.importTurns(ctx, f)
	}
	read, faults := readFiles(files)
	all, more := importers.Read(importers.Options{Format: f.From, Map: f.Map}, read...)
	faults = append(faults, more...)
	if err := os.MkdirAll(f.Out, 0o750); err != nil {
		return cli.Usage(err)
	}
	config, err := configFrom(f.Out, a.ConfigFile)
	if err == nil && config != "" {
		_, err = os.Stat(a.ConfigFile)
	}
	if err != nil {
		return cli.Usage(err)
	}
	for _, fault := range faults {
		a.Note("not imported: %s", fault.Error())
	}
	written, untaped, said := 0, 0, make(map[string]bool)
	for _, one := range all {
		for _, note := range one.Notes {
			if !said[note] {
				a.Note("note: %s", note)
			}
			said[note] = true
		}
		if one.Case.ID == "" {
			continue
		}
		one.Case.Config, one.Case.Assistant = config, f.Assistant
		if err := writeImport(f, one); err != nil {
			return cli.Usage(err)
		}
		written++
		if one.Tape == nil {
			untaped++
		}
	}
	switch {
	case written == 0 && len(faults) > 0:
		return cli.Usage(errors.New("nothing was imported"))
	case written == 0:
		return cli.With(eval.ExitNothing, errors.New("there was nothing to import"))
	}
	if untaped == 0 {
		a.Say("%s in %s; to run: molar eval run %s", text.Counted(written, "case"), f.Out, f.Out)
		return nil
	}
	a.Say("%s in %s, %d without a tape; to run: molar eval run --live %s; to record the tapes: molar eval accept --live %s", text.Counted(written, "case"), f.Out, untaped, f.Out, f.Out)
	return nil
}

// configFrom returns the path of a config's file relative to a folder, or "" without a file.
func configFrom(dir, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", err
	}
	return filepath.Rel(from, file)
}

// readFiles reads all files. It returns an error for each path that cannot be read.
func readFiles(paths []string) (all []importers.File, faults []error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(name) //nolint:gosec // the person named the folder
			all = append(all, importers.File{Name: name, Data: data})
			return err
		})
		if err != nil {
			faults = append(faults, err)
		}
	}
	return all, faults
}

// writeImport writes a case and its tape.
func writeImport(f ImportFlags, i importers.Imported) error {
	i.Case.File = filepath.Join(f.Out, eval.SafeName(i.Case.ID)+".yaml")
	if _, err := os.Stat(i.Case.File); err == nil && !f.Force {
		return fmt.Errorf("%s exists; use --force to replace it", i.Case.File)
	}
	if err := writeCase(i.Case, tape.NewRedactor()); err != nil || i.Tape == nil {
		return err
	}
	return os.WriteFile(i.Case.TapeFile(), i.Tape, 0o600)
}
