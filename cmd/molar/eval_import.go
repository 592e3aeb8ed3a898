package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"molar/eval"
	"molar/eval/importers"
	"molar/eval/report"
)

// importFlags are the flags of eval import.
type importFlags struct {
	from, out string
	answers   []string
	force     bool
}

func newEvalImportCmd(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import --from bfcl|openai|go-vcr|httprr|pairs|tape --out FOLDER FILE...",
		Short: "Make cases and tapes of other programs' recordings and data sets",
		Long: `Make cases and tapes of other programs' recordings and data sets:

  bfcl    cases of the Berkeley Function Calling Leaderboard; run them with --live-model
  openai  conversations as OpenAI messages, one a line
  go-vcr  cassettes of Gemini, OpenAI-compatible servers and Ollama
  httprr  recordings of Google's httprr
  pairs   request and response pairs, one a line
  tape    a tape of molar serve --record: one case for each conversation, with --config

An imported recording runs through Molar's own provider code. What could not be
carried over is said on standard error.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.evalImport(f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the `format` of the files")
	flags.StringVar(&f.out, "out", "", "`folder` for the cases and tapes")
	flags.StringArrayVar(&f.answers, "answers", nil, "`file` of accepted answers, for bfcl; may be repeated")
	flags.BoolVar(&f.force, "force", false, "replace cases that are there")
	_ = cmd.MarkFlagRequired("from")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

func (a *app) evalImport(f importFlags, files []string) error {
	all, err := readImports(f, files)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := os.MkdirAll(f.out, 0o750); err != nil {
		return &exitError{exitUsage, err}
	}
	written := 0
	for _, one := range all {
		for _, note := range one.Notes {
			_, _ = fmt.Fprintln(a.stderr, report.Clean("note: "+strings.TrimSpace(one.Case.ID+" "+note)))
		}
		if one.Case.ID == "" {
			continue
		}
		if f.from == "tape" {
			if one.Case.Config, err = a.configFrom(f.out); err != nil {
				return &exitError{exitUsage, err}
			}
		}
		if err := writeImport(f, one); err != nil {
			return &exitError{exitUsage, err}
		}
		written++
	}
	if written == 0 {
		return &exitError{eval.ExitNothing, errors.New("there was nothing to import")}
	}
	a.say("%d cases in %s; run them: molar eval run %s", written, f.out, f.out)
	return nil
}

// configFrom is the --config file as seen from a folder, or "".
func (a *app) configFrom(dir string) (string, error) {
	if a.configFile == "" {
		return "", nil
	}
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(a.configFile)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, file)
}

func readImports(f importFlags, files []string) ([]importers.Imported, error) {
	if f.from == "bfcl" {
		return importBFCL(f, files)
	}
	var all []importers.Imported
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var more []importers.Imported
		switch f.from {
		case "openai":
			more, err = importers.OpenAI(name, bytes.NewReader(data))
		case "pairs":
			more, err = importers.Pairs(name, bytes.NewReader(data))
		case "go-vcr":
			more, err = one(importers.GoVCR(name, data))
		case "httprr":
			more, err = one(importers.HTTPRR(name, data))
		case "tape":
			more, err = importers.Tape(name, bytes.NewReader(data))
		default:
			return nil, fmt.Errorf("--from %q: choose bfcl, openai, go-vcr, httprr, pairs or tape", f.from)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

func one(i importers.Imported, err error) ([]importers.Imported, error) {
	return []importers.Imported{i}, err
}

func importBFCL(f importFlags, files []string) ([]importers.Imported, error) {
	cases, err := readBFCL(files, f.answers)
	if err != nil {
		return nil, err
	}
	var all []importers.Imported
	for _, c := range cases {
		imported, err := importers.BFCL(c)
		if err != nil {
			return nil, err
		}
		all = append(all, imported)
	}
	slices.SortFunc(all, func(a, b importers.Imported) int { return strings.Compare(a.Case.ID, b.Case.ID) })
	return all, nil
}

// writeImport writes a case and its tape.
func writeImport(f importFlags, i importers.Imported) error {
	i.Case.File = filepath.Join(f.out, eval.SafeName(i.Case.ID)+".yaml")
	if _, err := os.Stat(i.Case.File); err == nil && !f.force {
		return fmt.Errorf("%s exists; use --force to replace it", i.Case.File)
	}
	data, err := yaml.MarshalWithOptions(i.Case, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(i.Case.File, data, 0o600), os.WriteFile(i.Case.TapeFile(), i.Tape, 0o600))
}

func newEvalExportCmd(a *app) *cobra.Command {
	var to, out string
	var chosen selectFlags
	cmd := &cobra.Command{
		Use:   "export --to openai [flags] FILE|FOLDER...",
		Short: "Write the conversations of tapes as OpenAI messages, one a line",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if to != "openai" {
				return &exitError{exitUsage, fmt.Errorf("--to %q: choose openai", to)}
			}
			cases, err := a.loadCases(args, &chosen)
			if err != nil {
				return err
			}
			err = a.writeFile(out, func(w io.Writer) error {
				for i := range cases {
					story, err := cases[i].Story()
					if err != nil {
						return err
					}
					system := ""
					if in := cases[i].Input; in != nil {
						system = in.System
					}
					if err := importers.ExportOpenAI(w, cases[i].ID, system, story); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "openai", "the `format`: openai")
	cmd.Flags().StringVar(&out, "out", "-", "the `file`; - for standard output")
	chosen.add(cmd)
	return cmd
}
