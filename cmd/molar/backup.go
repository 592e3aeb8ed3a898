package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"molar/internal/store"
)

func newBackupCmd(a *app) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Check the database and copy it to a new file, while molar runs",
		Long: "Checks the whole database and copies it, compact, to a new file; then the copy is checked too.\n" +
			"A running molar goes on meanwhile. To restore, stop molar and put the copy in the place of memory.store.",
		Args: func(cmd *cobra.Command, args []string) error {
			if check {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			db, err := a.openDatabase(cmd)
			if err != nil {
				return err
			}
			if check {
				if err := errors.Join(db.Check(cmd.Context()), db.Close()); err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.stdout, "%s is sound\n", db.Path())
				return err
			}
			if err := errors.Join(db.Backup(cmd.Context(), args[0]), db.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s is a sound copy of %s\n", args[0], db.Path())
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only check the database")
	return cmd
}

// openDatabase opens the host's own database.
func (a *app) openDatabase(cmd *cobra.Command) (*store.DB, error) {
	cfg, err := a.loadConfig(nil)
	if err != nil {
		return nil, err
	}
	return store.Open(cmd.Context(), store.Config{Path: cfg.Database(), Logger: slog.New(slog.DiscardHandler)})
}
