package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/store"
	"molar/schemas"
)

// The formats of audit export.
const (
	auditLines = "jsonl"
	auditCSV   = "csv"
)

func newAuditCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Export the record of who decided or changed what", Args: onlyCommands, RunE: showHelp,
	}
	cmd.AddCommand(newAuditExportCmd(a))
	return cmd
}

// auditFlags are the flags of audit export.
type auditFlags struct {
	since, until, person, format string
	check                        bool
}

func newAuditExportCmd(a *app) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the lines of the audit, the oldest first, or check them",
		Long: `Print the lines of the audit, the oldest first, or check them.

Each line has the hash of the line before, and its own: the SHA-256 of the line as printed,
without its last field, and with the alias in place of the person where it has one: a random
name, which nothing connects with somebody who was erased. --check walks all lines in the store and says whether one was
changed, added or taken out. Lines older than audit.retention are gone.`,
		Example: `  molar audit export --since 30d
  molar audit export --since 2026-01-01 --until 2026-02-01 --person person:ann --format csv
  molar audit export --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query(time.Now())
			if err != nil {
				return cli.Usage(err)
			}
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			db, err := openExisting(cmd, cfg.Database())
			if err != nil {
				return err
			}
			if f.check {
				return errors.Join(a.checkAudit(cmd, db), db.Close())
			}
			return errors.Join(a.exportAudit(cmd, db, q, f.format), db.Close())
		},
	}
	cmd.Flags().StringVar(&f.since, "since", "", "only lines from this `time` on: a date, 2026-01-31T15:04:05Z, or how long ago, such as 30d")
	cmd.Flags().StringVar(&f.until, "until", "", "only lines before this `time`")
	cmd.Flags().StringVar(&f.person, "person", "", "only lines of this `owner`, or of operator")
	cmd.Flags().StringVar(&f.format, "format", auditLines, "jsonl or csv")
	cmd.Flags().BoolVar(&f.check, "check", false, "print no lines, but whether all in the store are whole")
	return cmd
}

// query returns what the flags select.
func (f auditFlags) query(now time.Time) (q schemas.AuditQuery, err error) {
	if f.format != auditLines && f.format != auditCSV {
		return q, fmt.Errorf("--format %q: choose jsonl or csv", f.format)
	}
	if f.check && (f.since != "" || f.until != "" || f.person != "") {
		return q, errors.New("--check reads all lines; leave out --since, --until and --person")
	}
	q.Person = f.person
	if q.Since, err = auditTime("--since", f.since, now); err == nil {
		q.Until, err = auditTime("--until", f.until, now)
	}
	return q, err
}

// auditTime reads a point in time, or how long ago it was; "" is the zero time.
func auditTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	ago, err := config.ParseDuration(text)
	if err != nil || ago <= 0 {
		return time.Time{}, fmt.Errorf("%s %q: want a time such as 2026-01-31, 2026-01-31T15:04:05Z, or 30d for that long ago", flag, text)
	}
	return now.Add(-ago), nil
}

func (a *app) exportAudit(cmd *cobra.Command, db *store.DB, q schemas.AuditQuery, format string) error {
	extent, err := db.AuditExtent(cmd.Context())
	if err != nil {
		return err
	}
	if extent.Gone > 0 {
		a.Note("the audit begins with line %d; those before were older than audit.retention", extent.Gone+1)
	}
	write := writeAuditLines
	if format == auditCSV {
		write = writeAuditCSV
	}
	out := bufio.NewWriter(a.Stdout)
	return errors.Join(write(out, db.AuditLines(cmd.Context(), q)), out.Flush())
}

// checkAudit says whether all lines are whole.
func (a *app) checkAudit(cmd *cobra.Command, db *store.DB) error {
	extent, err := db.CheckAudit(cmd.Context())
	if err != nil {
		return err
	}
	if extent.Last == extent.Gone {
		a.Say("the audit is whole; it has no lines")
		return nil
	}
	a.Say("the audit is whole: lines %d to %d, the last with the hash %s", extent.Gone+1, extent.Last, extent.Hash)
	return nil
}

func writeAuditLines(out io.Writer, lines iter.Seq2[schemas.AuditLine, error]) error {
	to := json.NewEncoder(out)
	to.SetEscapeHTML(false) // the hash is of the line as it is printed
	for line, err := range lines {
		if err != nil {
			return err
		}
		if err := to.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func writeAuditCSV(out io.Writer, lines iter.Seq2[schemas.AuditLine, error]) error {
	to := csv.NewWriter(out)
	err := to.Write([]string{
		"id", "at", "person", "event", "origin", "server", "tool", "how", "scope", "allowed", "sha256", "turn_id", "call_id", "detail", "before", "hash",
	})
	for l, fault := range lines {
		if err = errors.Join(err, fault); err != nil {
			return err
		}
		allowed := ""
		if l.Allowed != nil {
			allowed = strconv.FormatBool(*l.Allowed)
		}
		err = to.Write([]string{
			strconv.FormatInt(l.ID, 10), l.At.Format(time.RFC3339Nano), l.Person, l.Event, l.Origin, l.Server, l.Tool, l.How, l.Scope, allowed,
			l.SHA256, l.TurnID, l.CallID, l.Detail, l.Before, l.Hash,
		})
	}
	to.Flush()
	return errors.Join(err, to.Error())
}
