package responses

import (
	"encoding/json"
	"path"

	"molar/agent/answer"
	"molar/schemas"
	"molar/schemas/responses"
)

// An openSearch is a search that is running.
type openSearch struct {
	searchCall
	index int
}

// search adds an item for a search of the host.
func (r *renderer) search(kind string, call *schemas.ToolCall) {
	r.closeMessage("commentary", responses.StatusCompleted)
	var arguments struct {
		Query string `json:"query"`
		// Queries are the same question in other words.
		Queries []string `json:"queries"`
	}
	_ = json.Unmarshal([]byte(call.Function.Arguments), &arguments) // then the search fails
	s := &openSearch{searchCall: searchCall{Type: kind + "_call", ID: r.id(map[string]string{webSearch: "ws", fileSearch: "fs"}[kind]), Status: responses.StatusInProgress}}
	if queries := append([]string{arguments.Query}, arguments.Queries...); kind == fileSearch {
		s.Queries = queries
	} else {
		s.Action = &searchAction{Type: "search", Query: arguments.Query, Queries: queries}
	}
	s.index = r.add(s.searchCall)
	r.searches[call.ID] = s
	for _, state := range []string{"in_progress", "searching"} {
		r.emit(Event{Type: "response." + s.Type + "." + state, ItemID: s.ID, OutputIndex: &s.index})
	}
}

// found ends a search with its result. There is no event for a search that failed: its item says so.
func (r *renderer) found(s *openSearch, ev answer.Event) {
	delete(r.searches, ev.Call.ID)
	if ev.Result.IsError {
		s.Status = responses.StatusFailed
		r.end(s.index, s.searchCall)
		return
	}
	var found struct {
		Results []struct {
			Title   string        `json:"title"`
			Content string        `json:"content"`
			Link    string        `json:"link"`
			Place   schemas.Place `json:"place"`
			Score   float64       `json:"score"`
		} `json:"results"`
	}
	_ = json.Unmarshal(ev.Result.Output, &found) // a result of another form names nothing
	for _, f := range found.Results {
		switch file := f.Place.File; {
		case s.Action != nil && r.includes(includePages):
			s.Action.Sources = append(s.Action.Sources, page{"url", f.Link})
		case s.Action == nil && r.includes(includePassages):
			if file == "" {
				file = f.Title
			}
			s.Results = append(s.Results, passage{FileID: file, Filename: path.Base(file), Score: f.Score, Text: f.Content})
		}
	}
	s.Status = responses.StatusCompleted
	r.emit(Event{Type: "response." + s.Type + ".completed", ItemID: s.ID, OutputIndex: &s.index})
	r.end(s.index, s.searchCall)
}
