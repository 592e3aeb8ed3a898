package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// A ConversationHead is a conversation in OpenAI's form, without its items.
type ConversationHead struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	CreatedAt int64             `json:"created_at"`
	Metadata  map[string]string `json:"metadata"`
}

// A ConversationRequest is the body of a request that creates a conversation or changes its
// metadata.
type ConversationRequest struct {
	Metadata map[string]string `json:"metadata"`
	Items    json.RawMessage   `json:"items"`
}

// CreateConversation answers POST /v1/conversations. The conversation has the items of the request,
// or is empty until its first turn.
func (s *Surface) CreateConversation(c *gin.Context) {
	var q ConversationRequest
	ctx, owner := c.Request.Context(), s.Owner(c.Request)
	err := readOptional(c.Request, &q)
	var groups [][]responses.Item
	if err == nil && wire.IsSet(q.Items) {
		groups, err = s.readImport(ctx, owner, q.Items)
	}
	head := ConversationHead{ID: "conv_" + schemas.NewID(), CreatedAt: s.Turns.Now().Unix(), Metadata: q.Metadata}
	if err == nil {
		err = s.keepConversation(ctx, owner, &head)
	}
	if err == nil {
		_, err = s.importAll(ctx, owner, head.ID, groups)
	}
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	wire.WriteJSON(c.Writer, head)
}

// UpdateConversation answers POST /v1/conversations/{id}.
func (s *Surface) UpdateConversation(c *gin.Context) {
	var q ConversationRequest
	ctx, owner := c.Request.Context(), s.Owner(c.Request)
	known, err := s.Conversation(ctx, owner, c.Param("id"))
	if err == nil && known == nil {
		err = wire.NotFound("conversation")
	}
	if err == nil {
		err = readOptional(c.Request, &q)
	}
	if err == nil && wire.IsSet(q.Items) {
		err = wire.Unsupported("items", "items are added with POST /v1/conversations/{id}/items")
	}
	if err == nil {
		known.Metadata = q.Metadata
		err = s.keepConversation(ctx, owner, known)
	}
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	wire.WriteJSON(c.Writer, *known)
}

// readOptional reads a body, which may be missing.
func readOptional(r *http.Request, v any) error {
	if r.ContentLength == 0 {
		return nil
	}
	return wire.ReadBody(r, v)
}

// keepConversation stores the head of a conversation.
func (s *Surface) keepConversation(ctx context.Context, owner string, o *ConversationHead) error {
	o.Object = "conversation"
	if o.Metadata == nil {
		o.Metadata = map[string]string{}
	}
	body, err := json.Marshal(o)
	if err == nil {
		err = s.Store.PutResponse(ctx, schemas.StoredResponse{Owner: owner, ID: o.ID, ConversationID: o.ID, CreatedAt: s.Turns.Now(), Body: body})
	}
	if err != nil {
		s.Turns.Logger.Error("a conversation could not be stored", "conversation_id", o.ID, "error", err)
		return wire.ErrStore
	}
	return nil
}

// Conversation returns the head of an owner's conversation; nil if there is none.
func (s *Surface) Conversation(ctx context.Context, owner, id string) (*ConversationHead, error) {
	o := &ConversationHead{ID: id, Object: "conversation", Metadata: map[string]string{}}
	stored, ok, err := s.Store.GetResponse(ctx, owner, id)
	if err != nil {
		return nil, s.storeFailed(id, err)
	}
	if ok {
		return o, json.Unmarshal(stored.Body, o)
	}
	messages, _, known, err := s.Conversations.Messages(ctx, owner, id)
	switch {
	case errors.Is(err, agent.ErrNotFound), err == nil && !known:
		return nil, nil //nolint:nilnil // unknown
	case err != nil:
		return nil, s.storeFailed(id, err)
	}
	if len(messages) > 0 {
		o.CreatedAt = messages[0].Timestamp.Unix()
	}
	return o, nil
}

// Forget drops the ended responses of a conversation, which could otherwise still be followed.
func (s *Surface) Forget(owner, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range s.live {
		if (owner == "" || l.owner == owner) && l.ended() && l.record.Conversation == id {
			delete(s.live, key)
		}
	}
}

