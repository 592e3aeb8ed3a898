package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
	"molar/web"
)

// An applier applies a new list of servers while calls continue; after an error nothing has
// changed.
type applier interface {
	Apply(ctx context.Context, servers []transport.ServerConfig) (mcpclients.Changes, error)
}

// A reloader applies a changed config file to a running host. Servers, keys, groups and
// how long things are kept are applied; other changed keys are reported, since they take effect at the next
// start.
type reloader struct {
	load    func() (*config.Config, error)
	servers func(*config.Config) []transport.ServerConfig
	to      applier
	// keys applies the API keys and groups of the file; nil leaves them.
	keys func([]config.APIKey, config.Map[schemas.Group]) error
	log  *slog.Logger
	// running are the settings that the host was started with.
	running *config.Config
	// path is the path of the file, existing or not.
	path string
	mu   sync.Mutex // one reload at a time
	// latest is the result of the latest reading; nil before the first.
	latest atomic.Pointer[reading]
	// applied has an entry after a reload that nobody has noticed yet; nil tells nobody.
	applied chan struct{}
}

// A reading is the result of reading the config file.
type reading struct {
	// last is the config whose servers are in force.
	last *config.Config
	// faults are the faults of the current file. restart are the changed keys that take effect at
	// the next start.
	faults, restart []string
}

// read returns the result of the last reading.
func (r *reloader) read() reading {
	if found := r.latest.Load(); found != nil {
		return *found
	}
	return reading{last: r.running}
}

// last returns the config whose servers are in force.
func (r *reloader) last() *config.Config { return r.read().last }

// reload reads the file and applies it. If the file is invalid the error is a
// *web.BrokenConfigError, and the last valid one stays in force.
func (r *reloader) reload(ctx context.Context, why string) (web.Reloaded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := r.load()
	if err == nil {
		err = r.last().CheckReload(next)
	}
	var changes mcpclients.Changes
	if err == nil {
		changes, err = r.to.Apply(ctx, r.servers(next))
	}
	result := r.read()
	if err == nil {
		result = reading{last: next, restart: r.running.Changed(next)}
	}
	if err == nil && r.keys != nil {
		err = r.keys(next.APIKeys, next.Groups)
	}
	if err != nil && ctx.Err() != nil {
		return web.Reloaded{}, err // the host is ending; the file may be fine
	}
	if err != nil {
		broken := &web.BrokenConfigError{Faults: faultsOf(err)}
		result.faults = broken.Faults
		r.latest.Store(&result)
		r.log.Error("the config file has faults; the last good one stays in force", "asked_by", why, "faults", broken.Faults)
		return web.Reloaded{}, broken
	}
	r.latest.Store(&result)
	select {
	case r.applied <- struct{}{}:
	default:
	}
	done := web.Reloaded{
		Added: changes.Added, Removed: changes.Removed, Restarted: changes.Restarted, Updated: changes.Updated,
		NeedsRestart: result.restart, Offer: r.running.SuggestedDefault(next, false),
	}
	r.log.Info("config reloaded", "asked_by", why,
		"added", done.Added, "removed", done.Removed, "restarted", done.Restarted, "updated", done.Updated)
	if done.Offer != "" {
		r.log.Warn("the default assistant may not call the servers; choose the one that may, or start molar again", "assistant", done.Offer)
	}
	host.WarnExposed(next, r.log)
	if len(done.NeedsRestart) > 0 {
		r.log.Warn("these keys changed too and take effect when molar is started again", "keys", done.NeedsRestart)
	}
	return done, nil
}

// reapply applies the servers again after others were added or removed. The caller holds the lock.
func (r *reloader) reapply(ctx context.Context) error {
	_, err := r.to.Apply(ctx, r.servers(r.last()))
	return err
}

// faultsOf splits an error that joins several.
func faultsOf(err error) []string {
	if exit, ok := errors.AsType[*cli.Error](err); ok {
		err = exit.Err
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	var faults []string
	for _, part := range joined.Unwrap() {
		faults = append(faults, faultsOf(part)...)
	}
	return faults
}

// watch reloads whenever the file, or that of its variables, is saved with other content,
// until ctx ends. It also watches for a missing file.
func (r *reloader) watch(ctx context.Context) {
	if r.path == "" {
		return
	}
	var both sync.WaitGroup
	defer both.Wait()
	for name, seen := range map[string][sha256.Size]byte{
		r.path:                       r.running.Digest(),
		config.VariablesFile(r.path): r.running.Variables.Digest(),
	} {
		both.Go(func() {
			err := config.WatchFile(ctx, name, seen, func() {
				_, _ = r.reload(ctx, "the file was saved") // reload logs its faults
			})
			if err != nil {
				r.log.Warn("the config file is not watched; after a change run: molar servers reload", "file", name, "error", err)
			}
		})
	}
}

// hangups reloads at every SIGHUP until ctx ends. If the terminal that molar was started from
// is gone, the signal means that instead, and end is called. A host started with the signal
// ignored (nohup) ignores it.
func (r *reloader) hangups(ctx context.Context, stdin any, end func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	fromTerminal := cli.IsTerminal(stdin)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		if fromTerminal && !cli.IsTerminal(stdin) {
			end()
			return
		}
		_, _ = r.reload(ctx, "SIGHUP") // reload logs its faults
	}
}
