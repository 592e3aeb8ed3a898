package grow

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"molar/agent/subject"
)

// The files of a pack that growing writes. Lines of emergencies wait in a file that nothing learns from
// until a person has seen them.
const (
	planFile    = subject.LinesFolder + "/plan.json"
	grownFile   = "grown.jsonl"
	waitingFile = subject.LinesFolder + "/emergencies.waiting"
)

// Config is what growing needs.
type Config struct {
	// Dir is the folder of the pack, Topic what it holds.
	Dir   string
	Topic subject.Topic
	// Ask calls the model, By names it.
	Ask func(context.Context, Ask) (string, error)
	By  string
	// Parallel is how many calls run at once; zero means one.
	Parallel int
	// Report is called after each batch with the number of lines that it added; nil means nobody
	// looks. It is not called concurrently.
	Report func(b Batch, lines int, done, of int)
}

// A Growth counts the new lines.
type Growth struct {
	Batches, Lines, Emergencies int
	// Few are the batches that brought less than a third of what was asked for, Failed those whose
	// request failed, each with why; another run asks for the latter again.
	Few, Failed []string
}

// mostFailures is how many requests may fail in a row. A model may refuse one, or answer nothing; when
// the service is away, all fail.
const mostFailures = 3

// tries is how often a batch is asked for that brings too little.
const tries = 2

// Run lets the model write the lines of every batch that the pack does not hold yet, and saves after
// each one: when it fails, another run goes on. It also adds the names of the plan to the topic, but
// for those that its lines show outside of it.
func Run(ctx context.Context, c Config) (Growth, error) {
	if c.Ask == nil || c.Dir == "" || len(c.Topic.Languages) == 0 {
		return Growth{}, errors.New("growing needs a pack with languages, and a model")
	}
	plan, err := planOf(ctx, c)
	if err != nil {
		return Growth{}, err
	}
	g := &grower{Config: c, seen: make(seen), done: make(map[string]bool)}
	if err := g.load(); err != nil {
		return Growth{}, err
	}
	all := batches(plan, c.Topic)
	g.of = len(all)
	err = g.run(ctx, all)
	if err == nil {
		err = addNames(c, plan)
	}
	return g.growth, err
}

// planOf returns the pack's plan, or asks for one and saves it.
func planOf(ctx context.Context, c Config) (p Plan, err error) {
	path := filepath.Join(c.Dir, planFile)
	data, err := os.ReadFile(path)
	if err == nil {
		if p, err = readPlan(string(data)); err != nil {
			return p, fmt.Errorf("%s: %w: mend it, or remove it for a new one", path, err)
		}
		return p, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	for range tries {
		var answer string
		if answer, err = c.Ask(ctx, Ask{User: planPrompt(c.Topic)}); err != nil {
			return p, fmt.Errorf("ask for a plan: %w", err)
		}
		if p, err = readPlan(answer); err == nil {
			break
		}
	}
	if err != nil {
		return p, fmt.Errorf("the model's plan cannot be used: %w: use a larger model, or write %s yourself", err, path)
	}
	if data, err = json.MarshalIndent(p, "", "  "); err != nil {
		return p, err
	}
	return p, os.WriteFile(path, append(data, '\n'), 0o644) //nolint:gosec // a pack is no secret
}

// A grower holds the state of a run.
type grower struct {
	Config
	mu     sync.Mutex
	seen   seen
	done   map[string]bool // batches by group
	asked  int
	of     int
	growth Growth
	// failures counts the requests that failed in a row.
	failures int
}

// load reads the lines that are there.
func (g *grower) load() error {
	own, err := filepath.Glob(filepath.Join(g.Dir, subject.LinesFolder, "*.jsonl"))
	if err != nil {
		return err
	}
	for _, path := range append(own, filepath.Join(g.Dir, waitingFile)) {
		lines, err := ReadLines(path)
		if err != nil {
			return err
		}
		for _, l := range lines {
			g.seen.isNew(l)
			g.done[l.Group] = true
		}
	}
	return nil
}

// run asks for the batches that are left, some at once.
func (g *grower) run(ctx context.Context, all []Batch) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var left []Batch
	for _, b := range all {
		if !g.done[b.Group()] {
			left = append(left, b)
		}
	}
	g.asked = len(all) - len(left)
	next := make(chan Batch)
	var workers sync.WaitGroup
	for range max(g.Parallel, 1) {
		workers.Go(func() {
			for b := range next {
				if err := g.batch(ctx, b); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
feed:
	for _, b := range left {
		select {
		case next <- b:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// batch asks for a batch and saves its lines. It returns an error if the run has to end: too many
// requests failed in a row, or lines could not be written.
func (g *grower) batch(ctx context.Context, b Batch) error {
	lines, err := g.linesOf(ctx, b)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.failures = 0
		return g.save(b, lines)
	}
	g.growth.Failed = append(g.growth.Failed, fmt.Sprintf("%s (%v)", b, err))
	if g.failures++; g.failures < mostFailures {
		return nil
	}
	return fmt.Errorf("ask for %s: %w", b, err)
}

// linesOf asks for the new lines of a batch. When a request fails after one that brought lines, these
// are all.
func (g *grower) linesOf(ctx context.Context, b Batch) (added []subject.Line, _ error) {
	for range tries {
		answer, err := g.Ask(ctx, prompt(g.Topic, b))
		if err != nil && len(added) == 0 {
			return nil, err
		}
		if err != nil {
			break
		}
		fresh := readLines(b, answer, g.By)
		g.mu.Lock()
		for _, l := range fresh {
			if g.seen.isNew(l) {
				added = append(added, l)
			}
		}
		g.mu.Unlock()
		if len(added) >= b.fewest() {
			break
		}
	}
	return added, nil
}

// save adds the lines of a batch to the pack, and counts them.
func (g *grower) save(b Batch, lines []subject.Line) error {
	path := filepath.Join(g.Dir, subject.LinesFolder, grownFile)
	if b.Emergency {
		path = filepath.Join(g.Dir, waitingFile)
	}
	if err := appendLines(path, lines); err != nil {
		return err
	}
	if b.Emergency {
		g.growth.Emergencies += len(lines)
	} else {
		g.growth.Lines += len(lines)
	}
	g.asked++
	g.growth.Batches++
	if len(lines) < b.fewest() {
		g.growth.Few = append(g.growth.Few, b.String())
	}
	if g.Report != nil {
		g.Report(b, len(lines), g.asked, g.of)
	}
	return nil
}

// ReadLines reads a file of lines; one that is not there holds none.
func ReadLines(path string) (all []subject.Line, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return all, subject.Lines(path, string(data), func(l subject.Line) error { all = append(all, l); return nil })
}

// appendLines adds lines to a file.
func appendLines(path string, lines []subject.Line) error {
	if len(lines) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a pack is no secret
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a pack is no secret
	if err != nil {
		return err
	}
	return errors.Join(writeLines(f, lines), f.Close())
}

func writeLines(f *os.File, lines []subject.Line) error {
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return w.Flush()
}

// saveLines writes a file anew, whole or not at all.
func saveLines(path string, lines []subject.Line) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".lines-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename
	if err := errors.Join(writeLines(f, lines), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
