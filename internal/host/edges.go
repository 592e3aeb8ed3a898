package host

import (
	"net/http"

	"molar/eval"
	"molar/providers/chain"
)

// overEdges inserts a recorder or player between a client and its services.
func overEdges(edges eval.Edges, client *http.Client) *http.Client {
	if edges == nil {
		return client
	}
	over := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if client != nil {
		over = *client
	}
	base := over.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	over.Transport = edges.Transport(base)
	return &over
}

// tapeCandidates wraps the providers of the candidates, so that the recorder or player sees their
// calls.
func tapeCandidates(edges eval.Edges, candidates map[string]chain.Candidate) map[string]chain.Candidate {
	for name, c := range candidates {
		c.Provider = edges.Provider(c.Provider, false)
		candidates[name] = c
	}
	return candidates
}
