package public

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

// A message is what a visitor, the assistant or the desk wrote.
type message struct {
	Seq int64 `json:"seq"`
	// By is visitor, assistant or desk.
	By   string    `json:"by"`
	Text string    `json:"text"`
	HTML string    `json:"html,omitempty"`
	At   time.Time `json:"at"`
	// Turn is the id of its turn, by which an answer can be marked.
	Turn string `json:"turn,omitempty"`
	// Mark is good, poor or empty; Note is the visitor's comment.
	Mark    string   `json:"mark,omitempty"`
	Note    string   `json:"note,omitempty"`
	Sources []source `json:"sources,omitempty"`
	// Interrupted is set on an answer that was cut short.
	Interrupted bool `json:"interrupted,omitempty"`
}

// A talk is the conversation of a visitor.
type talk struct {
	messages []message
	// running is the turn that is being answered; empty if none is.
	running string
}

type consentObject struct {
	// Required is set if a visitor has to agree before the first question, Agreed if this one has.
	Required bool   `json:"required"`
	Agreed   bool   `json:"agreed"`
	Hash     string `json:"hash"`
}

type conversationObject struct {
	Consent  consentObject           `json:"consent"`
	Messages []message               `json:"messages"`
	Running  string                  `json:"running,omitempty"`
	Handover *schemas.HandoverStatus `json:"handover,omitempty"`
}

// talk reads a visitor's conversation after a message. A conversation that does not exist is empty.
func (s *Surface) talk(ctx context.Context, v visitor, after int64) (talk, error) {
	stored, _, _, err := s.Conversations.Messages(ctx, v.owner, v.conversation())
	if err != nil {
		return talk{}, err
	}
	t := talk{messages: []message{}}
	marks, err := s.marksOf(ctx, v)
	if err != nil {
		return talk{}, err
	}
	for _, m := range stored {
		if m.Status == schemas.StatusRunning {
			t.running = m.TurnID
			continue
		}
		if m.Seq <= after || m.Content == "" {
			continue
		}
		one := message{Seq: m.Seq, Text: m.Content, At: m.Timestamp.UTC(), Turn: m.TurnID, Sources: sourcesOf(m.Sources), Interrupted: m.Status == schemas.StatusInterrupted}
		switch {
		case m.Role == schemas.RoleUser:
			one.By = "visitor"
		case m.Role == schemas.RoleAssistant && m.Assistant == schemas.Desk:
			one.By, one.Turn = "desk", ""
		case m.Role == schemas.RoleAssistant:
			one.By = "assistant"
			one.Mark, one.Note = marks[m.TurnID].Mark, marks[m.TurnID].Note
		default:
			continue
		}
		if one.By != "visitor" {
			if one.HTML, err = s.HTML().Of(m.Content); err != nil {
				one.HTML = "" // the text is there
			}
		}
		t.messages = append(t.messages, one)
	}
	return t, nil
}

// marksOf returns the visitor's marks by turn, under the names that visitors see.
func (s *Surface) marksOf(ctx context.Context, v visitor) (map[string]schemas.Feedback, error) {
	if s.Marks == nil {
		return nil, nil
	}
	const most = 1000
	all, err := s.Marks.ListFeedback(ctx, v.owner, schemas.FeedbackFilter{ConversationID: v.conversation(), Limit: most})
	marks := make(map[string]schemas.Feedback, len(all))
	for _, f := range all {
		if f.By == "reviewer" {
			continue
		}
		f.Mark = map[string]string{schemas.MarkUp: "good", schemas.MarkDown: "poor"}[f.Mark]
		marks[f.TurnID] = f
	}
	return marks, err
}

// conversation answers GET /embed/conversation.
func (s *Surface) conversation(c *gin.Context, v visitor) {
	s.show(c, v, 0)
}

// news answers GET /embed/news with what is after a message.
func (s *Surface) news(c *gin.Context, v visitor) {
	after, err := strconv.ParseInt(c.DefaultQuery("after", "0"), 10, 64)
	if err != nil || after < 0 {
		s.fail(c, &failure{Status: http.StatusBadRequest, Code: "invalid"})
		return
	}
	s.show(c, v, after)
}

