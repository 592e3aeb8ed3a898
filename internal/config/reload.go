package config

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"

	"molar/providers"
	"molar/schemas"
)

// Digest returns the SHA-256 of the config file; zero without a file.
func (cfg *Config) Digest() [sha256.Size]byte { return cfg.digest }

// CheckReload returns an error if valid settings must not replace those of a running host: next has
// no file, or an empty one, which would detach every server. An interrupted save leaves such a
// file.
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

// Changed returns the keys in which next differs from cfg, in the order of the example file, except
// mcpServers, api_keys, groups and how long things are kept, which a running host applies. Assistants appear
// with their name, such as "assistants.helper".
func (cfg *Config) Changed(next *Config) []string {
	a, b := reflect.ValueOf(cfg).Elem(), reflect.ValueOf(next).Elem()
	known := fieldsOf(a.Type())
	var keys []string
	for _, name := range known.Names {
		if name == "mcpServers" || name == "api_keys" || name == "groups" || name == "default" && cfg.derivesDefault() && next.derivesDefault() {
			continue
		}
		i := known.Index[name]
		keys = append(keys, changedKeys(name, a.FieldByIndex(i), b.FieldByIndex(i))...)
	}
	for _, s := range providers.Services() {
		if cfg.LLM.Keys[s.Name] != next.LLM.Keys[s.Name] {
			keys = append(keys, s.Keys[0])
		}
	}
	return keys
}

// SuggestedDefault returns the assistant that may call the attached servers if the default one may
// not because no server was configured when cfg was loaded; else "". The attached servers are those
// of next and, if added is set, others in addition to it.
func (cfg *Config) SuggestedDefault(next *Config, added bool) string {
	derived := cfg.derivesDefault() && next.derivesDefault() && Loopback(cfg.Listen)
	if derived && (added || next.hasServers()) && cfg.Default != AssistantGeneral {
		return AssistantGeneral
	}
	return ""
}

// derivesDefault reports whether the default assistant depends only on the servers.
func (cfg *Config) derivesDefault() bool {
	return cfg.hasBuiltInAssistants() && cfg.origins["default"] == ""
}

// retention is the last part of the keys that say how long something is kept.
const retention = "retention"

// changedKeys returns the keys at or below key whose values differ.
func changedKeys(key string, a, b reflect.Value) []string {
	var keys []string
	switch {
	case a.Type() == reflect.TypeFor[Map[schemas.Assistant]]():
		return changedAssistants(key, a.Interface().(Map[schemas.Assistant]), b.Interface().(Map[schemas.Assistant]))
	case a.Kind() == reflect.Struct:
		known := fieldsOf(a.Type())
		for _, name := range known.Names {
			if name == retention {
				continue
			}
			i := known.Index[name]
			keys = append(keys, changedKeys(join(key, name), a.FieldByIndex(i), b.FieldByIndex(i))...)
		}
	case !reflect.DeepEqual(a.Interface(), b.Interface()):
		keys = append(keys, key)
	}
	return keys
}

func changedAssistants(key string, a, b Map[schemas.Assistant]) []string {
	var keys []string
	for _, e := range a {
		other, kept := b.Get(e.Name)
		if e.Value.Retention = other.Retention; !kept || !reflect.DeepEqual(e.Value, other) {
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
