package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// envPrefix comes before the path of a key in the name of its variable.
const envPrefix = "MOLAR_"

// commandLine is the origin of the keys that flags set.
const commandLine = "command line"

// EnvVariable returns the environment variable of a key: MOLAR_LLM_PROVIDER for llm.provider.
func EnvVariable(key string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// applyEnv overrides cfg by the environment. An empty variable counts as unset.
func (cfg *Config) applyEnv(env func(string) (string, bool)) faults {
	var bad faults
	for _, l := range cfg.leaves() {
		names := []string{EnvVariable(l.Key)}
		for _, s := range providers.Services() {
			if l.Key == "llm."+s.Name+".base_url" {
				names = append(names, s.Addresses...)
			}
		}
		if l.Key == keyMemoryURL {
			names = append(names, "MCP_SERVER_URL")
		}
		name, text := firstSet(env, names...)
		if text == "" {
			continue
		}
		cfg.origins[l.Key] = name
		if err := l.Set(text); err != nil {
			bad.Add(name, l.Key, "%v", err)
		}
	}
	cfg.LLM.Keys = envKeys(env)
	return bad
}

// applyFlags overrides cfg by the command line. The keys of flags are key paths.
func (cfg *Config) applyFlags(flags map[string]string) faults {
	var bad faults
	known := map[string]leaf{}
	for _, l := range cfg.leaves() {
		known[l.Key] = l
	}
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		l, ok := known[key]
		if !ok {
			bad.Add(commandLine, key, "unknown key%s", didYouMean(key, slices.Sorted(maps.Keys(known))))
			continue
		}
		cfg.origins[key] = commandLine
		if err := l.Set(flags[key]); err != nil {
			bad.Add(commandLine, key, "%v", err)
		}
	}
	return bad
}

// envKeys returns the API keys in the environment, by service; nil if there are none.
func envKeys(env func(string) (string, bool)) map[string]schemas.Secret {
	var keys map[string]schemas.Secret
	for _, s := range providers.Services() {
		_, key := firstSet(env, s.Keys...)
		if key == "" {
			continue
		}
		if keys == nil {
			keys = make(map[string]schemas.Secret)
		}
		keys[s.Name] = schemas.Secret(key)
	}
	return keys
}

func firstSet(env func(string) (string, bool), names ...string) (name, value string) {
	for _, name := range names {
		if value, _ := env(name); strings.TrimSpace(value) != "" {
			return name, strings.TrimSpace(value)
		}
	}
	return "", ""
}

// ollamaURL completes an address in the form of Ollama's own variables: the scheme and the port may
// be missing, and an address to listen on (0.0.0.0) means this machine.
func ollamaURL(text string) (string, error) {
	hasScheme := strings.Contains(text, "://")
	if !hasScheme {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" {
		return "", errors.New(`want the address of Ollama, such as "http://127.0.0.1:11434"`)
	}
	host, port := u.Hostname(), u.Port()
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if port == "" && !hasScheme {
		port = "11434"
	}
	u.Host = host
	if strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	}
	if port != "" {
		u.Host = net.JoinHostPort(host, port)
	}
	return fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, strings.TrimRight(u.EscapedPath(), "/")), nil
}
