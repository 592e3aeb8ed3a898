package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/terminal"
	"molar/internal/text"
)

// Choices are what a config file is written from.
type Choices struct {
	Model Model
	// Files are the servers taken over from other hosts, Servers those typed, as
	// [config.ParseServer] reads them.
	Files   []*config.HostFile
	Servers []string
	Subject Subject
}

// A Subject is what the default assistant keeps to; without a name it is any.
type Subject struct {
	// Name is config.TopicDental, or the name of a topic that is written with the rest.
	Name, Description string
	// Phrases can only belong to it.
	Phrases []string
}

// A Dialogue asks a person. With Yes nobody is asked and every default is taken.
type Dialogue struct {
	In  *bufio.Reader
	Out io.Writer
	Yes bool
	// Hidden reads a line that is not shown; nil where In is no terminal.
	Hidden func(ctx context.Context) (string, error)
}

// Ask puts the three questions and returns what was chosen. The end of the input takes the
// defaults from there on.
func (d *Dialogue) Ask(ctx context.Context, found Inventory) (Choices, error) {
	var c Choices
	var err error
	if c.Model, err = d.model(ctx, found.Models); err != nil {
		return c, err
	}
	if c.Files, c.Servers, err = d.servers(ctx, found.Files); err != nil {
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
	for _, f := range files {
		yes, err := d.Confirm(ctx, fmt.Sprintf("  %s has %s: take them over?", f.Host, strings.Join(f.Servers, ", ")))
		if err != nil {
			return nil, nil, err
		}
		if yes {
			chosen = append(chosen, f)
		}
	}
	d.say("  One more, as NAME=command or NAME=https://address, such as:")
	d.say("    files=npx -y @modelcontextprotocol/server-filesystem .")
	question := "  (nothing to go on):"
	for {
		spec, err := d.line(ctx, question, "")
		if err != nil || spec == "" {
			return chosen, typed, err
		}
		if _, _, err := config.ParseServer(spec); err != nil {
			d.say("  %s", strings.TrimPrefix(err.Error(), "--mcp: "))
			continue
		}
		typed, question = append(typed, spec), "  Another one (nothing to go on):"
	}
}

func (d *Dialogue) subject(ctx context.Context, servers bool) (Subject, error) {
	d.say("\nWhat should it talk about?")
	d.say("  1  Anything that its tools can help with")
	d.say("  2  Teeth: the built-in dental assistant, in Vietnamese and English")
	d.say("  3  A subject of your own, and nothing else")
	usual := 1
	if !servers {
		usual = 2
	}
	n, err := d.number(ctx, usual, 3)
	if err != nil || n == 1 {
		return Subject{}, err
	}
	if n == 2 {
		return Subject{Name: config.TopicDental}, nil
	}
	for {
		about, err := d.line(ctx, "  Say in a sentence what belongs to it, such as \"gardening: plants, soil, watering and pests\":", "")
		if err != nil || about == "" {
			return Subject{}, err
		}
		name := topicName(about)
		if name == "" {
			d.say("  Begin with a word.")
			continue
		}
		phrases, err := d.phrases(ctx)
		if err != nil || len(phrases) == 0 {
			return Subject{}, err
		}
		return Subject{Name: name, Description: about, Phrases: phrases}, nil
	}
}

func (d *Dialogue) phrases(ctx context.Context) ([]string, error) {
	answer, err := d.line(ctx, "  Some words that only belong to it, in each language that people write, such as \"fertiliser, compost, phân bón\":", "")
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
	if name == config.TopicDental {
		return "my-" + name
	}
	return name
}

// Confirm asks a question that yes answers by default.
func (d *Dialogue) Confirm(ctx context.Context, question string) (bool, error) {
	return d.yesNo(ctx, question, true)
}

func (d *Dialogue) yesNo(ctx context.Context, question string, usual bool) (bool, error) {
	choices, short := " [y/N]", "n"
	if usual {
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
		d.say("  y or n?")
	}
}

func (d *Dialogue) number(ctx context.Context, usual, most int) (int, error) {
	for {
		answer, err := d.line(ctx, fmt.Sprintf("  [%d]", usual), strconv.Itoa(usual))
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= most {
			return n, nil
		}
		d.say("  A number from 1 to %d.", most)
	}
}

// line asks for a line; an empty one, or the end of the input, is the default.
func (d *Dialogue) line(ctx context.Context, question, usual string) (string, error) {
	if d.Yes {
		return usual, nil
	}
	_, _ = fmt.Fprint(d.Out, terminal.Clean(question)+" ")
	answer, err := cli.ReadLine(ctx, d.In)
	if errors.Is(err, io.EOF) {
		d.say("")
		err = nil
	}
	if answer == "" {
		answer = usual
	}
	return answer, err
}

// hidden asks for a line that is not shown while it is typed.
func (d *Dialogue) hidden(ctx context.Context, question string) (string, error) {
	if d.Hidden == nil || d.Yes {
		return d.line(ctx, question, "")
	}
	_, _ = fmt.Fprint(d.Out, terminal.Clean(question)+" ")
	answer, err := d.Hidden(ctx)
	d.say("")
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(answer), err
}

func (d *Dialogue) say(format string, args ...any) {
	if !d.Yes {
		_, _ = fmt.Fprintln(d.Out, terminal.Clean(fmt.Sprintf(format, args...)))
	}
}
