package config

import (
	"slices"

	"molar/schemas"
)

// Review configures the review of turns.
type Review struct {
	People bool   `yaml:"people" jsonschema_description:"true: reviewers see whose turns they read; else people have pseudonyms that last for a conversation (default false)."`
	Tests  string `yaml:"tests" jsonschema_description:"Folder for the tests that reviewers make of turns; relative to the file's folder. Without it they download the files."`
}

// corrections checks that a correction is found first: its folder is the first one that an assistant
// searches.
func (c *checker) corrections() {
	for _, e := range c.cfg.Knowledge {
		if !e.Value.Corrections {
			continue
		}
		if e.Value.Foreign() {
			c.fault(join("knowledge", e.Name)+".corrections", "others can write into this folder (trust: false), so it takes no corrections; use another folder")
		}
		for _, a := range c.cfg.Assistants {
			if at := slices.Index(a.Value.Search, e.Name); at > 0 {
				c.fault(join("knowledge", e.Name)+".corrections", "the assistant %q searches %q before it; put %q first in its search list, since a correction must be found first", a.Name, a.Value.Search[0], e.Name)
			}
		}
	}
}

// CorrectionsOf returns the folder that takes corrections of an assistant's answers, among those of the
// tools that it uses.
func (cfg *Config) CorrectionsOf(uses []schemas.Tool) (Knowledge, bool) {
	for _, e := range cfg.Knowledge {
		if e.Value.Corrections && slices.ContainsFunc(uses, func(t schemas.Tool) bool { return t.Server == schemas.ToolServer && t.ToolName == e.Name }) {
			return e.Value, true
		}
	}
	return Knowledge{}, false
}
