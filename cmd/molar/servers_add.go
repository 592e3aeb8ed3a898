package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molar/agent/offer"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/serve"
	"molar/internal/setup"
	"molar/internal/terminal"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// addFlags are the flags of servers add.
type addFlags struct {
	env, headers []string
	secret       bool
	noCheck      bool
	server       config.NewServer // of the other flags
}

func newAddCmd(a *app, listen, format *string) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add NAME URL | add NAME -- COMMAND [ARGUMENTS...]",
		Short: "Add a server to the config file, after attaching it once",
		Long: `Add a server to the config file, after attaching it once.

The entry becomes the last one of mcpServers; nothing else in the file changes, and a file
that does not exist is made. A value that looks secret, in a variable, a header, an argument
or the address, becomes a reference such as ${NOTES_TOKEN}; the value itself goes into a
second file that only you can read: molar.env for molar.yaml. --env NAME without a value
refers to the variable NAME, and at a terminal asks for its value without showing it.

The server is attached once, without a model, to see its tools. At a terminal you are then
asked whether its tools do what Molar takes them to do; molar servers approve NAME asks
again. When the server cannot be attached, the reason is printed, and nothing is written
unless you say so at the terminal; --no-check writes the entry without attaching it. A
server that wants a login is written: molar servers login NAME. A running molar serve
attaches the server by itself.`,
		Example: `  molar servers add files -- npx -y @modelcontextprotocol/server-filesystem ~/Documents
  molar servers add notes --env NOTES_TOKEN -- uvx notes-mcp
  molar servers add tickets https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN"`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			s, err := f.newServer(args, cmd.ArgsLenAtDash())
			if err != nil {
				return cli.Usage(errors.New(a.hint(err.Error())))
			}
			return (&adding{app: a, flags: f, listen: *listen, format: *format}).run(cmd.Context(), s)
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return hintDashes(err, cmd.Flags().Args(), a.args, a.hint) })
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.env, "env", "e", nil, "environment variable of the command: `NAME=VALUE`, or NAME to refer to it; may be repeated")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "HTTP header of every request: `\"Name: value\"`; may be repeated")
	flags.BoolVar(&f.secret, "secret", false, "keep every value of --env and --header out of the config file")
	flags.StringVarP(&f.server.Type, "type", "t", "", "transport: http, sse or message (default http for an address)")
	flags.StringVar(&f.server.Type, "transport", "", "as --type")
	_ = flags.MarkHidden("transport") // the name in other hosts; the flag exists
	flags.StringVar(&f.server.Cwd, "cwd", "", "`folder` in which the command runs")
	flags.StringVar(&f.server.Timeout, "timeout", "", "longest `time` of one tool call, such as 2m")
	flags.StringVar(&f.server.As, "as", "", "person: each person has their own login (see docs/people.md)")
	flags.BoolVar(&f.noCheck, "no-check", false, "write the entry without attaching the server")
	completeFlag(cmd, "type", fixed("http", "sse", "message"))
	completeFlag(cmd, "as", fixed(config.AsPerson, config.AsHost))
	completeFlag(cmd, "header", cobra.NoFileCompletions)
	completeFlag(cmd, "env", cobra.NoFileCompletions)
	return cmd
}

// hintDashes adds to the error about an unknown flag how to write a command with flags of its own:
// the same line with -- in front of the command.
func hintDashes(err error, read, line []string, hint func(string) string) error {
	const wanted = "; options of the server's own command go behind --: molar servers add NAME -- COMMAND ARGUMENTS"
	at := slices.Index(line, "add")
	if len(read) < 2 || at < 0 {
		return fmt.Errorf("%w%s", err, hint(wanted))
	}
	name := at + 1 + slices.Index(line[at+1:], read[0])
	command := name + 1 + slices.Index(line[name+1:], read[1])
	return fmt.Errorf("%w; put -- before the server's own command: molar %s", err, terminal.Shell(slices.Concat(line[:command], []string{"--"}, line[command:])...))
}

