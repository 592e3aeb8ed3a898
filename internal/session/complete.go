package session

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molar/agent"
	"molar/internal/terminal"
	"molar/mcpclients"
	"molar/schemas"
)

// completeWait limits what a menu asks servers and models for.
const completeWait = 5 * time.Second

// maxListed is the maximum number of a folder's entries that a menu reads.
const maxListed = 2000

// A finding is what was found for a menu.
type finding struct {
	key string
	all []terminal.Proposal
}

// complete proposes commands and prompts after "/" at the start, known arguments, and files
// and resources after "@". It does not wait for what others must be asked for: that comes with the
// next KeyNone.
func (s *session) complete(before string) terminal.Proposals {
	start := strings.LastIndexAny(before, " \t\n") + 1
	word := before[start:]
	p := terminal.Proposals{Start: start}
	add := func(key string, find func(ctx context.Context) []terminal.Proposal) {
		all, known := s.lookUp(key, find)
		p.All, p.Pending = append(p.All, all...), p.Pending || !known
	}
	switch {
	case s.aside:
	case strings.HasPrefix(word, "@"):
		server, typed, named := strings.Cut(word[1:], ":")
		if named && slices.Contains(s.serverNames(), server) {
			p.Free = true
			add("resources "+server, func(ctx context.Context) []terminal.Proposal { return s.resources(ctx, server) })
			add("templates "+word, func(ctx context.Context) []terminal.Proposal { return s.templates(ctx, server, typed) })
			break
		}
		for _, name := range s.serverNames() {
			p.All = append(p.All, terminal.Proposal{Text: "@" + name + ":", Note: "resources of the server"})
		}
		folder, _ := filepath.Split(word[1:])
		add("folder "+folder, func(context.Context) []terminal.Proposal { return paths("@", folder) })
	case start == 0 && strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/"):
		for _, c := range s.commands() {
			p.All = append(p.All, terminal.Proposal{Text: spaced("/"+c.name, c.args != ""), Note: c.help, Whole: c.args == ""})
		}
		add("prompts", s.promptNames)
	case strings.HasPrefix(before, "/"):
		p.Free = true
		name, typed, _ := strings.Cut(before[1:], " ")
		switch name {
		case "assistant", "model", "approvals", "resume":
			add(name, func(ctx context.Context) []terminal.Proposal { return s.arguments(ctx, name) })
		case "file":
			folder, _ := filepath.Split(word)
			add("file "+folder, func(context.Context) []terminal.Proposal { return paths("", folder) })
		default:
			add(before, func(ctx context.Context) []terminal.Proposal { return s.promptWords(ctx, name, typed) })
		}
	}
	return p
}

// lookUp returns what was found for a key since the line was begun. What was not is looked up in the
// background, and comes through s.finds.
func (s *session) lookUp(key string, find func(ctx context.Context) []terminal.Proposal) (all []terminal.Proposal, known bool) {
	all, known = s.found[key]
	if known || s.sought[key] {
		return all, known
	}
	s.sought[key] = true
	s.looks.Go(func() {
		ctx, cancel := s.aWhile()
		defer cancel()
		found := finding{key, find(ctx)}
		select {
		case s.finds <- found:
		case <-ctx.Done():
		}
	})
	return nil, false
}

// keep stores what was found, for the menu.
func (s *session) keep(f finding) {
	delete(s.sought, f.key)
	s.found[f.key] = f.all
}

// keepAndShow stores what was found, and shows it below an answer.
func (s *session) keepAndShow(f finding) error {
	s.keep(f)
	s.editor.Key(terminal.Key{Code: terminal.KeyNone})
	return s.editor.Together(s.editor.Paint)
}

func spaced(word string, more bool) string {
	if more {
		return word + " "
	}
	return word
}

func (s *session) promptNames(ctx context.Context) []terminal.Proposal {
	var all []terminal.Proposal
	list := s.h.Agent.Prompts(ctx, operator())
	for _, p := range list {
		name := p.Name
		if len(agent.Named(list, name)) > 1 {
			name = p.Server + ":" + name
		}
		note := strings.TrimSpace(cmp.Or(p.Description, p.Title) + " (" + p.Server + ")")
		all = append(all, terminal.Proposal{Text: spaced("/"+name, len(p.Arguments) > 0), Note: note, Whole: len(p.Arguments) == 0})
	}
	return all
}

