package web

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// RoutesAndDocument returns the routes of the handler of New, as "GET /path", and its OpenAPI
// document, which allows no fields that it does not name.
func RoutesAndDocument(cfg Config) (routes []string, document []byte, err error) {
	cfg.Guard = func(next http.Handler) http.Handler { return next }
	s, err := newServer(cfg)
	if err != nil {
		return nil, nil, err
	}
	engine, err := s.routes()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range engine.(*gin.Engine).Routes() {
		routes = append(routes, r.Method+" "+r.Path)
	}
	document, err = wire.Document(s.operations(), "1", false)
	return routes, document, err
}
