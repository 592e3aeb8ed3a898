package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/access"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/serve"
	"molar/internal/store"
)

func newKeysLinkCmd(a *app, format *string) *cobra.Command {
	var life string
	cmd := &cobra.Command{
		Use:   "link NAME | ID",
		Short: "Print a link that signs a browser in as a key, once",
		Long: `Print a link that signs a browser in as a key, once. The browser then sees what the key sees, until
it signs out, the key ends, or nobody uses it for twelve hours.

The link leads to public_url, or without it to the address on which this configuration listens. A
running molar serve, and each other one with the same database, accepts it at once.`,
		Example: `  molar keys link laptop
  molar keys link reception --for 1h`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			lasts, err := config.ParseDuration(life)
			if err != nil || lasts <= 0 {
				return cli.Usage(fmt.Errorf("--for %q: want a time such as 10m or 1h", life))
			}
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			token, hash := access.NewToken()
			until := time.Now().Add(lasts).UTC().Truncate(time.Second)
			var key store.APIKey
			err = a.withKeys(cmd.Context(), func(ctx context.Context, db *store.DB) error {
				stored, err := db.Keys(ctx)
				if err != nil {
					return err
				}
				if key, err = linkedKey(cfg, stored, args[0]); err != nil {
					return err
				}
				return db.AddLink(ctx, hash, key.ID, until)
			})
			if err != nil {
				return err
			}
			address := serve.LinkAddress(cfg, cfg.Listen, token)
			if *format == cli.JSON {
				return a.PrintJSON(map[string]any{"url": address, "key": key.ID, "expires_at": until})
			}
			a.Say("%s", address)
			a.Note("signs a browser in as %q; works once, until %s", key.Name, until.Format(time.RFC3339))
			return nil
		},
	}
	cmd.Flags().StringVar(&life, "for", "10m", "`time` for which the link works")
	return cmd
}

// linkedKey returns the key of the file or the store with a name or id, if a browser can use it.
func linkedKey(cfg *config.Config, stored []store.APIKey, name string) (store.APIKey, error) {
	keys := slices.DeleteFunc(stored, func(k store.APIKey) bool { return k.Session })
	for _, k := range cfg.APIKeys {
		keys = append(keys, store.APIKey{ID: k.ID(), Name: k.Name, Scopes: k.Scopes})
	}
	i := slices.IndexFunc(keys, func(k store.APIKey) bool { return k.ID == name || k.Name == name })
	if i < 0 {
		return store.APIKey{}, fmt.Errorf("there is no key %q; molar keys list shows them", name)
	}
	key := keys[i]
	if !key.ExpiresAt.IsZero() && !time.Now().Before(key.ExpiresAt) {
		return key, fmt.Errorf("the key %q has expired; make another one: molar keys create NAME", name)
	}
	if !access.OpensPages(key.Scopes) {
		return key, fmt.Errorf("the key %q opens no page; make one with --scope chat, admin or review", name)
	}
	return key, nil
}
