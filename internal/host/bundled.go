package host

import (
	"fmt"
	"log/slog"
	"os"

	"molar/internal/budget"
	"molar/internal/config"
	"molar/internal/documents"
	"molar/internal/store"
	"molar/mcpservers"
	"molar/mcpservers/knowledge"
	memoryserver "molar/mcpservers/memory"
	"molar/mcpservers/search"
)

// NewMemoryServer builds the memory server over a store.
func NewMemoryServer(cfg *config.Config, topics *Topics, db *store.DB, log *slog.Logger) (*mcpservers.Dispatcher, error) {
	return memoryserver.New(memoryserver.Config{
		Store:                db,
		KeepRecent:           cfg.Memory.KeepRecentMessages,
		CompressAfterSummary: cfg.Memory.CompressAfterSummary,
		FileBytes:            int64(cfg.Limits.Files),
		Consults:             topics.consults(),
		Logger:               log,
	})
}

// NewDocuments returns the reader of documents.
func NewDocuments(cfg *config.Config) (*documents.Reader, error) {
	return documents.New(documents.Config{Convert: cfg.Converters()})
}

// NewToolServer builds the search tools, and starts to index the folders of knowledge. Their vectors are kept in
// the store; without one, words alone are compared. Calls of a model are charged to the book, which may be nil.
func NewToolServer(cfg *config.Config, topics *Topics, reader *documents.Reader, db *store.DB, book *budget.Book, log *slog.Logger) (*mcpservers.Dispatcher, error) {
	google, err := googleSearch(cfg, book, log)
	if err != nil {
		return nil, err
	}
	folders, err := openFolders(cfg, topics, reader, db, book, log)
	if err != nil {
		return nil, err
	}
	ddg := cfg.Search.DuckDuckGo
	tools, err := search.New(search.Config{
		Google:     google,
		Folders:    folders,
		DuckDuckGo: search.DuckDuckGoConfig{BaseURL: ddg.BaseURL, Region: ddg.Region, Timeout: ddg.Timeout},
		Logger:     log,
	})
	if err != nil {
		closeFolders(folders)
	}
	return tools, err
}

// openFolders opens the guides of the topics, and the operator's folders.
func openFolders(cfg *config.Config, topics *Topics, reader *documents.Reader, db *store.DB, book *budget.Book, log *slog.Logger) ([]*knowledge.Folder, error) {
	folders, err := topics.guides(log)
	if err != nil {
		return nil, err
	}
	for _, e := range cfg.Knowledge {
		f, err := openFolder(cfg, e, reader, db, book, log)
		if err != nil {
			closeFolders(folders)
			return nil, err
		}
		folders = append(folders, f)
	}
	return folders, nil
}

func openFolder(cfg *config.Config, e config.Entry[config.Knowledge], reader *documents.Reader, db *store.DB, book *budget.Book, log *slog.Logger) (*knowledge.Folder, error) {
	meaning, err := meaningOf(cfg, e.Value.Embeddings, db, book, log)
	if err != nil {
		return nil, fmt.Errorf("knowledge %q: embeddings: %w", e.Name, err)
	}
	return knowledge.Open(knowledge.Config{
		Name: e.Name, About: e.Value.Description, Files: knowledge.Dir(e.Value.Path), Path: e.Value.Path, Languages: e.Value.Languages, Link: e.Value.Link,
		Threshold: e.Value.Threshold, Foreign: e.Value.Foreign(), Corrections: e.Value.Corrections, Documents: reader, Meaning: meaning, Logger: log,
	})
}

// UnreadKnowledge lists for each folder of knowledge the files that are not read, or that it is not there.
func UnreadKnowledge(cfg *config.Config) []string {
	reader, err := NewDocuments(cfg)
	if err != nil {
		return []string{err.Error()}
	}
	notes := MissingKnowledge(cfg)
	for _, e := range cfg.Knowledge {
		if unread := knowledge.Unread(knowledge.Dir(e.Value.Path), reader); unread != "" {
			notes = append(notes, fmt.Sprintf("knowledge %q: %s", e.Name, unread))
		}
	}
	return notes
}

// MissingKnowledge lists the folders of knowledge that are not there.
func MissingKnowledge(cfg *config.Config) (missing []string) {
	for _, e := range cfg.Knowledge {
		if info, err := os.Stat(e.Value.Path); err != nil || !info.IsDir() {
			missing = append(missing, fmt.Sprintf("knowledge %q: there is no folder %s on this machine", e.Name, e.Value.Path))
		}
	}
	return missing
}

func closeFolders(folders []*knowledge.Folder) {
	for _, f := range folders {
		f.Close()
	}
}
