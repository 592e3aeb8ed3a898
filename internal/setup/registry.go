package setup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"molar/internal/config"
	"molar/internal/terminal"
)

// OfficialRegistry is the address of the public MCP registry.
const OfficialRegistry = "https://registry.modelcontextprotocol.io"

// The bounds of a search in a registry.
const (
	registryTime  = 20 * time.Second
	registryBytes = 8 << 20
	registryPage  = 50 // servers for each word
	registryWords = 4
)

// A Registry looks servers up in an MCP registry. It executes and stores nothing.
type Registry struct {
	URL    string
	Client *http.Client // nil means the default
}

// A Found is a server of a registry. All its texts are free of control characters, and nobody has
// checked what they say.
type Found struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	// Ways are the ways to attach it; none if Molar knows none.
	Ways []Way `json:"ways"`
}

// A Way is one way to attach a server.
type Way struct {
	// How names what runs, such as "npm package".
	How string `json:"how"`
	// Add is the command line that adds the server.
	Add string `json:"add"`
	// Needs describes the variables that it needs.
	Needs []string `json:"needs,omitempty"`
}

// The servers of a registry, as far as they are read.
type (
	registryInput struct {
		Type        string `json:"type"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Value       string `json:"value"`
		Default     string `json:"default"`
		Hint        string `json:"valueHint"`
		Required    bool   `json:"isRequired"`
		Secret      bool   `json:"isSecret"`
	}
	registryPackage struct {
		Kind       string `json:"registryType"`
		Identifier string `json:"identifier"`
		Version    string `json:"version"`
		Transport  struct {
			Type string `json:"type"`
		} `json:"transport"`
		Runtime   []registryInput `json:"runtimeArguments"`
		Arguments []registryInput `json:"packageArguments"`
		Env       []registryInput `json:"environmentVariables"`
	}
	registryRemote struct {
		Type    string          `json:"type"`
		URL     string          `json:"url"`
		Headers []registryInput `json:"headers"`
	}
	registryServer struct {
		Name        string            `json:"name"`
		Title       string            `json:"title"`
		Description string            `json:"description"`
		Version     string            `json:"version"`
		Packages    []registryPackage `json:"packages"`
		Remotes     []registryRemote  `json:"remotes"`
	}
	registryEntry struct {
		Server registryServer `json:"server"`
		Meta   struct {
			Official struct {
				Latest *bool  `json:"isLatest"`
				Status string `json:"status"`
			} `json:"io.modelcontextprotocol.registry/official"`
		} `json:"_meta"`
	}
	registryAnswer struct {
		Servers []json.RawMessage `json:"servers"` // each a registryEntry, read alone: anybody publishes one
	}
)

// Find returns up to most servers, those first that more of the words are about.
func (r Registry) Find(ctx context.Context, words []string, most int) ([]Found, error) {
	ctx, cancel := context.WithTimeout(ctx, registryTime)
	defer cancel()
	words = strings.Fields(strings.ToLower(strings.Join(words, " ")))
	if len(words) == 0 {
		return nil, errors.New("want a word to look for")
	}
	if most < 1 {
		return nil, fmt.Errorf("want at least 1 server, not %d", most)
	}
	words = words[:min(len(words), registryWords)]
	var all []registryServer
	for _, word := range words { // the registry looks for one text in the names
		servers, err := r.search(ctx, word)
		if err != nil {
			return nil, err
		}
		for _, s := range servers {
			if !slices.ContainsFunc(all, func(other registryServer) bool { return other.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	score := func(s registryServer) (n int) {
		text := strings.ToLower(s.Name + " " + s.Title + " " + s.Description)
		for _, word := range words {
			if strings.Contains(text, word) {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b registryServer) int { return cmp.Compare(score(b), score(a)) })
	found := []Found{}
	for _, s := range all[:min(len(all), most)] {
		found = append(found, Found{Name: terminal.Preview(s.Name), Version: terminal.Preview(s.Version), Description: terminal.Preview(s.Description), Ways: s.ways()})
	}
	return found, nil
}

// search asks the registry for the servers with a text in their names.
func (r Registry) search(ctx context.Context, text string) ([]registryServer, error) {
	at, err := url.Parse(r.URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, errors.New("the registry must be an address that begins with http:// or https://")
	}
	at = at.JoinPath("v0.1", "servers")
	at.RawQuery = url.Values{"search": {text}, "version": {"latest"}, "limit": {fmt.Sprint(registryPage)}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	client := r.Client
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which has the words of the search
		}
		return nil, fmt.Errorf("the registry %s cannot be reached: %w; look at the network, or name another one with --registry", at.Host, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the registry %s answered HTTP %d; is %s an MCP registry?", at.Host, res.StatusCode, r.URL)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, registryBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer of the registry %s: %w", at.Host, err)
	}
	if len(data) > registryBytes {
		return nil, fmt.Errorf("the answer of the registry %s is larger than %d MiB; look for a rarer word", at.Host, registryBytes>>20)
	}
	var answer registryAnswer
	if json.Unmarshal(data, &answer) != nil {
		return nil, fmt.Errorf("the registry %s did not answer with a list of servers; is %s an MCP registry?", at.Host, r.URL)
	}
	var servers []registryServer
	for _, raw := range answer.Servers {
		var s registryEntry
		if json.Unmarshal(raw, &s) != nil || s.Server.Name == "" {
			continue
		}
		if official := s.Meta.Official; official.Status != "deleted" && (official.Latest == nil || *official.Latest) {
			servers = append(servers, s.Server)
		}
	}
	return servers, nil
}

// ways returns how to attach a server.
func (s registryServer) ways() []Way {
	name := config.NameOfCommand([]string{"", s.Name})
	ways := []Way{}
	for _, p := range s.Packages {
		if way, ok := p.way(name); ok {
			ways = append(ways, way)
		}
	}
	for _, remote := range s.Remotes {
		if way, ok := remote.way(name); ok {
			ways = append(ways, way)
		}
	}
	return ways
}

// A runner starts the packages of one kind.
type runner struct {
	kind, how  string
	identifier string // as a regular expression
	command    func(p registryPackage, runtime []string) []string
}

// runners returns the kinds of packages that can be started. An identifier never looks like an option.
func runners() []runner {
	at := func(p registryPackage) string {
		if p.Version == "" {
			return p.Identifier
		}
		return p.Identifier + "@" + p.Version
	}
	return []runner{
		{"npm", "npm package, run by npx", `(@[A-Za-z0-9~][\w.~-]*/)?[A-Za-z0-9~][\w.~-]*`, func(p registryPackage, runtime []string) []string {
			return slices.Concat([]string{"npx", "-y"}, without(runtime, "-y"), []string{at(p)})
		}},
		{"pypi", "PyPI package, run by uvx", `[A-Za-z0-9][\w.-]*`, func(p registryPackage, runtime []string) []string {
			return slices.Concat([]string{"uvx"}, runtime, []string{at(p)})
		}},
		{"nuget", "NuGet package, run by dnx", `[A-Za-z0-9][\w.-]*`, func(p registryPackage, runtime []string) []string {
			return slices.Concat([]string{"dnx"}, runtime, []string{at(p), "--yes"})
		}},
		{"oci", "container, run by docker", `[A-Za-z0-9][\w./:@-]*`, func(p registryPackage, runtime []string) []string {
			words := append([]string{"docker", "run", "-i", "--rm"}, without(runtime, "-i", "--rm")...)
			for _, v := range p.Env {
				if v.wanted() {
					words = append(words, "-e", v.Name)
				}
			}
			image := p.Identifier
			if _, last, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":"); last == "" && p.Version != "" && !strings.Contains(image, "@") {
				image += ":" + p.Version
			}
			return append(words, image)
		}},
	}
}

func without(words []string, unwanted ...string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(unwanted, word) })
}

// way returns how to start a package, if it is of a known kind and talks over stdio.
func (p registryPackage) way(name string) (w Way, ok bool) {
	i := slices.IndexFunc(runners(), func(r runner) bool { return r.kind == p.Kind })
	if i < 0 || p.Transport.Type != "" && p.Transport.Type != "stdio" {
		return w, false
	}
	r := runners()[i]
	if !regexp.MustCompile(`^`+r.identifier+`$`).MatchString(p.Identifier) || !regexp.MustCompile(`^([A-Za-z0-9][\w.+-]*)?$`).MatchString(p.Version) {
		return w, false
	}
	w.How = r.how
	line := []string{"molar", "servers", "add", name}
	for _, v := range p.Env {
		if isName := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(v.Name); !isName {
			continue
		}
		w.describe(v.Name, v)
		switch value := cmp.Or(v.Value, v.Default); {
		case v.wanted() && value != "" && !v.Secret:
			line = append(line, "--env", v.Name+"="+value)
		case v.wanted():
			line = append(line, "--env", v.Name)
		}
	}
	line = append(append(line, "--"), r.command(p, values(p.Runtime))...)
	return w.finish(append(line, values(p.Arguments)...))
}

// way returns how to attach a server at an address.
func (r registryRemote) way(name string) (w Way, ok bool) {
	braces := regexp.MustCompile(`\{([A-Za-z_][\w.-]*)\}`)
	variable := func(text string) string {
		return braces.ReplaceAllStringFunc(text, func(m string) string { // {path} is not the PATH of this machine
			return "${" + config.VariableName(name+"_"+m) + "}"
		})
	}
	at, err := url.Parse(braces.ReplaceAllString(r.URL, "x"))
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return w, false
	}
	w.How = "remote server"
	line := []string{"molar", "servers", "add", name, variable(r.URL)}
	if r.Type == "sse" {
		line = append(line, "--type", "sse")
	}
	for _, h := range r.Headers {
		if !regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(h.Name) {
			continue
		}
		w.describe(h.Name, h)
		if h.wanted() {
			line = append(line, "--header", h.Name+": "+variable(cmp.Or(h.Value, "{"+h.Name+"}")))
		}
	}
	return w.finish(line)
}

// wanted reports whether an input must be given.
func (v registryInput) wanted() bool { return v.Required || v.Secret || v.Value != "" }

// describe adds what an input is for.
func (w *Way) describe(name string, v registryInput) {
	kind := "optional"
	if v.Required {
		kind = "required"
	}
	if v.Secret {
		kind += ", secret"
	}
	w.Needs = append(w.Needs, strings.TrimSuffix(fmt.Sprintf("%s (%s): %s", name, kind, terminal.Preview(v.Description)), ": "))
}

// finish sets the command line. It returns false for a line that holds control characters.
func (w Way) finish(line []string) (Way, bool) {
	w.Add = terminal.Shell(line...)
	return w, terminal.Clean(w.Add) == w.Add && !strings.ContainsAny(w.Add, "\n\t") && len(w.Add) < 2000
}

// values returns the words of arguments. What a person has to choose stands in capitals.
func values(arguments []registryInput) []string {
	var words []string
	for _, a := range arguments {
		value := cmp.Or(a.Value, a.Default)
		if value == "" && a.Required {
			value = config.VariableName(cmp.Or(a.Hint, a.Name, "value"))
		}
		switch {
		case a.Type == "named" && (value != "" || a.Required) && value != "true":
			words = append(words, a.Name, value)
		case a.Type == "named" && value == "true":
			words = append(words, a.Name)
		case a.Type != "named" && value != "":
			words = append(words, value)
		}
	}
	return words
}
