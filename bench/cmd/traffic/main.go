// Command traffic checks how Molar reads traffic with model services that other projects recorded:
// traffic [flags] FOLDER. The package traffic tells what it compares; nothing is sent anywhere.
//
// Exit codes: 0 all is read as it says, 1 something differs that is not in -known, 2 usage, 5 there is
// no recorded answer.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"molar/bench/traffic"
	"molar/eval"
)

// usage is the exit code of an error of the caller.
const usage = 2

func main() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "traffic:", err)
	}
	os.Exit(code)
}

func run(args []string, stdout io.Writer) (code int, err error) {
	flags := flag.NewFlagSet("traffic", flag.ContinueOnError)
	byFolder := flags.Bool("by-folder", false, "group the answers by the first folder instead of the service")
	known := flags.String("known", "", "`file` of differences that are right: FILE#INDEX, a tab, and why")
	output := flags.String("json", "", "write the report as JSON to this `file`")
	failures := flags.Bool("failures", false, "show what comes of each recorded failure")
	if err := flags.Parse(args); err != nil {
		return usage, err
	}
	if flags.NArg() != 1 {
		return usage, errors.New("name one folder, after the flags")
	}
	answers, faults, err := traffic.Folder(context.Background(), flags.Arg(0))
	if err != nil {
		return usage, err
	}
	report := traffic.Report{Answers: answers}
	for _, fault := range faults {
		report.Unread = append(report.Unread, fault.Error())
	}
	if *known != "" {
		list, err := os.ReadFile(*known)
		if err != nil {
			return usage, err
		}
		if err := report.Mark(string(list)); err != nil {
			return usage, fmt.Errorf("%s: %w", *known, err)
		}
	}
	if len(answers) == 0 {
		return eval.ExitNothing, errors.New("there is no recorded answer of a model in it")
	}
	group := traffic.ByService
	if *byFolder {
		group = traffic.ByFolder
	}
	if _, err := io.WriteString(stdout, eval.Clean(report.Text(group, *failures))); err != nil {
		return usage, err
	}
	if *output != "" {
		data, err := json.MarshalIndent(report, "", "  ")
		if err == nil {
			err = os.WriteFile(*output, data, 0o600)
		}
		if err != nil {
			return usage, err
		}
	}
	if n := len(report.Unknown()); n > 0 {
		return eval.ExitFailed, fmt.Errorf("%d answers are read otherwise than they say", n)
	}
	return 0, nil
}
