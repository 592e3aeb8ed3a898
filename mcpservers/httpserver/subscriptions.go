package httpserver

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpservers"
)

// resourcePrefix is the prefix of a conversation's resource URI.
const resourcePrefix = "memory://conversation/"

// subscriptions records who watches which conversation. mcp-go keeps no such list over HTTP.
type subscriptions struct {
	mu sync.Mutex
	// by conversation id and subscriber
	watchers map[string]map[any]watcher
}

// A watcher watches the conversations of one owner, or of all if that is "".
type watcher struct {
	owner  string
	notify func()
}

func newSubscriptions() *subscriptions {
	return &subscriptions{watchers: map[string]map[any]watcher{}}
}

// hooks returns the hooks that report subscribers: the requests of clients with a session, and
// the listening streams of those without.
func (s *subscriptions) hooks() *server.Hooks {
	hooks := &server.Hooks{}
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, req *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		srv, session := server.ServerFromContext(ctx), server.ClientSessionFromContext(ctx)
		if srv == nil || session == nil {
			return
		}
		uri, id := req.Params.URI, session.SessionID()
		s.add(uri, id, ownerOf(ctx), func() {
			// A client that does not read its stream misses notices only.
			_ = srv.SendNotificationToSpecificClient(id, mcp.MethodNotificationResourceUpdated, map[string]any{"uri": uri})
		})
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, req *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		if session := server.ClientSessionFromContext(ctx); session != nil {
			s.remove(req.Params.URI, session.SessionID())
		}
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { s.drop(session.SessionID()) })
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, req *mcp.SubscriptionsListenRequest) {
		session := server.ClientSessionFromContext(ctx)
		if session == nil {
			return
		}
		stream := new(int) // these sessions have no id, so the stream is the key
		for _, uri := range req.Params.Notifications.ResourceSubscriptions {
			s.add(uri, stream, ownerOf(ctx), func() { notify(session, uri) })
		}
		context.AfterFunc(ctx, func() { s.drop(stream) })
	})
	return hooks
}

// notify puts a notice on a session's stream unless that is full.
func notify(session server.ClientSession, uri string) {
	notice := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	notice.Method = mcp.MethodNotificationResourceUpdated
	notice.Params.AdditionalFields = map[string]any{"uri": uri}
	select {
	case session.NotificationChannel() <- notice:
	default:
	}
}

func (s *subscriptions) add(uri string, key any, owner string, notify func()) {
	id, ok := conversationOf(uri)
	if !ok {
		return // it never changes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers[id] == nil {
		s.watchers[id] = map[any]watcher{}
	}
	s.watchers[id][key] = watcher{owner, notify}
}

func (s *subscriptions) remove(uri string, key any) {
	id, ok := conversationOf(uri)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeKey(id, key)
}

// drop removes all of a subscriber's subscriptions.
func (s *subscriptions) drop(key any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.watchers {
		s.removeKey(id, key)
	}
}

func (s *subscriptions) removeKey(id string, key any) {
	delete(s.watchers[id], key)
	if len(s.watchers[id]) == 0 {
		delete(s.watchers, id)
	}
}

// changed notifies the subscribers of an owner's conversation.
func (s *subscriptions) changed(owner, id string) {
	s.mu.Lock()
	notices := make([]func(), 0, len(s.watchers[id]))
	for _, w := range s.watchers[id] {
		if w.owner == "" || w.owner == owner {
			notices = append(notices, w.notify)
		}
	}
	s.mu.Unlock()
	for _, notify := range notices {
		notify()
	}
}

func conversationOf(uri string) (id string, ok bool) {
	escaped, ok := strings.CutPrefix(uri, resourcePrefix)
	if !ok {
		return "", false
	}
	id, err := url.PathUnescape(escaped)
	return id, err == nil && id != ""
}

// changedConversation returns the conversation that an answered request changed, or "".
func changedConversation(req mcpservers.Request, answer json.RawMessage) string {
	changing := []string{"memory/add_message", "memory/save_turn", "memory/add_piece", "memory/set_summary", "memory/clear", "memory/delete"}
	if !slices.Contains(changing, req.Method) {
		return ""
	}
	type names struct {
		ConversationID string `json:"conversation_id"`
		Lease          struct {
			ConversationID string `json:"conversation_id"`
		} `json:"lease"`
	}
	var asked names
	_ = json.Unmarshal(req.Params, &asked) // the method checked them
	if answer == nil {                     // a notification: it may have failed, which costs one notice too many
		return asked.ConversationID
	}
	var got struct {
		Result *names `json:"result"`
	}
	if json.Unmarshal(answer, &got) != nil || got.Result == nil {
		return ""
	}
	for _, id := range []string{got.Result.ConversationID, asked.ConversationID, asked.Lease.ConversationID} {
		if id != "" {
			return id
		}
	}
	return ""
}
