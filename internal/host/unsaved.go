package host

import (
	"context"
	"slices"

	"molar/agent"
	"molar/internal/text"
	"molar/schemas"
)

// titleRunes is how much of its first question names a conversation whose first turn is not saved.
const titleRunes = 80

// Messages returns the newest branch of a conversation, its summary, and whether it exists. A turn that
// is not saved yet is a part of it.
func (c Conversations) Messages(ctx context.Context, owner, id string) ([]schemas.StoredMessage, string, bool, error) {
	unsaved, err := c.unsaved(ctx, owner, id) // first: a turn that is saved meanwhile is not missed
	if err != nil {
		return nil, "", false, err
	}
	messages, summary, known, err := c.Client.Messages(ctx, owner, id)
	if err == nil && len(unsaved) > 0 {
		messages, err = c.before(ctx, owner, id, &unsaved[len(unsaved)-1], messages)
	}
	return messages, summary, known || len(unsaved) > 0, err
}

// Branch returns the messages of the branch that ends with a turn, or of the newest branch if tip is
// empty.
func (c Conversations) Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error) {
	unsaved, err := c.unsaved(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(unsaved, func(t agent.UnsavedTurn) bool { return t.TurnID == tip })
	if tip == "" {
		i = len(unsaved) - 1
	} else if i >= 0 {
		tip = ""
	}
	messages, err := c.Client.Branch(ctx, owner, id, tip)
	if err == nil && i >= 0 {
		messages, err = c.before(ctx, owner, id, &unsaved[i], messages)
	}
	return messages, known(err)
}

// before returns the branch of a turn that is not saved yet, with the turn; newest is the newest saved
// branch.
func (c Conversations) before(ctx context.Context, owner, id string, t *agent.UnsavedTurn, newest []schemas.StoredMessage) ([]schemas.StoredMessage, error) {
	var err error
	switch {
	case t.Parent == nil:
	case *t.Parent == "":
		newest = nil
	default:
		newest, err = c.Client.Branch(ctx, owner, id, *t.Parent)
	}
	return withUnsaved(newest, newest, t), err
}

// Tree returns the messages of all branches, each with the number of the one before it.
func (c Conversations) Tree(ctx context.Context, owner, id string) ([]schemas.StoredMessage, error) {
	unsaved, err := c.unsaved(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	messages, err := c.Client.Tree(ctx, owner, id)
	for i := range unsaved {
		if err != nil {
			return nil, err
		}
		var branch []schemas.StoredMessage
		if t := &unsaved[i]; t.Parent == nil || *t.Parent != "" {
			tip := ""
			if t.Parent != nil {
				tip = *t.Parent
			}
			branch, err = c.Client.Branch(ctx, owner, id, tip)
		}
		messages = withUnsaved(messages, branch, &unsaved[i])
	}
	return messages, err
}

// List returns a page of an owner's conversations, newest first, and the cursor of the next page.
// Conversations whose first turn is not saved yet come first.
func (c Conversations) List(ctx context.Context, owner, q string, limit int, after string) ([]schemas.Conversation, string, error) {
	unsaved, err := c.ofOwner(ctx, owner)
	if err != nil {
		return nil, "", err
	}
	list, next, err := c.Client.List(ctx, owner, q, limit, after)
	if err != nil {
		return nil, "", err
	}
	for _, t := range unsaved {
		i := slices.IndexFunc(list, func(c schemas.Conversation) bool { return c.ID == t.ConversationID })
		switch {
		case i >= 0:
			list[i].Running = list[i].Running || t.Status == schemas.StatusRunning
		case t.First && q == "" && after == "":
			list = slices.Insert(list, 0, schemas.Conversation{
				ID: t.ConversationID, Title: text.Clip(t.Question, titleRunes, ""), Messages: 2, CreatedAt: t.BeganAt, UpdatedAt: t.BeganAt,
				Assistant: t.Assistant, Running: t.Status == schemas.StatusRunning,
			})
		}
	}
	return list, next, nil
}

// unsaved returns the turns of a conversation that are not saved yet.
func (c Conversations) unsaved(ctx context.Context, owner, id string) ([]agent.UnsavedTurn, error) {
	if c.Traces.DB == nil {
		return nil, nil
	}
	records, err := c.Traces.Journal("").ReadConversation(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	return c.unfinished(ctx, records)
}

// ofOwner returns an owner's turns that are not saved yet, without their answers.
func (c Conversations) ofOwner(ctx context.Context, owner string) ([]agent.UnsavedTurn, error) {
	if c.Traces.DB == nil {
		return nil, nil
	}
	found, err := c.Traces.Journal("").ReadOwner(ctx, owner)
	if err != nil {
		return nil, err
	}
	records := make([]schemas.JournalRecord, len(found))
	for i, t := range found {
		records[i].JournalTurn = t
	}
	return c.unfinished(ctx, records)
}

// unfinished reads turns, without those that are saved, so that their journals are about to end, and
// without those that are not to be kept.
func (c Conversations) unfinished(ctx context.Context, records []schemas.JournalRecord) ([]agent.UnsavedTurn, error) {
	var all []agent.UnsavedTurn
	for _, r := range records {
		t, err := agent.Unsaved(r)
		if err != nil {
			return nil, err
		}
		saved := !t.Kept
		if t.Kept {
			if _, saved, err = c.Traces.savedTurn(ctx, r.Owner, r.ID); err != nil {
				return nil, err
			}
		}
		if !saved {
			all = append(all, t)
		}
	}
	return all, nil
}

// withUnsaved adds a turn to messages; branch are those that it follows.
func withUnsaved(messages, branch []schemas.StoredMessage, t *agent.UnsavedTurn) []schemas.StoredMessage {
	var last int64
	for _, m := range messages {
		last = max(last, m.Seq)
	}
	question := schemas.StoredMessage{Seq: last + 1, Role: schemas.RoleUser, Content: t.Question, Timestamp: t.BeganAt, TurnID: t.TurnID}
	answer := schemas.StoredMessage{
		Seq: last + 2, Role: schemas.RoleAssistant, Content: t.Answer, Timestamp: t.BeganAt, TurnID: t.TurnID, Assistant: t.Assistant, Status: t.Status,
		Parent: last + 1,
	}
	if n := len(branch); n > 0 {
		question.Parent, question.ParentTurn = branch[n-1].Seq, branch[n-1].TurnID
	}
	return append(slices.Clip(messages), question, answer)
}
