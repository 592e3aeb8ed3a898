package tape

import (
	"encoding/json"
	"maps"
	"slices"
)

// addListed stores a page of tools that a real server listed.
func (p *Player) addListed(server string, result json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live[server] == nil {
		p.live[server] = make(map[string]Tool)
	}
	for _, t := range listed(result) {
		p.live[server][t.Name] = t
	}
}

// Contract compares the tools that a real server lists with those on the tape.
func (p *Player) Contract(server string) []Drift {
	was := p.cfg.Tape.Servers[server]
	p.mu.Lock()
	now, attached := p.live[server]
	now = maps.Clone(now)
	p.mu.Unlock()
	if was == nil || !attached {
		return nil
	}
	if p.IsBuilt() {
		for name, t := range was.Tools {
			if n, there := now[name]; there && t.Title == "" && len(t.OutputSchema) == 0 && t.Annotations == (Annotations{}) {
				n.Title, n.OutputSchema, n.Annotations = "", nil, Annotations{}
				now[name] = n
			}
		}
	}
	drifts := compareTools(server, was.Tools, now)
	for i := range drifts {
		drifts[i].Line = was.Line
	}
	return drifts
}

// IsBuilt reports whether the tape was not recorded but made from an import or a trace. Its
// tools may have only the fields that a model sees.
func (p *Player) IsBuilt() bool {
	return slices.ContainsFunc(p.models, func(x *exchange) bool { return x.request.Unkeyed })
}

// isStrict reports whether the tape has all that a recording has.
func (p *Player) isStrict() bool { return p.cfg.Tape.Header.V >= 3 && !p.IsBuilt() }

// compareContracts reports the changes of the servers that the tape uses.
func (p *Player) compareContracts() {
	for _, server := range p.Servers() {
		if p.Uses(server) {
			for _, d := range p.Contract(server) {
				p.drift(0, d.Line, d)
			}
		}
	}
}
