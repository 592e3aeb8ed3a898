package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/agent/prompts"
	"molar/internal/host"
	"molar/internal/terminal"
	"molar/internal/text"
	"molar/schemas"
)

// A slashCommand is a line of a session that is not a question.
type slashCommand struct {
	name, args, help string
	run              func(ctx context.Context, args string) error
}

func (s *session) commands() []slashCommand {
	return []slashCommand{
		{"help", "", "this list", s.help},
		{"tools", "", "the tools that the servers offer", s.showTools},
		{"servers", "", "the MCP servers and their states", s.showServers},
		{"model", "[NAME]", "show or choose the model", s.chooseModel},
		{"assistant", "[NAME]", "show or choose the assistant", s.chooseAssistant},
		{"approvals", "[NAME|clear]", "show what runs without asking, or let it ask again", s.approvals},
		{"clear", "", "clear the screen and begin a new conversation", s.clear},
		{"copy", "", "copy the last code of the answer, or all of it, to the clipboard", s.copy},
		{"history", "", "show this conversation", s.showConversation},
		{"resume", "[ID]", "continue an earlier conversation", s.resume},
		{"save", "FILE", "write this conversation to a new file, as Markdown", s.save},
		{"file", "FILE", "attach an image, a sound, a PDF or a text to the next question", s.file},
		{"retry", "[without TOOL]", "ask the last question again, without some tools", s.retry},
		{"log", "", "the log of this session, and what servers wrote to theirs", s.showLog},
		{"quit", "", "end the session", func(context.Context, string) error { return errLeave }},
	}
}

// command runs a slash command. known is false if the line is a question, which a server's
// prompt is too.
func (s *session) command(ctx context.Context, content string) (known bool, err error) {
	word, args, _ := strings.Cut(content, " ")
	name, ok := strings.CutPrefix(word, "/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return false, nil
	}
	for _, c := range s.commands() {
		if c.name == name {
			return true, c.run(ctx, strings.TrimSpace(args))
		}
	}
	for _, p := range s.h.Agent.Prompts(ctx, operator()) {
		if p.Name == name || p.Server+":"+p.Name == name {
			return false, nil
		}
	}
	meant := ""
	var words []string
	for _, c := range s.commands() {
		words = append(words, "/"+c.name)
	}
	for _, p := range s.h.Agent.Prompts(ctx, operator()) {
		words = append(words, "/"+p.Name)
	}
	if near := text.Nearest("/"+name, words); near != "" {
		meant = "; do you mean " + near + "?"
	}
	return true, fmt.Errorf("there is no command /%s, and no server has a prompt of that name%s; /help lists what there is", name, meant)
}

func (s *session) help(ctx context.Context, _ string) error {
	for _, c := range s.commands() {
		s.entry(strings.TrimSpace("/"+c.name+" "+c.args), c.help)
	}
	for _, p := range s.h.Agent.Prompts(ctx, operator()) {
		s.entry(prompts.Usage(p), flat(p.Description)+" (prompt of "+p.Server+")")
	}
	s.entry("@server:uri, @path", "put a resource of a server, or a file, into the question")
	s.entry(`\ or Ctrl-J`, "continue on the next line; pasted text may have several lines")
	s.entry("Ctrl-U, Ctrl-Y, Ctrl-_", "clear the line, and with a second press all above it; put it back; undo")
	s.entry("Ctrl-R", "search what was typed before")
	s.entry("Esc, Ctrl-C, Ctrl-D", "stop the answer; the same; end the session")
	return nil
}

// entry writes a name and its description, on one line if it fits.
func (s *session) entry(name, text string) {
	columns, _ := s.size()
	name, indent := "  "+terminal.Clean(name), 23
	if columns < 60 {
		indent = 6
	}
	rows := terminal.Wrap(terminal.Clean(text), columns-indent)
	if gap := indent - terminal.Width(name); gap > 0 {
		s.say("%s", name+strings.Repeat(" ", gap)+rows[0])
		rows = rows[1:]
	} else {
		s.lines(name, same)
	}
	for _, row := range rows {
		s.say("%s", strings.Repeat(" ", indent)+row)
	}
}

func same(text string) string { return text }

