package search

import (
	"embed"
	"io/fs"
	"log/slog"

	"molar/mcpservers/knowledge"
)

// guideTool is the name of the tool that searches the dental guide.
const guideTool = "dental_guide_search"

//go:embed guide
var guideFiles embed.FS

// openGuide opens the dental guide: an embedded folder of knowledge.
func openGuide(log *slog.Logger) (*knowledge.Folder, error) {
	files, err := fs.Sub(guideFiles, "guide")
	if err != nil {
		return nil, err
	}
	return knowledge.Open(knowledge.Config{Name: guideTool, Files: files, Path: "the built-in guide", Fixed: true, Logger: log})
}
