// Command oneshot runs two commands in turn and compares what whole processes
// cost: oneshot [flags] COMMAND... -- COMMAND...
//
// CPU and peak memory include children that the command waited for. The peak
// cannot be lower than what this program itself holds when it starts a child, a
// few MiB.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"molar/bench/loadgen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "oneshot:", err)
		os.Exit(1)
	}
}

// cost is one run: milliseconds, and MiB.
type cost struct{ wall, cpu, peak float64 }

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("oneshot", flag.ContinueOnError)
	n := flags.Int("n", 12, "counted runs of each command")
	warm := flags.Int("warm", 1, "runs before those")
	if err := flags.Parse(args); err != nil {
		return err
	}
	commands := [][]string{flags.Args()}
	if i := slices.Index(flags.Args(), "--"); i >= 0 {
		commands = [][]string{flags.Args()[:i], flags.Args()[i+1:]}
	}
	for _, command := range commands {
		if len(command) == 0 {
			return errors.New("a command is missing: want COMMAND... -- COMMAND..., the second part optional")
		}
	}
	runs := make([][]cost, len(commands))
	for i := range *warm + *n {
		for c, command := range commands {
			took, err := once(ctx, command)
			if err != nil {
				return err
			}
			if i >= *warm {
				runs[c] = append(runs[c], took)
			}
		}
	}
	return report(stdout, commands, runs)
}

// once runs a command to its end. Its output is dropped, but a fault shows its
// standard error.
func once(ctx context.Context, command []string) (cost, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("run %s: %w: %s", command[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	wall := time.Since(begin)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("this system does not tell what a process used")
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return cost{wall.Seconds() * 1000, cpu.Seconds() * 1000, float64(usage.Maxrss) / 1024}, nil
}

func report(out io.Writer, commands [][]string, runs [][]cost) error {
	figures := []struct {
		name string
		of   func(cost) float64
	}{
		{"wall ms", func(c cost) float64 { return c.wall }},
		{"CPU ms", func(c cost) float64 { return c.cpu }},
		{"peak MiB", func(c cost) float64 { return c.peak }},
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(table, "\t")
	for _, command := range commands {
		_, _ = fmt.Fprintf(table, "%s\t", filepath.Base(command[0]))
	}
	if len(commands) == 2 {
		_, _ = fmt.Fprint(table, "ratio\t")
	}
	_, _ = fmt.Fprintln(table)
	for _, f := range figures {
		_, _ = fmt.Fprintf(table, "%s\t", f.name)
		values := make([][]float64, len(runs))
		for c := range runs {
			for _, r := range runs[c] {
				values[c] = append(values[c], f.of(r))
			}
			_, _ = fmt.Fprintf(table, "%.1f\t", loadgen.Median(values[c]))
		}
		if len(values) == 2 {
			var pairs []float64
			for i := range values[0] {
				pairs = append(pairs, values[0][i]/values[1][i])
			}
			_, _ = fmt.Fprintf(table, "%.2f\t", loadgen.Median(pairs))
		}
		_, _ = fmt.Fprintln(table)
	}
	return table.Flush()
}
