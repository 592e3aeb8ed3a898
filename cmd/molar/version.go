package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"molar/internal/cli"
)

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of molar, Go and the platform",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	_, err := fmt.Fprintln(a.Stdout, cli.VersionLine())
	return err
}
