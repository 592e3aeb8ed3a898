package web

import (
	"github.com/gin-gonic/gin"

	"molar/web/wire"
)

// A Setting is one key of the config as a person may read it; see [Operations].
type Setting struct {
	// Key is the path of the key, such as "llm.ollama.model", or an environment variable.
	Key   string `json:"key"`
	Value string `json:"value"`
	// Origin is a file and line, an environment variable or "command line"; empty for a
	// default.
	Origin string `json:"origin,omitempty"`
	// Secret tells that the key is set and its value is not shown.
	Secret bool `json:"secret,omitempty"`
}

// Settings are what a running host was started with.
type Settings struct {
	// File is the config file; empty without one.
	File     string
	Settings []Setting
}

// A settingsObject is the answer to GET /v1/config.
type settingsObject struct {
	Object  string    `json:"object"`
	Version string    `json:"version"`
	File    string    `json:"file,omitempty"`
	Data    []Setting `json:"data"`
}

// listSettings tells what is configured, and where.
func (s *server) listSettings(c *gin.Context) {
	now := s.Operations.Settings()
	wire.WriteJSON(c.Writer, settingsObject{Object: "config", Version: s.Version, File: now.File, Data: listOf(now.Settings).Data})
}
