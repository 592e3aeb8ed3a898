package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"molar/internal/access"
	"molar/internal/cli"
	"molar/internal/httpguard"
	"molar/internal/store"
	"molar/schemas"
)

func newKeysCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make, list, rotate or revoke API keys, and links that sign a browser in",
		Long: `Make, list, rotate or revoke API keys, which are stored in the host's own database.

When there is a key, serve and mcp require one with every request: Authorization: Bearer
KEY, or x-api-key: KEY. A running molar applies changes within seconds. Each key sees only
its own conversations, or those of the person for whom it acts.

Scopes: chat for turns and the key's own conversations; admin for changes of the host;
metrics for /metrics; review for the turns of everybody; host for a molar serve that stores its memory at this molar mcp.`,
		Args: onlyCommands,
		RunE: showHelp,
	}
	var format string
	cmd.PersistentFlags().StringVar(&format, "output-format", cli.Text, "text or json")
	cmd.AddCommand(newKeysCreateCmd(a, &format), newKeysListCmd(a, &format), newKeysLinkCmd(a, &format), newKeysRotateCmd(a, &format), newKeysRevokeCmd(a, &format))
	return cmd
}

func newKeysCreateCmd(a *app, format *string) *cobra.Command {
	var (
		scopes    []string
		groups    []string
		person    string
		manner    schemas.KeyManner
		expires   string
		forConfig bool
	)
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key and show it, once",
		Example: `  molar keys create laptop
  molar keys create ci --scope chat --expires 90d
  molar keys create prometheus --scope metrics
  molar keys create office --scope host
  molar keys create reception --group staff
  molar keys create ann-script --person 'oidc:https://login.example.com#1234'
  molar keys create webhook --input data --ask never`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			key, err := access.NewKey(args[0], scopes, manner, expires, time.Now())
			if err != nil {
				return cli.Usage(err)
			}
			key.Groups, key.Person = groups, person
			if err := a.checkRights(cmd.Context(), key, forConfig); err != nil {
				return err
			}
			if forConfig {
				return a.showForConfig(key, *format)
			}
			key.ID = "key_" + strings.ToLower(rand.Text()[:16])
			err = a.withKeys(cmd.Context(), func(ctx context.Context, db *store.DB) error {
				return db.AddKey(ctx, store.APIKey{ID: key.ID, Name: key.Name, Hash: key.Hash, Scopes: key.Scopes, KeyManner: key.KeyManner, ExpiresAt: key.ExpiresAt, Groups: key.Groups, Owner: key.Person})
			})
			if errors.Is(err, store.ErrKeyExists) {
				return fmt.Errorf("there is a key %q already; choose another name, or revoke it first: molar keys revoke %s", key.Name, key.Name)
			}
			if err != nil {
				return err
			}
			return a.showKey(key, *format)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&scopes, "scope", []string{httpguard.ScopeChat}, "chat, admin, metrics, review or `host`; may be repeated")
	flags.StringSliceVar(&groups, "group", nil, "`group` whose rights limit the key; may be repeated (default: no limit but the scopes)")
	flags.StringVar(&person, "person", "", "`id` of a person who has signed in, for whom the key acts: it sees their conversations, counts for them, and ends when they are no longer admitted")
	flags.StringVar(&manner.Input, "input", "", "`data`: its messages are what others wrote, so they give no orders; typed (default): a person typed them")
	flags.StringVar(&manner.System, "system", "", "`trusted`: you answer for the system texts that it sends; client (default): they are the client's")
	flags.StringVar(&manner.Ask, "ask", "", "`never`: nobody is behind it, so a call that would ask is denied; person (default): somebody answers")
	flags.StringVar(&expires, "expires", "", "`time` after which the key expires, such as 90d or 12h (default: never)")
	flags.BoolVar(&forConfig, "for-config", false, "store nothing; print the entry for api_keys in molar.yaml")
	return cmd
}

func (a *app) showKey(key access.Key, format string) error {
	if format == cli.JSON {
		return a.PrintJSON(key)
	}
	a.Say("%s", key.Key)
	a.Note("made key %q (%s), scope %s%s; it is shown only now", key.Name, key.ID, mayAndManner(key.Scopes, key.KeyManner), limitsOf(key.Groups, key.Person))
	return nil
}

func (a *app) showForConfig(key access.Key, format string) error {
	if format == cli.JSON {
		return a.PrintJSON(key)
	}
	if !key.ExpiresAt.IsZero() {
		return cli.Usage(errors.New("--expires cannot be used with --for-config: a key of the file is valid until it is removed"))
	}
	lines := []string{"scopes: [" + strings.Join(key.Scopes, ", ") + "]"}
	if len(key.Groups) > 0 {
		quoted := make([]string, len(key.Groups))
		for i, g := range key.Groups {
			quoted[i] = strconv.Quote(g)
		}
		lines = append(lines, "groups: ["+strings.Join(quoted, ", ")+"]")
	}
	a.Say("%s", key.Key)
	a.Note("nothing was stored; put this into molar.yaml:\napi_keys:\n  - name: %s\n    hash: %q\n    %s",
		key.Name, key.Hash, strings.Join(append(lines, key.Lines()...), "\n    "))
	return nil
}

