package turns

import (
	"cmp"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/schemas"
)

// SetOrigins sets whose words a turn's texts are, and what the client's groups allow. identified is set on a port where clients have to say
// who they are: then the operator does not answer for a client's system text.
func SetOrigins(t *agent.Turn, who httpguard.Principal, identified bool) {
	t.Data = t.Data || who.Data
	t.AskNever = who.AskNever
	t.Rights, t.Caller = who.Rights, CallerOf(who)
	if identified && !who.OwnSystem {
		t.SystemFrom = schemas.FromClient
	}
}

// CallerOf returns the person of a request, for servers that each person calls as themselves; nobody
// for a key that has no person behind it.
func CallerOf(who httpguard.Principal) schemas.Caller {
	if who.AskNever {
		return schemas.Caller{}
	}
	return schemas.Caller{ID: cmp.Or(who.Owner, schemas.Operator), Name: who.Name, Groups: who.Rights.Names()}
}