func (s *Surface) show(c *gin.Context, v visitor, after int64) {
	t, err := s.talk(c.Request.Context(), v, after)
	if err != nil {
		s.storeFailed(c, "read a visitor's conversation", err)
		return
	}
	desk, err := s.status(c.Request.Context(), v, languageOf(c.Request, ""))
	if err != nil {
		s.storeFailed(c, "read a visitor's hand-over", err)
		return
	}
	wire.WriteJSON(c.Writer, conversationObject{
		Consent:  consentObject{s.Consent, v.consent == s.consent, s.consent},
		Messages: t.messages, Running: t.running, Handover: desk,
	})
}

type exportObject struct {
	ExportedAt time.Time `json:"exported_at"`
	Messages   []message `json:"messages"`
	// Requests are those for somebody at the desk.
	Requests []json.RawMessage `json:"requests"`
}

// How many exports, and how many erasures, are made within an hour: each of them reads or writes all tables.
const visitorKeeps, addressKeeps = 10, 60

// requestsKind is the kind of the records of requests for somebody at the desk.
const requestsKind = "requests for a person"

// export answers GET /embed/export with all that is the visitor's, as a file. What else is stored of the
// turns is how the assistant works.
func (s *Surface) export(c *gin.Context, v visitor) {
	if !s.rarely(c, v, "export", visitorKeeps, addressKeeps, languageOf(c.Request, "")) {
		return
	}
	t, err := s.talk(c.Request.Context(), v, 0)
	all := exportObject{ExportedAt: s.Now().UTC(), Messages: t.messages, Requests: []json.RawMessage{}}
	for r, failed := range s.Export(c.Request.Context(), v.owner) {
		if err = errors.Join(err, failed); err != nil {
			break
		}
		if r.Kind == requestsKind {
			all.Requests = append(all.Requests, r.Data)
		}
	}
	if err != nil {
		s.storeFailed(c, "export a visitor's conversation", err)
		return
	}
	for i := range all.Messages {
		all.Messages[i].HTML = ""
	}
	body, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		s.storeFailed(c, "export a visitor's conversation", err)
		return
	}
	c.Header("Content-Disposition", `attachment; filename="conversation.json"`)
	wire.WriteBody(c.Writer, http.StatusOK, body)
}

// silenceWait is how long an erasure waits for a turn that it stopped.
const silenceWait = 3 * time.Second

// silence stops the turn of a visitor, whichever process runs it, and lets nobody follow one any more.
func (s *Surface) silence(ctx context.Context, v visitor) error {
	talk, err := s.talk(ctx, v, 0)
	if err != nil {
		return err
	}
	defer s.Turns.Set.Forget(v.owner)
	if talk.running == "" {
		return nil
	}
	t, ok, err := s.Turns.Find(ctx, v.owner, talk.running)
	if err != nil || !ok || t.IsOver() {
		return err
	}
	t.Stop()
	late := time.NewTimer(silenceWait)
	defer late.Stop()
	select {
	case <-t.Ended():
	case <-late.C:
	}
	return nil
}

// forget answers DELETE /embed/conversation: all that is the visitor's is erased. What was counted still
// counts.
func (s *Surface) forget(c *gin.Context, v visitor) {
	if !s.rarely(c, v, "forget", visitorKeeps, addressKeeps, languageOf(c.Request, "")) {
		return
	}
	ctx := context.WithoutCancel(c.Request.Context()) // half an erasure is none
	if err := s.silence(ctx, v); err != nil {
		s.storeFailed(c, "stop a visitor's turn", err)
		return
	}
	erase := func(ctx context.Context) error { return s.Erase(ctx, v.owner) }
	all := erase
	if s.Desk != nil {
		all = func(ctx context.Context) error { return s.Desk.Forget(ctx, v.owner, v.conversation(), erase) }
	}
	if err := all(ctx); err != nil {
		s.storeFailed(c, "erase a visitor", err)
		return
	}
	if v.cookie { // what was agreed to is forgotten too
		s.keep(c, v.token)
	}
	c.Status(http.StatusNoContent)
}
