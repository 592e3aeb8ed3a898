package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/internal/store"
)

// A rotatedKey is a key's new text as it is shown once.
type rotatedKey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Key  string `json:"key"`
	Hash string `json:"hash"`
	// PreviousUntil is when the text before ends.
	PreviousUntil time.Time `json:"previous_until"`
}

func newKeysRotateCmd(a *app, format *string) *cobra.Command {
	var overlap string
	var forConfig bool
	cmd := &cobra.Command{
		Use:   "rotate NAME | ID",
		Short: "Give a key a new text; the one before works until an overlap ends",
		Long: `Give a key a new text and show it, once. The key keeps its id, its name and its conversations.

The text before works until the overlap ends, so that each client can be given the new one. Another
rotation during that time ends the oldest text. Browsers that signed in with a text are signed out
when it ends.`,
		Example: `  molar keys rotate laptop
  molar keys rotate ci --overlap 7d
  molar keys rotate leaked --overlap 0s
  molar keys rotate team --for-config`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			life, err := config.ParseDuration(overlap)
			if err != nil || life < 0 {
				return cli.Usage(fmt.Errorf("--overlap %q: want a time such as 24h or 7d, or 0s for none", overlap))
			}
			until := time.Now().Add(life).UTC().Truncate(time.Second)
			text := httpguard.NewKeyText()
			key := rotatedKey{Name: args[0], Key: text, Hash: httpguard.HashOf(text).String(), PreviousUntil: until}
			if forConfig {
				return a.rotateForConfig(key, *format)
			}
			err = a.withKeys(cmd.Context(), func(ctx context.Context, db *store.DB) error {
				was, err := db.RotateKey(ctx, args[0], key.Hash, until)
				key.ID, key.Name = was.ID, was.Name
				return err
			})
			if errors.Is(err, store.ErrNoKey) {
				return fmt.Errorf("there is no key %q in the store; molar keys list shows them; for a key of the config file add --for-config", args[0])
			}
			if err != nil {
				return err
			}
			if *format == cli.JSON {
				return a.PrintJSON(key)
			}
			a.Say("%s", key.Key)
			a.Note("rotated key %q (%s); this is shown only now, and the key before %s", key.Name, key.ID, endsAt(life, until))
			return nil
		},
	}
	cmd.Flags().StringVar(&overlap, "overlap", "24h", "`time` for which the text before works too, such as 7d; 0s ends it now")
	cmd.Flags().BoolVar(&forConfig, "for-config", false, "for a key of the config file: store nothing, and print its new lines")
	return cmd
}

// endsAt says until when a text works.
func endsAt(life time.Duration, until time.Time) string {
	if life == 0 {
		return "opens nothing any more"
	}
	return "works until " + until.Format(time.RFC3339)
}

// rotateForConfig prints the new lines of a key of the config file.
func (a *app) rotateForConfig(key rotatedKey, format string) error {
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	for _, k := range cfg.APIKeys {
		if k.Name != key.Name {
			continue
		}
		key.ID = k.ID()
		if format == cli.JSON {
			return a.PrintJSON(key)
		}
		before := k.Hash
		if before == "" {
			before = httpguard.HashOf(k.Key.Reveal()).String()
		}
		a.Say("%s", key.Key)
		a.Note("nothing was stored; replace the hash or key of %q in molar.yaml by these lines:\n    hash: %q\n    previous: {hash: %q, until: %s}",
			k.Name, key.Hash, before, key.PreviousUntil.Format(time.RFC3339))
		return nil
	}
	return fmt.Errorf("there is no key %q in the config file; it has %s", key.Name, strings.Join(fileKeyNames(cfg), ", "))
}

func fileKeyNames(cfg *config.Config) []string {
	names := make([]string, len(cfg.APIKeys))
	for i, k := range cfg.APIKeys {
		names[i] = k.Name
	}
	if len(names) == 0 {
		return []string{"none"}
	}
	return names
}
