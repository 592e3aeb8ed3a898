package web

import (
	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// observe counts a request and traces it under the pattern of its route.
func (s *server) observe(c *gin.Context) {
	ctx, span := s.Telemetry.StartRequest(c.Request, c.FullPath(), wire.RequestID(c.Writer))
	defer func() { span.End(c.Writer.Status()) }()
	if ctx != c.Request.Context() {
		c.Request = c.Request.WithContext(ctx)
	}
	c.Next()
}

// countStream counts a chat request while it is being answered.
func (s *server) countStream(c *gin.Context) {
	defer s.Telemetry.OpenStream()()
	c.Next()
}

// metrics answers a scrape.
func (s *server) metrics(c *gin.Context) {
	s.Telemetry.Metrics().ServeHTTP(c.Writer, c.Request)
}
