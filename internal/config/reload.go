package config

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"

	"molar/providers"
	"molar/schemas"
)

// Digest is the SHA-256 of the file as it was read; zero without a file.
func (cfg *Config) Digest() [sha256.Size]byte { return cfg.digest }

// CheckReload returns why next must not replace the settings of a running host
// although nothing is wrong with it in itself. A file that is gone or holds nothing
// at all would detach every server; it is what a save leaves that was cut off.
func (cfg *Config) CheckReload(next *Config) error {
	switch {
	case cfg.File != "" && next.File == "":
		return fmt.Errorf("%w: %s; bring it back, or restart the host to run without it", ErrNoFile, cfg.File)
	case cfg.File != "" && next.blank && !cfg.blank:
		return fmt.Errorf("%s holds nothing; write it again, or restart the host to run with the built-in settings", next.File)
	default:
		return nil
	}
}

// Changed returns the keys in which next differs from cfg, without mcpServers and
// api_keys, which a running host takes over, in the order of the example file. Named things appear with their name, such as
// "assistants.helper".
func (cfg *Config) Changed(next *Config) []string {
	a, b := reflect.ValueOf(cfg).Elem(), reflect.ValueOf(next).Elem()
	known := fieldsOf(a.Type())
	var keys []string
	for _, name := range known.Names {
		if name == "mcpServers" || name == "api_keys" || name == "default" && cfg.derivesDefault() && next.derivesDefault() {
			continue
		}
		i := known.Index[name]
		keys = append(keys, changed(name, a.FieldByIndex(i), b.FieldByIndex(i))...)
	}
	for _, s := range providers.Services() {
		if cfg.LLM.Keys[s.Name] != next.LLM.Keys[s.Name] {
			keys = append(keys, s.Keys[0])
		}
	}
	return keys
}

// Offer names the assistant that may call what is attached now, the servers of next and those
// that were added beside it, where these settings answer as one that may not because they had
// none; else it is empty.
func (cfg *Config) Offer(next *Config, added bool) string {
	derived := cfg.derivesDefault() && next.derivesDefault() && Loopback(cfg.Listen)
	if derived && (added || next.attaches()) && cfg.Default != AssistantGeneral {
		return AssistantGeneral
	}
	return ""
}

// derivesDefault reports whether the default assistant follows from the servers alone.
func (cfg *Config) derivesDefault() bool { return cfg.builtIn() && cfg.origins["default"] == "" }

// changed compares one key and what is below it.
func changed(key string, a, b reflect.Value) []string {
	var keys []string
	switch {
	case a.Type() == reflect.TypeFor[Map[schemas.Assistant]]():
		return changedAssistants(key, a.Interface().(Map[schemas.Assistant]), b.Interface().(Map[schemas.Assistant]))
	case a.Kind() == reflect.Struct:
		known := fieldsOf(a.Type())
		for _, name := range known.Names {
			i := known.Index[name]
			keys = append(keys, changed(join(key, name), a.FieldByIndex(i), b.FieldByIndex(i))...)
		}
	case !reflect.DeepEqual(a.Interface(), b.Interface()):
		keys = append(keys, key)
	}
	return keys
}

func changedAssistants(key string, a, b Map[schemas.Assistant]) []string {
	var keys []string
	for _, e := range a {
		if other, kept := b.Get(e.Name); !kept || !reflect.DeepEqual(e.Value, other) {
			keys = append(keys, join(key, e.Name))
		}
	}
	for _, e := range b {
		if !slices.Contains(a.Names(), e.Name) {
			keys = append(keys, join(key, e.Name))
		}
	}
	return keys
}
