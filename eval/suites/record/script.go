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

// A script is the model's output in one case.
type script struct {
	// Judge are the guardrail's answers; further ones are YES. They may remain unused, since
	// code decides most messages.
	Judge []string `yaml:"judge"`
	// Steps are the answers to the tool and answer passes, in order.
	Steps []step `yaml:"steps"`
	// Summary is the answer to every request for a summary.
	Summary string `yaml:"summary"`
}

// A step is one answer: text followed by calls, or a refusal with Status.
type step struct {
	Text   string `yaml:"text"`
	Calls  []call `yaml:"calls"`
	Status int    `yaml:"status"`
}

// A call has its arguments as a mapping, or as raw text.
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

// A model answers as its script says, in the wires of Ollama, Gemini and OpenAI.
type model struct {
	url    string
	ollama *models.Server // answers requests about models

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

// left returns an error for unused steps, and for requests beyond the last step.
func (m *model) left() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.script.Steps) - m.step; n > 0 {
		m.faults = append(m.faults, fmt.Errorf("%d steps of the script were not asked for", n))
	}
	return errors.Join(m.faults...)
}

// reply selects the answer to a request. Only the judge's request contains "verdict", and all
// other requests to a small model are for summaries.
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

// smallModel is the model of the guardrail and of summaries in all configs of the suites.
const smallModel = "qwen2.5:3b-instruct"

// answer converts a step to a model's answer.
func (s step) answer() tape.WireAnswer {
	a := tape.WireAnswer{Text: s.Text, Words: true, Prompt: 100, Completion: 20, Signature: "c2NyaXB0ZWQ="}
	for i, c := range s.Calls {
		a.Calls = append(a.Calls, tape.Call{ID: fmt.Sprintf("call_%d", i), Name: c.Name, Arguments: c.arguments()})
	}
	return a
}
