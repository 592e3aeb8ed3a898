// Command record records the tapes of the suites again: it runs every case for real, with
// the host's binary, the real servers of the examples, and a model that follows
// the scripts in this folder, in the wire format of each provider. Run it
// from the root of the module after a change of prompts, tools or wires:
//
//	go run ./eval/suites/record            # all cases
//	go run ./eval/suites/record -id 'sdi-*'
//
// It writes tapes and never cases, since expectations are for people to write.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molar/eval"
	"molar/eval/tape"
)

const suites = "eval/suites"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("record", flag.ExitOnError)
	glob := flags.String("id", "*", "only cases whose id matches this `glob`")
	binary := flags.String("molar", "", "`file` of a built molar; built when empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cases, err := eval.Load(suites)
	if err != nil {
		return err
	}
	scripts, err := readScripts(filepath.Join(suites, "record"))
	if err != nil {
		return err
	}
	stage, err := newStage(ctx, *binary)
	if err != nil {
		return err
	}
	defer stage.Close()
	var faults []error
	for i := range cases {
		c := &cases[i]
		if ok, err := path.Match(*glob, c.ID); err != nil || !ok {
			continue
		}
		if c.Err != nil {
			faults = append(faults, c.Err)
			continue
		}
		script, there := scripts[c.ID]
		if !there {
			faults = append(faults, fmt.Errorf("case %q has no script", c.ID))
			continue
		}
		if err := stage.play(ctx, c, script); err != nil {
			faults = append(faults, fmt.Errorf("case %q: %w", c.ID, err))
		}
	}
	return errors.Join(faults...)
}

// A stage holds the programs that a case runs against.
type stage struct {
	dir, molar, family, sdi string
	model                   *model
	catalogue               *http.Server
	records                 string // the catalogue's address
	servers                 []*exec.Cmd
}

// newStage builds the binaries, and starts the model and the catalogue with its MCP server.
func newStage(ctx context.Context, molar string) (_ *stage, err error) {
	s := &stage{molar: molar, model: newModel()}
	if s.dir, err = os.MkdirTemp("", "molar-suites-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	for name, to := range map[string]*string{"./cmd/molar": &s.molar, "./examples/family/server": &s.family, "./examples/sdi/server": &s.sdi} {
		if *to != "" {
			continue
		}
		*to = filepath.Join(s.dir, strings.ReplaceAll(filepath.Clean(name), "/", "-"))
		build := exec.CommandContext(ctx, "go", "build", "-o", *to, name) //nolint:gosec // our own binaries
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("build %s: %w", name, err)
		}
	}
	if err := s.model.start(ctx); err != nil {
		return nil, err
	}
	return s, s.startCatalogue(ctx)
}

// startCatalogue serves answers of a GeoNetwork, with the example's real MCP server in front.
func (s *stage) startCatalogue(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.catalogue = &http.Server{Handler: http.HandlerFunc(serveCatalogue), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.catalogue.Serve(l) }() // ends with Close
	s.records = "http://" + l.Addr().String() + "/catalogue"
	cmd := exec.CommandContext(ctx, s.sdi, "--listen", sdiAddress, "--catalogue", s.records) //nolint:gosec // our own binary
	if err := cmd.Start(); err != nil {
		return err
	}
	s.servers = append(s.servers, cmd)
	return nil
}

// sdiAddress is the address of the example's server during recording.
const sdiAddress = "127.0.0.1:38301"

func (s *stage) Close() {
	for _, cmd := range s.servers {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if s.catalogue != nil {
		_ = s.catalogue.Close()
	}
	s.model.Close()
	_ = os.RemoveAll(s.dir)
}

// play records one case and stores its tape.
func (s *stage) play(ctx context.Context, c *eval.Case, script script) error {
	s.model.set(script)
	out := filepath.Join(s.dir, eval.SafeName(c.ID)+".yaml")
	args := []string{"eval", "record", "--out", out, "--id", c.ID}
	if c.Assistant != "" {
		args = append(args, "--assistant", c.Assistant)
	}
	if c.Provider != "" {
		args = append(args, "--provider", c.Provider)
	}
	if c.Config != "" {
		config, err := s.config(c)
		if err != nil {
			return err
		}
		args = append(args, "--config", config)
	}
	if script.Summary == "" {
		args = append(args, "--no-summary")
	}
	if slices.ContainsFunc(script.Steps, func(s step) bool { return s.Status != 0 }) {
		args = append(args, "--allow-failure")
	}
	args = append(args, "--")
	for _, t := range c.Turns {
		args = append(args, t.User)
	}
	cmd := exec.CommandContext(ctx, s.molar, args...) //nolint:gosec // our own binary
	cmd.Env = []string{
		"HOME=" + s.dir, "XDG_CONFIG_HOME=" + s.dir, "XDG_DATA_HOME=" + s.dir,
		"GEMINI_API_KEY=AIza-scripted-model-000", "OPENAI_API_KEY=sk-scripted-model-000",
		"MOLAR_LLM_GEMINI_BASE_URL=" + s.model.url, "MOLAR_LLM_OPENAI_BASE_URL=" + s.model.url + "/v1", "OLLAMA_BASE_URL=" + s.model.url,
		"MCP_BASE_URL=http://" + sdiAddress,
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	// A tape that does not match the script is kept, to show the difference.
	return errors.Join(s.model.left(), s.keep(filepath.Join(s.dir, eval.SafeName(c.ID)+".tape.jsonl"), c.TapeFile()))
}

// keep stores a tape, with addresses that are the same on every machine.
func (s *stage) keep(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	text := strings.NewReplacer(s.model.url, "http://127.0.0.1:11434", s.records, "https://catalogue.example").Replace(string(data))
	sealed, err := tape.Tidy(from, []byte(text))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // a folder of the repository
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, to)
	return os.WriteFile(to, sealed, 0o644) //nolint:gosec // a file of the repository
}

// config copies a case's config, with the built family server.
func (s *stage) config(c *eval.Case) (string, error) {
	data, err := os.ReadFile(c.ConfigFile())
	if err != nil {
		return "", err
	}
	text := strings.NewReplacer("command: go\n", "command: "+s.family+"\n", "    args: [run, ./server]\n", "", "    cwd: ../../../examples/family\n", "").Replace(string(data))
	file := filepath.Join(s.dir, eval.SafeName(c.ID)+".molar.yaml")
	return file, os.WriteFile(file, []byte(text), 0o600) //nolint:gosec // in our own folder
}