// mayAndManner describes what a key may do and who is behind it.
func mayAndManner(scopes []string, manner schemas.KeyManner) string {
	return strings.Join(slices.Concat(scopes, manner.Lines()), ", ")
}

// limitsOf describes for whom a key acts, and which groups limit it.
func limitsOf(groups []string, person string) string {
	if person != "" {
		return ", for " + strconv.Quote(person)
	}
	if len(groups) > 0 {
		return ", groups: " + strings.Join(groups, ", ")
	}
	return ""
}

// checkRights checks the groups of a new key, or the person for whom it acts.
func (a *app) checkRights(ctx context.Context, key access.Key, forConfig bool) error {
	if key.Person == "" && len(key.Groups) == 0 {
		return nil
	}
	if key.Person != "" && (forConfig || len(key.Groups) > 0) {
		return cli.Usage(errors.New("--person cannot be used with --for-config or --group: the groups of the person count, as they are at each moment"))
	}
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	for _, name := range key.Groups {
		if _, ok := cfg.Groups.Get(name); !ok {
			return cli.Usage(fmt.Errorf("--group %q: there is no such group in the config file; define it under groups", name))
		}
	}
	if key.Person == "" {
		return nil
	}
	return a.withKeys(ctx, func(ctx context.Context, db *store.DB) error {
		_, ok, err := db.Person(ctx, key.Person)
		if err == nil && !ok {
			return cli.Usage(fmt.Errorf("--person %q: nobody with that id has signed in; molar people list shows the ids", key.Person))
		}
		return err
	})
}

// A listedKey is an entry of the list of keys.
type listedKey struct {
	store.APIKey
	// From is "store" or "file".
	From    string `json:"from"`
	Expired bool   `json:"expired,omitempty"`
}

func newKeysListCmd(a *app, format *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the keys: name, id, scopes, who is behind them, when made, when last used; never the key",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			keys := []listedKey{}
			for _, k := range cfg.APIKeys {
				keys = append(keys, listedKey{APIKey: store.APIKey{ID: k.ID(), Name: k.Name, Scopes: k.Scopes, KeyManner: k.Manner(), Groups: k.Groups, PreviousUntil: k.Previous.End()}, From: "file"})
			}
			err = a.withKeys(cmd.Context(), func(ctx context.Context, db *store.DB) error {
				stored, err := db.Keys(ctx)
				for _, k := range stored {
					if !k.Session {
						keys = append(keys, listedKey{k, "store", !k.ExpiresAt.IsZero() && !time.Now().Before(k.ExpiresAt)})
					}
				}
				return err
			})
			if err != nil {
				return err
			}
			return a.listKeys(keys, *format)
		},
	}
}

func (a *app) listKeys(keys []listedKey, format string) error {
	if format == cli.JSON {
		return a.PrintJSON(keys)
	}
	if len(keys) == 0 {
		a.Say("there are no API keys: everybody on this machine may use molar, and it accepts no connection from elsewhere")
	}
	for _, k := range keys {
		line := fmt.Sprintf("%s (%s), scope %s", k.Name, k.ID, mayAndManner(k.Scopes, k.KeyManner)+limitsOf(k.Groups, k.Owner))
		if time.Now().Before(k.PreviousUntil) {
			line += ", the key before works until " + cli.Day(k.PreviousUntil)
		}
		if k.From == "file" {
			a.Say("%s, of the config file", line)
			continue
		}
		line += ", made " + cli.Day(k.CreatedAt)
		if k.LastUsed.IsZero() {
			line += ", never used"
		} else {
			line += ", last used " + cli.Day(k.LastUsed)
		}
		switch {
		case k.Expired:
			line += ", expired " + cli.Day(k.ExpiresAt)
		case !k.ExpiresAt.IsZero():
			line += ", expires " + cli.Day(k.ExpiresAt)
		}
		a.Say("%s", line)
	}
	return nil
}

func newKeysRevokeCmd(a *app, format *string) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME | ID",
		Short: "Revoke a key; a running molar refuses it within seconds",
		Long: `Revoke a key; a running molar refuses it within seconds.

The conversations of the key stay in the store, where molar conversations export --owner ID
finds them.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(*format); err != nil {
				return err
			}
			err := a.withKeys(cmd.Context(), func(ctx context.Context, db *store.DB) error { return db.RevokeKey(ctx, args[0]) })
			if errors.Is(err, store.ErrNoKey) {
				return fmt.Errorf("there is no key %q in the store; molar keys list shows them; remove a key of the config file from that file", args[0])
			}
			if err != nil {
				return err
			}
			if *format == cli.JSON {
				return a.PrintJSON(map[string]any{"revoked": true, "key": args[0]})
			}
			a.Say("revoked %s", args[0])
			return nil
		},
	}
}

// withKeys calls f with the host's database.
func (a *app) withKeys(ctx context.Context, f func(context.Context, *store.DB) error) error {
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, store.Config{Path: cfg.Database()})
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, db), db.Close())
}
