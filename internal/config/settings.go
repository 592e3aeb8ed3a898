package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// Settings returns all keys in the order of the example file. As their values may hold secrets, it
// shortens addresses to scheme and host, and describes servers and assistants without arguments,
// headers, environment and prompts.
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
				all = append(all, cfg.setting(join(name, e.Name), e.Value.describe()))
			}
		case "convert":
			for _, e := range cfg.Convert {
				all = append(all, cfg.setting(join(name, e.Name), strings.Join(e.Value, " ")))
			}
		case "mcpServers":
			for _, e := range cfg.MCPServers {
				all = append(all, cfg.setting(join(name, e.Name), e.Value.describe()))
			}
		case "api_keys":
			for i, k := range cfg.APIKeys {
				all = append(all, cfg.setting(index(name, i), k.describe()))
			}
		case "flows":
			for i, f := range cfg.Flows {
				all = append(all, cfg.setting(index(name, i), f.describe()))
			}
		default:
			all = append(all, cfg.plainSettings(name, field)...)
		}
		if name == "llm" {
			all = append(all, cfg.endpointSettings()...)
			for _, s := range providers.Services() {
				if len(s.Keys) > 0 {
					all = append(all, envKeySetting(s.Keys[0], cfg.LLM.Keys[s.Name]))
				}
			}
		}
	}
	return all
}

// plainSettings returns the setting of a key, or the settings below it if the key is a section.
func (cfg *Config) plainSettings(name string, field reflect.Value) []schemas.Setting {
	if field.Kind() != reflect.Struct {
		return []schemas.Setting{{Key: name, Value: display(field), Origin: cfg.origins[name]}}
	}
	return cfg.leafSettings(leaves(name, field))
}

// endpointSettings returns the settings of the endpoints in llm.providers, without the keys that their
// service does not have.
func (cfg *Config) endpointSettings() []schemas.Setting {
	var all []schemas.Setting
	for _, e := range cfg.LLM.Providers {
		s, _ := serviceOf(e.Value.API)
		valid, key := endpointKeys(s.Name), join(keyProviders, e.Name)
		all = append(all, cfg.leafSettings(slices.DeleteFunc(leaves(key, reflect.ValueOf(&e.Value).Elem()), func(l leaf) bool {
			name, _, _ := strings.Cut(strings.TrimPrefix(l.Key, key+"."), ".")
			return !slices.Contains(valid, name)
		}))...)
	}
	return all
}

func (cfg *Config) leafSettings(list []leaf) []schemas.Setting {
	var all []schemas.Setting
	for _, l := range list {
		// The origin of a key above does not count: other keys of its section may be defaults.
		s := schemas.Setting{Key: l.Key, Value: display(l.Value), Origin: cfg.origins[l.Key]}
		s.Secret = l.Value.Type() == reflect.TypeFor[schemas.Secret]() && s.Value != ""
		all = append(all, s)
	}
	return all
}

func (cfg *Config) setting(key, value string) schemas.Setting {
	return schemas.Setting{Key: key, Value: value, Origin: cfg.originOf(key)}
}

// envKeySetting returns the setting of an API key in the environment. Where a service has several
// variables for its key, name is the first one, even if the key came from another.
func envKeySetting(name string, key schemas.Secret) schemas.Setting {
	if key == "" {
		return schemas.Setting{Key: name}
	}
	return schemas.Setting{Key: name, Value: schemas.Masked, Origin: "environment", Secret: true}
}

// display formats a value for output.
func display(v reflect.Value) string {
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
			items[i] = display(v.Index(i))
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

// hideAddress shortens an address to scheme and host, and returns other text unchanged.
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

// describe returns the label of the server and its switches that are set.
func (s Server) describe() string {
	var text strings.Builder
	text.WriteString(s.Label())
	for _, flag := range []struct {
		name string
		on   bool
	}{{"disabled", s.Disabled}, {"pin", s.Pin != nil && *s.Pin}, {"no pin", s.Pin != nil && !*s.Pin}, {"trust", s.Trust}, {"public", s.Public}, {"closed", s.Closed}, {"read-only", s.ReadOnly}} {
		if flag.on {
			text.WriteString(", " + flag.name)
		}
	}
	return text.String()
}

func (k Knowledge) describe() string {
	if k.Foreign() {
		return k.Path + ", not trusted"
	}
	return k.Path
}

func (k APIKey) describe() string {
	all := []string{k.Name + " (" + strings.Join(k.Scopes, ", ") + ")"}
	for _, p := range []struct{ name, value string }{{"input", k.Input}, {"system", k.System}, {"ask", k.Ask}} {
		if p.value != "" {
			all = append(all, p.name+" "+p.value)
		}
	}
	return strings.Join(all, ", ")
}

func (f Flow) describe() string {
	if f.Allow != nil && *f.Allow {
		return "text of " + f.From + " may go to " + f.To
	}
	return "text of " + f.From + " never goes to " + f.To
}

// describe lists the settings of an assistant that are not empty, except its texts.
func describe(a schemas.Assistant) string {
	var parts []string
	for _, p := range []struct{ name, value string }{
		{"topic", a.Topic},
		{"flow", string(a.Flow)},
		{"provider", a.Provider},
		{"model", a.Model},
		{"search", strings.Join(a.Search, " ")},
		{"tools", strings.Join(a.Tools, " ")},
		{"skills", strings.Join(a.Skills, " ")},
	} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}
