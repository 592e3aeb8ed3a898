package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/serve"
	"molar/providers"
	"molar/schemas"
)

// A Level is how bad a finding is.
type Level string

// The levels of findings. With Warn the host serves, but not all that was meant.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "FAIL"
)

// A Finding is what was seen of one part.
type Finding struct {
	Level Level  `json:"level"`
	Part  string `json:"part"`
	Text  string `json:"text"`
	// Do is what a person can do about it; empty when all is well.
	Remedy string `json:"do,omitempty"`
}

// A Config is what is looked at.
type ExamineOptions struct {
	CLI *cli.CLI
	// Attach bounds the wait for the servers.
	Attach time.Duration
}

// modelTime bounds the question to a model's service.
const modelTimeout = 5 * time.Second

// Examine returns a finding for each part, in the order in which a host starts. Servers
// are started and stopped again, unless a running host can be asked for them; no model
// is called.
func Examine(ctx context.Context, c ExamineOptions) []Finding {
	findings := []Finding{{Level: OK, Part: "version", Text: cli.VersionLine()}}
	cfg, err := c.CLI.Load(nil)
	if err != nil {
		return append(findings, faults(err)...)
	}
	findings = append(findings, settings(cfg)...)
	findings = append(findings, permissions(cfg)...)
	near, err := serve.Find(c.CLI, "")
	var status []schemas.ServerStatus
	if err == nil {
		status, err = near.Servers(ctx)
	}
	runs := err == nil
	findings = append(findings, listenPort(ctx, cfg.Listen, err), port(ctx, "mcp.listen", cfg.MCP.Listen))
	h, err := host.Open(ctx, cfg, slog.New(slog.DiscardHandler), host.Options{AttachWait: c.Attach})
	if err != nil {
		way := "see that the disk has room and that " + cfg.DatabaseLabel() + " may be written, or set memory.store"
		return append(findings, Finding{Fail, "store", err.Error(), way})
	}
	defer h.Close() //nolint:contextcheck // what ctx ends is still to be closed
	findings = append(findings, storage(ctx, h), model(ctx, h))
	if !runs {
		wait, cancel := context.WithTimeout(ctx, c.Attach)
		defer cancel()
		_ = h.MCP.Wait(wait, nil) // what is not there by then has its own line
		status = h.MCP.Status()
	}
	return append(findings, servers(cfg, status)...)
}

// faults are the lines of an error of the settings.
func faults(err error) []Finding {
	var findings []Finding
	for line := range strings.Lines(err.Error()) {
		findings = append(findings, Finding{Fail, "config", strings.TrimSpace(line), ""})
	}
	findings[len(findings)-1].Remedy = "all keys with their meaning: molar config init FILE"
	return findings
}

func settings(cfg *config.Config) []Finding {
	text := "none; the built-in settings hold"
	if cfg.File != "" {
		text = cfg.File + " is valid"
	}
	findings := []Finding{{Level: OK, Part: "config", Text: text}}
	if v := cfg.Variables; v.File != "" {
		findings = append(findings, Finding{Level: OK, Part: "config", Text: v.File + " is read with it, and has " + orNone(v.Names)})
	}
	for _, note := range notes(cfg) {
		findings = append(findings, Finding{Level: Warn, Part: "config", Text: note})
	}
	if cfg.File == "" {
		findings[0].Remedy = "molar init writes one"
	}
	return findings
}

// permissions warns of files with secrets that other people of the machine can read.
func permissions(cfg *config.Config) []Finding {
	if runtime.GOOS == "windows" {
		return nil
	}
	var findings []Finding
	for _, file := range []string{cfg.File, cfg.Variables.File, cfg.Database()} {
		if mode, is := config.Exposed(file); is {
			findings = append(findings, Finding{Warn, "permissions", fmt.Sprintf("others on this machine can reach %s (%s)", file, mode), "chmod 600 " + file})
		}
	}
	if len(findings) == 0 {
		return []Finding{{Level: OK, Part: "permissions", Text: "config and conversations are for their owner alone"}}
	}
	return findings
}

// listens reports whether a host of ours listens, which answered with an error, or the address
// is free.
func listenPort(ctx context.Context, address string, answered error) Finding {
	switch {
	case answered == nil:
		return Finding{Level: OK, Part: "port", Text: fmt.Sprintf("listen %s: a molar is running there", address)}
	case errors.Is(answered, serve.ErrRefused):
		return Finding{Warn, "port", fmt.Sprintf("listen %s: a molar is running there, and was not asked, as it wants an API key", address), "put one into MOLAR_API_KEY: molar keys create NAME"}
	}
	return port(ctx, "listen", address)
}

