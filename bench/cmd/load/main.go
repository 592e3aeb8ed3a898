// Command load drives one or two chat endpoints in turn and prints their figures
// and the ratio of the pairs:
//
//	load -a URL -apid PID -b URL -bpid PID -c 32 -n 2000 -rounds 4
//	load -a URL -apid PID -hold 1000
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"molar/bench/loadgen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type settings struct {
	a, b   loadgen.Target
	q      loadgen.Question
	opt    loadgen.Options
	warm   int
	rounds int
	hold   int
	json   bool
}

// run returns 0, 1 when a turn failed or the run could not be made, 2 for wrong
// flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	set, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "load:", err)
		return 2
	}
	failed, err := measure(ctx, set, stdout)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "load:", err)
		return 1
	}
	if failed {
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(stderr)
	target := func(t *loadgen.Target, letter string) {
		flags.StringVar(&t.URL, letter, "", "chat endpoint "+letter)
		flags.IntVar(&t.PID, letter+"pid", 0, "process of "+letter)
		flags.StringVar(&t.Name, letter+"name", letter, "name of "+letter)
		flags.StringVar(&t.Key, letter+"key", "", "API key of "+letter)
	}
	target(&s.a, "a")
	target(&s.b, "b")
	flags.StringVar(&s.q.Model, "model", "general", "model, which is the assistant")
	flags.StringVar(&s.q.Text, "question", "Show me the family with id 1a955fff-ce01-422f-8bb3-02ab14e8ec47", "question")
	flags.BoolVar(&s.q.Stateless, "stateless", false, "send an earlier exchange, so that nothing is saved")
	flags.IntVar(&s.q.Tokens, "tokens", 20, "tokens that each answer must hold; 0: unchecked")
	flags.DurationVar(&s.q.Timeout, "timeout", time.Minute, "for one turn")
	flags.IntVar(&s.opt.Conns, "c", 32, "turns at once")
	flags.IntVar(&s.opt.Turns, "n", 0, "turns in a round; 0: no bound")
	flags.DurationVar(&s.opt.Duration, "d", 0, "length of a round; 0: no bound")
	flags.DurationVar(&s.opt.Ramp, "ramp", 0, "spread the first turns over this time")
	flags.IntVar(&s.rounds, "rounds", 4, "rounds of each endpoint, in turn")
	flags.IntVar(&s.warm, "warm", 200, "turns before the first round")
	flags.IntVar(&s.hold, "hold", 0, "open so many paced streams once, instead of rounds")
	flags.BoolVar(&s.json, "json", false, "print JSON instead of a table")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case s.a.URL == "":
		return s, errors.New("-a is needed: the URL of a chat endpoint")
	case s.hold == 0 && s.opt.Turns == 0 && s.opt.Duration == 0:
		s.opt.Turns = 2000
	}
	return s, nil
}

func (s settings) targets() []loadgen.Target {
	if s.b.URL == "" {
		return []loadgen.Target{s.a}
	}
	return []loadgen.Target{s.a, s.b}
}

func measure(ctx context.Context, s settings, stdout io.Writer) (failed bool, err error) {
	client := loadgen.NewClient(max(s.opt.Conns, s.hold))
	defer client.CloseIdleConnections()
	// Tags must also differ from those of an earlier run at the same servers.
	label := fmt.Sprintf("%x", time.Now().UnixNano())
	if s.warm > 0 {
		for i, target := range s.targets() {
			opt := loadgen.Options{Conns: max(min(s.opt.Conns, s.warm), 1), Turns: s.warm, Label: fmt.Sprintf("%s-w%d", label, i)}
			if _, err := loadgen.Run(ctx, client, target, s.q, opt); err != nil {
				return false, err
			}
		}
	}
	if s.hold > 0 {
		return hold(ctx, client, s, label, stdout)
	}
	var runs [2][]loadgen.Stats
	for round := range s.rounds {
		for i, target := range s.targets() {
			opt := s.opt
			opt.Label = fmt.Sprintf("%s-%d-%d", label, round, i)
			stats, err := loadgen.Run(ctx, client, target, s.q, opt)
			if err != nil {
				return false, err
			}
			runs[i] = append(runs[i], stats)
		}
	}
	report := loadgen.NewReport(runs[0], runs[1])
	if s.json {
		return report.Failed(), json.NewEncoder(stdout).Encode(report)
	}
	report.Print(stdout)
	return report.Failed(), nil
}

func hold(ctx context.Context, client *http.Client, s settings, label string, stdout io.Writer) (failed bool, err error) {
	for i, target := range s.targets() {
		held, err := loadgen.Hold(ctx, client, target, s.q, s.hold, s.opt.Ramp, fmt.Sprintf("%s-h%d", label, i))
		if err != nil {
			return false, err
		}
		failed = failed || held.Errors > 0 || held.Stray > 0
		if s.json {
			err = json.NewEncoder(stdout).Encode(held)
		} else {
			held.Print(stdout)
		}
		if err != nil {
			return false, err
		}
	}
	return failed, nil
}
