package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"molar/agent"
	"molar/schemas"
	"molar/web/wire"
)

// A ConversationHead is a conversation in OpenAI's form, without its messages, which only turns
// add.
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

// CreateConversation answers POST /v1/conversations. The conversation is empty until its
// first turn.
func (s *Surface) CreateConversation(c *gin.Context) {
	s.keepConversation(c, ConversationHead{ID: "conv_" + uuid.NewString(), CreatedAt: s.Turns.Now().Unix()})
}

// UpdateConversation answers POST /v1/conversations/{id}.
func (s *Surface) UpdateConversation(c *gin.Context) {
	known, err := s.Conversation(c.Request.Context(), s.Owner(c.Request), c.Param("id"))
	if err == nil && known == nil {
		err = wire.NotFound("conversation")
	}
	if err != nil {
		writeError(c.Writer, err)
		return
	}
	s.keepConversation(c, *known)
}

func (s *Surface) keepConversation(c *gin.Context, o ConversationHead) {
	var q ConversationRequest
	if c.Request.ContentLength != 0 {
		if err := wire.ReadBody(c.Request, &q); err != nil {
			writeError(c.Writer, err)
			return
		}
	}
	if wire.IsSet(q.Items) && string(q.Items) != "[]" {
		writeError(c.Writer, wire.Unsupported("items", "items cannot be added to a conversation directly: send them as the input of a response"))
		return
	}
	o.Object, o.Metadata = "conversation", q.Metadata
	if o.Metadata == nil {
		o.Metadata = map[string]string{}
	}
	body, err := json.Marshal(o)
	if err == nil {
		err = s.Store.PutResponse(c.Request.Context(), schemas.StoredResponse{
			Owner: s.Owner(c.Request), ID: o.ID, ConversationID: o.ID, CreatedAt: s.Turns.Now(), Body: body,
		})
	}
	if err != nil {
		s.Turns.Logger.Error("a conversation could not be stored", "conversation_id", o.ID, "error", err)
		writeError(c.Writer, wire.ErrStore)
		return
	}
	wire.WriteJSON(c.Writer, o)
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

// AddItems answers POST /v1/conversations/{id}/items with an error that names the alternative.
func (s *Surface) AddItems(c *gin.Context) {
	writeError(c.Writer, wire.Unsupported("items", "items cannot be added to a conversation directly: send them as the input of a response"))
}

// items returns the items of the newest branch of a conversation, oldest first: those of stored
// responses, and for other turns items made from the stored messages.
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
		if err := s.addItems(ctx, owner, k, messages[:end], files); err != nil {
			return nil, err
		}
		messages = messages[end:]
	}
	return k, nil
}

// addItems adds the items of one turn, which has these messages.
func (s *Surface) addItems(ctx context.Context, owner string, k *conversationItems, messages []schemas.StoredMessage, files []schemas.File) error {
	turn := messages[0].TurnID
	r, err := s.record(ctx, owner, idPrefix+turn)
	if err != nil {
		return err
	}
	if r != nil && r.Status != statusInProgress {
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
