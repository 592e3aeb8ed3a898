package host

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"molar/agent"
	"molar/agent/memory"
	"molar/internal/store"
	"molar/schemas"
)

// People exports and erases what is a person's, in the database of the host and in its memory.
type People struct {
	*store.DB
	Memory *memory.Client
	Traces TraceStore
	// Remote is set if the memory has a database of its own.
	Remote bool
}

// memoryPage is how many conversations are listed at once.
const memoryPage = 100

// ExportPerson yields all that is an owner's.
func (p People) ExportPerson(ctx context.Context, owner string) iter.Seq2[schemas.PersonRecord, error] {
	return func(yield func(schemas.PersonRecord, error) bool) {
		if err := p.Traces.flush(ctx); err != nil {
			yield(schemas.PersonRecord{}, err)
			return
		}
		if p.Remote {
			for c, err := range p.conversations(ctx, owner) {
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
		for r, err := range p.DB.ExportPerson(ctx, owner) {
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// conversations yields the conversations of an owner as the memory has them.
func (p People) conversations(ctx context.Context, owner string) iter.Seq2[schemas.PersonRecord, error] {
	return func(yield func(schemas.PersonRecord, error) bool) {
		for after, more := "", true; more; more = after != "" {
			page, next, err := p.Memory.List(ctx, owner, "", memoryPage, after)
			if err != nil {
				yield(schemas.PersonRecord{}, err)
				return
			}
			for _, c := range page {
				messages, err := p.Memory.Tree(ctx, owner, c.ID)
				var data json.RawMessage
				if err == nil {
					data, err = json.Marshal(struct {
						schemas.Conversation
						Messages []schemas.StoredMessage `json:"messages"`
					}{c, messages})
				}
				if !yield(schemas.PersonRecord{Kind: "conversation", Data: data}, err) || err != nil {
					return
				}
			}
			after = next
		}
	}
}

// ErasePerson deletes all that is an owner's, for good. See [store.EraseForGood]; it takes some seconds.
func (p People) ErasePerson(ctx context.Context, owner string) (schemas.Erased, error) {
	return store.EraseForGood(ctx, owner, p.erase)
}

func (p People) erase(ctx context.Context, owner string) (schemas.Erased, error) {
	erased, err := p.DB.ErasePerson(ctx, owner)
	if err == nil {
		err = p.Traces.flush(ctx) // those that wait are of before, and are not stored
	}
	for p.Remote && err == nil {
		var page []schemas.Conversation
		if page, _, err = p.Memory.List(ctx, owner, "", memoryPage, ""); len(page) == 0 {
			break
		}
		for _, c := range page {
			if err = known(p.Memory.Delete(ctx, owner, c.ID)); err != nil && !errors.Is(err, agent.ErrNotFound) {
				return erased, err
			}
			err = nil
			erased["conversations"]++
		}
	}
	return erased, err
}
