package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// envPrefix comes before the path of a key in the name of its variable.
const envPrefix = "MOLAR_"

// commandLine is the origin of what flags set.
const commandLine = "command line"

// A leaf is a key that one value can set: a scalar, or a list of strings written
// with commas.
type leaf struct {
	key   string
	value reflect.Value
}

// leaves returns the keys below v that do not pass through a name of the user's.
func leaves(parent string, v reflect.Value) []leaf {
	var out []leaf
	for _, name := range fieldsOf(v.Type()).names {
		field, key := v.Field(fieldsOf(v.Type()).index[name]), join(parent, name)
		if _, named := reflect.TypeAssert[mapping](field.Addr()); named {
			continue
		}
		if field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct {
			continue
		}
		if field.Kind() == reflect.Struct {
			out = append(out, leaves(key, field)...)
			continue
		}
		out = append(out, leaf{key, field})
	}
	return out
}

// variable is the environment variable of a key: MOLAR_LLM_PROVIDER for
// llm.provider.
func variable(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// set reads text into the leaf.
func (l leaf) set(text string) error {
	v := l.value
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice {
		return setScalar(v, text)
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	v.Set(reflect.ValueOf(items).Convert(v.Type()))
	return nil
}

// applyEnv lets the environment override cfg. An empty variable counts as unset.
func (cfg *Config) applyEnv(env func(string) (string, bool)) faults {
	var bad faults
	for _, l := range leaves("", reflect.ValueOf(cfg).Elem()) {
		names := []string{variable(l.key)}
		if l.key == keyOllamaURL {
			names = append(names, "OLLAMA_BASE_URL", "OLLAMA_HOST")
		}
		if l.key == keyMemoryURL {
			names = append(names, "MCP_SERVER_URL")
		}
		name, text := firstSet(env, names...)
		if text == "" {
			continue
		}
		cfg.origins[l.key] = name
		if err := l.set(text); err != nil {
			bad.add(name, l.key, "%v", err)
		}
	}
	_, gemini := firstSet(env, "GEMINI_API_KEY", "GOOGLE_API_KEY")
	_, openai := firstSet(env, "OPENAI_API_KEY")
	cfg.LLM.GeminiKey, cfg.LLM.OpenAIKey = Secret(gemini), Secret(openai)
	return bad
}

// applyFlags lets the command line override cfg. The keys of flags are paths of
// config keys.
func (cfg *Config) applyFlags(flags map[string]string) faults {
	var bad faults
	known := map[string]leaf{}
	for _, l := range leaves("", reflect.ValueOf(cfg).Elem()) {
		known[l.key] = l
	}
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		l, ok := known[key]
		if !ok {
			bad.add(commandLine, key, "unknown key%s", didYouMean(key, slices.Sorted(maps.Keys(known))))
			continue
		}
		cfg.origins[key] = commandLine
		if err := l.set(flags[key]); err != nil {
			bad.add(commandLine, key, "%v", err)
		}
	}
	return bad
}

func firstSet(env func(string) (string, bool), names ...string) (name, value string) {
	for _, name := range names {
		if value, _ := env(name); strings.TrimSpace(value) != "" {
			return name, strings.TrimSpace(value)
		}
	}
	return "", ""
}

const keyOllamaURL = "llm.ollama.base_url"

// ollamaURL completes an address as Ollama's own variables write it: the scheme
// and the port may be missing, and an address to listen on (0.0.0.0) means this
// machine.
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
