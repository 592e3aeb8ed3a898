package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A peer answers a question and hands each piece of the answer to emit.
type peer func(ctx context.Context, question string, emit func(text string) error) error

// modelName is what every side asks the stub for.
const modelName = "stub"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("want model or serve")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address")
	tokens := flags.Int("tokens", 20, "model: tokens of an answer")
	with := flags.String("with", "hand", "serve: hand, langchaingo, eino or genkit")
	model := flags.String("model", "", "serve: base URL of the model")
	mcp := flags.String("mcp", "", "serve: streamable HTTP endpoint of the tools")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "model":
		return serve(ctx, *listen, modelHandler(*tokens))
	case "serve":
		tools, err := connect(ctx, *mcp)
		if err != nil {
			return err
		}
		p, err := open(ctx, *with, *model, tools)
		if err != nil {
			return err
		}
		return serve(ctx, *listen, chatHandler(p))
	}
	return fmt.Errorf("unknown command %q: want model or serve", args[0])
}

func open(ctx context.Context, with, model string, tools *toolbox) (peer, error) {
	switch with {
	case "hand":
		return byHand(model, tools), nil
	case "langchaingo":
		return openLangchain(model, tools)
	case "eino":
		return openEino(ctx, model, tools)
	case "genkit":
		return openGenkit(ctx, model, tools)
	}
	return nil, fmt.Errorf("unknown peer %q: want hand, langchaingo, eino or genkit", with)
}

func serve(ctx context.Context, address string, h http.Handler) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	fmt.Printf("listening on http://%s\n", l.Addr())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
