package web

import (
	"molar/agent/answer"
	"molar/schemas"
)

// Answer types for the OpenAPI document that no handler needs to name.

type titleBody struct {
	Title string `json:"title"`
}

// A changedObject reports a change of the thing with that id.
type changedObject struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Title    string `json:"title,omitempty"`
	Cleared  bool   `json:"cleared,omitempty"`
	Deleted  bool   `json:"deleted,omitempty"`
	Status   string `json:"status,omitempty"`
	Decision string `json:"decision,omitempty"`
	Scope    string `json:"scope,omitempty"`
}

type reloadedObject struct {
	Object string `json:"object"`
	Reloaded
}

type probeObject struct {
	Status  string `json:"status"`
	Version string `json:"version,omitempty"`
}

// The lists, by what they hold.
type (
	modelList    = list[modelObject]
	toolList     = list[toolObject]
	serverList   = list[schemas.ServerStatus]
	approvalList = list[answer.Approval]
)
