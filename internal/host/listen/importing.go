package listen

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"molar/internal/config"
	"molar/internal/config/hostfile"
	"molar/web"
)

// importServers reads what a person pasted: servers as other hosts write them, or an address.
func (p *port) importServers(text string) (web.Imported, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return web.Imported{}, errors.New("nothing was pasted: paste the JSON of another host, or the address of a server")
	}
	if at, err := url.Parse(text); err == nil && (at.Scheme == "http" || at.Scheme == "https") && at.Host != "" {
		if text, err = blockOf(at); err != nil {
			return web.Imported{}, err
		}
	}
	file, err := hostfile.Read("the text", []byte(text))
	if err != nil {
		return web.Imported{}, fmt.Errorf("this is neither the JSON of another host's servers nor an address: %w", err)
	}
	found := web.Imported{
		Host: string(file.Host), File: p.configFile(), YAML: string(file.YAML),
		Servers: file.Servers, LeftOut: file.LeftOut,
	}
	for _, v := range file.Variables {
		found.Variables = append(found.Variables, v.Name)
	}
	return found, nil
}

// blockOf is a server at an address as other hosts write it.
func blockOf(at *url.URL) (string, error) {
	block, err := json.Marshal(map[string]any{"mcpServers": map[string]any{nameOf(at): map[string]string{"url": at.String()}}})
	return string(block), err
}

// nameOf is a name for the server at an address.
func nameOf(at *url.URL) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(at.Hostname()), "-"), "-")
}

// configFile is where the config file is, or would be.
func (p *port) configFile() string {
	if p.Config.File != "" {
		return p.Config.File
	}
	where, _ := config.Find("", p.cli.Env)
	return where
}
