package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"molar/agent"
	"molar/agent/memory"
	"molar/schemas"
	"molar/web/responses"
)

// importWait is how long an import waits for a turn of its conversation.
const importWait = 30 * time.Second

// imports adds the exchanges of clients to the memory. Their texts count as the client's: no model
// of this host wrote them.
type imports struct{ memory *memory.Client }

// Import implements [responses.Imports].
func (i imports) Import(ctx context.Context, owner, conversation string, parent *string, x responses.Exchange) (string, error) {
	opening, err := i.begin(ctx, owner, conversation, parent)
	if err != nil {
		return "", err
	}
	r := memory.Record{
		Lease: opening.Lease, Owner: owner, TurnID: schemas.NewID(), User: x.Question, Answer: x.Answer, Rounds: ofClient(x.Rounds),
		ServersRead: []string{agent.PauseClient}, Assistant: agent.PauseClient,
	}
	if r.Key = r.TurnID; r.Answer == "" {
		r.Status = schemas.StatusInterrupted
	}
	if err = i.memory.Save(ctx, r); err != nil {
		return "", i.release(ctx, opening.Lease, err)
	}
	if err := i.putFiles(ctx, r, x.Files); err != nil {
		return "", errors.Join(err, i.DeleteTurn(context.WithoutCancel(ctx), owner, r.Lease.ConversationID, r.TurnID))
	}
	return r.TurnID, nil
}

// ofClient returns rounds of which the question and all that was read are the client's.
func ofClient(rounds []schemas.Round) []schemas.Round {
	if len(rounds) == 0 {
		rounds = []schemas.Round{{Said: schemas.Message{Role: schemas.RoleAssistant}}}
	}
	rounds = slices.Clone(rounds)
	rounds[0].Traced, rounds[0].Read, rounds[0].Question = true, []schemas.Origin{schemas.FromClient}, []schemas.Origin{schemas.FromClient}
	return rounds
}

// putFiles stores the files of a saved question.
func (i imports) putFiles(ctx context.Context, r memory.Record, files []schemas.Part) error {
	for n, p := range files {
		media, data, isAddress := schemas.DataOf(p.Text)
		if isAddress != nil {
			continue // the address of an image: nothing is fetched
		}
		f := schemas.File{N: n, Name: cmp.Or(p.Name, path.Base(media)), Media: media}
		if err := i.memory.PutFile(ctx, r.Lease, r.TurnID, memory.File{File: f, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// DeleteTurn implements [responses.Imports].
func (i imports) DeleteTurn(ctx context.Context, owner, conversation, turnID string) error {
	opening, err := i.begin(ctx, owner, conversation, nil)
	if err != nil {
		return err
	}
	if err := i.memory.DeleteTurn(ctx, opening.Lease, turnID); err != nil {
		return i.release(ctx, opening.Lease, err)
	}
	return nil
}

func (i imports) begin(ctx context.Context, owner, conversation string, parent *string) (schemas.Opening, error) {
	opening, err := i.memory.Begin(ctx, memory.BeginRequest{ConversationID: conversation, Owner: owner, Parent: parent, Wait: importWait})
	if errors.Is(err, memory.ErrBusy) {
		err = fmt.Errorf("%w: a turn of this conversation is running; send the items again when it has ended", agent.ErrBusy)
	}
	return opening, err
}

// release ends a lease after an error, which it returns.
func (i imports) release(ctx context.Context, lease schemas.Lease, err error) error {
	if errors.Is(err, memory.ErrUnknown) {
		err = fmt.Errorf("%w: %w", agent.ErrNotFound, err)
	}
	return errors.Join(err, i.memory.Release(context.WithoutCancel(ctx), lease))
}
