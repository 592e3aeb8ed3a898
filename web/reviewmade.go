package web

import (
	"encoding/json"
	"net/http"

	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/schemas"
)

// A madeObject is a file that was made of a turn, as those see it who read the turn.
type madeObject struct {
	schemas.MadeFile
	// Answer is what stands in the file of a correction; empty if there is none any more.
	Answer string `json:"answer,omitempty"`
}

// turnObject is the trace of a turn, with what only those get who review it.
type turnObject struct {
	answer.Trace
	// Person and Name are those of a [schemas.ListedTurn]; they are missing for one's own turn.
	Person string `json:"person,omitempty"`
	Name   string `json:"name,omitempty"`
	// Made is what reviewers made of the turn, the oldest first.
	Made []madeObject `json:"made,omitempty"`
}

// madeOf returns what reviewers made of some turns, if the client of a request may make such files.
func (s *server) madeOf(r *http.Request, turnIDs ...string) ([]schemas.MadeFile, error) {
	if s.Review.Store == nil || !httpguard.PrincipalOf(r.Context()).May(httpguard.ScopeReview) {
		return nil, nil
	}
	return s.Review.Store.MadeOf(r.Context(), turnIDs)
}

// addMade adds to turns in a list what reviewers made of them.
func (s *server) addMade(r *http.Request, turns []schemas.ListedTurn) error {
	ids, at := make([]string, len(turns)), make(map[string]int, len(turns))
	for i, t := range turns {
		ids[i], at[t.ID] = t.ID, i
	}
	made, err := s.madeOf(r, ids...)
	for _, f := range made {
		t := &turns[at[f.TurnID]]
		t.Made = append(t.Made, f)
	}
	return err
}

// traceWithMade returns the trace of a turn with what reviewers made of it.
func (s *server) traceWithMade(r *http.Request, turnID string, trace json.RawMessage) (json.RawMessage, error) {
	files, err := s.madeOf(r, turnID)
	if err != nil || len(files) == 0 {
		return trace, err
	}
	made := make([]madeObject, len(files))
	for i, f := range files {
		made[i].MadeFile = f
		if f.Kind == schemas.MadeCorrection && f.Path != "" {
			made[i].Answer = s.Review.Written(f.Path)
		}
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(trace, &all); err != nil {
		return nil, err
	}
	if all["made"], err = json.Marshal(made); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}
