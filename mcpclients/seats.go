package mcpclients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/mcpclients/oauth"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// Seats are the connections of people to a server that each of them calls as themselves. The base
// server has no connection: it holds the tools that were listed last over any of them, and the
// switches and pins, which count for everybody.
type seats struct {
	base *server
	// connect is offered while nobody has listed the tools.
	connect *part

	mu    sync.Mutex
	ctx   context.Context //nolint:containedctx // the life of the supervisor, which the connections share
	taken map[string]*seat
	work  sync.WaitGroup
}

// A seat is one person's connection.
type seat struct {
	*server
	stop  context.CancelFunc
	calls int
	used  time.Time
	timer *time.Timer // ends the seat when it is idle
}

// serve lets people connect until ctx ends, and then waits for the end of all connections.
func (s *seats) serve(ctx context.Context) {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	s.base.update(func(now *look) {
		now.wasReady, now.State, now.Reason = true, schemas.StateReady, "each person is connected apart, when they first call it"
	})
	s.base.settings.Publish()
	<-ctx.Done()
	s.mu.Lock()
	s.ctx = nil
	for id := range s.taken {
		s.drop(id)
	}
	s.mu.Unlock()
	s.work.Wait()
}

// take returns the person's seat, which is kept until release is called.
func (s *seats) take(who schemas.Caller) (taken *seat, release func(), err error) {
	cfg, err := ForPerson(*s.base.Config(), who)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", transport.ErrUnavailable, s.base.Name(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		return nil, nil, fmt.Errorf("%w: %s is not attached now", transport.ErrUnavailable, s.base.Name())
	}
	taken = s.taken[who.ID]
	if taken != nil && (!maps.Equal(taken.Config().Headers, cfg.Headers) || taken.Look().final && !taken.Look().needsLogin) {
		s.drop(who.ID) // with other groups it is another connection
		taken = nil
	}
	if taken == nil {
		if len(s.taken) >= seatMost && !s.dropOldest() {
			return nil, nil, fmt.Errorf("%w: %d people use %s at this moment, try again later", transport.ErrUnavailable, seatMost, s.base.Name())
		}
		taken = s.open(who.ID, cfg)
	}
	taken.calls++
	if taken.timer != nil {
		taken.timer.Stop()
	}
	return taken, func() { s.release(who.ID, taken) }, nil
}

// open starts a person's connection. s.mu is held.
func (s *seats) open(id string, cfg transport.ServerConfig) *seat {
	settings := s.base.settings
	settings.Logins, settings.OnePerson = nil, true
	if people := settings.People.Logins; people != nil {
		settings.Logins = people(id)
	}
	one := &seat{}
	settings.Publish = func() { s.learn(one) }
	one.server = newServer(cfg, settings)
	ctx, stop := context.WithCancel(s.ctx)
	one.stop = stop
	s.taken[id] = one
	s.work.Go(func() { one.Run(ctx) })
	return one
}

// learn makes the tools that a person's connection lists those of the base server.
func (s *seats) learn(from *seat) {
	infos := from.Shelf().Listed()
	if len(infos) == 0 {
		return
	}
	for _, info := range infos {
		if info.ToolName == schemas.Instructions {
			s.base.Shelf().Instruct(info.Description)
		}
	}
	s.base.Shelf().Put(infos)
}

// applyDecisions applies what people have decided to the tools of each person's connection. The base
// server's tools stay those that were listed last.
func (s *seats) applyDecisions() {
	s.mu.Lock()
	taken := slices.Collect(maps.Values(s.taken))
	s.mu.Unlock()
	for _, one := range taken {
		one.Shelf().judgeAgain()
	}
}

// release ends the use of a seat, which is closed if it stays unused.
func (s *seats) release(id string, one *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.calls--
	one.used = time.Now()
	if one.calls > 0 || s.taken[id] != one {
		return
	}
	one.timer = time.AfterFunc(seatIdle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.taken[id] == one && one.calls == 0 {
			s.drop(id)
		}
	})
}

// drop closes a seat. s.mu is held.
func (s *seats) drop(id string) {
	one := s.taken[id]
	delete(s.taken, id)
	if one.timer != nil {
		one.timer.Stop()
	}
	one.stop()
}

// dropOldest closes the seat that has been unused for longest; false means that all are in use. s.mu
// is held.
func (s *seats) dropOldest() bool {
	oldest := ""
	for id, one := range s.taken {
		if one.calls == 0 && (oldest == "" || one.used.Before(s.taken[oldest].used)) {
			oldest = id
		}
	}
	if oldest == "" {
		return false
	}
	s.drop(oldest)
	return true
}

// loggedIn tells a person's seat, if there is one, that they have logged in.
func (s *seats) loggedIn(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.taken[id]; one != nil {
		one.wake()
	}
}

// disconnect closes a person's seat, if there is one.
func (s *seats) disconnect(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[id] != nil {
		s.drop(id)
	}
}

// close closes this seat, unless another has replaced it.
func (s *seats) close(id string, one *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[id] == one {
		s.drop(id)
	}
}

// call executes a tool over the person's own connection, and lets them log in before if needed.
func (s *seats) call(ctx context.Context, person *schemas.Person, tool string, params callArgs) (result schemas.ToolResult, err error) {
	if why := s.base.Shelf().Withheld(tool); why != "" {
		return result, fmt.Errorf("call tool %q on server %q: %w: %s", tool, s.base.Name(), transport.ErrUnavailable, why)
	}
	err = s.use(ctx, person, func(one *seat) error {
		if tool == connectTool && !one.lists(connectTool) {
			result = one.connected()
			return nil
		}
		result, err = one.Call(ctx, person, tool, params)
		return err
	})
	if missing, ok := errors.AsType[*missingLoginError](err); ok {
		return s.base.loginNeeded(missing.why), nil
	}
	if err != nil && result.Server == "" {
		err = fmt.Errorf("call tool %q on server %q: %w", tool, s.base.Name(), err)
	}
	return result, err
}

