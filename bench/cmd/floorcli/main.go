// Command floorcli runs one hand-made turn with a tool server over stdio and prints
// the answer: floorcli [flags] QUESTION COMMAND [ARGS...].
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"

	"molar/bench/floor"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "floorcli:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("floorcli", flag.ContinueOnError)
	url := flags.String("model-url", "http://127.0.0.1:11434", "Ollama-wire server")
	name := flags.String("model", "qwen2.5:7b-instruct", "model")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 2 {
		return fmt.Errorf("want QUESTION COMMAND [ARGS...], got %d words", flags.NArg())
	}
	server := exec.CommandContext(ctx, flags.Arg(1), flags.Args()[2:]...)
	server.Stderr = stderr
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		_ = in.Close()
		if ended := server.Wait(); err == nil {
			err = ended
		}
	}()
	tools, err := floor.ConnectStdio(ctx, in, out)
	if err != nil {
		return err
	}
	model := &floor.Model{URL: *url, Name: *name, Client: floor.NewClient()}
	question := []floor.Message{{Role: "user", Content: flags.Arg(0)}}
	err = floor.Turn(ctx, model, tools, question, func(text string) error {
		_, err := io.WriteString(stdout, text)
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout)
	return err
}
