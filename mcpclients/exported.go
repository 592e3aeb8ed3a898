package mcpclients

import (
	"molar/mcpclients/catalogue"
	"molar/mcpclients/supervise"
)

// What the parts of the package declare and its users name.
type (

	// A Catalogue is an immutable snapshot of the tools of servers.
	Catalogue = catalogue.Catalogue
	// A Keeper keeps decisions beyond the life of the process.
	Keeper = catalogue.Keeper

	// An Elicitor puts a server's question to a person.
	Elicitor = supervise.Elicitor
)

// Defaults and limits of one server.
const (
	MaxTools = catalogue.MaxTools
)

// Kinds of error. Use errors.Is.
var (
	ErrUnknownTool = catalogue.ErrUnknownTool
	ErrNotPinned   = catalogue.ErrNotPinned
	ErrChanged     = catalogue.ErrChanged
)
