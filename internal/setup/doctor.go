package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/serve"
	"molar/providers"
	"molar/schemas"
)

// A Level is the severity of a finding.
type Level string

// The levels of findings. With Warn, the host can serve, but not as configured.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "FAIL"
)

// A Finding is the result of one check.
type Finding struct {
	Level Level  `json:"level"`
	Part  string `json:"part"`
	// Text may have more lines, in which a program itself says what is wrong.
	Text string `json:"text"`
	// Remedy is what a person can do about it; empty if there is nothing to do.
	Remedy string `json:"do,omitempty"`
}

// ExamineOptions are the options of [Examine].
type ExamineOptions struct {
	CLI *cli.CLI
	// Attach is the longest wait for the servers.
	Attach time.Duration
}

// modelTimeout is the time limit of the check of the model's service.
const modelTimeout = 5 * time.Second

// Examine returns the findings of all checks, in the order in which a host starts. It gets the
// states of the servers from a running host, else it starts the servers and stops them again. It
// calls no model.
func Examine(ctx context.Context, options ExamineOptions) []Finding {
	findings := []Finding{{Level: OK, Part: "version", Text: cli.VersionLine()}}
	cfg, err := options.CLI.Load(nil)
	if err != nil {
		return append(findings, faults(err)...)
	}
	findings = append(findings, settings(cfg)...)
	if note := UnreadFile(options.CLI); note != "" {
		findings = append(findings, Finding{Level: Warn, Part: "config", Text: note})
	}
	findings = append(findings, permissions(cfg)...)
	findings = append(findings, desk(cfg)...)
	findings = append(findings, public(cfg)...)
	running, err := serve.Find(options.CLI, "")
	var status []schemas.ServerStatus
	if err == nil {
		status, err = running.Servers(ctx)
	}
	isRunning := err == nil
	findings = append(findings, listenPort(ctx, cfg.Listen, err), port(ctx, "mcp.listen", cfg.MCP.Listen))
	if _, err := host.OpenTopics(cfg); err != nil {
		for line := range strings.Lines(err.Error()) {
			findings = append(findings, Finding{Fail, "topics", strings.TrimSpace(line), ""})
		}
		return findings
	}
	if missing := host.MissingKnowledge(cfg); len(missing) > 0 {
		for _, folder := range missing {
			findings = append(findings, Finding{Fail, "knowledge", folder, "name one in knowledge.NAME.path, or make it"})
		}
		return findings
	}
	found, err := skills(cfg)
	if findings = append(findings, found...); err != nil {
		return findings
	}
	h, err := host.Open(ctx, cfg, slog.New(slog.DiscardHandler), host.Options{AttachWait: options.Attach, Elicit: host.AskNobody, Look: true, Once: true})
	if err != nil {
		remedy := "check that the disk has room and that " + cfg.DatabaseLabel() + " is writable, or set memory.store"
		return append(findings, Finding{Fail, "store", err.Error(), remedy})
	}
	defer h.Close() //nolint:contextcheck // the host must be closed even if ctx has ended
	findings = append(findings, storage(ctx, h), model(ctx, h))
	findings = append(findings, endpoints(ctx, h)...)
	if !isRunning {
		wait, cancel := context.WithTimeout(ctx, options.Attach)
		defer cancel()
		_ = h.MCP.Wait(wait, nil) // servers that are not ready by then get a finding
		status = h.Status()
	}
	if len(cfg.Knowledge) > 0 {
		var folders []schemas.KnowledgeStatus
		if isRunning {
			folders, err = running.Knowledge(ctx)
		}
		if !isRunning || err != nil { // without the scope admin they are read here
			folders = readFolders(ctx, h, options.Attach)
		}
		findings = append(findings, knowledge(cfg, folders)...)
	}
	return append(findings, servers(options.CLI, cfg, status)...)
}

// skills returns findings for the skills of each assistant; the error is that of a folder that is not there.
func skills(cfg *config.Config) (findings []Finding, err error) {
	all, err := host.SkillsOf(cfg)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			findings = append(findings, Finding{Fail, "skills", strings.TrimSpace(line), "name one in assistants.NAME.skills, or make it"})
		}
	}
	for _, s := range all {
		findings = append(findings, Finding{Level: OK, Part: "skills", Text: fmt.Sprintf("%s: %d", s.Assistant, s.Skills)})
		for _, line := range s.LeftOut {
			findings = append(findings, Finding{Warn, "skills", s.Assistant + ": left out: " + line, "docs/how-to/skills.md says what a skill needs"})
		}
	}
	return findings, err
}

