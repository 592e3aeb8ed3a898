package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/terminal"
	"molar/internal/text"
	"molar/schemas"
)

// Choices are the answers of a person, from which the config file is written.
type Choices struct {
	Model Model
	// Files hold the servers taken over from other hosts. Servers are the typed ones, in the form
	// of [config.ParseServer].
	Files   []*config.HostFile
	Servers []string
	Subject Subject
}

// A Subject is the topic of the default assistant: that of a built-in one, or a new one. Without
// either, the assistant is not limited to one.
type Subject struct {
	// Assistant is a built-in assistant that keeps to a subject; Name and Description are those of a
	// new topic.
	Assistant         string
	Name, Description string
	// Phrases are words that can only belong to the new topic.
	Phrases []string
}

// A Dialogue asks a person questions.
type Dialogue struct {
	In  *bufio.Reader
	Out io.Writer
	// Yes takes all defaults without a question.
	Yes bool
	// Hidden reads a line without echo; nil if In is not a terminal.
	Hidden func(ctx context.Context) (string, error)
}

// Ask asks the three questions and returns the answers. After the end of the input, it takes the
// defaults.
func (d *Dialogue) Ask(ctx context.Context, inventory Inventory) (Choices, error) {
	var c Choices
	var err error
	if c.Model, err = d.model(ctx, inventory.Models); err != nil {
		return c, err
	}
	if c.Files, c.Servers, err = d.servers(ctx, inventory.Files); err != nil {
		return c, err
	}
	c.Subject, err = d.subject(ctx, len(c.Files)+len(c.Servers) > 0)
	return c, err
}

func (d *Dialogue) model(ctx context.Context, models []Model) (Model, error) {
	d.say("Which model should answer?")
	for i, m := range models {
		d.say("  %d  %s", i+1, m.Label)
	}
	n, err := d.number(ctx, 1, len(models))
	if err != nil {
		return Model{}, err
	}
	m := models[n-1]
	if m.AddressQuestion == "" {
		return m, nil
	}
	return d.askOwnServer(ctx, m)
}

func (d *Dialogue) servers(ctx context.Context, files []*config.HostFile) (chosen []*config.HostFile, typed []string, err error) {
	d.say("\nWhich MCP servers should it use? You can attach more at any time.")
	taken := map[string]bool{}
	for _, f := range files {
		if !slices.ContainsFunc(f.Servers, func(name string) bool { return !taken[name] }) {
			d.say("  %s has %s too.", f.Host, strings.Join(f.Servers, ", "))
			continue
		}
		yes, err := d.Confirm(ctx, fmt.Sprintf("  %s has %s: take them over?", f.Host, strings.Join(f.Servers, ", ")), true)
		if err != nil {
			return nil, nil, err
		}
		if yes {
			chosen = append(chosen, f)
			for _, name := range f.Servers {
				taken[name] = true
			}
		}
	}
	d.say("  One more, as NAME=command or NAME=https://address, such as:")
	d.say("    files=npx -y @modelcontextprotocol/server-filesystem .")
	question := "  (press Enter to continue):"
	for {
		spec, err := d.line(ctx, question, "")
		if err != nil || spec == "" {
			return chosen, typed, err
		}
		name, _, err := config.ParseServer(spec)
		if err == nil {
			err = config.CheckServerName(name, nil)
		}
		if err != nil {
			d.say("  %s", strings.TrimPrefix(err.Error(), "--mcp: "))
			continue
		}
		typed, question = append(typed, spec), "  Another one (press Enter to continue):"
	}
}

func (d *Dialogue) subject(ctx context.Context, servers bool) (Subject, error) {
	d.say("\nWhat should it talk about?")
	d.say("  1  Anything that its tools can help with")
	packed := builtIn()
	for i, e := range packed {
		d.say("  %d  %s", i+2, e.Value.Description)
	}
	own := len(packed) + 2
	d.say("  %d  A subject of your own, and nothing else", own)
	preset := 1
	if !servers && len(packed) > 0 {
		preset = 2
	}
	n, err := d.number(ctx, preset, own)
	if err != nil || n == 1 {
		return Subject{}, err
	}
	if n < own {
		return Subject{Assistant: packed[n-2].Name}, nil
	}
	for {
		about, err := d.line(ctx, "  Describe in a sentence what belongs to it, such as \"gardening: plants, soil, watering and pests\":", "")
		if err != nil || about == "" {
			return Subject{}, err
		}
		name := topicName(about)
		if name == "" {
			d.say("  It must begin with a word.")
			continue
		}
		phrases, err := d.phrases(ctx)
		if err != nil || len(phrases) == 0 {
			return Subject{}, err
		}
		return Subject{Name: name, Description: about, Phrases: phrases}, nil
	}
}

