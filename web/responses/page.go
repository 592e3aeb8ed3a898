package responses

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// Bounds of a page of items.
const (
	defaultPage = 20
	maxPage     = 100
)

// An ItemList is a page of items.
type ItemList struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	FirstID *string           `json:"first_id"`
	LastID  *string           `json:"last_id"`
	HasMore bool              `json:"has_more"`
}

// writePage answers with the items that ?limit=, ?order= and ?after= select, newest first unless
// order is asc. whole, unless nil, completes each selected item.
func writePage(c *gin.Context, all []json.RawMessage, whole func(json.RawMessage) (json.RawMessage, error)) {
	if err := checkQuery(c); err != nil {
		wire.WriteError(c.Writer, failure(err))
		return
	}
	limit := defaultPage
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			wire.WriteError(c.Writer, failure(wire.Invalid("limit", "limit must be a number from 1 to %d", maxPage)))
			return
		}
		limit = n
	}
	all = slices.Clone(all)
	switch c.Query("order") {
	case "", "desc":
		slices.Reverse(all)
	case "asc":
	default:
		wire.WriteError(c.Writer, failure(wire.Invalid("order", "order must be asc or desc")))
		return
	}
	if after := c.Query("after"); after != "" {
		at := slices.IndexFunc(all, func(raw json.RawMessage) bool { return idOf(raw) == after })
		if at < 0 {
			wire.WriteError(c.Writer, failure(wire.Invalid("after", "after must be the id of an item of the list")))
			return
		}
		all = all[at+1:]
	}
	page := ItemList{Object: "list", Data: all[:min(limit, len(all))], HasMore: len(all) > limit}
	if n := len(page.Data); n > 0 {
		page.FirstID, page.LastID = new(idOf(page.Data[0])), new(idOf(page.Data[n-1]))
		for i := 0; i < n && whole != nil; i++ {
			var err error
			if page.Data[i], err = whole(page.Data[i]); err != nil {
				wire.WriteError(c.Writer, failure(err))
				return
			}
		}
	} else {
		page.Data = []json.RawMessage{}
	}
	wire.WriteJSON(c.Writer, page)
}

// idOf returns the id of an item.
func idOf(raw json.RawMessage) string {
	var it struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &it) // items that this package made
	return it.ID
}
