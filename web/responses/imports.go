package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"molar/agent"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// An Exchange is a question and its answer that another program had.
type Exchange struct {
	Question string
	// Files are the files of the question: images and files with a data URL.
	Files []schemas.Part
	// Rounds are the calls with their results before the answer.
	Rounds []schemas.Round
	// Answer is empty for a question that was not answered.
	Answer string
}

// Imports changes stored conversations without a turn. For an unknown conversation or turn, the
// error is [agent.ErrNotFound].
type Imports interface {
	// Import saves an exchange after the turn parent, at the beginning if that is empty, and at the
	// end of the newest branch if it is nil. It returns the id of the turn that the exchange became.
	Import(ctx context.Context, owner, conversation string, parent *string, x Exchange) (turnID string, err error)
	// DeleteTurn deletes a turn.
	DeleteTurn(ctx context.Context, owner, conversation, turnID string) error
}

// importPrefix precedes the turn's id in the id under which the items of an import are stored.
const importPrefix = "imp_"

// An ItemsRequest is the body of a request that adds items to a conversation.
type ItemsRequest struct {
	Items json.RawMessage `json:"items"`
}

// AddItems answers POST /v1/conversations/{id}/items: it adds messages, and calls with their
// results, as an exchange that no model of this host answered.
func (s *Surface) AddItems(c *gin.Context) {
	ctx, owner, id := c.Request.Context(), s.Owner(c.Request), c.Param("id")
	var q ItemsRequest
	known, err := s.Conversation(ctx, owner, id)
	if err == nil && known == nil {
		err = wire.NotFound("conversation")
	}
	if err == nil {
		err = wire.ReadBody(c.Request, &q)
	}
	var groups [][]responses.Item
	if err == nil {
		groups, err = s.readImport(ctx, owner, q.Items)
	}
	if err == nil && len(groups) == 0 {
		err = wire.Invalid("items", "items must hold at least one item")
	}
	var added []json.RawMessage
	if err == nil {
		added, err = s.importAll(ctx, owner, id, groups)
	}
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	wire.WriteJSON(c.Writer, ItemList{Object: "list", Data: added, FirstID: new(idOf(added[0])), LastID: new(idOf(added[len(added)-1]))})
}

// DeleteItem answers DELETE /v1/conversations/{id}/items/{item}, for the items of the newest
// exchange if that was imported: what follows an exchange was answered with it in sight, and of a
// turn there is more than its items.
func (s *Surface) DeleteItem(c *gin.Context) {
	ctx, owner, id := c.Request.Context(), s.Owner(c.Request), c.Param("id")
	k, err := s.items(ctx, owner, id)
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	i := slices.IndexFunc(k.All, func(raw json.RawMessage) bool { return idOf(raw) == c.Param("item") })
	switch {
	case i < 0:
		err = wire.NotFound("item")
	case i < k.Last.First || !k.Last.Imported || s.Imports == nil:
		err = wire.Unsupported("item", "only items that were added, and are of the newest exchange, can be deleted; DELETE /v1/conversations/{id} deletes all")
	default:
		rest := slices.Concat(k.All[k.Last.First:i], k.All[i+1:])
		err = s.replace(ctx, owner, id, k.Last, rest)
	}
	head, headErr := s.Conversation(ctx, owner, id)
	if err == nil {
		err = headErr
	}
	if err == nil && head == nil { // its only turn is gone
		head = &ConversationHead{ID: id, CreatedAt: s.Turns.Now().Unix()}
		err = s.keepConversation(ctx, owner, head)
	}
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	wire.WriteJSON(c.Writer, *head)
}

