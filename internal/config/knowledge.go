package config

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Knowledge is a folder that a search tool searches.
type Knowledge struct {
	Path      string   `yaml:"path" jsonschema_description:"Folder of documents, including its subfolders; relative to the file's folder."`
	Languages []string `yaml:"languages" jsonschema_description:"Languages of the files, as codes such as vi, en or de; vi and en when left out."`
	Link      string   `yaml:"link" jsonschema_description:"Web address under which the files can be opened, such as https://docs.example.com/; their paths are appended to it, and answers name them as sources."`
	// Corrections are written into a subfolder.
	Corrections bool   `yaml:"corrections" jsonschema_description:"true: the answers that reviewers write are put into its subfolder corrections, and each is found before all else by its question (default false)."`
	Description string `yaml:"description" jsonschema_description:"What the folder holds, in a sentence: a model that may search it, or words questions for it, reads this."`
	// Threshold nil means that the folder's texts set it.
	Threshold *float64 `yaml:"threshold" jsonschema:"minimum=0,maximum=1" jsonschema_description:"The least share of a question, of 0 to 1, that a passage must hold to be found; learned from the folder's own texts when left out."`
	// Embeddings without a provider mean words alone.
	Embeddings Embeddings `yaml:"embeddings" jsonschema_description:"Finds passages by their meaning too, by vectors that a provider computes."`
	// Trust nil means true.
	Trust *bool `yaml:"trust" jsonschema_description:"false: others can write into the folder, so a call that may change something asks once its texts were read (default true)."`
}

// Embeddings name the model that computes the vectors of a folder.
type Embeddings struct {
	Provider string `yaml:"provider" jsonschema_description:"Name of an endpoint of llm: gemini, openai, ollama, or one of llm.providers with such an api."`
	Model    string `yaml:"model" jsonschema_description:"Model for embeddings, such as bge-m3 or text-embedding-3-small."`
	Prefix   Prefix `yaml:"prefix" jsonschema_description:"What the model wants before each text, if its page says so."`
}

// A Prefix stands before the texts of which a model computes vectors, where it tells documents from questions by
// it. Gemini is told otherwise.
type Prefix struct {
	Document string `yaml:"document" jsonschema_description:"What the model wants before a passage, such as \"search_document: \"."`
	Query    string `yaml:"query" jsonschema_description:"What the model wants before a question, such as \"search_query: \"."`
}

// Foreign reports whether others than the operator write into the folder.
func (k Knowledge) Foreign() bool { return k.Trust != nil && !*k.Trust }

// bundledTools returns the names of the search tools that are part of the host, or of its topics.
func (cfg *Config) bundledTools() []string {
	return append(cfg.guideTools(), ToolDuckDuckGo, ToolGoogle)
}

func (c *checker) knowledge() {
	name, language := regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`), regexp.MustCompile(`^[a-z]{2,3}$`)
	for _, e := range c.cfg.Knowledge {
		key := join("knowledge", e.Name)
		switch {
		case !name.MatchString(e.Name):
			c.fault(key, "want a name of small letters, digits and '_', at most 48: it becomes the name of the search tool")
		case slices.Contains(c.cfg.bundledTools(), e.Name):
			c.fault(key, "%q is a bundled search tool; choose another name", e.Name)
		}
		if e.Value.Path == "" {
			c.fault(key+".path", "want a folder of documents")
		}
		for i, lang := range e.Value.Languages {
			if !language.MatchString(lang) {
				c.fault(index(key+".languages", i), "want the code of a language in small letters, such as vi, en or de")
			}
		}
		if least := e.Value.Threshold; least != nil && (*least < 0 || *least > 1) {
			c.fault(key+".threshold", "want a share of 0 to 1, or leave it out: the texts of the folder then tell what suffices")
		}
		c.embeddings(key+".embeddings", e.Value.Embeddings)
		if link := e.Value.Link; link != "" {
			if u, err := url.Parse(link); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				c.fault(key+".link", "want a web address, such as https://docs.example.com/")
			}
		}
	}
	c.unique("knowledge", c.cfg.Knowledge.Names())
}

// convert checks the programs that print the text of documents.
func (c *checker) convert() {
	ending := regexp.MustCompile(`^[a-z0-9]{1,10}$`)
	for _, e := range c.cfg.Convert {
		key := join("convert", e.Name)
		if !ending.MatchString(e.Name) {
			c.fault(key, "want the ending of a name without its dot, in small letters, such as odt")
		}
		switch command := e.Value; {
		case len(command) == 0 || command[0] == "" || command[0] == "{}":
			c.fault(key, "want a program and its arguments, such as [pdftotext, -layout, \"{}\", -]")
		case !slices.ContainsFunc(command[1:], func(arg string) bool { return strings.Contains(arg, "{}") }):
			c.fault(key, "one argument must be {}, which stands for the document")
		}
	}
}

// Converters returns the programs that print the text of documents, by the ending of their names.
func (cfg *Config) Converters() map[string][]string {
	all := make(map[string][]string, len(cfg.Convert))
	for _, e := range cfg.Convert {
		all[e.Name] = e.Value
	}
	return all
}

// embeddings checks that an endpoint computes vectors, and of which model.
func (c *checker) embeddings(key string, e Embeddings) {
	if e == (Embeddings{}) {
		return
	}
	var able []string
	for _, name := range c.cfg.LLM.EndpointNames() {
		if s, _ := c.cfg.LLM.ServiceOf(name); s.Embeds {
			able = append(able, name)
		}
	}
	s, known := c.cfg.LLM.ServiceOf(e.Provider)
	switch {
	case known && !s.Embeds:
		c.fault(key+".provider", "%s computes no embeddings: want %s", e.Provider, oneOf(able))
	case !slices.Contains(able, e.Provider):
		c.enum(key+".provider", e.Provider, able)
	default:
		c.hasKey(key+".provider", e.Provider)
	}
	if e.Model == "" {
		c.fault(key+".model", "want a model for embeddings that %s has, such as bge-m3 or text-embedding-3-small", cmp.Or(e.Provider, "the provider"))
	}
}