// request sends a request that is not a tool call over the person's own connection.
func (s *seats) request(ctx context.Context, who schemas.Caller, method string, params json.RawMessage) (answer json.RawMessage, err error) {
	err = s.use(ctx, &schemas.Person{Caller: who}, func(one *seat) error {
		answer, err = one.Request(ctx, schemas.Caller{}, method, params)
		return err
	})
	return answer, err
}

// prompts returns the person's prompts, if they have logged in: nobody is asked to for a list.
func (s *seats) prompts(ctx context.Context, who schemas.Caller) (list []schemas.Prompt) {
	if who.ID == "" || !s.mayConnect(ctx, who) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, promptsWait)
	defer cancel()
	err := s.use(ctx, &schemas.Person{Caller: who}, func(one *seat) error {
		list = one.Prompts(ctx, schemas.Caller{})
		return nil
	})
	if err != nil {
		s.base.log.Debug("the prompts of a person could not be listed", "error", err)
	}
	return list
}

// mayConnect reports whether a connection of the person can be made without asking them.
func (s *seats) mayConnect(ctx context.Context, who schemas.Caller) bool {
	cfg := s.base.Config()
	if cfg.HasAuthorization() || s.base.settings.People.Logins == nil {
		return true
	}
	g, _, err := oauth.Get(ctx, s.base.settings.People.Logins(who.ID), cfg.LoginServer())
	return err == nil && g != nil && g.Access != ""
}

// use calls do with the person's connection, which is made if there is none, and lets them log in
// before if needed. A connection whose login has ended is made anew: what the server refused had no
// effect. It returns a [missingLoginError] if the person did not log in.
func (s *seats) use(ctx context.Context, person *schemas.Person, do func(*seat) error) error {
	if person == nil || person.Caller.ID == "" {
		return fmt.Errorf("%w: each person calls %s as themselves, and nobody asks here", transport.ErrUnavailable, s.base.Name())
	}
	if err := s.base.enter(); err != nil {
		return err
	}
	defer s.base.leave()
	const attempts = 3 // a connection may have to be made anew, and a login may come between
	for attempt := 1; ; attempt++ {
		err := s.useOnce(ctx, person, do)
		if again := errors.Is(err, errSeatGone); again && attempt < attempts && ctx.Err() == nil {
			continue
		}
		return err
	}
}

// errSeatGone means that nothing was called, and that a new connection may do better.
var errSeatGone = fmt.Errorf("%w: the person's login has ended", transport.ErrUnavailable)

// A missingLoginError says that the person has to log in first, and why they have not.
type missingLoginError struct{ server, why string }

func (e *missingLoginError) Error() string {
	return fmt.Sprintf("%v: the person is not connected to %s: %s", transport.ErrUnavailable, e.server, e.why)
}

func (e *missingLoginError) Unwrap() error { return transport.ErrUnavailable }

func (s *seats) useOnce(ctx context.Context, person *schemas.Person, do func(*seat) error) error {
	id := person.Caller.ID
	one, release, err := s.take(person.Caller)
	if err != nil {
		return err
	}
	defer release()
	if one.loggedOut(ctx) {
		s.close(id, one)
		return errSeatGone
	}
	one.noticeLogin(ctx)
	_, err = one.ready(ctx)
	if err != nil && one.Look().needsLogin {
		if why := one.awaitPerson(ctx, person, func(now look) bool { return !now.needsLogin }); why != "" {
			return &missingLoginError{s.base.Name(), why}
		}
		_, err = one.ready(ctx)
	}
	if err != nil {
		return err
	}
	err = do(one)
	switch refused := transport.AsLogin(err); { // then it had no effect
	case refused == nil, refused.Lacking && !refused.Wider():
		return err
	case refused.Lacking:
		if why := one.awaitPerson(ctx, person, func(look) bool { return one.login.Fresh(ctx) }); why != "" {
			return &missingLoginError{s.base.Name(), "their login does not allow this, and " + why}
		}
	default:
		s.close(id, one)
	}
	return errSeatGone
}

// loggedOut reports whether the connection was made with a login that the person has ended since,
// here or at another process.
func (s *seat) loggedOut(ctx context.Context) bool {
	if s.login == nil || s.conn.Load() == nil || !s.login.Used() {
		return false
	}
	return !s.login.Stored(ctx)
}

// noticeLogin makes a connection that waits for a login use one that was made meanwhile, here or at
// another process, before its next look at the store.
func (s *seat) noticeLogin(ctx context.Context) {
	if s.login == nil || !s.Look().needsLogin || !s.login.Fresh(ctx) {
		return
	}
	s.wake()
	_ = s.WaitWhile(ctx, func(now *look) bool { return now.needsLogin })
}

func (s *seat) lists(tool string) bool {
	for _, info := range s.Shelf().Listed() {
		if info.ToolName == tool {
			return true
		}
	}
	return false
}

// connected is the result of the tool that connects a person.
func (s *seat) connected() schemas.ToolResult {
	var names []string
	tools, _ := s.Shelf().Look()
	for _, t := range tools {
		if t.Withheld == "" {
			names = append(names, t.ToolName)
		}
	}
	text := fmt.Sprintf("Connected to %s. Its tools can be called now: %s.", s.Name(), strings.Join(names, ", "))
	return schemas.ToolResult{Server: s.Name(), ToolName: connectTool, Output: quoted(text, s.settings.MaxResult)}
}
