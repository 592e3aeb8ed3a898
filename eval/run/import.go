package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"molar/eval"
	"molar/eval/importers"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
)

// ImportFlags are the flags of eval import.
type ImportFlags struct {
	From, Out string
	Force     bool
	Mask      []string
	Yes       bool
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
	all, faults := readImports(f, files)
	if err := os.MkdirAll(f.Out, 0o750); err != nil {
		return cli.Usage(err)
	}
	written := 0
	for _, fault := range faults {
		_, _ = fmt.Fprintln(a.Stderr, eval.Clean("not imported: "+fault.Error()))
	}
	for _, one := range all {
		for _, note := range one.Notes {
			_, _ = fmt.Fprintln(a.Stderr, eval.Clean("note: "+strings.TrimSpace(one.Case.ID+" "+note)))
		}
		if one.Case.ID == "" {
			continue
		}
		if err := writeImport(f, one); err != nil {
			return cli.Usage(err)
		}
		written++
	}
	switch {
	case written == 0 && len(faults) > 0:
		return cli.Usage(errors.New("nothing was imported"))
	case written == 0:
		return cli.With(eval.ExitNothing, errors.New("there was nothing to import"))
	}
	a.Say("%d cases in %s; run them: molar eval run %s", written, f.Out, f.Out)
	return nil
}

// configFrom returns the path of a config's file relative to a folder, or "".
func configFrom(dir string, cfg *config.Config) (string, error) {
	if cfg.File == "" {
		return "", nil
	}
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, cfg.File)
}

// readImports reads all files. It returns an error for each file that cannot be read.
func readImports(f ImportFlags, paths []string) (all []importers.Imported, faults []error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(name) //nolint:gosec // the person named the folder
			if err != nil {
				return err
			}
			more, err := importers.Read(f.From, name, data)
			if err != nil {
				faults = append(faults, err)
			}
			all = append(all, more...)
			return nil
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
	return errors.Join(writeCase(i.Case, tape.NewRedactor()), os.WriteFile(i.Case.TapeFile(), i.Tape, 0o600))
}
