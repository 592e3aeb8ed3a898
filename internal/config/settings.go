package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// Settings lists all keys in the order of the example file. Of addresses it gives
// scheme and host alone, of servers and assistants what they are, without arguments,
// headers, environment and prompts: any of those may hold secrets.
func (cfg *Config) Settings() []schemas.Setting {
	v := reflect.ValueOf(cfg).Elem()
	known := fieldsOf(v.Type())
	var all []schemas.Setting
	for _, name := range known.Names {
		switch field := v.FieldByIndex(known.Index[name]); name {
		case "assistants":
			for _, e := range cfg.Assistants {
				all = append(all, cfg.setting(join(name, e.Name), describe(e.Value)))
			}
		case "topics":
			for _, e := range cfg.Topics {
				all = append(all, cfg.setting(join(name, e.Name), fmt.Sprintf("%d phrases", len(e.Value.Phrases))))
			}
		case "knowledge":
			for _, e := range cfg.Knowledge {
				all = append(all, cfg.setting(join(name, e.Name), e.Value.Path))
			}
		case "mcpServers":
			for _, e := range cfg.MCPServers {
				all = append(all, cfg.setting(join(name, e.Name), e.Value.describe()))
			}
		case "api_keys":
			for i, k := range cfg.APIKeys {
				all = append(all, cfg.setting(index(name, i), k.Name+" ("+strings.Join(k.Scopes, ", ")+")"))
			}
		default:
			all = append(all, cfg.plain(name, field)...)
		}
		if name == "llm" {
			for _, s := range providers.Services() {
				if len(s.Keys) > 0 {
					all = append(all, fromEnvironment(s.Keys[0], cfg.LLM.Keys[s.Name]))
				}
			}
		}
	}
	return all
}

// plain lists a key that holds no names of the user's, or those below it.
func (cfg *Config) plain(name string, field reflect.Value) []schemas.Setting {
	if field.Kind() != reflect.Struct {
		return []schemas.Setting{{Key: name, Value: shown(field), Origin: cfg.origins[name]}}
	}
	var all []schemas.Setting
	for _, l := range leaves(name, field) {
		// The place of a key above says nothing: llm is in the file, its other keys need not be.
		s := schemas.Setting{Key: l.Key, Value: shown(l.Value), Origin: cfg.origins[l.Key]}
		s.Secret = l.Value.Type() == reflect.TypeFor[schemas.Secret]() && s.Value != ""
		all = append(all, s)
	}
	return all
}

func (cfg *Config) setting(key, value string) schemas.Setting {
	return schemas.Setting{Key: key, Value: value, Origin: cfg.where(key)}
}

// fromEnvironment is a key that no file may hold. Some have a second name, but only
// the first is told: which one was read is not kept.
func fromEnvironment(name string, key schemas.Secret) schemas.Setting {
	if key == "" {
		return schemas.Setting{Key: name}
	}
	return schemas.Setting{Key: name, Value: schemas.Masked, Origin: "environment", Secret: true}
}

// shown writes a value as a person would.
func shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = shown(v.Index(i))
		}
		return strings.Join(items, ", ")
	case reflect.String:
		if v.Len() == 0 {
			return ""
		}
		return hideAddress(fmt.Sprint(v.Interface()))
	default:
		return fmt.Sprint(v.Interface())
	}
}

// hideAddress leaves scheme and host of an address; other text stays as it is.
func hideAddress(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return schemas.Masked
	}
	return u.Scheme + "://" + u.Host
}

// describe returns what the server is, and which switches of its entry are on.
func (s Server) describe() string {
	var text strings.Builder
	text.WriteString(s.Label())
	for _, flag := range []struct {
		name string
		on   bool
	}{{"disabled", s.Disabled}, {"pin", s.Pin != nil && *s.Pin}, {"no pin", s.Pin != nil && !*s.Pin}, {"trust", s.Trust}} {
		if flag.on {
			text.WriteString(", " + flag.name)
		}
	}
	return text.String()
}

// describe returns what an assistant uses.
func describe(a schemas.Assistant) string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{"topic", a.Topic},
		{"flow", string(a.Flow)},
		{"provider", a.Provider},
		{"model", a.Model},
		{"search", strings.Join(a.Search, " ")},
		{"tools", strings.Join(a.Tools, " ")},
	} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}
