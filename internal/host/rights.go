package host

import (
	"context"
	"encoding/json"
	"iter"

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

// CountPerson says how many things of each kind an owner has.
func (p People) CountPerson(ctx context.Context, owner string) (schemas.Erased, error) {
	counts, err := p.DB.CountPerson(ctx, owner)
	for after, more := "", p.Remote && err == nil; more; more = err == nil && after != "" {
		var page []schemas.Conversation
		page, after, err = p.Memory.List(ctx, owner, "", memoryPage, after)
		counts["conversations"] += int64(len(page))
	}
	return counts, err
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
				whole, err := p.conversation(ctx, owner, c)
				var data json.RawMessage
				if err == nil {
					data, err = json.Marshal(whole)
				}
				if !yield(schemas.PersonRecord{Kind: "conversation", Data: data}, err) || err != nil {
					return
				}
			}
			after = next
		}
	}
}

// conversation reads a conversation of the memory with its files.
func (p People) conversation(ctx context.Context, owner string, c schemas.Conversation) (store.Exported, error) {
	whole := store.Exported{Owner: owner, ID: c.ID, Title: c.Title, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
	messages, err := p.Memory.Tree(ctx, owner, c.ID)
	whole.Messages = store.WithOrigins(messages)
	var files []schemas.File
	if err == nil {
		files, err = p.Memory.Files(ctx, owner, c.ID)
	}
	for i := 0; i < len(files) && err == nil; i++ {
		var f memory.File
		f, err = p.Memory.ReadFile(ctx, owner, c.ID, files[i].Seq, files[i].N)
		whole.Files = append(whole.Files, store.Whole{File: f.File, Data: f.Data})
	}
	return whole, err
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
	if !p.Remote || err != nil {
		return erased, err
	}
	elsewhere, err := p.Memory.Erase(ctx, owner)
	erased.Add(elsewhere)
	return erased, err
}
