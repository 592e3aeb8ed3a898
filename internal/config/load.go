package config

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/providers"
)

// Options are the sources of the settings.
type Options struct {
	// Path is the config file. If it is empty, the file is MOLAR_CONFIG, else molar.yaml in the
	// user's config folder. The working directory is never searched.
	Path string
	// Explicit is set if a person named Path, so that the file must exist.
	Explicit bool
	// Content, if it is set, is loaded in place of the content of the file: a change of it is checked
	// before it is written.
	Content []byte
	// Env looks up an environment variable, as os.LookupEnv does. Nil means none.
	Env func(string) (string, bool)
	// EnvFile names a .env file. Variables of the environment override it.
	EnvFile string
	// Flags are values from the command line by key path, such as "llm.provider".
	Flags map[string]string
}

// ErrNoFile reports a config file that was named and does not exist.
var ErrNoFile = errors.New("no such config file")

// Load returns the settings: flags override the environment, which overrides the file, which
// overrides the defaults. Its error lists all faults, each with its place and key path.
func Load(opts Options) (*Config, error) {
	cfg, bad, err := load(opts)
	if err == nil {
		err = bad.Join()
	}
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// A HostAddress holds the address and the certificate of a host.
type HostAddress struct {
	// Listen is host:port.
	Listen string
	TLS    TLS
	// CAFile names authorities that are trusted in addition to the system's; empty for none.
	CAFile string
}

// HostAddress returns the address of the host that runs with these settings.
func (cfg *Config) HostAddress() HostAddress {
	return HostAddress{Listen: cfg.Listen, TLS: cfg.TLS, CAFile: cfg.CAFile}
}

// LoadHostAddress returns the address of the host that runs with these settings. It ignores faults
// of other keys: a command that only queries a running host does not need the variables that the
// file refers to.
func LoadHostAddress(opts Options) (HostAddress, error) {
	cfg, bad, err := load(opts)
	if err != nil {
		return HostAddress{}, err
	}
	for _, fault := range bad {
		if fault.Key == "" || within(fault.Key, "listen") {
			return HostAddress{}, fault
		}
	}
	return cfg.HostAddress(), nil
}

// load returns the settings and all their faults.
func load(opts Options) (*Config, faults, error) {
	env, err := environment(opts)
	if err != nil {
		return nil, nil, err
	}
	cfg := Default()
	cfg.origins = map[string]string{}
	bad, err := cfg.readFile(opts, env)
	if err != nil {
		return nil, nil, err
	}
	bad = append(bad, cfg.applyEnv(env)...)
	bad = append(bad, cfg.applyFlags(opts.Flags)...)
	bad = append(bad, cfg.complete(env)...)
	return cfg, append(bad, cfg.faults().Without(bad)...), nil
}

// environment returns a lookup in opts.Env, with the .env file as fallback.
func environment(opts Options) (func(string) (string, bool), error) {
	env := opts.Env
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	if opts.EnvFile == "" {
		return env, nil
	}
	vars, err := readEnvFile(opts.EnvFile)
	if err != nil {
		return nil, err
	}
	return func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := vars[name]
		return value, ok
	}, nil
}

// FindFile returns the config file that Load reads: path, else MOLAR_CONFIG, else molar.yaml in
// the user's config folder. named reports whether path or MOLAR_CONFIG named it. The name is empty
// if there is no such folder.
func FindFile(path string, env func(string) (string, bool)) (name string, named bool) {
	if path != "" {
		return path, true
	}
	if name, _ := env("MOLAR_CONFIG"); name != "" {
		return name, true
	}
	return userFile(env), false
}