// readImport reads items to import, by exchange: each begins with messages of a person.
func (s *Surface) readImport(ctx context.Context, owner string, raw json.RawMessage) ([][]responses.Item, error) {
	if s.Imports == nil {
		return nil, wire.Unsupported("items", "this host's conversations take no items: send them as the input of a response")
	}
	items, err := readList(raw, "items")
	if err == nil {
		items, err = s.resolve(ctx, owner, items)
	}
	if err != nil {
		return nil, err
	}
	if len(items) > s.MaxMessages {
		return nil, wire.Invalid("items", "the request has %d items, and this server accepts %d", len(items), s.MaxMessages)
	}
	unique := uuid.NewString()
	var groups [][]responses.Item
	for i := range items {
		if items[i].Type != "reasoning" { // other ids are the host's to give
			items[i].ID = ""
		}
		items[i].Raw = identify(items[i], fmt.Sprintf("in_%s_%d", unique, i))
		if i == 0 || asks(items[i]) && !asks(items[i-1]) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], items[i])
	}
	for _, group := range groups {
		if _, err := s.exchange(ctx, owner, group); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// asks reports whether an item is a message that a model did not write.
func asks(it responses.Item) bool { return it.Type == "message" && it.Role != "assistant" }

// importAll adds exchanges to the end of a conversation. Items without a question continue an
// exchange that was imported last. It returns the added items.
func (s *Surface) importAll(ctx context.Context, owner, id string, groups [][]responses.Item) ([]json.RawMessage, error) {
	var added []json.RawMessage
	for i, group := range groups {
		raws := rawsOf(group)
		added = append(added, raws...)
		if i == 0 && !asks(group[0]) {
			k, err := s.items(ctx, owner, id)
			if err != nil {
				return nil, err
			}
			if k.Last.Imported {
				if err := s.replace(ctx, owner, id, k.Last, slices.Concat(k.All[k.Last.First:], raws)); err != nil {
					return nil, err
				}
				continue
			}
		}
		if err := s.importItems(ctx, owner, id, nil, group); err != nil {
			return nil, err
		}
	}
	return added, nil
}

// importItems saves an exchange with its items.
func (s *Surface) importItems(ctx context.Context, owner, id string, parent *string, items []responses.Item) error {
	x, err := s.exchange(ctx, owner, items)
	if err != nil {
		return err
	}
	turn, err := s.Imports.Import(ctx, owner, id, parent, x)
	if err != nil {
		return s.importFailed(id, err)
	}
	s.keep(ctx, owner, importPrefix+turn, s.Turns.Now(), &record{Input: rawsOf(items), Turn: turn, Conversation: id, Status: responses.StatusCompleted})
	return nil
}

// replace gives the newest turn of a conversation, which was imported, other items. The new turn is saved before the old
// one is deleted, so that nothing is lost in between.
func (s *Surface) replace(ctx context.Context, owner, id string, old lastTurn, raws []json.RawMessage) error {
	if len(raws) > 0 {
		list, err := json.Marshal(raws)
		if err != nil {
			return err
		}
		items, err := readList(list, "items")
		if err != nil {
			return err
		}
		if err := s.importItems(ctx, owner, id, &old.Parent, items); err != nil {
			return err
		}
	}
	if err := s.Imports.DeleteTurn(ctx, owner, id, old.ID); err != nil {
		return s.importFailed(id, err)
	}
	if _, err := s.Store.DeleteResponse(ctx, owner, importPrefix+old.ID); err != nil {
		return s.storeFailed(id, err)
	}
	return nil
}

func (s *Surface) importFailed(id string, err error) error {
	if errors.Is(err, agent.ErrNotFound) {
		return wire.NotFound("conversation")
	}
	if e := failure(err); e.Status < http.StatusInternalServerError {
		return e
	}
	return s.storeFailed(id, err)
}

// exchange converts items, of which the first ones ask, to an exchange. Calls and results without
// each other are left out of it, and so is system text, which no stored conversation has.
func (s *Surface) exchange(ctx context.Context, owner string, items []responses.Item) (Exchange, error) {
	all := s.newTalk(ctx, owner)
	for _, it := range paired(items) {
		if err := all.add(it, "items"); err != nil {
			return Exchange{}, err
		}
	}
	if len(all.Open) > 0 { // two calls with one id
		return Exchange{}, wire.Invalid("items", "no tool output found for function call %s", wire.Clip(all.Open[0].ID, 80))
	}
	var x Exchange
	var answers []string
	for i, m := range all.Messages {
		switch calls := m.Calls(); {
		case m.Role == schemas.RoleUser:
			x.Question = m.Said()
			x.Files = slices.DeleteFunc(slices.Clone(m.Parts), func(p schemas.Part) bool { return p.Kind != schemas.PartImage && p.Kind != schemas.PartFile })
			for _, f := range all.Files {
				x.Files = append(x.Files, schemas.FilePart(f.Name, "text/plain", []byte(f.Text)))
			}
		case len(calls) > 0:
			round := schemas.Round{Said: m}
			for _, p := range all.Messages[i+1].Parts { // the results: all calls are paired
				result := *p.Result
				result.Server = agent.PauseClient // whatever the item says
				round.Results = append(round.Results, result)
			}
			x.Rounds = append(x.Rounds, round)
		case m.Role == schemas.RoleAssistant:
			answers = append(answers, m.Said())
		}
	}
	x.Answer = strings.Join(answers, "\n\n")
	return x, nil
}

// paired returns the items without calls that have no result, and results that have no call.
func paired(items []responses.Item) []responses.Item {
	has := func(kind, callID string) bool {
		return slices.ContainsFunc(items, func(it responses.Item) bool { return it.Type == kind && it.CallID == callID })
	}
	return slices.DeleteFunc(slices.Clone(items), func(it responses.Item) bool {
		return it.Type == "function_call" && !has("function_call_output", it.CallID) || it.Type == "function_call_output" && !has("function_call", it.CallID)
	})
}

// isImported reports whether the messages of a turn were imported.
func isImported(messages []schemas.StoredMessage) bool {
	return messages[len(messages)-1].Assistant == agent.PauseClient
}

// imported returns the items of an imported turn; nil if they are no longer stored.
func (s *Surface) imported(ctx context.Context, owner, turn string) ([]json.RawMessage, error) {
	stored, ok, err := s.Store.GetResponse(ctx, owner, importPrefix+turn)
	if err != nil {
		return nil, s.storeFailed(turn, err)
	}
	var r record
	if ok {
		err = json.Unmarshal(stored.Body, &r)
	}
	return r.Input, err
}

func rawsOf(items []responses.Item) []json.RawMessage {
	raws := make([]json.RawMessage, len(items))
	for i, it := range items {
		raws[i] = it.Raw
	}
	return raws
}