// DeleteConversation deletes the head of a conversation, and reports whether there was one. A
// conversation without a turn has only a head.
func (s *Surface) DeleteConversation(ctx context.Context, owner, id string) (known bool, err error) {
	s.Forget(owner, id)
	if known, err = s.Store.DeleteResponse(ctx, owner, id); err != nil {
		return false, s.storeFailed(id, err)
	}
	return known, nil
}

func (s *Surface) storeFailed(id string, err error) error {
	s.Turns.Logger.Error("read a conversation", "conversation_id", id, "error", err)
	return wire.ErrStore
}

// ConversationItems answers GET /v1/conversations/{id}/items.
func (s *Surface) ConversationItems(c *gin.Context) {
	k, err := s.items(c.Request.Context(), s.Owner(c.Request), c.Param("id"))
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	writePage(c, k.All, k.Whole)
}

// ConversationItem answers GET /v1/conversations/{id}/items/{item}.
func (s *Surface) ConversationItem(c *gin.Context) {
	k, err := s.items(c.Request.Context(), s.Owner(c.Request), c.Param("id"))
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	i := slices.IndexFunc(k.All, func(raw json.RawMessage) bool { return idOf(raw) == c.Param("item") })
	if i < 0 {
		writeError(c.Writer, wire.NotFound("item"))
		return
	}
	item, err := k.Whole(k.All[i])
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	wire.WriteBody(c.Writer, http.StatusOK, item)
}

// items returns the items of the newest branch of a conversation, oldest first: those of stored
// responses and imports, and for other turns items made from the stored messages.
func (s *Surface) items(ctx context.Context, owner, id string) (*conversationItems, error) {
	known, err := s.Conversation(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if known == nil {
		return nil, wire.NotFound("conversation")
	}
	messages, _, _, err := s.Conversations.Messages(ctx, owner, id)
	if err != nil && !errors.Is(err, agent.ErrNotFound) {
		return nil, s.storeFailed(id, err)
	}
	var files []schemas.File
	if s.Files != nil {
		if files, err = s.Files.Files(ctx, owner, id); err != nil && !errors.Is(err, agent.ErrNotFound) {
			return nil, s.storeFailed(id, err)
		}
	}
	k := &conversationItems{Data: func(f schemas.File) ([]byte, error) {
		_, data, err := s.Files.File(ctx, owner, id, f.Seq, f.N)
		if err != nil {
			return nil, s.storeFailed(id, err)
		}
		return data, nil
	}}
	for len(messages) > 0 {
		turn := messages[0].TurnID
		end := slices.IndexFunc(messages, func(m schemas.StoredMessage) bool { return m.TurnID != turn })
		if end < 0 {
			end = len(messages)
		}
		first := len(k.All)
		if err := s.addItems(ctx, owner, k, messages[:end], files); err != nil {
			return nil, err
		}
		k.Last = lastTurn{ID: turn, Parent: messages[0].ParentTurn, Imported: isImported(messages[:end]), First: first}
		messages = messages[end:]
	}
	return k, nil
}

// addItems adds the items of one turn, which has these messages.
func (s *Surface) addItems(ctx context.Context, owner string, k *conversationItems, messages []schemas.StoredMessage, files []schemas.File) error {
	turn := messages[0].TurnID
	if isImported(messages) {
		items, err := s.imported(ctx, owner, turn)
		if err != nil || items != nil {
			k.All = append(k.All, items...)
			return err
		}
	}
	r, err := s.record(ctx, owner, idPrefix+turn)
	if err != nil {
		return err
	}
	if r != nil && r.Status != responses.StatusInProgress {
		output, err := r.output()
		if err != nil {
			return err
		}
		k.All = append(k.All, r.Input...)
		for _, it := range output {
			k.All = append(k.All, it.Raw)
		}
		return nil
	}
	for i, m := range messages {
		if err := k.Add(fmt.Sprintf("msg_%s_%d", turn, i), m, files); err != nil {
			return err
		}
	}
	return nil
}
