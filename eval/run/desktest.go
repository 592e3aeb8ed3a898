package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"molar/agent/answer"
	"molar/eval"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/schemas"
)

// TestOf makes a case and its tape from a turn of a running host, from the traffic that was kept of it,
// with personal data masked. If the answer was marked as bad, the case is red until another answer comes.
// The files are written into the folder of review.tests; without one they are returned.
func (a *Commands) TestOf(ctx context.Context, h *host.Host, turnID string) (made schemas.TurnTest, err error) {
	dir := h.Config.Review.Tests
	if dir == "" {
		if dir, err = os.MkdirTemp("", "molar-test-*"); err != nil {
			return made, err
		}
		defer os.RemoveAll(dir)
	} else if err := os.MkdirAll(dir, 0o750); err != nil {
		return made, err
	}
	return a.testIn(ctx, h, dir, turnID)
}

// testIn is TestOf for a folder.
func (a *Commands) testIn(ctx context.Context, h *host.Host, dir, turnID string) (made schemas.TurnTest, err error) {
	if h.Config.Telemetry.Wire == 0 {
		return made, schemas.UntestableError("the traffic of turns is not kept; set telemetry.wire, such as to 7d, and a test can be made of later turns")
	}
	if err := h.Traces.Flush(ctx); err != nil {
		return made, err
	}
	_, kept, err := h.DB.GetWire(ctx, turnID)
	if err != nil {
		return made, err
	}
	trace, traced, err := h.DB.GetTrace(ctx, turnID)
	if err != nil {
		return made, err
	}
	var t answer.Trace
	switch {
	case !kept || !traced:
		return made, schemas.UntestableError("the traffic of this turn is not kept: it is older than telemetry.wire, or was longer than a turn may be")
	case json.Unmarshal(trace.Body, &t) != nil || t.Question == "":
		return made, schemas.UntestableError("no text of this turn is kept, as of each refused question, so no test can ask it again")
	}
	e, err := gather(ctx, h, t)
	if err != nil {
		return made, err
	}
	if e.feedback, _, err = h.DB.GetMark(ctx, turnID); err != nil {
		return made, err
	}
	_, names, err := host.TraceStore{DB: h.DB}.Names(ctx, trace.Owner)
	if err != nil {
		return made, err
	}
	masker := eval.NewMasker(names)
	for _, text := range e.texts() {
		masker.Learn(text)
	}
	quiet := *a.CLI
	quiet.Stdout, quiet.Stderr = io.Discard, io.Discard
	return (&Commands{&quiet}).writeTest(ctx, h, dir, e, masker)
}

// caseOf returns the id of the test of a turn.
func caseOf(turnID string) string { return "desk-" + eval.SafeName(turnID[max(0, len(turnID)-8):]) }

// writeTest writes a case and its tape into a folder.
func (a *Commands) writeTest(ctx context.Context, h *host.Host, dir string, e savedTurn, masker *eval.Masker) (made schemas.TurnTest, err error) {
	c := eval.Case{V: eval.CaseVersion, ID: caseOf(e.TurnID), Tags: []string{"desk"}}
	if e.feedback.Mark != "" {
		c.Tags = append(c.Tags, e.feedback.Mark)
	}
	c.File = filepath.Join(dir, c.ID+".yaml")
	if c.Config, err = configFrom(dir, h.Config); err != nil {
		return made, err
	}
	if err := a.writeTurn(ctx, h, c, e, masker); err != nil {
		return made, fmt.Errorf("make a test of turn %q: %w", e.TurnID, err)
	}
	made.Case, made.Command = c.ID, "molar eval run --live "+shownTest(h.Config, c.File)
	for _, path := range []string{c.File, c.TapeFile()} {
		f := schemas.TestFile{Path: path}
		if h.Config.Review.Tests == "" { // to be downloaded
			text, err := os.ReadFile(path)
			if err != nil {
				return made, cli.Usage(err)
			}
			f = schemas.TestFile{Path: filepath.Base(path), Content: string(text)}
		}
		made.Files = append(made.Files, f)
	}
	return made, nil
}

// shownTest returns the path of a case as whoever runs the host names it: relative to the folder of the
// config file, and by its name alone if it was downloaded.
func shownTest(cfg *config.Config, file string) string {
	if cfg.Review.Tests == "" {
		return filepath.Base(file)
	}
	short, err := filepath.Rel(filepath.Dir(cfg.File), file)
	if cfg.File == "" || err != nil {
		return file
	}
	return short
}
