package mcpclients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// People is what servers need that each person calls as themselves.
type People struct {
	// Logins returns the store of a person's logins, by the person's id; nil disables their logins.
	Logins func(id string) oauth.Store
	// LoginURL returns the address at which a person begins the login at a server, "" if there is
	// none.
	LoginURL func(server string) string
}

const (
	// seatIdle is how long an unused connection of a person is kept, seatMost how many people can be
	// connected to one server at once.
	seatIdle = 10 * time.Minute
	seatMost = 256
	// loginWait is how long a call waits for the person to log in.
	loginWait = 5 * time.Minute
)

// connectTool is offered in place of the tools of a server that nobody has listed yet.
const connectTool = "connect"

// orConnect returns the tools, or a tool that connects the person if each person calls the server
// as themselves and its tools are not known yet.
func (s *server) orConnect(tools *part) *part {
	if s.seats == nil || len(tools.tools) > 0 || !s.Config().Startable() {
		return tools
	}
	return s.seats.connect
}

// newConnect returns the tool that connects a person to a server.
func newConnect(server string) *part {
	info := schemas.ToolInfo{
		Server: server, ToolName: connectTool, InputSchema: []byte(`{"type":"object"}`),
		Description: "Connect to " + server + " as the person who asks. Its tools are not known before.",
	}
	l := newLabel(server, connectTool)
	return &part{
		tools:  []schemas.Tool{{ToolInfo: info, Personal: true, Rules: schemas.ToolRules{Policy: schemas.PolicyAllow, ReadOnly: true}}},
		labels: []*label{&l},
	}
}

// seatsChange reports whether a new config of a server that each person calls as themselves differs
// at all: then its connections are made anew.
func seatsChange(old *member, sc *transport.ServerConfig) bool {
	return old.seats != nil && !sameRules(old.Config(), sc)
}

// ForPerson returns the config of a server with the person's values in its headers.
func ForPerson(cfg transport.ServerConfig, who schemas.Caller) (transport.ServerConfig, error) {
	cfg = copyConfig(cfg)
	cfg.AsPerson = false
	name := who.Name
	if name == "" {
		name = who.ID
	}
	for _, value := range slices.Concat([]string{who.ID, name}, who.Groups) {
		if strings.ContainsFunc(value, unicode.IsControl) {
			return cfg, errors.New("the name of the person or of a group has control characters, which no header may have")
		}
	}
	if slices.ContainsFunc(who.Groups, func(g string) bool { return strings.Contains(g, ",") }) {
		for _, value := range cfg.Headers {
			if strings.Contains(value, "${person.groups}") {
				return cfg, errors.New("the name of a group has a comma, so that it would look like two in a header")
			}
		}
	}
	values := strings.NewReplacer("${person.id}", who.ID, "${person.name}", name, "${person.groups}", strings.Join(who.Groups, ","))
	for header, value := range cfg.Headers {
		cfg.Headers[header] = values.Replace(value)
	}
	return cfg, nil
}

// PersonServers returns the names of the servers at which people log in as themselves.
func (m *Manager) PersonServers() []string {
	var names []string
	for _, s := range m.servers.Load().list {
		if cfg := s.Config(); s.seats != nil && cfg.Startable() && !cfg.HasAuthorization() {
			names = append(names, s.Name())
		}
	}
	return names
}

// PersonServer returns a server at which people log in as themselves, for the login of this person.
func (m *Manager) PersonServer(name string, who schemas.Caller) (oauth.Server, error) {
	if !slices.Contains(m.PersonServers(), name) {
		return oauth.Server{}, fmt.Errorf("%w %q at which people log in", transport.ErrUnknownServer, name)
	}
	s, err := m.server(name)
	if err != nil {
		return oauth.Server{}, err
	}
	cfg, err := ForPerson(*s.Config(), who)
	return cfg.LoginServer(), err
}

// LoggedIn tells a person's connection to a server that they have logged in: calls that wait for it go on
// at once. Other processes notice it within seconds.
func (m *Manager) LoggedIn(id, name string) {
	if s, err := m.server(name); err == nil && s.seats != nil {
		s.seats.loggedIn(id)
	}
}

// Disconnect closes a person's connection to a server.
func (m *Manager) Disconnect(id, name string) {
	if s, err := m.server(name); err == nil && s.seats != nil {
		s.seats.disconnect(id)
	}
}

// needsLogin is the text for the model when the person has to log in first.
func (s *server) loginNeeded(why string) schemas.ToolResult {
	text := "The person who asks is not connected to " + s.Name() + ", so nothing was called"
	if why != "" {
		text += ": " + why
	}
	if at := s.loginURL(); at != "" {
		text += ". They can connect at " + at + ", and ask again"
	}
	return schemas.ToolResult{Server: s.Name(), Output: quoted(text+".", s.settings.MaxResult), IsError: true}
}

func (s *server) loginURL() string {
	if s.settings.People.LoginURL == nil {
		return ""
	}
	return s.settings.People.LoginURL(s.Name())
}

// awaitPerson lets the person log in at the server that s is for them alone, and returns when they have.
// Otherwise it returns why not.
func (s *server) awaitPerson(ctx context.Context, person *schemas.Person, have func(look) bool) (why string) {
	at := s.loginURL()
	if at == "" || person.Ask == nil {
		return "they have to log in first"
	}
	ctx, cancel := context.WithTimeout(ctx, loginWait)
	defer cancel()
	answers := make(chan schemas.Answer, 1)
	asking, stopAsking := context.WithCancel(ctx)
	go func() {
		answer, err := person.Ask(asking, schemas.Question{Server: s.Name(), URL: at, Login: true, Message: "Connect to " + s.Name() + " as yourself, so that its tools can be used for you."})
		if err != nil {
			answer.Action = schemas.ActionCancel
		}
		answers <- answer
	}()
	asked := true
	defer func() {
		stopAsking()
		if asked {
			<-answers // it returns soon after its ctx ends
		}
	}()
	again := time.NewTicker(loginEvery)
	defer again.Stop()
	for {
		now := s.Look()
		if have(now) {
			return ""
		}
		waiting := answers
		if !asked {
			waiting = nil
		}
		select {
		case <-now.changed:
		case <-again.C:
		case answer := <-waiting:
			if asked = false; answer.Action != schemas.ActionAccept {
				return "they did not want to log in now"
			}
		case <-ctx.Done():
			return "they did not log in in time"
		}
	}
}
