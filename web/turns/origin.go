package turns

import (
	"molar/agent"
	"molar/internal/httpguard"
	"molar/schemas"
)

// SetOrigins sets whose words a turn's texts are, and what the client's groups allow. identified is set on a port where clients have to say
// who they are: then the operator does not answer for a client's system text.
func SetOrigins(t *agent.Turn, who httpguard.Principal, identified bool) {
	t.Data = t.Data || who.Data
	t.AskNever = who.AskNever
	t.Rights, t.AskedBy = who.Rights, who.Name
	if identified && !who.OwnSystem {
		t.SystemFrom = schemas.FromClient
	}
}
