package run

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"molar/eval"
	"molar/eval/report"
	"molar/eval/tape"
	"molar/internal/cli"
)

// Scan looks for secrets in files.
func (a *Commands) Scan(paths []string) error {
	redactor := tape.NewRedactor(a.ownSecrets()...)
	files, found := 0, 0
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files++
			n, err := a.scanFile(redactor, name)
			found += n
			return err
		})
		if err != nil {
			return cli.Usage(err)
		}
	}
	switch {
	case files == 0:
		return cli.With(eval.ExitNothing, errors.New("there is no file to look at"))
	case found > 0:
		return cli.With(eval.ExitFailed, fmt.Errorf("%d secrets in the open: remove them, and change them where they are valid", found))
	}
	a.Say("%d files, no secret found", files)
	return nil
}

// ownSecrets are the keys of this machine's environment.
func (a *Commands) ownSecrets() []string {
	var secrets []string
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"} {
		if v, ok := a.Env(name); ok {
			secrets = append(secrets, v)
		}
	}
	return secrets
}

func (a *Commands) scanFile(redactor *tape.Redactor, name string) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	in := bufio.NewScanner(f)
	in.Buffer(make([]byte, 64<<10), 64<<20)
	found := 0
	for line := 1; in.Scan(); line++ {
		for _, secret := range redactor.Find(in.Text()) {
			found++
			a.Say("%s:%d: %s %s", report.Clean(name), line, secret.Rule, report.Clean(secret.Shown))
		}
	}
	return found, in.Err()
}