// newServer returns the server that the arguments and flags name. dash is the number of arguments
// before --, or -1.
func (f addFlags) newServer(args []string, dash int) (config.NewServer, error) {
	s := f.server
	s.Secret = f.secret
	isURL := len(args) == 2 && (strings.HasPrefix(args[1], "http://") || strings.HasPrefix(args[1], "https://"))
	switch {
	case dash < 0 && isURL, dash == 2 && isURL:
		s.Name, s.URL = args[0], args[1]
	case dash == 1 && len(args) == 2 && strings.Contains(args[1], " ") && !strings.ContainsAny(args[1], `/\`):
		return s, fmt.Errorf("put -- before the command, and no quotes around the whole of it: molar servers add %s -- %s", terminal.Shell(args[0]), args[1])
	case dash == 1 && len(args) > 1:
		s.Name, s.Command, s.Args = args[0], args[1], args[2:]
	case dash == 0 && len(args) > 1:
		return s, fmt.Errorf("the name of the server goes before --: molar servers add %s -- %s", terminal.Shell(args[0]), terminal.Shell(args[1:]...))
	case len(args) > 1:
		return s, fmt.Errorf("put -- before the command: molar servers add %s -- %s; an address begins with http:// or https://", terminal.Shell(args[0]), terminal.Shell(args[1:]...))
	default:
		return s, errors.New("want a name, and an address or -- and a command: molar servers add NAME URL, or molar servers add NAME -- COMMAND ARGUMENTS")
	}
	for _, pair := range f.env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			value = "${" + name + "}"
		}
		if name == "" {
			return s, errors.New("--env: want NAME=VALUE, or NAME alone")
		}
		set(&s.Env, name, value)
	}
	for _, header := range f.headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return s, errors.New(`--header: want "Name: value"`) // it is not quoted: it may be the secret alone
		}
		set(&s.Headers, strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if err := hideUser(&s); err != nil {
		return s, err
	}
	return s, makeAbsolute(&s)
}

// hideUser sends the user and password of an address as a header.
func hideUser(s *config.NewServer) error {
	at, err := url.Parse(s.URL)
	if err != nil && strings.Contains(s.URL, "${") { // a host may be a reference; no user and password are
		if at, err = url.Parse(regexp.MustCompile(`\$\{[^{}]*\}`).ReplaceAllString(s.URL, "x")); err == nil && at.User != nil {
			return errors.New("the address of the server holds a reference and a user: send these with --header instead")
		}
	}
	if err != nil {
		return errors.New("the address of the server is invalid; put it into quotes if it contains characters such as & or ?") // it is not quoted: it may hold a secret
	}
	if at.User == nil {
		return nil
	}
	password, _ := at.User.Password()
	set(&s.Headers, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(at.User.Username()+":"+password)))
	at.User = nil
	s.URL = at.String()
	return nil
}

// makeAbsolute makes paths absolute that a person means from the working folder: in the file they
// would begin at its own folder.
func makeAbsolute(s *config.NewServer) error {
	for _, path := range []*string{&s.Command, &s.Cwd} {
		if isProgram := path == &s.Command && !strings.ContainsAny(*path, `/\`); *path == "" || isProgram || strings.HasPrefix(*path, "${") {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("find %s: %w", *path, err)
		}
		*path = absolute
	}
	return nil
}

// isRelative reports whether an argument of a command without a folder is a path from the working folder.
func isRelative(arg, cwd string) bool {
	switch {
	case cwd != "":
		return false
	case arg == ".", arg == "..", strings.HasPrefix(arg, "./"), strings.HasPrefix(arg, "../"):
		return true
	case arg == "", strings.HasPrefix(arg, "-"), filepath.IsAbs(arg):
		return false
	}
	info, err := os.Stat(arg)
	return err == nil && (info.Mode().IsRegular() || strings.Contains(arg, "/")) // a bare word can be a subcommand
}

func set(all *map[string]string, name, value string) {
	if *all == nil {
		*all = map[string]string{}
	}
	(*all)[name] = value
}

// An adding is one run of servers add.
type adding struct {
	*app
	flags          addFlags
	listen, format string
	talk           *setup.Dialogue // nil without a terminal
	file           *setup.ConfigFile
	secrets        *setup.SecretsFile
	converted      *config.HostFile
}

// An addedServer is what servers add prints as JSON.
type addedServer struct {
	Server    string                `json:"server"`
	File      string                `json:"file"`
	Variables []string              `json:"variables,omitempty"` // whose values the second file now has
	Status    *schemas.ServerStatus `json:"status,omitempty"`    // nil if the server was not attached
	Confirmed bool                  `json:"confirmed"`
}

func (r *adding) run(ctx context.Context, s config.NewServer) error {
	path, err := r.configName(nil)
	if err != nil {
		return err
	}
	if keyboard, ok := r.Stdin.(*os.File); ok && cli.IsTerminal(keyboard) {
		r.talk = &setup.Dialogue{In: bufio.NewReader(keyboard), Out: r.Stderr}
		r.talk.Hidden = func(ctx context.Context) (string, error) { return cli.ReadHidden(ctx, keyboard) }
	}
	if r.file, err = setup.OpenConfigFile(path); err != nil {
		return err
	}
	cfg, err := r.loadText(path, r.file.Text, nil)
	if err != nil {
		return cli.Usage(fmt.Errorf("%w\nnothing was changed: correct that first", err))
	}
	if r.secrets, err = setup.OpenSecretsFile(config.VariablesFile(path), r.Env); err != nil {
		return err
	}
	taken := cfg.MCPServers.Names()
	if err := config.CheckServerName(s.Name, taken); err != nil {
		return cli.Usage(errors.New(r.hint(err.Error())))
	}
	if r.converted, err = s.Convert(taken, r.secrets.Conflicts, r.file.Text); err != nil {
		return cli.Usage(fmt.Errorf("%w; nothing was changed", err))
	}
	for _, arg := range s.Args {
		if isRelative(arg, s.Cwd) {
			r.Note("%s", terminal.Clean("the argument "+arg+" is looked up in the folder in which molar is started; for this folder write the path out, or use --cwd ."))
			break
		}
	}
	if err := r.askValues(ctx); err != nil {
		return err
	}
	text, err := config.AddServers(r.file.Text, r.converted)
	if errors.Is(err, config.ErrNotEditable) {
		return r.refuseEdit(err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	if cfg, err = r.loadText(path, text, r.converted.Variables); err != nil {
		return cli.Usage(fmt.Errorf("with this server the file would be invalid; nothing was changed\n%w", err))
	}
	entry, _ := cfg.MCPServers.Get(s.Name)
	switch {
	case r.flags.noCheck:
	case entry.UnsetFault != "":
		r.Note("%s", terminal.Clean("it is not attached yet: "+entry.UnsetFault))
	default:
		return r.attachFirst(ctx, cfg, s.Name, text)
	}
	done := addedServer{Server: s.Name, File: path}
	if err := r.write(text, &done); err != nil {
		return err
	}
	return r.report(ctx, done)
}

// loadText loads a text as the config file, with the values of variables that are not stored yet.
func (a *app) loadText(path string, text []byte, variables []config.Variable) (*config.Config, error) {
	opts := a.Options(nil)
	opts.Path, opts.Explicit, opts.Content = path, true, text
	opts.Env = func(name string) (string, bool) {
		for _, v := range variables {
			if v.Name == name && v.Value != "" {
				return v.Value.Reveal(), true
			}
		}
		return a.Env(name)
	}
	return config.Load(opts)
}

// askValues asks for the values of variables that have none yet.
func (r *adding) askValues(ctx context.Context) error {
	if r.talk == nil {
		return nil
	}
	for i := range r.converted.Variables {
		v := &r.converted.Variables[i]
		if v.Value != "" || r.secrets.Has(v.Name) {
			continue
		}
		var err error
		if v.Value, err = r.talk.Value(ctx, v.Name); err != nil {
			return err
		}
	}
	return nil
}

// refuseEdit prints what a person may add to the file by hand.
func (r *adding) refuseEdit(err error) error {
	text, textErr := r.converted.TextFor(nil)
	if textErr == nil {
		r.Say("%s", terminal.Clean(strings.TrimSuffix(text, "\n")))
	}
	return fmt.Errorf("%s: %w; add the entry that is printed here by hand", r.file.Path, err)
}

// attachFirst attaches the server alone, and then writes the file.
func (r *adding) attachFirst(ctx context.Context, cfg *config.Config, name string, text []byte) error {
	alone := *cfg
	entry, _ := cfg.MCPServers.Get(name)
	alone.MCPServers = config.Map[config.Server]{{Name: name, Value: entry}}
	h, err := r.openHost(ctx, &alone, toolsFlags{look: true, quiet: true})
	if err != nil {
		return fmt.Errorf("%w\nnothing was changed; to write the entry without attaching the server: --no-check", err)
	}
	defer h.Close()
	if slices.Contains(h.AddedNames(), name) {
		return fmt.Errorf("a server %q was added on the tools page, which this entry would hide; choose another name, or remove that one there", name)
	}
	all := proposed(h)
	i := slices.IndexFunc(all, func(s schemas.ServerStatus) bool { return s.Name == name })
	if i < 0 {
		return fmt.Errorf("the host does not list %q", name)
	}
	status := all[i]
	works := status.State == schemas.StateReady || status.State == schemas.StateDegraded
	if !works && !wantsLogin(status) {
		if err := r.keepBroken(ctx, status); err != nil {
			return err
		}
	}
	done := addedServer{Server: name, File: r.file.Path, Status: &status}
	if err := r.write(text, &done); err != nil {
		return err
	}
	if works && r.format != cli.JSON {
		r.describe(h, status)
	}
	if works && r.format != cli.JSON && r.talk != nil {
		r.sayProposal(status.Proposal)
		if done.Confirmed, err = confirmMarks(ctx, r.talk, status.Proposal, ownHost{h}); err != nil {
			return err
		}
	}
	return r.report(ctx, done)
}

// wantsLogin reports whether a server only waits for a person's login.
func wantsLogin(s schemas.ServerStatus) bool {
	return strings.Contains(s.Reason, "molar servers login "+s.Name)
}

// keepBroken lets a person at a terminal decide whether a server is written that could not be
// attached. Without a terminal it is not.
func (r *adding) keepBroken(ctx context.Context, status schemas.ServerStatus) error {
	fault := errors.New(terminal.Clean(r.hint(asTyped(status.Name, host.ServerLine(status)))))
	if r.talk == nil {
		return fmt.Errorf("%w\nnothing was changed; to write the entry all the same: --no-check", fault)
	}
	r.Note("%s", fault)
	yes, err := r.talk.Confirm(ctx, "Write it to "+r.file.Path+" all the same?", false)
	if err == nil && !yes {
		r.Note("nothing was changed")
		err = cli.Exit(cli.Failure)
	}
	return err
}

// asTyped names what a person typed, in place of the key of an entry that is in no file.
func asTyped(server, text string) string {
	var pairs []string
	for _, p := range [][2]string{
		{"in %s.headers", "with --header"},
		{"%s.command", "the command behind --"},
		{"%s.url", "the address"},
		{"%s.cwd", "--cwd"},
		{"%s.timeout", "--timeout"},
		{"%s.start_timeout", "start_timeout in an entry written with --no-check"},
	} {
		pairs = append(pairs, fmt.Sprintf(p[0], "mcpServers."+server), p[1])
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	entry := regexp.MustCompile(`mcpServers\.` + regexp.QuoteMeta(server) + `($|[^.\w-])`)
	return entry.ReplaceAllString(text, "what you typed, such as the values of --env$1")
}

// write writes the values of the variables and then the file, so that a running host finds both. Values of
// an entry that cannot be written do not stay.
func (r *adding) write(text []byte, done *addedServer) error {
	if err := r.file.Unchanged(); err != nil {
		return err
	}
	has, other, err := r.secrets.Add(r.converted.Variables)
	if err != nil {
		return err
	}
	if err := r.file.Replace(text); err != nil {
		return errors.Join(err, r.secrets.TakeBack())
	}
	done.Variables = has
	if r.format == cli.JSON {
		return nil
	}
	into := "added %s to %s"
	if r.file.New {
		into += ", which is new and holds nothing else"
	}
	r.Say(into, done.Server, r.file.Path)
	r.sayVariables(r.secrets, has, other)
	return nil
}

// describe prints what a server that was attached offers.
func (r *adding) describe(h *host.Host, status schemas.ServerStatus) {
	tools := h.MCP.Catalogue().Tools()
	tools = slices.DeleteFunc(slices.Clone(tools), func(t schemas.Tool) bool { return t.Server != status.Name })
	status.Unconfirmed = false                                                    // report says it
	_ = r.listServers([]schemas.ServerStatus{status}, cli.Text, host.ServerWords) // as text, it cannot fail
	findings, _ := toolhandler.Tools(tools, providers.Lowerings(), h.RefusedBy, false)
	changed, refused := map[string]bool{}, map[string]bool{}
	for _, f := range findings {
		changed[f.Tool] = changed[f.Tool] || len(f.Notes) > 0
		refused[f.Tool] = refused[f.Tool] || f.Refused != ""
	}
	line := fmt.Sprintf("  they take about %d tokens", offer.Size(offer.Infos(tools))/offer.TokenBytes)
	if n := countTrue(changed); n > 0 {
		line += fmt.Sprintf("; the schemas of %d are changed to fit a provider", n)
	}
	if n := countTrue(refused); n > 0 {
		line += fmt.Sprintf("; %d are refused by a provider", n)
	}
	r.Say("%s; in detail: %s", line, r.hint("molar tools lint"))
}

func countTrue(all map[string]bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

// report prints what comes next.
func (r *adding) report(ctx context.Context, done addedServer) error {
	if r.format == cli.JSON {
		return r.PrintJSON(done)
	}
	r.sayConfirmed(done.Server, done.Confirmed)
	if s := done.Status; s != nil && s.Unconfirmed && !done.Confirmed {
		r.Say("nobody has confirmed what its tools do: %s", r.hint("molar servers approve "+done.Server))
	}
	if done.Status != nil && wantsLogin(*done.Status) {
		what := "molar servers login " + done.Server
		if _, tail, ok := strings.Cut(done.Status.Reason, " wants a login: run "); ok { // it may name another way
			what = tail
		}
		r.Say("it wants a login: %s", terminal.Clean(r.hint(what)))
	}
	if r.isServed(ctx, r.listen) {
		r.Say("the running host takes it from the file by itself; see: %s", r.hint("molar servers list"))
	}
	return nil
}

// isServed reports whether a host runs.
func (a *app) isServed(ctx context.Context, listen string) bool {
	far, err := serve.Find(a.CLI, listen)
	if err != nil {
		return false
	}
	_, err = far.Servers(ctx)
	return err == nil || errors.Is(err, serve.ErrRefused)
}
