package telemetry

import "sync"

// other replaces every name that must not become a label.
const other = "other"

// labels limits the values of a label: those known from the config, and a limited number that
// appear while the host runs. A metric whose labels grow without end would cost memory without
// end, here and where it is stored.
type labels struct {
	mu    sync.Mutex
	known map[string]bool
	limit int
}

func newLabels(limit int, configured ...string) *labels {
	l := &labels{known: make(map[string]bool, len(configured)), limit: limit}
	for _, name := range configured {
		if name != "" && len(l.known) < limit {
			l.known[name] = true
		}
	}
	return l
}

// of returns the name, or "other". A name that a client chose must already be known.
func (l *labels) of(name string, clients bool) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case name == "":
		return "none"
	case l.known[name]:
		return name
	case clients || len(l.known) >= l.limit || len(name) > 128:
		return other
	}
	l.known[name] = true
	return name
}
