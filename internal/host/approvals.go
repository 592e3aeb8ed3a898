package host

import (
	"context"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/telemetry/webhook"
)

// openWebhook opens what tells others about calls that need approvers; nil if nobody is told.
func (h *Host) openWebhook() (*webhook.Sender, error) {
	to := h.Config.Approvals
	if to.Webhook == "" || h.opts.Edges != nil { // a tape tells nobody
		return nil, nil //nolint:nilnil // a nil sender sends nothing
	}
	client, err := Client(h.Config.CAFile)
	if err != nil {
		return nil, err
	}
	return webhook.New(webhook.Config{Hook: "approvals", URL: to.Webhook.Reveal(), Key: to.Key(), Store: h.DB, Client: client, Logger: h.Log, Count: h.Telemetry.CountWebhook})
}

// An approvalEvent is what the webhook is told about a call: what a person would be asked, and no more.
type approvalEvent struct {
	ApprovalID string       `json:"approval_id"`
	TurnID     string       `json:"turn_id"`
	Tool       string       `json:"tool"`
	Server     string       `json:"server"`
	What       string       `json:"what"`
	Person     eventPerson  `json:"person"`
	Approvers  []string     `json:"approvers"`
	URL        string       `json:"url"`
	Allowed    *bool        `json:"allowed,omitempty"`
	DecidedBy  *eventPerson `json:"decided_by,omitempty"`
}

type eventPerson struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// Told tells the webhook what happened to a call that needs approvers.
func (h *Host) Told(ctx context.Context, event, owner string, a answer.Approval, d *agent.Decision) {
	e := approvalEvent{
		ApprovalID: a.ID, TurnID: a.TurnID, Tool: a.Tool, Server: a.Server, What: a.Question.What,
		Person: eventPerson{owner, a.Person}, Approvers: a.Approvers, URL: h.Config.Address(h.Config.Listen) + "/desk#approvals",
	}
	if d != nil {
		e.Allowed, e.DecidedBy = new(d.Allowed), &eventPerson{d.By, d.ByName}
	}
	h.webhook.Send(ctx, owner, event, e)
}

// onHeld tells the webhook about a call that is stored for its approvers.
func (h *Host) onHeld(ctx context.Context, a answer.Held) {
	h.Told(ctx, answer.ApprovalRequested, a.Owner, a.Approval, nil)
}