func (s *session) showTools(context.Context, string) error {
	tools := s.h.MCP.Catalogue().Tools()
	columns, _ := s.size()
	for _, t := range tools {
		line := fmt.Sprintf("  %s  %s", terminal.Clean(t.Name), flat(t.Description))
		s.say("%s", terminal.Truncate(line, columns-1))
	}
	if len(tools) == 0 {
		s.say("no server offers a tool; /servers says why")
	}
	return nil
}

func (s *session) showServers(context.Context, string) error {
	for _, status := range s.h.MCP.Status() {
		s.lines("  "+host.ServerLine(status), same)
	}
	return nil
}

func (s *session) chooseAssistant(_ context.Context, name string) error {
	all := s.h.Agent.Assistants()
	if name == "" {
		for _, as := range all {
			mark := "  "
			if as.Name == s.assistant() {
				mark = "* "
			}
			s.lines(mark+as.Name+"  "+flat(as.Description), same)
		}
		return nil
	}
	for _, as := range all {
		if as.Name == name {
			s.f.Assistant = name
			s.say("assistant %s", terminal.Clean(name))
			return nil
		}
	}
	return fmt.Errorf("there is no assistant %q; /assistant lists them", name)
}

func (s *session) chooseModel(ctx context.Context, name string) error {
	if name != "" {
		s.f.Model = name
		s.say("model %s, from the next question on", terminal.Clean(name))
		return nil
	}
	now := s.f.Model
	if now == "" {
		route, err := s.h.Chain.Pick(ctx, s.want())
		if err != nil {
			return err
		}
		now = strings.TrimSpace(route.Provider.Name() + " " + route.Model)
	}
	s.say("now: %s", terminal.Clean(now))
	for _, model := range s.models(ctx) {
		s.lines("  "+model, same)
	}
	return nil
}

// clear starts a new conversation; the old one stays stored.
func (s *session) clear(context.Context, string) error {
	s.f.Conversation, s.last, s.answering = "", nil, ""
	s.wipe()
	s.say("%s", terminal.Dim("a new conversation; /resume goes back"))
	return nil
}

// retry asks the last question again; "without" and names or globs of tools after it leave these out.
func (s *session) retry(ctx context.Context, args string) error {
	if s.last == nil {
		return errors.New("there is no question to ask again")
	}
	words := strings.Fields(args)
	if len(words) > 0 && (words[0] != "without" || len(words) < 2) {
		return errors.New("/retry asks the last question again; leave tools out by /retry without TOOL")
	}
	s.lines(s.last.Prompt, terminal.Dim)
	again := *s.last
	again.Without = words[min(1, len(words)):]
	messages, err := s.h.Stored(ctx, s.f.Conversation)
	for _, m := range messages { // a stored turn gets a second version
		if err == nil && m.TurnID == s.lastTurn && m.Role == schemas.RoleUser {
			again.Parent = &m.ParentTurn
		}
	}
	return s.run(ctx, again)
}

// models returns the models of the next question's provider.
func (s *session) models(ctx context.Context) []string {
	route, err := s.h.Chain.Pick(ctx, s.want())
	if err != nil {
		return nil
	}
	list, _ := s.h.Chain.Models(ctx, route.Provider.Name()) // a provider that cannot be asked lists none
	slices.Sort(list)
	return list
}

// displayText returns the displayed text of a stored message.
func displayText(m schemas.StoredMessage) string {
	switch {
	case m.Role == schemas.RoleUser:
		var text strings.Builder
		text.WriteString("> " + m.Content)
		for _, f := range m.Files {
			fmt.Fprintf(&text, "\n  [%s, %d bytes]", f.Name, f.Size)
		}
		return text.String()
	case m.Status == schemas.StatusInterrupted:
		return m.Content + "\n\n(interrupted)"
	}
	return m.Content
}

// file attaches a file to the next question.
func (s *session) file(_ context.Context, path string) error {
	if path == "" {
		return errors.New("name the file: /file FILE")
	}
	files, err := files([]string{path})
	if err != nil {
		return err
	}
	s.files = append(s.files, files...)
	s.say("%s goes with the next question", terminal.Clean(files[0].Name))
	return nil
}
