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
	"molar/schemas"
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
		if !found { // recorded first: what was printed cannot be taken back
			what := "the conversation " + id
			if id == "" {
				what = "all conversations"
			}
			if err := recordAudit(cmd, db, schemas.EventExport, what, owner); err != nil {
				return err
			}
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
	var all bool
	var owner string
	cmd := &cobra.Command{
		Use:   "delete ID | --all --owner OWNER",
		Short: "Delete a conversation with its messages, summary and traces, or all of an owner, for good",
		Long: `Delete a conversation with its messages, summary and traces, for good.

With --all and --owner it deletes all of an owner: their conversations, approvals, traces, and
the hashes by which their answers are remembered. Lines of the audit stay; they hold no text.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) || all && owner == "" {
				return cli.Usage(errors.New("name one conversation, or an owner to delete all of theirs: --all --owner OWNER"))
			}
			db, err := a.openConversations(cmd)
			if err != nil {
				return err
			}
			if all {
				return errors.Join(a.deleteOwner(cmd, db, owner), db.Close())
			}
			err = deleteConversation(cmd, db, owner, args[0])
			if err == nil {
				err = recordAudit(cmd, db, schemas.EventErase, "deleted the conversation "+args[0], owner)
			}
			if err := errors.Join(err, db.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "deleted %s\n", terminal.Clean(args[0]))
			return err
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "the `owner` of the conversation, when several have one of that ID")
	cmd.Flags().BoolVar(&all, "all", false, "delete all of an owner")
	return cmd
}

// deleteOwner deletes all of an owner.
func (a *app) deleteOwner(cmd *cobra.Command, db *store.DB, owner string) error {
	erased, err := store.EraseForGood(cmd.Context(), owner, db.ErasePerson)
	if err == nil || erased.Total() > 0 {
		err = errors.Join(err, recordAudit(cmd, db, schemas.EventErase, "all of an owner: "+erased.String(), owner))
	}
	if err == nil {
		a.Say("deleted %d conversations of %s, and all else of theirs", erased["conversations"], terminal.Clean(owner))
	}
	return err
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

// recordAudit appends a line to the audit about what is an owner's, all owners if it is empty. The line
// holds a hash of the owner: it stays when they are erased.
func recordAudit(cmd *cobra.Command, db *store.DB, event, what, owner string) error {
	line := schemas.AuditLine{Event: event, Detail: what}
	if owner != "" {
		line.SHA256 = store.OwnerHash(owner)
	}
	return db.Audit(cmd.Context(), line)
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
