package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/store"
	"molar/internal/terminal"
)

func newConversationsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "conversations", Short: "Export or delete stored conversations", Args: onlyCommands, RunE: showHelp,
	}
	cmd.AddCommand(newExportCmd(a), newDeleteCmd(a))
	return cmd
}

func newExportCmd(a *app) *cobra.Command {
	var all bool
	var owner string
	cmd := &cobra.Command{
		Use:   "export ID | --all",
		Short: "Print conversations with all their messages, one JSON object a line",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return cli.Usage(errors.New("name one conversation, or all of them with --all"))
			}
			id := ""
			if len(args) == 1 {
				id = args[0]
			}
			db, err := a.openConversations(cmd)
			if err != nil {
				return err
			}
			return errors.Join(a.export(cmd, db, owner, id), db.Close())
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "export every conversation")
	cmd.Flags().StringVar(&owner, "owner", "", "only conversations of this `owner`")
	return cmd
}

func (a *app) export(cmd *cobra.Command, db *store.DB, owner, id string) error {
	out := bufio.NewWriter(a.Stdout)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	found := false
	for c, err := range db.Export(cmd.Context(), owner, id) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		found = true
		if err := lines.Encode(c); err != nil {
			return err
		}
	}
	if id != "" && !found {
		return noConversation(id)
	}
	return out.Flush()
}

func newDeleteCmd(a *app) *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a conversation with its messages, summary and traces, for good",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			db, err := a.openConversations(cmd)
			if err != nil {
				return err
			}
			if err := errors.Join(deleteConversation(cmd, db, owner, args[0]), db.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "deleted %s\n", terminal.Clean(args[0]))
			return err
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "the `owner` of the conversation, when several have one of that ID")
	return cmd
}

// deleteConversation deletes a conversation. It fails when several owners have one of that ID
// and none is named.
func deleteConversation(cmd *cobra.Command, db *store.DB, owner, id string) error {
	if owner == "" {
		owners, err := db.Owners(cmd.Context(), id)
		if err != nil {
			return err
		}
		if len(owners) > 1 {
			return cli.Usage(fmt.Errorf("several owners have a conversation %q; choose one with --owner: %s",
				id, strings.Join(owners, ", ")))
		}
	}
	err := db.Delete(cmd.Context(), owner, id)
	if errors.Is(err, store.ErrNotFound) {
		return noConversation(id)
	}
	return err
}

func noConversation(id string) error {
	return fmt.Errorf("there is no conversation %q; molar conversations export --all lists all", id)
}

// openConversations opens the database that holds the conversations.
func (a *app) openConversations(cmd *cobra.Command) (*store.DB, error) {
	cfg, err := a.Load(nil)
	if err != nil {
		return nil, err
	}
	if cfg.Memory.URL != "" {
		return nil, cli.Usage(fmt.Errorf("%s stores the conversations (memory.url); run this command there", cfg.Memory.URL))
	}
	return openExisting(cmd, cfg.Memory.Store)
}
