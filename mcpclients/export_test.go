package mcpclients

import (
	"encoding/json"

	"molar/schemas"
)

// Result gives black-box tests the reader of a tool's result.
func Result(raw json.RawMessage, maxText int) (schemas.ToolResult, error) {
	return readResult(raw, maxText)
}

// NewShelf gives black-box tests a shelf without a manager.
func NewShelf(cfg ShelfConfig) *Shelf { return newShelf(cfg) }

// NewInForce gives black-box tests the decisions without a manager.
func NewInForce(stored schemas.ToolDecisions, keeper Keeper) *InForce {
	return newInForce(stored, keeper)
}
