package responses

// A socketChain holds the responses of one WebSocket connection that were not stored. The newest
// one can be continued over that connection; the others are its history.
type socketChain struct {
	newest  string
	records map[string]*record
}

// record returns a response of the chain, or nil; h may be nil.
func (h *socketChain) record(id string) *record {
	if h == nil {
		return nil
	}
	return h.records[id]
}

// tip returns the newest response if its id is id, else nil.
func (h *socketChain) tip(id string) *record {
	if h == nil || id != h.newest {
		return nil
	}
	return h.records[id]
}

// add adds a response that has ended. A response that does not continue the chain replaces it.
func (h *socketChain) add(id string, r *record) {
	if h.records[r.Previous] == nil {
		clear(h.records)
	}
	if h.records == nil {
		h.records = map[string]*record{}
	}
	h.newest, h.records[id] = id, r
}

// drop empties the chain if id is that of its newest response.
func (h *socketChain) drop(id string) {
	if id == h.newest {
		h.newest = ""
		clear(h.records)
	}
}
