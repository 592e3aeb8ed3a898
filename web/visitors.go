package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/web/pages"
	"molar/web/public"
)

// openPublic opens the assistant for visitors, if there is one.
func (s *server) openPublic() (err error) {
	if s.Public == nil {
		return nil
	}
	if s.People == nil {
		return errors.New("web config: Public requires People, by which visitors are forgotten")
	}
	cfg := *s.Public
	cfg.Turns, cfg.Conversations, cfg.HTML = s.turns, s.Conversations, func() *pages.HTML { return s.markdown() }
	cfg.Clients, cfg.Logger, cfg.Now, cfg.KeepAlive = s.Access.Clients, s.Logger, s.Now, s.KeepAlive
	if s.Feedback != nil {
		cfg.Marks = s.Feedback
	}
	cfg.Export = s.People.ExportPerson
	cfg.Erase = func(ctx context.Context, owner string) error {
		_, err := s.People.ErasePerson(ctx, owner)
		return err
	}
	s.public, err = public.New(cfg)
	return err
}

// isForVisitors reports whether a request is for a route of visitors. There nobody has to say who they
// are, and nothing else that a request presents counts.
func (s *server) isForVisitors(r *http.Request) bool {
	return s.public != nil && public.Owns(r.URL.Path)
}

// routePublic adds the routes of visitors.
func (s *server) routePublic(e *gin.Engine) {
	if s.public != nil {
		s.public.Routes(func(method, path string, h gin.HandlerFunc) { e.Handle(method, path, h) })
	}
}

// visitorMayGoOn returns why a visitor's turn of a process that is gone must not be continued, and sets
// what it may do.
func (s *server) visitorMayGoOn(t *agent.Turn) error {
	if s.public == nil || t.Assistant != s.Public.Assistant {
		return fmt.Errorf("%w: the assistant is not public any more", agent.ErrNotContinued)
	}
	t.Rights = s.public.Rights()
	return nil
}