// readFolders returns what the host reads of its folders; nothing if its tool server does not start, which
// is a finding of its own.
func readFolders(ctx context.Context, h *host.Host, atMost time.Duration) []schemas.KnowledgeStatus {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	_ = h.MCP.Wait(ctx, []string{schemas.ToolServer})
	folders, _ := host.Knowledge{Manager: h.MCP}.Read(ctx)
	return folders
}

// knowledge returns findings for each configured folder of knowledge.
func knowledge(cfg *config.Config, folders []schemas.KnowledgeStatus) (findings []Finding) {
	const few = 5
	for _, k := range folders {
		if _, ok := cfg.Knowledge.Get(k.Name); !ok { // the guide of a topic
			continue
		}
		findings = append(findings, Finding{Level: OK, Part: "knowledge", Text: fmt.Sprintf("%s: %s, passages: %d", k.Name, k.State(), k.Passages)})
		if unread := k.NotRead(few); unread != "" {
			findings = append(findings, Finding{Warn, "knowledge", k.Name + ": " + unread, "to see all of them: molar knowledge status --all"})
		}
		if k.Meaning != nil && k.Meaning.Problem != "" {
			findings = append(findings, Finding{Level: Warn, Part: "knowledge", Text: k.Name + ": words alone are compared: " + k.Meaning.Problem})
		}
	}
	return findings
}

// faults returns a finding for each line of an error of the settings.
func faults(err error) []Finding {
	var findings []Finding
	for line := range strings.Lines(err.Error()) {
		findings = append(findings, Finding{Fail, "config", strings.TrimSpace(line), ""})
	}
	findings[len(findings)-1].Remedy = "for all keys with their meaning: molar config init FILE"
	return findings
}

func settings(cfg *config.Config) []Finding {
	text := "none; the built-in settings apply"
	if cfg.File != "" {
		text = cfg.File + " is valid"
	}
	findings := []Finding{{Level: OK, Part: "config", Text: text}}
	if v := cfg.Variables; v.File != "" {
		findings = append(findings, Finding{Level: OK, Part: "config", Text: v.File + " is read with it, and sets " + orNone(v.Names)})
	}
	for _, note := range notes(cfg) {
		findings = append(findings, Finding{Level: Warn, Part: "config", Text: note})
	}
	if cfg.File == "" {
		findings[0].Remedy = "molar init writes one"
	}
	return findings
}

// permissions warns of files with secrets that other users of the machine can reach.
func permissions(cfg *config.Config) []Finding {
	if runtime.GOOS == "windows" {
		return nil
	}
	var findings []Finding
	for _, file := range []string{cfg.File, cfg.Variables.File, cfg.Database()} {
		if mode, exposed := config.Exposed(file); exposed {
			findings = append(findings, Finding{Warn, "permissions", fmt.Sprintf("others on this machine can reach %s (%s)", file, mode), "chmod 600 " + file})
		}
	}
	if len(findings) == 0 {
		return []Finding{{Level: OK, Part: "permissions", Text: "only their owner can reach config and conversations"}}
	}
	return findings
}

// desk checks that the answers and the tests of reviewers can be written.
func desk(cfg *config.Config) (findings []Finding) {
	check := func(setting, what, dir string) {
		if err := writable(dir); err != nil {
			findings = append(findings, Finding{Fail, "desk", fmt.Sprintf("%s cannot be written into %s: %s", what, dir, bare(err)), "make the folder of " + setting + " writable for the user who runs molar serve"})
			return
		}
		findings = append(findings, Finding{Level: OK, Part: "desk", Text: what + " can be written into " + dir})
	}
	for _, e := range cfg.Knowledge {
		if e.Value.Corrections {
			check("knowledge."+e.Name, "the answers of reviewers", serve.CorrectionsFolder(e.Value))
		}
	}
	if cfg.Review.Tests != "" {
		check("review.tests", "the tests of reviewers", cfg.Review.Tests)
	}
	return findings
}

// public tells who answers everybody, and checks what the config only names.
func public(cfg *config.Config) []Finding {
	p := cfg.Public
	if !p.On() {
		return nil
	}
	if _, _, err := p.ReadMark(); err != nil {
		return []Finding{{Fail, "public", err.Error(), "name a picture that can be read, or remove public.mark"}}
	}
	return []Finding{{Level: OK, Part: "public", Text: fmt.Sprintf("%s answers visitors of %s; what they wrote is erased after %s", p.Assistant, strings.Join(p.Origins, ", "), p.Keep)}}
}

