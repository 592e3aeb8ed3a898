package setup

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
)

// Summary returns lines that summarise valid settings, with notes on what may need attention. It
// contains no secrets.
func Summary(cfg *config.Config) []string {
	source := "no config file: the built-in settings are valid"
	if cfg.File != "" {
		source = cfg.File + " is valid"
	}
	servers := make([]string, 0, len(cfg.MCPServers))
	for _, e := range cfg.MCPServers {
		label := e.Value.Label()
		if e.Value.Disabled {
			label = "disabled"
		}
		servers = append(servers, fmt.Sprintf("%s (%s)", e.Name, label))
	}
	lines := []string{
		source,
		"listen:     " + cfg.Listen,
		"provider:   " + strings.Join(cfg.LLM.Provider, ", "),
		"assistants: " + strings.Join(cfg.Assistants.Names(), ", ") + " (default " + cfg.Default + ")",
		"servers:    " + orNone(servers),
		"store:      " + cfg.DatabaseLabel(),
	}
	if cfg.Memory.URL != "" {
		lines = append(lines, "memory:     "+cfg.Memory.URL)
	}
	for _, note := range slices.Concat(notes(cfg), host.UnreadKnowledge(cfg), leftOutSkills(cfg)) {
		lines = append(lines, "note: "+note)
	}
	return lines
}

// UnreadFile returns a note on a molar.yaml in the working folder that a command does not read; "" if
// there is none.
func UnreadFile(c *cli.CLI) string {
	const name = "molar.yaml"
	here, err := os.Stat(name)
	if err != nil || !here.Mode().IsRegular() {
		return ""
	}
	used, _ := config.FindFile(c.ConfigFile, c.Env)
	if info, err := os.Stat(used); err == nil && os.SameFile(here, info) {
		return ""
	}
	return name + " in this folder is not read; it is with: --config " + name
}

// leftOutSkills notes the folders of skills that are not there, and the skills that are left out.
func leftOutSkills(cfg *config.Config) (notes []string) {
	all, err := host.SkillsOf(cfg)
	if err != nil {
		notes = strings.Split(err.Error(), "\n")
	}
	for _, s := range all {
		for _, line := range s.LeftOut {
			notes = append(notes, fmt.Sprintf("assistant %q: a skill is left out: %s", s.Assistant, line))
		}
	}
	return notes
}

func orNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}

// notes returns notes on valid settings that may need attention: ports that require a key,
// providers without a key, servers without a variable or a program, and tools that may be sent text of
// other servers.
func notes(cfg *config.Config) []string {
	return slices.Concat(openPorts(cfg), missingKeys(cfg), host.MissingVariables(cfg), unusedVariables(cfg.Variables), missingPrograms(cfg), openReaders(cfg))
}

// openPorts notes the ports that other machines can reach, off loopback or through a proxy, and
// that therefore require a key.
func openPorts(cfg *config.Config) []string {
	if len(cfg.APIKeys) > 0 {
		return nil
	}
	var notes []string
	for key, address := range map[string]string{"listen": cfg.Listen, "mcp.listen": cfg.MCP.Listen} {
		if !config.Loopback(address) {
			notes = append(notes, fmt.Sprintf("%s %s is off loopback: it is refused until there is an API key (molar keys create NAME)", key, address))
		}
	}
	slices.Sort(notes)
	if proxied := cfg.ProxySetting(); proxied != "" && !cfg.Identity.SignsIn() {
		notes = append(notes, proxied+" allows access through a proxy: every request requires an API key (molar keys create NAME), "+
			"the link that serve prints, or a person whom the proxy names (identity.header)")
	}
	return notes
}

// missingKeys notes the configured providers that are skipped because their key is missing.
func missingKeys(cfg *config.Config) []string {
	var notes []string
	for _, name := range cfg.EndpointsInUse() {
		if missing := cfg.LLM.MissingKey(name); missing != "" {
			notes = append(notes, fmt.Sprintf("provider %q is skipped because it has no API key: %s", name, missing))
		}
	}
	return notes
}

// unusedVariables notes the variables in the variables file that are not used, which a person may
// expect to be.
func unusedVariables(v config.Variables) []string {
	var notes []string
	for _, name := range v.Unused {
		notes = append(notes, fmt.Sprintf("%s in %s has no effect: the config file does not contain ${%[1]s}", name, v.File))
	}
	return notes
}

// missingPrograms notes the servers whose program is not installed on this machine. That is not a
// fault, because the file may be meant for another machine.
func missingPrograms(cfg *config.Config) []string {
	var notes []string
	for _, e := range cfg.MCPServers {
		if e.Value.Disabled || e.Value.UnsetFault != "" || e.Value.Command == "" {
			continue
		}
		if _, err := host.LookPath(e.Value.Command); err != nil {
			notes = append(notes, fmt.Sprintf("server %q: the program %q is not found on this machine", e.Name, e.Value.Command))
		}
	}
	return notes
}