// builtIn returns one built-in assistant for each built-in topic.
func builtIn() config.Map[schemas.Assistant] {
	var all config.Map[schemas.Assistant]
	for _, e := range config.Default().Assistants {
		same := func(other config.Entry[schemas.Assistant]) bool { return other.Value.Topic == e.Value.Topic }
		if e.Value.Topic != "" && !slices.ContainsFunc(all, same) {
			all = append(all, e)
		}
	}
	return all
}

func (d *Dialogue) phrases(ctx context.Context) ([]string, error) {
	answer, err := d.line(ctx, "  Some words that only belong to it, in each language that people use, such as \"fertiliser, compost, phân bón\":", "")
	var phrases []string
	for phrase := range strings.SplitSeq(answer, ",") {
		if phrase = strings.TrimSpace(phrase); phrase != "" {
			phrases = append(phrases, phrase)
		}
	}
	return phrases, err
}

// topicName makes the name of a topic from the first words of its description.
func topicName(about string) string {
	about, _, _ = strings.Cut(about, ":")
	var b strings.Builder
	for _, r := range text.Fold(about) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 24 {
			break
		}
	}
	name := strings.Trim(b.String(), "-")
	if slices.Contains(config.Default().TopicNames(), name) {
		return "my-" + name
	}
	return name
}

// Confirm asks a question whose answer is yes or no, and preset if the person only presses Enter.
func (d *Dialogue) Confirm(ctx context.Context, question string, preset bool) (bool, error) {
	choices, short := " [y/N]", "n"
	if preset {
		choices, short = " [Y/n]", "y"
	}
	for {
		answer, err := d.line(ctx, question+choices, short)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		d.say("  Enter y or n.")
	}
}

func (d *Dialogue) number(ctx context.Context, preset, largest int) (int, error) {
	for {
		answer, err := d.line(ctx, fmt.Sprintf("  [%d]", preset), strconv.Itoa(preset))
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= largest {
			return n, nil
		}
		d.say("  Enter a number from 1 to %d.", largest)
	}
}

// line asks for a line. If it is empty, or at the end of the input, line returns the preset.
func (d *Dialogue) line(ctx context.Context, question, preset string) (string, error) {
	if d.Yes {
		return preset, nil
	}
	d.prompt(question)
	answer, err := cli.ReadLine(ctx, d.In)
	if errors.Is(err, io.EOF) {
		d.say("")
		err = nil
	}
	if answer == "" {
		answer = preset
	}
	return answer, err
}

// Value asks for the value of a variable, without echo, and returns "" if the person presses Enter.
func (d *Dialogue) Value(ctx context.Context, name string) (schemas.Secret, error) {
	value, err := d.hidden(ctx, "The value of "+name+" (not shown; press Enter to set it later):")
	return schemas.Secret(value), err
}

// hidden asks for a line without echo.
func (d *Dialogue) hidden(ctx context.Context, question string) (string, error) {
	if d.Hidden == nil || d.Yes {
		return d.line(ctx, question, "")
	}
	d.prompt(question)
	answer, err := d.Hidden(ctx)
	d.say("")
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(answer), err
}

func (d *Dialogue) say(format string, args ...any) {
	if !d.Yes {
		d.print(fmt.Sprintf(format, args...) + "\n")
	}
}

// prompt shows a question, in whose last row the answer is typed.
func (d *Dialogue) prompt(question string) { d.print(question + " ") }

func (d *Dialogue) print(text string) {
	_, _ = io.WriteString(d.Out, terminal.Fit(d.Out, terminal.Clean(text)))
}
