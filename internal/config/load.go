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

// Options say where the settings come from.
type Options struct {
	// Path names the config file; empty looks at MOLAR_CONFIG, then at molar.yaml in
	// the user's config folder. The working directory is never searched.
	Path string
	// Explicit is set when a person named Path, so that it must exist.
	Explicit bool
	// Env looks up an environment variable, as os.LookupEnv does. Nil means none.
	Env func(string) (string, bool)
	// EnvFile names a .env file. Variables of the environment itself win over it.
	EnvFile string
	// Flags are values from the command line by key path, such as "llm.provider".
	Flags map[string]string
}

// ErrNoFile is the kind of the error for a config file that was named and does not
// exist.
var ErrNoFile = errors.New("no such config file")

// Load reads the settings: flags over environment over file over defaults. An
// error names everything that is wrong, each with its place and key path.
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

// A Door is where a host listens, and how it shows who it is.
type Door struct {
	// Listen is host:port.
	Listen string
	TLS    TLS
	// CAFile names authorities that are trusted beside the system's; empty for none.
	CAFile string
}

// Door returns how to reach the host that these settings are for.
func (cfg *Config) Door() Door { return Door{Listen: cfg.Listen, TLS: cfg.TLS, CAFile: cfg.CAFile} }

// FindDoor returns how to reach the host that these settings are for, whatever else
// is wrong with them: a command that only asks a running host need not know the
// secrets that the file names.
func FindDoor(opts Options) (Door, error) {
	cfg, bad, err := load(opts)
	if err != nil {
		return Door{}, err
	}
	for _, fault := range bad {
		if fault.Key == "" || within(fault.Key, "listen") {
			return Door{}, fault
		}
	}
	return cfg.Door(), nil
}

// load returns what could be read and all that is wrong with it.
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

// environment is opts.Env with the .env file below it.
func environment(opts Options) (func(string) (string, bool), error) {
	env := opts.Env
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	if opts.EnvFile == "" {
		return env, nil
	}
	vars, err := readFile(opts.EnvFile)
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

// Find returns the config file that Load reads and whether somebody named it: path,
// else MOLAR_CONFIG, else molar.yaml in the user's config folder. The name is empty
// when there is no such folder.
func Find(path string, env func(string) (string, bool)) (name string, named bool) {
	if path != "" {
		return path, true
	}
	if name, _ := env("MOLAR_CONFIG"); name != "" {
		return name, true
	}
	return userFile(env), false
}

// readFile finds the file and decodes it into cfg. No file is fine unless one was
// named.
func (cfg *Config) readFile(opts Options, env func(string) (string, bool)) (faults, error) {
	name, named := Find(opts.Path, env)
	if opts.Path != "" {
		named = opts.Explicit
	}
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
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
	env, note, err := cfg.readVariables(VariablesFile(name), env)
	if err != nil {
		return nil, err
	}
	defer note()
	return cfg.decode(name, data, env), nil
}

// decode reads a file, or a text with a name, into cfg.
func (cfg *Config) decode(name string, data []byte, env func(string) (string, bool)) faults {
	d := &decoder{
		File: name, Variables: VariablesFile(name), Env: env, Origins: cfg.origins,
		Bears:  func(key string) bool { return within(key, "mcpServers") },
		Refers: refers,
	}
	bad := d.Decode(data, cfg)
	for i := range cfg.MCPServers { // each variable costs its server alone
		s := &cfg.MCPServers[i]
		for _, f := range d.Unset {
			if within(f.Fault.Key, join("mcpServers", s.Name)) {
				s.Value.Unset = strings.TrimPrefix(s.Value.Unset+"; "+f.Fault.Error(), "; ")
				if !slices.Contains(s.Value.Lacks, f.Variable) {
					s.Value.Lacks = append(s.Value.Lacks, f.Variable)
				}
			}
		}
	}
	return bad
}

// refers reports whether a key holds a secret that must not be written out, and what else
// may stand there than a reference.
func refers(key string) (instead string, is bool) {
	if strings.HasPrefix(key, "api_keys[") && strings.HasSuffix(key, "].key") {
		return ", or give the hash of the key", true
	}
	service, ofModel := strings.CutPrefix(key, "llm.")
	service, isKey := strings.CutSuffix(service, ".key")
	return "", ofModel && isKey && slices.Contains(providers.WithModels(), service)
}

// complete derives what follows from other settings: the default assistant, absolute paths, a whole address of Ollama.
func (cfg *Config) complete(env func(string) (string, bool)) faults {
	var bad faults
	if fault := cfg.chooseDefault(); fault != nil {
		bad = append(bad, fault)
	}
	if base, err := ollamaURL(cfg.LLM.Ollama.BaseURL); err != nil {
		bad.Add(cfg.where(keyOllamaURL), keyOllamaURL, "%v", err)
	} else {
		cfg.LLM.Ollama.BaseURL = base
	}
	for i := range cfg.MCPServers {
		s := &cfg.MCPServers[i].Value
		s.Command = cfg.beside(s.Command, true)
		s.Cwd = cfg.beside(s.Cwd, false)
		s.OAuth.Identity.TokenFile = cfg.beside(s.OAuth.Identity.TokenFile, false)
	}
	for i := range cfg.Knowledge {
		cfg.Knowledge[i].Value.Path = cfg.beside(cfg.Knowledge[i].Value.Path, false)
	}
	if err := cfg.completeDatabase(keyStore, &cfg.Memory.Store, env); err != nil {
		bad.Add(cfg.where(keyStore), keyStore, "%v", err)
	}
	if cfg.Memory.URL != "" || cfg.State != "" {
		if err := cfg.completeDatabase(keyState, &cfg.State, env); err != nil {
			bad.Add(cfg.where(keyState), keyState, "%v", err)
		}
	}
	cfg.Memory.URL = strings.TrimRight(cfg.Memory.URL, "/")
	cfg.completeAccess()
	return bad
}

// chooseDefault names the default assistant where nobody did. Who attaches a server wants
// it asked; yet off loopback others ask too, and that they may call every tool is for
// the operator to say.
func (cfg *Config) chooseDefault() *fault {
	switch {
	case cfg.origins["default"] != "" || len(cfg.Assistants) == 0:
	case !cfg.builtIn():
		cfg.Default = cfg.Assistants[0].Name
	case !cfg.attaches():
	case Loopback(cfg.Listen):
		cfg.Default = AssistantGeneral
	default:
		return &fault{Where: cfg.where("listen"), Key: "default", Message: "with servers attached, an address off loopback wants the assistant to be named: " +
			"set default: general, which lets everybody with a key call every attached tool, or default: dental, or listen on 127.0.0.1"}
	}
	return nil
}

// attaches reports whether there is a server that is not switched off.
func (cfg *Config) attaches() bool {
	return slices.ContainsFunc(cfg.MCPServers, func(e Entry[Server]) bool { return !e.Value.Disabled })
}

// builtIn reports whether the assistants are the built-in ones.
func (cfg *Config) builtIn() bool { return cfg.origins["assistants"] == "" }
