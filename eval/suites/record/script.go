package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	yaml "github.com/goccy/go-yaml"

	"molar/eval/tape"
	"molar/internal/testkit/models"
)

// A script is what the model says in one case.
type script struct {
	// Judge are the guardrail's answers, YES once they have run out. They need not be
	// asked for: of most messages the host is sure without a model.
	Judge []string `yaml:"judge"`
	// Steps answer the tool and answer passes, in order.
	Steps []step `yaml:"steps"`
	// Summary answers every request for a summary.
	Summary string `yaml:"summary"`
}

// A step is one answer: text, then calls, or a refusal with Status.
type step struct {
	Text   string `yaml:"text"`
	Calls  []call `yaml:"calls"`
	Status int    `yaml:"status"`
}

// A call has its arguments as a mapping, or byte for byte.
type call struct {
	Name string         `yaml:"name"`
	Args map[string]any `yaml:"args"`
	Raw  string         `yaml:"raw"`
}

func (c call) arguments() string {
	if c.Raw != "" {
		return c.Raw
	}
	data, err := json.Marshal(c.Args)
	if err != nil || c.Args == nil { // a mapping from a file always marshals
		return "{}"
	}
	return string(data)
}

// readScripts reads the scripts of all cases, by id.
func readScripts(dir string) (map[string]script, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	all := make(map[string]script)
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var part map[string]script
		if err := yaml.UnmarshalWithOptions(data, &part, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		maps.Copy(all, part)
	}
	return all, nil
}

// A model answers as a script says, in the wires of Ollama, Gemini and OpenAI.
type model struct {
	url    string
	ollama *models.Server // tells of its models

	mu     sync.Mutex
	script script
	judged int
	step   int
	faults []error
}

func newModel() *model {
	return &model{ollama: models.New(models.Config{})}
}

// start serves all wires at one address.
func (m *model) start(ctx context.Context) error {
	url, err := listen(ctx, m)
	m.url = url
	return err
}

func (m *model) Close() { _ = m.ollama.Close() }

func (m *model) set(s script) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script, m.judged, m.step, m.faults = s, 0, 0, nil
}

// left says what of a script was not asked for, or asked for in excess.
func (m *model) left() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.script.Steps) - m.step; n > 0 {
		m.faults = append(m.faults, fmt.Errorf("%d steps of the script were not asked for", n))
	}
	return errors.Join(m.faults...)
}

// reply chooses the answer to a request: only the judge's request asks for a verdict,
// and summaries are the only other thing that a small model is asked for.
func (m *model) reply(body string) step {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case strings.Contains(body, `"verdict"`):
		m.judged++
		if m.judged > len(m.script.Judge) {
			return step{Text: `{"verdict":"YES","language":"en"}`}
		}
		return step{Text: m.script.Judge[m.judged-1]}
	case strings.Contains(body, smallModel):
		return step{Text: m.script.Summary}
	case m.step < len(m.script.Steps):
		m.step++
		return m.script.Steps[m.step-1]
	}
	m.faults = append(m.faults, errors.New("the script has no further step"))
	return step{Status: http.StatusInternalServerError}
}

// smallModel is the model of guardrail and summaries in every config here.
const smallModel = "qwen2.5:3b-instruct"

// answer is the step as a model says it.
func (s step) answer() tape.WireAnswer {
	a := tape.WireAnswer{Text: s.Text, Words: true, Prompt: 100, Completion: 20, Signature: "c2NyaXB0ZWQ="}
	for i, c := range s.Calls {
		a.Calls = append(a.Calls, tape.Call{ID: fmt.Sprintf("call_%d", i), Name: c.Name, Arguments: c.arguments()})
	}
	return a
}
