package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/store"
	"molar/internal/terminal"
	"molar/schemas"
)

func newPeopleCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "people", Short: "List people, sign them out, and export or erase what is theirs", Args: onlyCommands, RunE: showHelp,
		Long: `List people, sign them out, and export or erase what is theirs.

OWNER is the id that list prints: that of a person or of an API key. Put it in quotes.`,
	}
	cmd.AddCommand(newPeopleListCmd(a), newPeopleExportCmd(a), newPeopleSignoutCmd(a), newPeopleEraseCmd(a))
	return cmd
}

// withPeople opens the database for a command about people. Conversations may be elsewhere.
func (a *app) withPeople(cmd *cobra.Command, f func(ctx context.Context, db *store.DB) error) error {
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	if cfg.Memory.URL != "" {
		a.Note("%s stores the conversations (memory.url); run this command there, too, or use /v1/people of the host", cfg.Memory.URL)
	}
	db, err := openExisting(cmd, cfg.Database())
	if err != nil {
		return err
	}
	return errors.Join(f(cmd.Context(), db), db.Close())
}

func newPeopleListCmd(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List all who own something here", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			return a.withPeople(cmd, func(ctx context.Context, db *store.DB) error {
				all, err := db.ListOwners(ctx)
				if err != nil || format == cli.JSON {
					return errors.Join(err, a.PrintJSON(all))
				}
				w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "ID\tNAME\tCONVERSATIONS\tLAST SEEN")
				for _, o := range all {
					seen := ""
					if !o.LastSeen.IsZero() {
						seen = o.LastSeen.Format(time.DateTime)
					}
					fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", terminal.Clean(o.ID), terminal.Clean(o.Name), o.Conversations, seen)
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().StringVar(&format, "output-format", cli.Text, "text or json")
	return cmd
}

func newPeopleExportCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "export OWNER", Short: "Print all that is somebody's, one JSON object a line", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withPeople(cmd, func(ctx context.Context, db *store.DB) error {
				// Recorded first: what was printed cannot be taken back.
				if err := recordAudit(cmd, db, schemas.EventExport, "all of a person", args[0]); err != nil {
					return err
				}
				out := bufio.NewWriter(a.Stdout)
				lines := json.NewEncoder(out)
				lines.SetEscapeHTML(false)
				for r, err := range db.ExportPerson(ctx, args[0]) {
					if err == nil {
						err = lines.Encode(r)
					}
					if err != nil {
						return errors.Join(err, out.Flush())
					}
				}
				return out.Flush()
			})
		},
	}
}

func newPeopleSignoutCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "signout OWNER", Short: "End somebody's sessions, at every replica within two seconds", Args: cobra.ExactArgs(1),
		Long: `End somebody's sessions, at every replica within two seconds. What is theirs stays.

Who may still sign in at the identity provider can come back: close the account there first. A key
that acts for them is ended with "molar keys revoke".`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withPeople(cmd, func(ctx context.Context, db *store.DB) error {
				ended, err := db.EndSessions(ctx, args[0])
				if ended > 0 {
					err = errors.Join(err, recordAudit(cmd, db, schemas.EventLogout, fmt.Sprintf("%d sessions of a person", ended), args[0]))
				}
				if err == nil {
					a.Say("sessions ended: %d", ended)
				}
				return err
			})
		},
	}
}

func newPeopleEraseCmd(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "erase OWNER --yes", Short: "Erase all that is somebody's, for good", Args: cobra.ExactArgs(1),
		Long: `Erase all that is somebody's, for good: conversations, files, traces, sessions and all else.

Sessions end within seconds in a running host, and running turns are stopped. Lines of the audit stay,
under a name that nothing connects with the person any more. Who signs in again is new.

Tests and corrections that reviewers made of their questions keep their words. They are listed, so
that you can look at them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return cli.Usage(errors.New("this cannot be undone; add --yes to erase all that is theirs"))
			}
			return a.withPeople(cmd, func(ctx context.Context, db *store.DB) error {
				kept, err := db.MadeFiles(ctx, args[0]) // the erasure forgets whose they are
				if err != nil {
					return err
				}
				erased, err := store.EraseForGood(ctx, args[0], db.ErasePerson)
				if err == nil || erased.Total() > 0 {
					err = errors.Join(err, recordAudit(cmd, db, schemas.EventErase, "all of a person: "+erased.String(), args[0]))
				}
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
				for _, kind := range erased.Kinds() {
					fmt.Fprintf(w, "%s\t%d\n", kind, erased[kind])
				}
				fmt.Fprintf(w, "erased in all\t%d\n", erased.Total())
				if err := w.Flush(); err != nil || len(kept) == 0 {
					return err
				}
				a.Say("\n%d files that reviewers made of their questions stay, and have their words in them:", len(kept))
				for _, f := range kept {
					a.Say("%s of turn %s: %s", f.Kind, f.TurnID, terminal.Clean(cmp.Or(f.Path, "given to the reviewer")))
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "erase without a question")
	return cmd
}
