package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// listenMetrics opens the port for scrapers and probes; nil if none is configured.
func (p *port) listenMetrics(ctx context.Context) (net.Listener, error) {
	address := p.Config.Metrics.Listen
	if address == "" {
		return nil, nil //nolint:nilnil // no port
	}
	return listen(ctx, address)
}

// serveMetrics answers on the port until stop is called: also while the host drains.
func (p *port) serveMetrics(ctx context.Context, listener net.Listener) (stop func()) {
	if listener == nil {
		return func() {}
	}
	p.cli.Say("metrics on http://%s/metrics", listener.Addr())
	server := newServer(context.WithoutCancel(ctx), p.metricsRoutes(), p.Log)
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.Log.Error("the port of the metrics failed", "error", err)
		}
	})
	return func() {
		_ = server.Close() // a scrape is repeated anyway
		running.Wait()
	}
}

func (p *port) metricsRoutes() http.Handler {
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", p.Telemetry.Metrics())
	routes.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	routes.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		if err := p.Ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return routes
}
