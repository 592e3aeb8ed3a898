package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/config"
	"molar/internal/host"
	"molar/mcpservers/knowledge"
	"molar/schemas"
	"molar/web"
)

// review returns what those may see and do who review turns.
func (p *port) review(traces host.TraceStore) web.Review {
	r := web.Review{
		Store: traces, People: p.Config.Review.People, Correct: p.correct, Written: p.written,
		Secret: func(ctx context.Context) ([]byte, error) { return p.DB.Secret(ctx, "review") },
		Group:  host.GapsOf,
		Names: func(ctx context.Context, owner string) (string, []string, error) {
			name, texts, err := traces.Names(ctx, owner)
			return cmp.Or(name, p.access.Ring().NameOf(owner)), texts, err
		},
	}
	if p.tests.MakeTest != nil {
		r.MakeTest = func(ctx context.Context, turnID string) (schemas.TurnTest, error) {
			made, err := p.tests.MakeTest(ctx, p.Host, turnID)
			for i, f := range made.Files {
				if f.Content == "" {
					made.Files[i].Path = shown(p.Config, f.Path)
				}
			}
			return made, err
		}
		r.RunTest = p.runTest
	}
	return r
}

// runTest asks the questions of a test again. It is red, too, if a correction of the last question was written
// and the turn did not find it: a model may give another wrong answer.
func (p *port) runTest(ctx context.Context, turnID string, as agent.Turn) (schemas.TestRun, error) {
	run, trace, err := p.tests.RunTest(ctx, p.Host, turnID, as)
	if err != nil {
		return run, err
	}
	byModel, byCode := p.Agent.Searches(trace.Assistant)
	if folder, ok := p.Config.CorrectionsOf(slices.Concat(byCode, byModel)); ok {
		if right, ok := knowledge.Corrected(os.DirFS(folder.Path), trace.Question); ok && !reads(trace, right) {
			run.Passed = false
			run.Reasons = append(run.Reasons, schemas.TestReason{Code: schemas.ReasonNotUsed, Text: "the written answer was not found by this question"})
		}
	}
	return run, nil
}

// reads reports whether a call of a turn returned a text.
func reads(t answer.Trace, wanted string) bool {
	line, _, _ := strings.Cut(wanted, "\n")
	quoted, _ := json.Marshal(line) //nolint:errchkjson // strings always encode
	return slices.ContainsFunc(t.Tools, func(tool answer.ToolTrace) bool {
		return slices.ContainsFunc(tool.Calls, func(call answer.CallTrace) bool {
			return strings.Contains(call.Output, line) || bytes.Contains([]byte(call.Output), bytes.Trim(quoted, `"`))
		})
	})
}

// correct writes a correction into the folder that the assistant searches and that takes corrections. If
// there is none, its text is to be copied.
func (p *port) correct(_ context.Context, c schemas.Correction) (schemas.WrittenCorrection, error) {
	text := correctionText(c, time.Now())
	byModel, byCode := p.Agent.Searches(c.Assistant)
	folder, ok := p.Config.CorrectionsOf(slices.Concat(byCode, byModel))
	if !ok {
		return schemas.WrittenCorrection{Text: text}, nil
	}
	name := knowledge.CorrectionFile(c.Question)
	if err := writeWhole(filepath.Join(folder.Path, filepath.FromSlash(name)), text); err != nil {
		return schemas.WrittenCorrection{}, fmt.Errorf("write a correction: %w; make the folder writable for the host", err)
	}
	return schemas.WrittenCorrection{File: shown(p.Config, filepath.Join(folder.Path, filepath.FromSlash(name))), Text: text}, nil
}

// written returns the answer that stands in the file of a correction, "" if there is none any more. The
// path is one that shown returned.
func (p *port) written(file string) string {
	file = filepath.FromSlash(file)
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(p.Config.File), file)
	}
	data, err := os.ReadFile(file)
	if err != nil { // it may be removed by hand
		return ""
	}
	_, text, _ := strings.Cut(string(data), "\n# ")
	_, answer, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(answer)
}

// CorrectionsFolder returns the folder into which the corrections of a folder of knowledge are written.
func CorrectionsFolder(k config.Knowledge) string {
	return filepath.Join(k.Path, knowledge.CorrectionsDir)
}

// shown returns a path relative to the folder of the config file, if it is below that.
func shown(cfg *config.Config, path string) string {
	if cfg.File == "" {
		return path
	}
	short, err := filepath.Rel(filepath.Dir(cfg.File), path)
	if err != nil || strings.HasPrefix(short, "..") {
		return path
	}
	return filepath.ToSlash(short)
}

// correctionText returns a correction as the Markdown file that a folder of knowledge holds.
func correctionText(c schemas.Correction, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nturn: %s\ndate: %s\n---\n\n# %s\n\n%s\n", c.TurnID, at.UTC().Format(time.DateOnly), c.Question, c.Answer)
	for i, source := range c.Sources {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", strings.Join(strings.Fields(source), " "))
	}
	return b.String()
}

// writeWhole writes a file in one step, so that nobody reads a part of it.
func writeWhole(path, text string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(text)
	if err = cmp.Or(err, f.Chmod(0o640), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
