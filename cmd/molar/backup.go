package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"molar/internal/store"
)

func newBackupCmd(a *app) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Check the database and copy it to a new file, while molar runs",
		Long: "Checks the whole database and copies it, compact, to a new file; then the copy is checked too.\n" +
			"Molar may keep running. To restore, stop molar and replace the file of memory.store with the copy.",
		Args: func(cmd *cobra.Command, args []string) error {
			if check {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			db, err := openExisting(cmd, cfg.Database())
			if err != nil {
				return err
			}
			if url := cfg.Memory.URL; url != "" {
				a.Note("%s stores the conversations (memory.url): run this command there to copy them; this command works on the host's own database", url)
			}
			if check {
				if err := errors.Join(db.Check(cmd.Context()), db.Close()); err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Stdout, "%s is sound\n", db.Path())
				return err
			}
			if err := errors.Join(db.Backup(cmd.Context(), args[0]), db.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s is a sound copy of %s\n", args[0], db.Path())
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only check the database")
	return cmd
}

// openExisting opens a database that must exist already.
func openExisting(cmd *cobra.Command, path string) (*store.DB, error) {
	return store.Open(cmd.Context(), store.Config{Path: path, MustExist: true})
}
