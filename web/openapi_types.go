package web

import (
	"molar/agent/answer"
	"molar/schemas"
)

// Types of requests and answers that only the OpenAPI document uses.

type titleBody struct {
	Title string `json:"title"`
}

// A changedObject reports that the object with the id was changed, with the fields that apply.
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

// The types of lists.
type (
	modelList    = list[modelObject]
	toolList     = list[toolObject]
	serverList   = list[schemas.ServerStatus]
	approvalList = list[answer.Approval]
)