// writable writes a file into a folder, or into the one in which the folder would be made, and deletes it.
func writable(dir string) error {
	for {
		f, err := os.CreateTemp(dir, ".molar-doctor-*")
		switch parent := filepath.Dir(dir); {
		case err == nil:
			return errors.Join(f.Close(), os.Remove(f.Name()))
		case !errors.Is(err, fs.ErrNotExist) || parent == dir:
			return err
		default:
			dir = parent
		}
	}
}

// bare returns the reason of an error of a file, without its name.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// listenPort reports whether a molar is running at the address or the address is free. err is that
// of the request to the running molar.
func listenPort(ctx context.Context, address string, err error) Finding {
	switch {
	case err == nil:
		return Finding{Level: OK, Part: "port", Text: fmt.Sprintf("listen %s: a molar is running there", address)}
	case errors.Is(err, serve.ErrRefused):
		return Finding{Warn, "port", fmt.Sprintf("listen %s: a molar is running there, which refused the request because it requires an API key", address), "put one into MOLAR_API_KEY: molar keys create NAME"}
	}
	return port(ctx, "listen", address)
}

// port reports whether an address is free.
func port(ctx context.Context, key, address string) Finding {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return Finding{Fail, "port", fmt.Sprintf("%s %s: %s", key, address, reason(err)), "stop the program that uses it, or set " + key + " to another address"}
	}
	_ = l.Close()
	return Finding{Level: OK, Part: "port", Text: fmt.Sprintf("%s %s is free", key, address)}
}

func reason(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err.Error()
	}
	return err.Error()
}

func storage(ctx context.Context, h *host.Host) Finding {
	if err := h.DB.Check(ctx); err != nil {
		return Finding{Fail, "store", err.Error(), "restore a backup: docs/operations.md"}
	}
	if h.Config.Memory.URL != "" {
		return Finding{Level: OK, Part: "store", Text: "conversations are stored at " + h.Config.Memory.URL}
	}
	return Finding{Level: OK, Part: "store", Text: h.Config.Database() + " is sound"}
}

// model checks which model would answer now.
func model(ctx context.Context, h *host.Host) Finding {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	route, err := h.Chain.Warm(ctx)
	if err != nil {
		remedy := "start the service, set its key, or name another one in llm.provider"
		if fault, ok := errors.AsType[*providers.Error](err); ok && fault.Kind == providers.KindAuth {
			remedy = keyRemedy(h.Config, fault.Provider)
		}
		return Finding{Fail, "model", err.Error(), remedy}
	}
	name := route.Provider.Name()
	if name == providers.Offline {
		return Finding{Warn, "model", "none: tools are chosen by keywords, and their results are quoted", modelRemedy()}
	}
	e, _ := h.Config.LLM.Endpoint(name)
	switch err := reach(ctx, h, name); {
	case providers.KindOf(err) == providers.KindAuth:
		return Finding{Fail, "model", fmt.Sprintf("%s refuses the key: %v", name, err), keyRemedy(h.Config, name)}
	case err != nil:
		return Finding{Warn, "model", fmt.Sprintf("%s would be asked with %s, and does not answer: %v", name, route.Model, err), "start the service, or check " + e.Setting}
	}
	text := fmt.Sprintf("%s answers with %s", name, route.Model)
	if envKeyWithheld(h.Config.LLM, e) {
		text += fmt.Sprintf("; %s is not sent there, unless %s has key: ${%[1]s}", e.Service.Keys[0], e.Setting)
	}
	return Finding{Level: OK, Part: "model", Text: text}
}

// reach asks the endpoint that answers for its models, and returns why it would not. It may have no list.
func reach(ctx context.Context, h *host.Host, name string) error {
	_, err := h.Chain.Models(ctx, name)
	if fault, ok := errors.AsType[*providers.Error](err); ok && slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, fault.Status) {
		return nil
	}
	return err
}

