// Command server runs the bridge between Molar's desk and an inbox of Chatwoot. Its settings are in the environment.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"molar/examples/chatwoot"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chatwoot server:", err)
		os.Exit(1)
	}
}

// serve serves until ctx ends.
func serve(ctx context.Context) error {
	b, err := chatwoot.New(chatwoot.Config{
		Molar: os.Getenv("MOLAR_URL"), MolarKey: os.Getenv("MOLAR_KEY"), MolarSecret: os.Getenv("HANDOVER_SECRET"),
		Chatwoot: os.Getenv("CHATWOOT_URL"), Account: os.Getenv("CHATWOOT_ACCOUNT"), Inbox: os.Getenv("CHATWOOT_INBOX"),
		BotToken: os.Getenv("CHATWOOT_BOT_TOKEN"), BotSecret: os.Getenv("CHATWOOT_BOT_SECRET"),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return fmt.Errorf("%w; examples/chatwoot/README.md lists the settings in the environment", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(os.Getenv("BRIDGE_LISTEN"), "127.0.0.1:8090"))
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listening on http://"+listener.Addr().String())
	server := &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	running.Go(func() {
		<-ctx.Done()
		last, end := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer end()
		_ = server.Shutdown(last)
	})
	err = server.Serve(listener)
	cancel()
	running.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
