package httpserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"molar/mcpservers"
)

// listenToNothing answers a subscription (revision 2026-07-28, subscriptions/listen) without a
// resource, the only thing that can change here: the acknowledgement, then the end. mcp-go writes
// these two from two goroutines, in either order. It is false for a subscription that has
// something to wait for.
func (e *endpoint) listenToNothing(w http.ResponseWriter, r *http.Request, req mcpservers.Request) bool {
	var params struct {
		Notifications struct {
			ResourceSubscriptions []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	}
	if req.ID == nil || json.Unmarshal(req.Params, &params) != nil || len(params.Notifications.ResourceSubscriptions) > 0 {
		return false
	}
	if code, err := checkModern(r.Header, revisionOf(req.Params), req); err != nil {
		refuse(w, req.ID, code, err.Error())
		return true
	}
	id := fmt.Sprintf(`{%q:%s}`, mcp.MetaKeySubscriptionID, req.ID)
	ack := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{"_meta":%s,"notifications":{}}}`,
		mcp.MethodNotificationSubscriptionsAcknowledged, id)
	end := e.modernize(req.Method, json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"_meta":%s}}`, req.ID, id)))
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\nevent: message\ndata: %s\n\n", ack, end) //nolint:gosec // JSON in an event stream is no HTML; a client that left needs neither
	return true
}
