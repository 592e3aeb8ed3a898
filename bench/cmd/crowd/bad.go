package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// troublemakers returns 34 servers, two of each kind; stop ends those over HTTP.
func (b *bench) troublemakers(ctx context.Context) (all []server, stop func(), err error) {
	kinds := map[string][]string{
		"exits": {"-exit"}, "crashes": {"-life=500ms"}, "mute": {"-mute"}, "late": {"-late"}, "garbage": {"-garbage"},
		"grumbles": {"-pour=stderr"}, "junk": {"-pour=junk"}, "notes": {"-pour=notes"}, "changes": {"-pour=changes"},
		"lines": {"-pour=lines"}, "slow": {"-slow=5ms"}, "shut": {"-shut"}, "old": {"-version=1999-01-01"}, "schemas": {"-schema=200000"},
	}
	for kind, flags := range kinds {
		for n := range 2 {
			all = append(all, b.bad(fmt.Sprintf("%s%d", kind, n), flags...))
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the request is not noticed
		<-r.Context().Done()
	})
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = web.Serve(l) }()
	for n := range 2 {
		all = append(all, server{name: fmt.Sprintf("broken%d", n), url: "http://" + l.Addr().String() + "/broken"},
			server{name: fmt.Sprintf("hangs%d", n), url: "http://" + l.Addr().String() + "/hangs"},
			server{name: fmt.Sprintf("refused%d", n), url: "http://127.0.0.1:1/mcp"})
	}
	return all, func() { _ = web.Close() }, nil
}
