package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"molar/eval"
	"molar/eval/traffic"
	"molar/internal/cli"
)

// TrafficFlags are the flags of eval traffic.
type TrafficFlags struct {
	// Known is a file with differences that are right, and By "service" or "folder".
	Known, By, JSON string
	Failures        bool
}

// Traffic checks how recorded traffic is read.
func (a *Commands) Traffic(ctx context.Context, f TrafficFlags, folder string) error {
	group := traffic.ByService
	switch f.By {
	case "service":
	case "folder":
		group = traffic.ByFolder
	default:
		return cli.Usage(fmt.Errorf("--by %q: choose service or folder", f.By))
	}
	answers, faults, err := traffic.Folder(ctx, folder)
	if err != nil {
		return cli.Usage(err)
	}
	report := traffic.Report{Answers: answers}
	for _, fault := range faults {
		report.Unread = append(report.Unread, fault.Error())
	}
	if f.Known != "" {
		list, err := os.Open(f.Known)
		if err != nil {
			return cli.Usage(err)
		}
		defer func() { _ = list.Close() }() // it is only read
		if err := report.Mark(list); err != nil {
			return cli.Usage(fmt.Errorf("%s: %w", f.Known, err))
		}
	}
	if len(answers) == 0 {
		return cli.With(eval.ExitNothing, errors.New("there is no recorded answer of a model in it"))
	}
	if err := a.writeTraffic(&report, f, group); err != nil {
		return err
	}
	if n := len(report.Unknown()); n > 0 {
		return cli.With(eval.ExitFailed, fmt.Errorf("%d answers are read otherwise than they say", n))
	}
	return nil
}

func (a *Commands) writeTraffic(report *traffic.Report, f TrafficFlags, group func(traffic.Answer) string) error {
	if f.JSON != "" {
		if err := a.writeFile(f.JSON, func(w io.Writer) error { return eval.JSON(w, report) }); err != nil {
			return cli.Usage(err)
		}
		if f.JSON == "-" {
			return nil
		}
	}
	var b strings.Builder
	if err := report.Write(&b, group, f.Failures); err != nil {
		return err
	}
	_, err := io.WriteString(a.Stdout, eval.Clean(b.String()))
	return err
}
