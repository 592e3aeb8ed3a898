package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// A prompt is a system text with the name of its file. An empty text is the config's own.
type prompt struct{ name, text string }

// isConfig reports whether a model or prompt is written as the config's own.
func isConfig(name string) bool { return name == "." || name == "config" }

// readPrompts reads the files of --prompts.
func readPrompts(files []string) ([]prompt, error) {
	var all []prompt
	for _, file := range files {
		p := prompt{name: "config"}
		if !isConfig(file) {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("--prompts: %w", err)
			}
			p = prompt{name: filepath.Base(file), text: strings.TrimSpace(string(data))}
			if p.text == "" {
				return nil, fmt.Errorf("--prompts: %s is empty; the prompt of the config is written as config", file)
			}
		}
		if slices.ContainsFunc(all, func(o prompt) bool { return o.name == p.name }) {
			return nil, fmt.Errorf("--prompts: two are named %s", p.name)
		}
		all = append(all, p)
	}
	return all, nil
}

// runMatrix runs the cases under each model of --models with each prompt of --prompts.
func (a *Commands) runMatrix(ctx context.Context, f Flags, cases []eval.Case) error {
	if f.LiveModel || f.Live || f.FromDrift != "" || f.Provider != "" || f.Model != "" {
		return cli.Usage(errors.New("--models and --prompts ask live from the first request that differs: leave out --live-model, --live, --from-drift, and write --models PROVIDER/MODEL in place of --provider and --model; --live-tools may be given"))
	}
	prompts, err := readPrompts(f.Prompts)
	if err != nil {
		return cli.Usage(err)
	}
	variants, err := a.variants(ctx, f, prompts, cases)
	if err != nil {
		return evalError(err)
	}
	runner, err := a.runner(eval.Mode{FromDrift: eval.FromDriftLive, LiveTools: f.LiveTools}, f, cases)
	if err != nil {
		return err
	}
	defer runner.Close()
	m, err := runner.Matrix(ctx, variants)
	if err != nil {
		return evalError(err)
	}
	return ofMatrix().conclude(a, m, f)
}

// variants returns each model with each prompt. It asks the services whether they have the models, and
// prints what will be asked of them.
func (a *Commands) variants(ctx context.Context, f Flags, prompts []prompt, cases []eval.Case) ([]eval.Variant, error) {
	models := f.Models
	if len(models) == 0 {
		models = []string{"config"}
	}
	if len(prompts) == 0 {
		prompts = []prompt{{}}
	}
	s := survey{a: a, configs: a.configs(), trials: f.Trials, known: make(map[string]asked), asked: make(map[string]*estimate)}
	var all []eval.Variant
	for i, model := range models {
		if slices.Contains(models[:i], model) {
			return nil, &eval.InvalidError{Err: fmt.Errorf("--models: %s is named twice", model)}
		}
		for _, p := range prompts {
			v := eval.Variant{Name: p.name, Model: model, Prompt: p.name, Cases: slices.Clone(cases)}
			if isConfig(model) {
				v.Model = ""
			}
			if len(f.Models) > 0 {
				v.Name = strings.TrimSuffix(model+", "+p.name, ", ")
			}
			for i := range v.Cases {
				c := &v.Cases[i]
				c.SystemPrompt = p.text
				if err := s.choose(ctx, c, v.Model); err != nil {
					return nil, &eval.InvalidError{Err: fmt.Errorf("%s:%d: case %q under %s: %w", c.File, c.Line, c.ID, v.Name, err)}
				}
			}
			all = append(all, v)
		}
	}
	if !f.Quiet {
		s.print()
		a.printLiveCalls(cases, eval.Mode{LiveTools: f.LiveTools})
		a.noteJudge(cases, &f.LiveFlags, eval.Mode{FromDrift: eval.FromDriftLive}, len(all)*max(f.Trials, 1))
	}
	return all, nil
}

// A survey finds who is asked under each variant, and adds up what that may cost.
type survey struct {
	a       *Commands
	configs loader
	trials  int
	known   map[string]asked     // what find returned
	asked   map[string]*estimate // by provider and model
}

// asked is who is asked, and what that costs.
type asked struct {
	provider, model string
	price           schemas.Price
}

// An estimate adds up what the tapes have of calls that will be asked.
type estimate struct {
	calls int
	usage schemas.Usage // with the cost by today's price
}

// choose sets the provider and model of a case to those that name selects; an empty name leaves the
// choice to the config.
func (s *survey) choose(ctx context.Context, c *eval.Case, name string) error {
	t, err := c.ReadTape()
	if err != nil { // the run reports it
		return nil
	}
	key := strings.Join([]string{name, c.SystemPrompt, c.ConfigFile(), c.Assistant, c.Provider, c.Model, t.Header.Provider}, "\n")
	who, known := s.known[key]
	if !known {
		if who, err = s.find(ctx, c, t.Header, name); err != nil {
			return err
		}
		s.known[key] = who
	}
	if name != "" {
		c.Unvaried = new(*c)
		c.Provider, c.Model = who.provider, who.model
	}
	label := strings.TrimSuffix(who.provider+"/"+who.model, "/")
	if s.asked[label] == nil {
		s.asked[label] = &estimate{}
	}
	for range max(cmp.Or(s.trials, c.Trials), 1) {
		s.asked[label].calls += t.Calls()
		for _, turn := range t.Turns {
			used := turn.Sum.Usage
			used.Cost = who.price.Of(used)
			s.asked[label].usage = s.asked[label].usage.Add(used)
		}
	}
	return nil
}

