package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"molar/internal/config"
	"molar/internal/host"
	"molar/web"
)

// importServers converts pasted text (servers in other hosts' formats, a command, or an
// address) so that it fits into the config file as it is now.
func (p *port) importServers(text string) (web.Imported, error) {
	text = strings.TrimSpace(text)
	imported := web.Imported{File: p.configFile(), Place: web.PlaceNew}
	var at *config.Section
	if data, err := os.ReadFile(imported.File); err == nil {
		imported.Place = web.PlaceEnd
		if s, ok := config.FindSection(data, "mcpServers"); ok {
			at, imported.Place, imported.Line = &s, string(s.Place), s.Line
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return web.Imported{}, fmt.Errorf("read the config file: %w", err)
	}
	taken := slices.Concat(p.files.last().MCPServers.Names(), p.AddedNames())
	if at != nil {
		taken = append(taken, at.Names...)
	}
	file, err := p.convert(text, taken)
	if err != nil {
		return web.Imported{}, err
	}
	if imported.YAML, err = file.TextFor(at); err != nil {
		return web.Imported{}, err
	}
	imported.Servers, imported.LeftOut = file.Servers, file.LeftOut
	if file.Host != config.HostUnknown {
		imported.Host = string(file.Host)
	}
	for _, v := range file.Variables {
		if _, set := p.cli.Env(v.Name); !set && !slices.Contains(p.files.last().Variables.Names, v.Name) {
			imported.Variables = append(imported.Variables, v.Name)
		}
	}
	if len(imported.Variables) > 0 {
		imported.VariablesFile = config.VariablesFile(imported.File)
	}
	return imported, nil
}

// convert converts the text: another host's JSON, a command or an address.
func (p *port) convert(text string, taken []string) (*config.HostFile, error) {
	if text == "" {
		return nil, errors.New("nothing was pasted: paste the JSON of another host, the command that starts a server, or its address")
	}
	at, err := url.Parse(text)
	switch {
	case config.LooksLikeHostFile(text):
		file, err := config.ReadHostFile("the text", []byte(text), taken...)
		if err != nil {
			return nil, fmt.Errorf("this is neither the JSON of another host's servers, nor a command, nor an address: %w", err)
		}
		return file, nil
	case err != nil || at.Host == "":
		server, err := p.command(text)
		if err != nil {
			return nil, err
		}
		return server.Convert(taken, nil, nil)
	case at.Scheme == "http" || at.Scheme == "https":
		return config.NewServer{Name: nameOf(at), URL: at.String()}.Convert(taken, nil, nil)
	}
	return nil, fmt.Errorf("an address begins with http:// or https://, not with %s://", at.Scheme)
}

// nameOf returns a name for the server at an address.
func nameOf(at *url.URL) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(at.Hostname()), "-"), "-")
}

// command parses a command as people paste it from a page: with a prompt, over several lines,
// with variables before it. It must name a program of this machine, since the host runs it.
func (p *port) command(text string) (server config.NewServer, err error) {
	line := strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(strings.TrimPrefix(text, "$ "))
	if strings.Contains(line, "\n") {
		return server, errors.New("these are several lines: paste one command, the JSON of another host, or one address")
	}
	words, err := config.SplitWords(line)
	if err != nil {
		return server, err
	}
	env := map[string]string{}
	for ; len(words) > 1; words = words[1:] {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) {
			break
		}
		env[name] = value
	}
	for i, word := range words { // what a shell would do, but no shell runs
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			home, _ := p.cli.Env("HOME")
			word = home + "/" + rest
		}
		words[i] = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`).ReplaceAllString(word, "$${$1}")
	}
	program := words[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(filepath.Dir(p.configFile()), program) // where the host will look for it
	}
	if _, err := host.LookPath(program); err != nil {
		return server, fmt.Errorf("there is no program %q on this machine: install it, or paste the JSON of another host, or an address that begins with http:// or https://", words[0])
	}
	return config.NewServer{Name: config.NameOfCommand(words), Command: words[0], Args: words[1:], Env: env}, nil
}

// configFile returns the path of the config file, existing or not.
func (p *port) configFile() string {
	if p.Config.File != "" {
		return p.Config.File
	}
	where, _ := config.FindFile("", p.cli.Env)
	return where
}
