package bfcl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"molar/eval/match"
	"molar/internal/text"
)

// A Case is one case of the benchmark.
type Case struct {
	ID        string
	Category  string
	Functions []Function
	// Answers are the expected calls; empty for cases that expect no call.
	Answers []Answer
}

// maxLine is the maximum length of a line, in bytes.
const maxLine = 16 << 20

// lines calls f with each non-empty line. Its error names file and line.
func lines(name string, r io.Reader, f func(line []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for s.Scan() {
		n++
		line := s.Bytes()
		if n == 1 { // the byte order mark
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if line[0] != '{' {
			return fmt.Errorf("%s:%d: a line must be one JSON object, and this one begins with %q", name, n, text.Clip(string(line), 20, ""))
		}
		if err := f(line); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than %d MiB", name, n+1, maxLine>>20)
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return nil
}

// ReadCases reads a file of cases, one JSON object per line.
func ReadCases(name string, r io.Reader) ([]Case, error) {
	var cases []Case
	err := lines(name, r, func(line []byte) error {
		var row struct {
			ID            string          `json:"id"`
			Function      json.RawMessage `json:"function"`
			InitialConfig json.RawMessage `json:"initial_config"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		switch {
		case row.ID == "":
			return errors.New(`the case has no "id"`)
		case row.InitialConfig != nil:
			return fmt.Errorf("case %q has several turns over simulated services, which this checker cannot judge: leave it out", row.ID)
		}
		c := Case{ID: row.ID, Category: categoryOf(row.ID)}
		if strings.Contains(c.Category, "java") {
			return fmt.Errorf("case %q wants Java or JavaScript, and this checker judges Python's categories: leave it out", row.ID)
		}
		if err := c.readFunctions(row.Function); err != nil {
			return err
		}
		cases = append(cases, c)
		return nil
	})
	return cases, err
}

// categoryOf returns the category in an id: "parallel_multiple" for "parallel_multiple_17",
// "live_simple" for "live_simple_0-0-0".
func categoryOf(id string) string {
	category := strings.TrimRight(id, "0123456789-_")
	if strings.HasPrefix(id[len(category):], "_") {
		return category
	}
	return id
}

func (c *Case) readFunctions(raw json.RawMessage) error {
	if len(raw) > 0 && raw[0] == '{' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	if len(raw) == 0 {
		return fmt.Errorf("case %q has no %q", c.ID, "function")
	}
	var tools []struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(raw, &tools); err != nil {
		return fmt.Errorf("case %q: function: %w", c.ID, err)
	}
	for _, tool := range tools {
		var p struct {
			Properties map[string]struct {
				Type  string `json:"type"`
				Items struct {
					Type string `json:"type"`
				} `json:"items"`
			} `json:"properties"`
			Required []string `json:"required"`
		}
		if len(tool.Parameters) > 0 {
			if err := json.Unmarshal(tool.Parameters, &p); err != nil {
				return fmt.Errorf("case %q: parameters of %q: %w", c.ID, tool.Name, err)
			}
		}
		f := Function{Name: tool.Name, Required: p.Required, Params: make(map[string]Param, len(p.Properties))}
		for name, property := range p.Properties {
			f.Params[name] = Param{Type: property.Type, Item: property.Items.Type}
		}
		c.Functions = append(c.Functions, f)
	}
	return nil
}

// ReadAnswers reads a file of accepted answers and adds them to the cases with the same id. It
// skips ids without a case.
func ReadAnswers(name string, r io.Reader, cases []Case) error {
	index := make(map[string]int, len(cases))
	for i := range cases {
		index[cases[i].ID] = i
	}
	return lines(name, r, func(line []byte) error {
		var row struct {
			ID    string          `json:"id"`
			Truth json.RawMessage `json:"ground_truth"`
		}
		if err := json.Unmarshal(pythonNumbers(line), &row); err != nil {
			return err
		}
		i, known := index[row.ID]
		if !known {
			return nil
		}
		truth, err := match.Decode(row.Truth)
		list, isList := truth.([]any)
		if err != nil || !isList {
			return fmt.Errorf("answer %q has no list %q", row.ID, "ground_truth")
		}
		cases[i].Answers, err = answers(row.ID, list)
		return err
	})
}

func answers(id string, list []any) ([]Answer, error) {
	var out []Answer
	for _, item := range list {
		object, ok := item.(map[string]any)
		if !ok || len(object) != 1 {
			return nil, fmt.Errorf("answer %q: every expected call is an object with one function name", id)
		}
		name := sorted(object)[0]
		params, ok := object[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("answer %q: the arguments of %q are no object", id, name)
		}
		answer := Answer{Name: name, Accepted: make(map[string][]any, len(params))}
		for param, v := range params {
			values, ok := v.([]any)
			if !ok {
				return nil, fmt.Errorf("answer %q: argument %q is not a list of accepted values", id, param)
			}
			answer.Accepted[param] = values
		}
		out = append(out, answer)
	}
	return out, nil
}

// A Line is one line of a file of calls to judge.
type Line struct {
	ID string
	// Category overrides the category in the id, if not empty.
	Category string
	Calls    []RawCall
}

// A RawCall is a call in the form in which a model made it.
type RawCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments Arguments `json:"arguments"`
	} `json:"function"`
}

// Arguments is JSON text. A file may contain the object itself instead, as on some wires.
type Arguments string

// UnmarshalJSON decodes a string, and keeps any other value as JSON text.
func (a *Arguments) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(a))
	}
	*a = Arguments(raw)
	return nil
}

// ReadCalls calls f with each line of a file of calls, in order.
func ReadCalls(name string, r io.Reader, f func(Line) error) error {
	return lines(name, r, func(raw []byte) error {
		var row struct {
			ID        string    `json:"id"`
			Category  string    `json:"category"`
			ToolCalls []RawCall `json:"tool_calls"`
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return err
		}
		if row.ID == "" {
			return errors.New(`the line has no "id"`)
		}
		return f(Line{ID: row.ID, Category: row.Category, Calls: row.ToolCalls})
	})
}

// parse decodes the arguments of calls. Arguments that are not a JSON object make the whole
// answer unreadable, as in the official decoder.
func parse(raw []RawCall) ([]call, Verdict) {
	calls := make([]call, 0, len(raw))
	for _, r := range raw {
		text := string(r.Function.Arguments)
		if strings.TrimSpace(text) == "" {
			text = "{}"
		}
		v, err := decode([]byte(text))
		if err != nil {
			return nil, fault("ast_decoder:decoder_failed", "the arguments of %q are not JSON: %v", r.Function.Name, err)
		}
		args, ok := v.(map[string]any)
		if !ok {
			return nil, fault("ast_decoder:decoder_wrong_output_format", "the arguments of %q are no object", r.Function.Name)
		}
		calls = append(calls, call{Name: r.Function.Name, Args: args})
	}
	return calls, valid()
}

// Judge parses and checks the calls of one line against its case.
func (c *Case) Judge(line Line) Verdict {
	category := line.Category
	if category == "" {
		category = c.Category
	}
	calls, v := parse(line.Calls)
	if !v.Valid {
		if strings.Contains(category, "irrelevance") {
			return valid() // an unreadable answer counts as no call
		}
		return v
	}
	return check(category, c.Functions, c.Answers, calls)
}
