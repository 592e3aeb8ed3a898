package web

import (
	"context"
	"net/http"
	"slices"

	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/schemas"
)

// decider returns the client of a request as somebody who decides about calls.
func (s *server) decider(r *http.Request) schemas.Decider {
	who := httpguard.PrincipalOf(r.Context())
	return schemas.DeciderOf(s.Owner(r), who.Name, who.Rights)
}

// isApprover reports whether somebody is in a group that approves calls of some tool.
func (s *server) isApprover(who httpguard.Principal) bool {
	return slices.ContainsFunc(s.Tools.Tools(), func(t schemas.Tool) bool { return who.Rights.Approves(t.Rules.Approvers) })
}

// approvalsForMe lists the calls of others that a client may decide about. Which turn made a call is for
// those who may read the turns of others, and know whose they are.
func (s *server) approvalsForMe(ctx context.Context, by schemas.Decider) ([]answer.Approval, error) {
	all, err := s.turns.ForApprover(ctx, by)
	if !s.Review.People || !httpguard.PrincipalOf(ctx).May(httpguard.ScopeReview) {
		for i := range all {
			all[i].TurnID, all[i].CallID = "", ""
		}
	}
	return all, err
}
