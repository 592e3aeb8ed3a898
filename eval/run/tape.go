package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// openRecorder creates a tape and returns its recorder. done closes the file and returns the
// first error of the recording.
func (a *Commands) openRecorder(file, caseID string, cfg *config.Config, who choice) (rec *tape.Recorder, done func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return nil, nil, cli.Usage(fmt.Errorf("--record: %w", err))
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		if errors.Is(err, os.ErrExist) {
			err = fmt.Errorf("%s exists; a tape is never overwritten: remove it or choose another name", file)
		}
		return nil, nil, cli.Usage(fmt.Errorf("record: %w", err))
	}
	var recorded bytes.Buffer
	header, err := a.recordHeader(cfg, who)
	if err == nil {
		header.Case = caseID
		rec, err = tape.NewRecorder(tape.RecorderConfig{To: &recorded, Header: header, Redactor: host.Redactor(cfg), Skip: []string{schemas.MemoryServer}, Number: true})
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(file))
	}
	return rec, func() error {
		data, err := tape.Tidy(file, recorded.Bytes())
		if err = errors.Join(rec.Err(), err); err == nil {
			_, err = f.Write(data)
		}
		return errors.Join(err, f.Close())
	}, nil
}

// Tape prints a tape as a transcript.
func (a *Commands) Tape(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return cli.Usage(err)
	}
	t, err := tape.Read(file, data)
	if err != nil {
		return cli.Usage(fmt.Errorf("%w; the tape of a case is CASE.tape.jsonl", err))
	}
	for _, line := range eval.Transcript(t) {
		a.Say("%s", line)
	}
	return nil
}

// A choice is the assistant of a recording, with the provider and model that flags selected.
type choice struct{ Assistant, Provider, Model string }

// recordHeader returns the header of a tape. It asks the chain which provider is used for turns,
// and which for all else.
func (a *Commands) recordHeader(cfg *config.Config, who choice) (tape.Header, error) {
	none := tape.Header{}
	models, err := host.OpenModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return none, err
	}
	assistant, _ := cfg.Assistants.Get(cmp.Or(who.Assistant, cfg.Default))
	want := chain.Want{Provider: who.Provider, Model: who.Model}
	if want == (chain.Want{}) {
		want = chain.Want{Provider: assistant.Provider, Model: assistant.Model}
	}
	turns, judge, err := routeOf(models, cfg, want)
	if err != nil {
		return none, err
	}
	h := tape.Header{
		TapeID: uuid.NewString(), Host: cli.Version(), Recorded: time.Now().UTC().Format(time.RFC3339),
		Route: turns, Judge: judge, Settings: make(map[string]string),
	}
	if rest, _, err := routeOf(models, cfg, chain.Want{}); err == nil && rest.Provider != turns.Provider {
		h.Rest = &rest
	}
	seen, err := a.loadFor(cfg.File, a.replayEnv) // the config as in a replay
	if err != nil {
		return none, err
	}
	for _, e := range cfg.MCPServers {
		if _, known := seen.MCPServers.Get(e.Name); !known {
			h.Attached = append(h.Attached, e.Name)
		}
	}
	for _, e := range seen.Assistants {
		h.Settings[e.Name] = modelSettings(seen, e.Name, h.Provider)
	}
	return h, nil
}

// firstHeader returns the header of the first tape of a case. If the servers are not asked, there must be none.
func (a *Commands) firstHeader(mode eval.Mode) func(c *eval.Case) (tape.Header, error) {
	configs := a.configs()
	return func(c *eval.Case) (none tape.Header, err error) {
		cfg, err := configs(cmp.Or(c.ConfigFile(), a.ConfigFile), true)
		if err != nil {
			return none, c.Invalid(err)
		}
		if !mode.LiveTools && len(cfg.MCPServers) > 0 {
			return none, c.Invalid(fmt.Errorf("it has no tape, so the tools of %s are on none: give --live instead of --live-model", serverNames(cfg)))
		}
		return a.recordHeader(cfg, choice{Assistant: c.Assistant, Provider: c.Provider, Model: c.Model})
	}
}

// routeOf returns the route that the chain picks, and that of the small model's calls if it differs.
func routeOf(models *chain.Chain, cfg *config.Config, want chain.Want) (turns tape.Route, judge *tape.Route, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	route, err := models.Pick(ctx, want)
	if fault, ok := errors.AsType[*providers.Error](err); ok && fault.Kind != providers.KindInvalid {
		return turns, nil, cli.With(eval.ExitInfra, err)
	} else if err != nil {
		return turns, nil, err
	}
	turns = tape.Route{Provider: route.Provider.Name(), Model: route.Model}
	if route.Small == nil {
		turns.Small = route.SmallModel
	} else {
		small := tape.Route{Provider: route.Small.Name(), Small: route.SmallModel}
		small = host.TapeRoute(cfg, small)
		judge = &small
	}
	return host.TapeRoute(cfg, turns), judge, nil
}
