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

// Messages returns the newest branch of a conversation with the turns that are not saved yet, its
// summary, and whether it exists.
func (c Conversations) Messages(ctx context.Context, owner, id string) ([]schemas.StoredMessage, string, bool, error) {
	unsaved, err := c.unsaved(ctx, owner, id) // first: a turn that is saved meanwhile is not missed
	if err != nil {
		return nil, "", false, err
	}
	messages, summary, known, err := c.Client.Messages(ctx, owner, id)
	return withUnsaved(messages, unsaved, false), summary, known || len(unsaved) > 0, err
}

// Branch returns the messages of the branch that ends with a turn, or of the newest branch if tip is
// empty.
func (c Conversations) Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error) {
	unsaved, err := c.unsaved(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(unsaved, func(t agent.UnsavedTurn) bool { return t.TurnID == tip })
	switch {
	case i >= 0:
		unsaved, tip = unsaved[i:i+1], unsaved[i].Parent
	case tip != "":
		unsaved = nil
	}
	messages, err := c.Client.Branch(ctx, owner, id, tip)
	return withUnsaved(messages, unsaved, false), known(err)
}

// Tree returns the messages of all branches, each with the number of the one before it.
func (c Conversations) Tree(ctx context.Context, owner, id string) ([]schemas.StoredMessage, error) {
	unsaved, err := c.unsaved(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	messages, err := c.Client.Tree(ctx, owner, id)
	return withUnsaved(messages, unsaved, true), err
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
		if _, saved, err := c.Traces.savedTurn(ctx, owner, t.TurnID); saved || err != nil { // its journal is about to end
			continue
		}
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
	return unfinished(records, err)
}

// ofOwner returns an owner's turns that are not saved yet, without their answers.
func (c Conversations) ofOwner(ctx context.Context, owner string) ([]agent.UnsavedTurn, error) {
	if c.Traces.DB == nil {
		return nil, nil
	}
	found, err := c.Traces.Journal("").ReadOwner(ctx, owner)
	records := make([]schemas.JournalRecord, len(found))
	for i, t := range found {
		records[i].JournalTurn = t
	}
	return unfinished(records, err)
}

func unfinished(records []schemas.JournalRecord, err error) ([]agent.UnsavedTurn, error) {
	var all []agent.UnsavedTurn
	for _, r := range records {
		var t agent.UnsavedTurn
		if t, err = agent.Unsaved(r); err != nil {
			break
		}
		all = append(all, t)
	}
	return all, err
}

// withUnsaved adds turns to the messages of a conversation, unless they are among them by now.
func withUnsaved(messages []schemas.StoredMessage, turns []agent.UnsavedTurn, tree bool) []schemas.StoredMessage {
	var last int64
	for _, m := range messages {
		last = max(last, m.Seq)
	}
	for _, t := range turns {
		if slices.ContainsFunc(messages, func(m schemas.StoredMessage) bool { return m.TurnID == t.TurnID }) {
			continue
		}
		question := schemas.StoredMessage{
			Seq: last + 1, Role: schemas.RoleUser, Content: t.Question, Timestamp: t.BeganAt, TurnID: t.TurnID, ParentTurn: t.Parent,
		}
		answer := schemas.StoredMessage{
			Seq: last + 2, Role: schemas.RoleAssistant, Content: t.Answer, Timestamp: t.BeganAt, TurnID: t.TurnID, Assistant: t.Assistant, Status: t.Status,
		}
		if tree {
			for _, m := range messages {
				if m.TurnID == t.Parent && t.Parent != "" {
					question.Parent = max(question.Parent, m.Seq)
				}
			}
			answer.Parent = question.Seq
		}
		messages, last = append(messages, question, answer), last+2
	}
	return messages
}