func (s *session) arguments(ctx context.Context, command string) []terminal.Proposal {
	var all []terminal.Proposal
	add := func(text, note string) { all = append(all, terminal.Proposal{Text: text, Note: note, Whole: true}) }
	switch command {
	case "assistant":
		for _, as := range s.h.Agent.Assistants() {
			add(as.Name, as.Description)
		}
	case "model":
		route, err := s.h.Chain.Pick(ctx, s.want())
		for _, name := range s.models(ctx) {
			note := ""
			if err == nil && name == route.Model {
				note = "answers now"
			}
			add(name, note)
		}
	case "approvals":
		given, _ := s.grants.ListGrants(ctx, "")
		for _, g := range given {
			add(g.Subject(), s.reach(g))
		}
		add("clear", "asks again before every call")
	case "resume":
		list, _ := s.h.Recent(ctx, RecentCount)
		for _, c := range list {
			add(c.ID, c.UpdatedAt.Local().Format("2 Jan 15:04")+"  "+c.Title)
		}
	}
	return all
}

// promptWords returns the completions of the current argument of a server's prompt: its
// values, or the names of all arguments if it is empty.
func (s *session) promptWords(ctx context.Context, name, typed string) []terminal.Proposal {
	found := agent.Named(s.h.Agent.Prompts(ctx, operator()), name)
	if len(found) != 1 || len(found[0].Arguments) == 0 {
		return nil
	}
	p := found[0]
	last := strings.LastIndexAny(typed, " \t\n") + 1
	before, word := strings.Fields(typed[:last]), typed[last:]
	asked := mcpclients.Typed{Prompt: p.Name, Value: word, Argument: p.Arguments[min(len(before), len(p.Arguments)-1)].Name}
	key, value, named := strings.Cut(word, "=")
	isKey := func(a schemas.PromptArgument) bool { return a.Name == key }
	if named = named && slices.ContainsFunc(p.Arguments, isKey); named {
		asked.Argument, asked.Value = key, value
	}
	asked.Others, _ = agent.Arguments(p, strings.Join(before, " "))
	delete(asked.Others, asked.Argument)
	var all []terminal.Proposal
	for _, value := range s.h.MCP.Complete(ctx, operator(), p.Server, asked) {
		if named {
			value = key + "=" + value
		}
		all = append(all, terminal.Proposal{Text: value})
	}
	if word == "" || !named {
		for _, a := range p.Arguments {
			note := a.Description
			if a.Required {
				note = strings.TrimSpace(note + " (required)")
			}
			all = append(all, terminal.Proposal{Text: a.Name + "=", Note: note})
		}
	}
	return all
}

// resources returns a server's resources.
func (s *session) resources(ctx context.Context, server string) []terminal.Proposal {
	var all []terminal.Proposal
	for _, a := range s.h.MCP.Resources(ctx, operator(), server) {
		all = append(all, terminal.Proposal{Text: "@" + server + ":" + a.URI, Note: a.Name})
	}
	return all
}

// templates returns what a server's resource templates make of the typed start of an address.
func (s *session) templates(ctx context.Context, server, typed string) []terminal.Proposal {
	var all []terminal.Proposal
	for _, t := range s.h.MCP.Templates(ctx, operator(), server) {
		place, fits := Find(t.URI, typed)
		switch {
		case !fits:
		case place.Variable == "":
			all = append(all, terminal.Proposal{Text: "@" + server + ":" + place.Done, Note: t.Name})
		default:
			asked := mcpclients.Typed{Template: t.URI, Argument: place.Variable, Value: place.Value, Others: place.Others}
			for _, value := range s.h.MCP.Complete(ctx, operator(), server, asked) {
				all = append(all, terminal.Proposal{Text: "@" + server + ":" + place.With(value), Note: t.Name})
			}
		}
	}
	return all
}

// serverNames returns the servers whose resources a question may name.
func (s *session) serverNames() []string {
	var names []string
	for _, status := range s.h.MCP.Status() {
		if status.State != schemas.StateDisabled && status.Name != schemas.ToolServer {
			names = append(names, status.Name)
		}
	}
	return names
}

// paths returns the files and folders in a folder, with a prefix. Hidden ones come last.
func paths(prefix, folder string) []terminal.Proposal {
	f, err := os.Open(cmp.Or(folder, "."))
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxListed) // what could be read
	hidden := func(e fs.DirEntry) int {
		if strings.HasPrefix(e.Name(), ".") {
			return 1
		}
		return 0
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Or(hidden(a)-hidden(b), strings.Compare(a.Name(), b.Name()))
	})
	var all []terminal.Proposal
	for _, e := range entries {
		p := terminal.Proposal{Text: prefix + folder + e.Name()}
		if info, err := os.Stat(filepath.Join(folder, e.Name())); err == nil && info.IsDir() {
			p.Text, p.Note = p.Text+string(filepath.Separator), "folder"
		}
		if !strings.ContainsAny(p.Text, " \t\n") { // a word ends there
			all = append(all, p)
		}
	}
	return all
}
