package web

import (
	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

// Settings are the settings with which the running host was started.
type Settings struct {
	// File is the path of the config file; empty if there is none.
	File     string
	Settings []schemas.Setting
}

// A settingsObject is the answer to GET /v1/config.
type settingsObject struct {
	Object  string            `json:"object"`
	Version string            `json:"version"`
	File    string            `json:"file,omitempty"`
	Data    []schemas.Setting `json:"data"`
}

// listSettings lists the settings and their origin.
func (s *server) listSettings(c *gin.Context) {
	now := s.Operations.Settings()
	wire.WriteJSON(c.Writer, settingsObject{Object: "config", Version: s.Version, File: now.File, Data: listOf(now.Settings).Data})
}
