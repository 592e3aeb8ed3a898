package web

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// RoutesAndDocument returns the routes of a handler that New built, as "GET /path",
// and its OpenAPI document, in which objects hold nothing that is not named.
func RoutesAndDocument(cfg Config) (routes []string, document []byte, err error) {
	var s *server
	cfg.Guard = func(next http.Handler) http.Handler { return next }
	if _, err := New(cfg); err != nil {
		return nil, nil, err
	}
	s = &server{Config: cfg}
	engine, err := s.routes()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range engine.(*gin.Engine).Routes() {
		routes = append(routes, r.Method+" "+r.Path)
	}
	document, err = openAPIDocument(s.operations(), "1", false)
	return routes, document, err
}