// endpoints checks the endpoints that the settings name and that would not answer now: the others of
// llm.provider, that of an assistant, and that of llm.small.
func endpoints(ctx context.Context, h *host.Host) []Finding {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	routes := host.Routes{Chain: h.Chain}
	var first string
	if route, err := routes.Pick(ctx, "", "", ""); err == nil {
		first = route.Provider.Name()
	} else if fault, ok := errors.AsType[*providers.Error](err); ok {
		first = fault.Provider // the model has this finding
	}
	var findings []Finding
	for _, name := range h.Config.EndpointsInUse() {
		if name == first || h.Config.LLM.MissingKey(name) != "" { // the settings have a note of that
			continue
		}
		route, err := routes.Pick(ctx, name, "", "")
		if err == nil {
			_, err = h.Chain.Models(ctx, name)
		}
		e, _ := h.Config.LLM.Endpoint(name)
		switch {
		case err == nil:
			findings = append(findings, Finding{Level: OK, Part: "model", Text: fmt.Sprintf("%s is ready with %s", name, route.Model)})
		case providers.KindOf(err) == providers.KindAuth:
			findings = append(findings, Finding{Warn, "model", fmt.Sprintf("%s refuses the key: %v", name, err), keyRemedy(h.Config, name)})
		default:
			findings = append(findings, Finding{Warn, "model", err.Error(), "start the service, or check " + e.Setting})
		}
	}
	return findings
}

// modelRemedy returns how to get a model, from a service or on this machine.
func modelRemedy() string {
	var fetch []string
	for _, s := range providers.Services() {
		if s.Fetch != "" {
			fetch = append(fetch, s.Fetch)
		}
	}
	return providers.HowToGetOne("set", "or", "start") + " and: " + providers.List(fetch, "or")
}

// keyRemedy returns what to do if a provider refused the key or received none.
func keyRemedy(cfg *config.Config, provider string) string {
	e, ok := cfg.LLM.Endpoint(provider)
	switch {
	case !ok || e.Key != "" || e.IsBuiltIn() && e.AtHome():
		return "set another key"
	case cfg.File == "":
		return "set " + config.EnvVariable(e.Setting+".key")
	case e.IsBuiltIn() && cfg.LLM.Keys[provider] != "":
		return fmt.Sprintf("to send it %s, write key: ${%[1]s} below %s", e.Service.Keys[0], e.Setting)
	default:
		return "write key: ${MODEL_KEY} below " + e.Setting + ", and put MODEL_KEY=… into " + config.VariablesFile(cfg.File)
	}
}

// envKeyWithheld reports whether the key of a service is set in the environment but not sent, because
// the service's block is another server without a key.
func envKeyWithheld(llm config.LLM, e config.Endpoint) bool {
	return e.IsBuiltIn() && llm.Keys[e.Name] != "" && e.Key == "" && !e.AtHome()
}

// bundled is the transport of the host's own servers.
const bundled = "in-process"

// servers returns a finding for each configured server, and for bundled servers that failed.
func servers(c *cli.CLI, cfg *config.Config, status []schemas.ServerStatus) []Finding {
	findings := make([]Finding, 0, len(status))
	for _, s := range status {
		if s.Transport == bundled && s.State == schemas.StateReady {
			continue
		}
		f := Finding{Level: OK, Part: "server", Text: strings.Join(append([]string{host.Hint(c, host.ServerLine(s))}, host.ServerWords(s)...), "\n")}
		if s.State != schemas.StateReady && s.State != schemas.StateDisabled {
			f.Level, f.Remedy = Fail, host.Hint(c, "see its messages: molar servers list --trace")
			if server, _ := cfg.MCPServers.Get(s.Name); len(server.UnsetVariables) > 0 {
				f.Remedy = fmt.Sprintf("put %s=… into %s", strings.Join(server.UnsetVariables, "=… and "), config.VariablesFile(cfg.File))
			}
		}
		findings = append(findings, f)
		for _, line := range s.Visitors {
			findings = append(findings, Finding{Level: Warn, Part: "public", Text: s.Name + ": not for visitors: " + line})
		}
	}
	// A running molar with other settings does not know every server of these.
	for _, name := range cfg.MCPServers.Names() {
		if !slices.ContainsFunc(status, func(s schemas.ServerStatus) bool { return s.Name == name }) {
			findings = append(findings, Finding{Warn, "server", fmt.Sprintf("the molar that runs at %s has other settings: it does not have %s", cfg.Listen, name), "end it, or start one with these settings at another address: molar serve --listen 127.0.0.1:8010"})
		}
	}
	if len(findings) == 0 {
		return []Finding{{Level: OK, Part: "server", Text: "none is attached", Remedy: "attach one: molar servers add"}}
	}
	return findings
}
