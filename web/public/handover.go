package public

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

// A Desk is how visitors reach somebody.
type Desk interface {
	// Status returns what a visitor is told about it, in a language.
	Status(ctx context.Context, owner, conversation, language string) (schemas.HandoverStatus, error)
	// Open returns the hand-over of a conversation that is not closed.
	Open(ctx context.Context, owner, conversation string) (h schemas.Handover, ok bool, err error)
	// Request stores a request, and tells the desk. It fails with a [schemas.ContactError] if the form cannot
	// be used.
	Request(ctx context.Context, h schemas.Handover) (schemas.Handover, error)
	// Close ends a hand-over; by is one of the authors of schemas, such as [schemas.ClosedByPerson].
	Close(ctx context.Context, h schemas.Handover, by string) error
	// Forget runs an erasure of all that is an owner's, and tells the desk if that ended a hand-over.
	Forget(ctx context.Context, owner, conversation string, erase func(context.Context) error) error
}

// How many requests for a person are made within an hour: each is told to the desk.
const visitorRequests, addressRequests = 5, 20

// status returns what a visitor is told about the desk; nil if there is none.
func (s *Surface) status(ctx context.Context, v visitor, lang string) (*schemas.HandoverStatus, error) {
	if s.Desk == nil {
		return nil, nil //nolint:nilnil // nobody can be reached
	}
	status, err := s.Desk.Status(ctx, v.owner, v.conversation(), lang)
	return &status, err
}

type handoverRequest struct {
	// Consent is set if the visitor agrees that the conversation and the contact go to the desk.
	Consent bool                   `json:"consent"`
	Reason  schemas.HandoverReason `json:"reason"`
	// Contact is what was written into the form, by the names of its fields.
	Contact map[string]string `json:"contact"`
	Lang    string            `json:"lang"`
}

// handover answers POST /embed/handover: a visitor asks for somebody at the desk.
func (s *Surface) handover(c *gin.Context, v visitor) {
	var body handoverRequest
	if !s.read(c, &body) {
		return
	}
	ctx, lang := c.Request.Context(), languageOf(c.Request, body.Lang)
	if s.Desk == nil {
		s.failIn(c, &failure{Status: http.StatusNotFound, Code: "not_found"}, lang)
		return
	}
	switch {
	case !body.Consent:
		s.failIn(c, &failure{Status: http.StatusForbidden, Code: "desk_consent"}, lang)
		return
	case !slices.Contains([]schemas.HandoverReason{schemas.HandoverButton, schemas.HandoverWords, schemas.HandoverNotFound}, body.Reason):
		s.failIn(c, &failure{Status: http.StatusBadRequest, Code: "invalid"}, lang)
		return
	case !s.rarely(c, v, "handover", visitorRequests, addressRequests, lang):
		return
	}
	_, err := s.Desk.Request(context.WithoutCancel(ctx), schemas.Handover{
		Owner: v.owner, ConversationID: v.conversation(), Assistant: s.Assistant, Language: lang, Reason: body.Reason, Contact: body.Contact,
	})
	field, wrong := errors.AsType[schemas.ContactError](err)
	switch {
	case wrong && body.Contact[string(field)] == "":
		s.failIn(c, &failure{Status: http.StatusBadRequest, Code: "contact_required"}, lang)
		return
	case wrong:
		s.failIn(c, &failure{Status: http.StatusBadRequest, Code: "contact_invalid"}, lang)
		return
	case err != nil:
		s.Logger.Error("hand a visitor over to the desk", "owner", v.owner, "error", err)
		s.failIn(c, &failure{Status: http.StatusServiceUnavailable, Code: "desk_unavailable"}, lang)
		return
	}
	status, err := s.status(ctx, v, lang)
	if err != nil {
		s.storeFailed(c, "read a visitor's hand-over", err)
		return
	}
	wire.WriteJSON(c.Writer, status)
}

// withdraw answers DELETE /embed/handover: the visitor goes on with the assistant.
func (s *Surface) withdraw(c *gin.Context, v visitor) {
	ctx := context.WithoutCancel(c.Request.Context())
	if s.Desk != nil {
		h, open, err := s.Desk.Open(ctx, v.owner, v.conversation())
		if err == nil && open {
			err = s.Desk.Close(ctx, h, schemas.ClosedByPerson)
		}
		if err != nil {
			s.storeFailed(c, "close a visitor's hand-over", err)
			return
		}
	}
	c.Status(http.StatusNoContent)
}
