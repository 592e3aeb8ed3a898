package session

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"molar/internal/cli"
	"molar/internal/terminal"
	"molar/schemas"
)

// An Asker asks servers' questions, one at a time.
type Asker struct {
	// Show shows a line, Read reads one after a prompt.
	Show func(text string)
	Read func(ctx context.Context, prompt string) (string, error)

	mu sync.Mutex
}

// New asks on a terminal that is not in raw mode.
func New(in *bufio.Reader, out io.Writer) *Asker {
	return &Asker{
		Show: func(text string) { _, _ = fmt.Fprintln(out, terminal.Clean(text)) },
		Read: func(ctx context.Context, prompt string) (string, error) {
			_, _ = fmt.Fprint(out, terminal.Clean(prompt)+" ")
			return cli.ReadLine(ctx, in)
		},
	}
}

// A field is one question of a form.
type field struct {
	options
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Items       options         `json:"items"`
	name        string
	required    bool
}

// options are the permitted values, in the forms that a schema has for them.
type options struct {
	Enum  []string `json:"enum"`
	OneOf []choice `json:"oneOf"`
	AnyOf []choice `json:"anyOf"`
}

type choice struct {
	Const string `json:"const"`
}

func (o *options) values() []string {
	values := slices.Clone(o.Enum)
	for _, one := range slices.Concat(o.OneOf, o.AnyOf) {
		values = append(values, one.Const)
	}
	return values
}

// takes reports whether a text is a permitted value.
func (o *options) takes(text string) bool {
	values := o.values()
	return text != "" && (len(values) == 0 || slices.Contains(values, text))
}

// Ask asks one question, and returns the person's choice or input.
func (q *Asker) Ask(ctx context.Context, asked schemas.Question) (schemas.Answer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.say("%s asks: %s", asked.Server, asked.Message)
	if asked.URL != "" {
		q.say("open this address in a browser, if you trust it: %s", asked.URL)
	}
	if !asked.Login {
		q.say("give it no password, and never a key of Molar, with which no server has any business")
	}
	yes, err := q.Read(ctx, "answer it? [y/N] (Enter declines)")
	if err != nil || !strings.EqualFold(yes, "y") && !strings.EqualFold(yes, "yes") {
		return schemas.Answer{Action: schemas.ActionDecline}, err
	}
	if asked.URL != "" {
		return schemas.Answer{Action: schemas.ActionAccept}, nil
	}
	content := map[string]json.RawMessage{}
	for _, f := range fields(asked.Schema) {
		value, err := q.fill(ctx, f)
		if err != nil {
			return schemas.Answer{}, err
		}
		if value != nil {
			content[f.name] = value
		}
	}
	return schemas.Answer{Action: schemas.ActionAccept, Content: content}, nil
}

// fields returns the fields of a form, the required ones first.
func fields(schema json.RawMessage) []field {
	var form struct {
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	if json.Unmarshal(schema, &form) != nil {
		return nil
	}
	var needed, others []field
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		f := form.Properties[name]
		f.name, f.required = name, slices.Contains(form.Required, name)
		if f.required {
			needed = append(needed, f)
		} else {
			others = append(others, f)
		}
	}
	return append(needed, others...)
}

// fill asks until the value fits; nil leaves the field out.
func (q *Asker) fill(ctx context.Context, f field) (json.RawMessage, error) {
	text := cmp.Or(f.Title, f.name)
	if f.Description != "" {
		text += " (" + f.Description + ")"
	}
	switch {
	case f.Type == "array":
		text += ", any with commas between of " + strings.Join(f.Items.values(), ", ")
	case len(f.values()) > 0:
		text += ", one of " + strings.Join(f.values(), ", ")
	case f.Type != "":
		text += ", " + f.Type
	}
	if f.Default != nil {
		text += ", else " + string(f.Default)
	}
	for {
		typed, err := q.Read(ctx, text+":")
		if err != nil {
			return nil, err
		}
		if typed == "" && (f.Default != nil || !f.required) {
			return nil, nil
		}
		if value, ok := f.value(typed); ok {
			return value, nil
		}
		q.say("this does not fit")
	}
}

// value converts the typed text to the field's type.
func (f *field) value(typed string) (json.RawMessage, bool) {
	switch f.Type {
	case "boolean":
		yes := strings.EqualFold(typed, "y") || strings.EqualFold(typed, "yes") || strings.EqualFold(typed, "true")
		no := strings.EqualFold(typed, "n") || strings.EqualFold(typed, "no") || strings.EqualFold(typed, "false")
		return json.RawMessage(strconv.FormatBool(yes)), yes || no
	case "integer":
		_, err := strconv.ParseInt(typed, 10, 64)
		return json.RawMessage(typed), err == nil
	case "number":
		_, err := strconv.ParseFloat(typed, 64)
		return json.RawMessage(typed), err == nil && json.Valid([]byte(typed))
	case "array":
		chosen := strings.Split(typed, ",")
		for i, one := range chosen {
			chosen[i] = strings.TrimSpace(one)
		}
		value, err := json.Marshal(chosen)
		return value, err == nil && !slices.ContainsFunc(chosen, func(one string) bool { return !f.Items.takes(one) })
	default:
		value, err := json.Marshal(typed)
		return value, err == nil && f.takes(typed)
	}
}

func (q *Asker) say(format string, args ...any) {
	q.Show(fmt.Sprintf(format, args...))
}
