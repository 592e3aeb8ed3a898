package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"molar/internal/store"
)

func newMigrateCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database to the schema of this version, and exit",
		Long: "Creates the database's tables or migrates them to this version, as serve and mcp do when they start.\n" +
			"Run it before a new version is rolled out over several replicas, so that none of them waits for it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			db, err := store.Open(cmd.Context(), store.Config{Path: cfg.Database()})
			if err != nil {
				return err
			}
			if err := db.Close(); err != nil {
				return err
			}
			was := ""
			if s := db.Schema(); s.Before != s.Number {
				was = fmt.Sprintf("; it was %d", s.Before)
			}
			_, err = fmt.Fprintf(a.Stdout, "%s has schema %d%s\n", db.Path(), db.Schema().Number, was)
			return err
		},
	}
}