// port reports whether an address is free.
func port(ctx context.Context, key, address string) Finding {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return Finding{Fail, "port", fmt.Sprintf("%s %s: %s", key, address, reason(err)), "end the program that has it, or set " + key + " to another address"}
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
		return Finding{Level: OK, Part: "store", Text: "conversations are kept by " + h.Config.Memory.URL}
	}
	return Finding{Level: OK, Part: "store", Text: h.Config.Database() + " is sound"}
}

// model finds which model would answer now.
func model(ctx context.Context, h *host.Host) Finding {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	route, err := h.Chain.Warm(ctx)
	if err != nil {
		way := "start the service, set its key, or choose another provider: molar init"
		if fault, ok := errors.AsType[*providers.Error](err); ok && fault.Kind == providers.KindAuth {
			way = keyRemedy(h.Config, fault.Provider)
		}
		return Finding{Fail, "model", err.Error(), way}
	}
	name := route.Provider.Name()
	if name == providers.Offline {
		return Finding{Warn, "model", "none: tools are chosen by words, and quoted", modelRemedy()}
	}
	if _, err := h.Chain.Models(ctx, name); providers.KindOf(err) == providers.KindAuth {
		return Finding{Fail, "model", fmt.Sprintf("%s refuses the key: %v", name, err), keyRemedy(h.Config, name)}
	}
	text := fmt.Sprintf("%s answers with %s", name, route.Model)
	if name == providers.OpenAI && envKeyWithheld(h.Config.LLM) {
		text += "; OPENAI_API_KEY is not sent there, unless llm.openai has key: ${OPENAI_API_KEY}"
	}
	return Finding{Level: OK, Part: "model", Text: text}
}

// toHaveOne tells how to get a model, also on this machine.
func modelRemedy() string {
	var fetch []string
	for _, s := range providers.Services() {
		if s.Fetch != "" {
			fetch = append(fetch, s.Fetch)
		}
	}
	return providers.HowToGetOne("set", "or", "start") + " and: " + providers.List(fetch, "or")
}

// otherKey says what to do about a key that a provider refused, or was not sent.
func keyRemedy(cfg *config.Config, provider string) string {
	switch {
	case provider != providers.OpenAI || cfg.LLM.AtOpenAI() || cfg.LLM.OpenAI.Key != "":
		return "set another key"
	case cfg.File == "":
		return "set MOLAR_LLM_OPENAI_KEY"
	case cfg.LLM.Keys[providers.OpenAI] != "":
		return "to send it OPENAI_API_KEY, write key: ${OPENAI_API_KEY} below llm.openai"
	default:
		return "write key: ${MODEL_KEY} below llm.openai, and put MODEL_KEY=… into " + config.VariablesFile(cfg.File)
	}
}

// unsent reports whether the environment has OpenAI's key while another server is asked,
// without a key.
func envKeyWithheld(llm config.LLM) bool {
	return llm.Keys[providers.OpenAI] != "" && llm.OpenAI.Key == "" && !llm.AtOpenAI()
}

// bundled is the transport of the host's own servers.
const bundled = "in-process"

// servers has a line for each server of the file, and for one of our own that failed.
func servers(cfg *config.Config, status []schemas.ServerStatus) []Finding {
	findings := make([]Finding, 0, len(status))
	for _, s := range status {
		if s.Transport == bundled && s.State == schemas.StateReady {
			continue
		}
		f := Finding{Level: OK, Part: "server", Text: host.ServerLine(s)}
		if s.State != schemas.StateReady && s.State != schemas.StateDisabled {
			f.Level, f.Remedy = Fail, "see its messages: molar servers list --trace"
			if server, _ := cfg.MCPServers.Get(s.Name); len(server.UnsetVariables) > 0 {
				f.Remedy = fmt.Sprintf("put %s=… into %s", strings.Join(server.UnsetVariables, "=… and "), config.VariablesFile(cfg.File))
			}
		}
		findings = append(findings, f)
	}
	if len(findings) == 0 {
		return []Finding{{Level: OK, Part: "server", Text: "none is attached", Remedy: "attach one: molar init, or mcpServers in the config file"}}
	}
	return findings
}