// find picks the provider and model. A service that is down is no error here: its runs will tell.
func (s *survey) find(ctx context.Context, c *eval.Case, h tape.Header, name string) (who asked, err error) {
	choice := *c
	if name != "" {
		cfg, err := s.a.caseConfig(c, h, true, s.configs)
		if err != nil {
			return who, err
		}
		if choice.Provider, choice.Model, err = chosen(cfg.LLM, name, cmp.Or(c.Provider, h.Provider)); err != nil {
			return who, err
		}
	}
	cfg, err := s.a.liveConfig(&choice, h, eval.FromDriftLive, s.configs)
	if err != nil {
		return who, err
	}
	models, err := host.OpenModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return who, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	route, err := models.Pick(ctx, wantOf(cfg, c))
	if err == nil {
		choice.Provider, choice.Model = route.Provider.Name(), route.Model
		err = models.CheckModel(ctx, choice.Provider, choice.Model)
	}
	kind := providers.KindOf(err)
	if name+c.SystemPrompt != "" && (kind == providers.KindInvalid || kind == providers.KindModelNotFound) { // else it is replayed
		return who, err
	}
	endpoint, _ := cfg.LLM.Endpoint(choice.Provider)
	return asked{choice.Provider, choice.Model, endpoint.PriceOf(choice.Model)}, nil
}

// chosen returns the provider and model that a name selects: a provider with its own model,
// PROVIDER/MODEL, or a model of the case's own provider.
func chosen(llm config.LLM, name, own string) (provider, model string, err error) {
	if slices.Contains(llm.Choices(), name) {
		return name, "", nil
	}
	if provider, model, _ := strings.Cut(name, "/"); model != "" && slices.Contains(llm.EndpointNames(), provider) {
		return provider, model, nil
	}
	if !slices.Contains(llm.EndpointNames(), own) {
		return "", "", fmt.Errorf("--models %s: this is not a provider (%s), and the case's own, %s, has no models; write PROVIDER/MODEL", name, strings.Join(llm.Choices(), ", "), cmp.Or(own, "none"))
	}
	return own, name, nil
}

// print says how often whom the runs ask, with the cost by the tapes' tokens where the price is known.
func (s *survey) print() {
	for _, label := range slices.Sorted(maps.Keys(s.asked)) {
		of, cost := s.asked[label], ""
		if of.usage.Cost > 0 {
			cost = ", which would cost " + eval.CostText(of.usage.Cost)
		}
		if label != chain.Offline {
			line := fmt.Sprintf("live: asks %s, about %d times at most (%d tokens on the tapes%s)", label, of.calls, of.usage.PromptTokens+of.usage.CompletionTokens, cost)
			s.a.Note("%s", line)
		}
	}
}

// ofMatrix returns the forms of matrices.
func ofMatrix() forms[*eval.Matrix] {
	return forms[*eval.Matrix]{matrixText, eval.MatrixJUnit, eval.MatrixHTML, matrixMarkdown}
}

// matrixMarkdown writes the table, and what differs from the tapes, as a comment on a change.
func matrixMarkdown(w io.Writer, m *eval.Matrix) error {
	var b strings.Builder
	if err := matrixText(&b, m, true); err != nil {
		return err
	}
	return eval.MatrixMarkdown(w, m, b.String())
}

// The most columns of the table in a terminal: of all of it, and of a name.
const widest, widestName = 100, 30

// matrixText writes the table, in blocks of as many variants as fit beside the ids, and what went wrong.
func matrixText(w io.Writer, m *eval.Matrix, full bool) error {
	rows := m.Rows()
	ids := column(rows, 0)
	var b strings.Builder
	for at := 1; at < len(rows[0]); {
		lines := slices.Clone(ids)
		for first := at; at < len(rows[0]); at++ {
			next := column(rows, at)
			if at > first && terminal.Width(lines[0]+next[0])+3 > widest {
				break
			}
			for i := range lines {
				lines[i] += "   " + next[i]
			}
		}
		for i, line := range lines {
			if i == len(lines)-eval.MatrixSums {
				b.WriteString(strings.Repeat("-", terminal.Width(line)) + "\n")
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString(eval.MatrixLegend + "\n" + m.Details(full))
	_, err := io.WriteString(w, b.String())
	return err
}

// column returns the texts of a column, all of the same width; names are cut.
func column(rows [][]string, at int) []string {
	width := 0
	var texts []string
	for i, row := range rows {
		texts = append(texts, row[at])
		if i == 0 || at == 0 {
			texts[i] = terminal.Truncate(row[at], widestName)
		}
		width = max(width, terminal.Width(texts[i]))
	}
	for i := range texts {
		texts[i] += strings.Repeat(" ", width-terminal.Width(texts[i]))
	}
	return texts
}