// readFile finds the config file and decodes it into cfg. A missing file is an error only if it
// was named.
func (cfg *Config) readFile(opts Options, env func(string) (string, bool)) (faults, error) {
	name, named := FindFile(opts.Path, env)
	if opts.Path != "" {
		named = opts.Explicit
	}
	if name == "" {
		return nil, nil
	}
	data, err := opts.Content, error(nil)
	if data == nil {
		data, err = os.ReadFile(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if !named {
			return nil, nil
		}
		return nil, fmt.Errorf("%w: %s; check the name, or write one with: molar config init %s", ErrNoFile, name, name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the config file: %w", err)
	}
	if cfg.File, err = filepath.Abs(name); err != nil {
		return nil, fmt.Errorf("find the config file %s: %w", name, err)
	}
	cfg.digest, cfg.blank = sha256.Sum256(data), len(bytes.TrimSpace(data)) == 0
	env, noteUnused, err := cfg.readVariables(VariablesFile(name), env)
	if err != nil {
		return nil, err
	}
	defer noteUnused()
	return cfg.decode(name, data, env), nil
}

// decode reads a file, or a text with a name, into cfg.
func (cfg *Config) decode(name string, data []byte, env func(string) (string, bool)) faults {
	d := &decoder{file: name, variablesFile: VariablesFile(name), env: env, origins: cfg.origins}
	bad := d.decode(data, cfg)
	for i := range cfg.MCPServers { // an unset variable is a fault only of its server
		s := &cfg.MCPServers[i]
		for _, f := range d.unset {
			if within(f.Fault.Key, join("mcpServers", s.Name)) {
				s.Value.UnsetFault = strings.TrimPrefix(s.Value.UnsetFault+"; "+f.Fault.Error(), "; ")
				if !slices.Contains(s.Value.UnsetVariables, f.Variable) {
					s.Value.UnsetVariables = append(s.Value.UnsetVariables, f.Variable)
				}
			}
		}
	}
	return bad
}

// needsReference reports whether a key holds a secret, which the file must not contain but only
// refer to. alternative completes the message of the fault with another remedy.
func needsReference(key string) (alternative string, needed bool) {
	if strings.HasPrefix(key, "api_keys[") && strings.HasSuffix(key, "].key") {
		return ", or give the hash of the key", true
	}
	if strings.HasPrefix(key, "logins.keys[") {
		return "", true
	}
	endpoint, isKey := strings.CutSuffix(key, ".key")
	name, own := strings.CutPrefix(endpoint, keyProviders+".")
	name, builtIn := strings.CutPrefix(name, "llm.")
	return "", isKey && (own && !strings.Contains(name, ".") || builtIn && slices.Contains(providers.WithModels(), name))
}

// complete derives the default assistant, what endpoints leave out, and absolute paths.
func (cfg *Config) complete(env func(string) (string, bool)) faults {
	var bad faults
	if fault := cfg.chooseDefault(); fault != nil {
		bad = append(bad, fault)
	}
	bad = append(bad, cfg.completeEndpoints()...)
	for i := range cfg.MCPServers {
		s := &cfg.MCPServers[i].Value
		s.Command = cfg.resolvePath(s.Command, true)
		s.Cwd = cfg.resolvePath(s.Cwd, false)
		s.OAuth.Identity.TokenFile = cfg.resolvePath(s.OAuth.Identity.TokenFile, false)
	}
	for i := range cfg.Topics {
		cfg.Topics[i].Value.Pack = cfg.resolvePath(cfg.Topics[i].Value.Pack, false)
	}
	for _, e := range cfg.Assistants {
		for i := range e.Value.Skills {
			e.Value.Skills[i] = cfg.resolvePath(e.Value.Skills[i], false)
		}
	}
	for i := range cfg.Knowledge {
		cfg.Knowledge[i].Value.Path = cfg.resolvePath(cfg.Knowledge[i].Value.Path, false)
	}
	for _, e := range cfg.Convert {
		if len(e.Value) > 0 {
			e.Value[0] = cfg.resolvePath(e.Value[0], true)
		}
	}
	cfg.Review.Tests = cfg.resolvePath(cfg.Review.Tests, false)
	if err := cfg.completeDatabase(keyStore, &cfg.Memory.Store, env); err != nil {
		bad.Add(cfg.originOf(keyStore), keyStore, "%v", err)
	}
	if cfg.Memory.URL != "" || cfg.State != "" {
		if err := cfg.completeDatabase(keyState, &cfg.State, env); err != nil {
			bad.Add(cfg.originOf(keyState), keyState, "%v", err)
		}
	}
	cfg.Memory.URL = strings.TrimRight(cfg.Memory.URL, "/")
	cfg.completeAccess()
	return bad
}

// chooseDefault sets the default assistant if no setting names it. With servers attached, it is the
// general one, which may call all their tools. Off loopback that is a fault instead: other people
// could then call every tool, which the operator must choose explicitly.
func (cfg *Config) chooseDefault() *fault {
	switch {
	case cfg.origins["default"] != "" || len(cfg.Assistants) == 0:
	case !cfg.hasBuiltInAssistants():
		cfg.Default = cfg.Assistants[0].Name
	case !cfg.hasServers():
	case Loopback(cfg.Listen):
		cfg.Default = AssistantGeneral
	default:
		return &fault{Where: cfg.originOf("listen"), Key: "default", Message: "with servers attached, an address off loopback requires a default assistant: " +
			"set default: general, which lets everybody with a key call every attached tool, or default: " + cfg.Default + ", or listen on 127.0.0.1"}
	}
	return nil
}

// hasServers reports whether a server is configured and not disabled.
func (cfg *Config) hasServers() bool {
	return slices.ContainsFunc(cfg.MCPServers, func(e Entry[Server]) bool { return !e.Value.Disabled })
}

// hasBuiltInAssistants reports whether the assistants are the built-in ones.
func (cfg *Config) hasBuiltInAssistants() bool { return cfg.origins["assistants"] == "" }
