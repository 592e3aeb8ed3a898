package web

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/schemas"
	"molar/web/wire"
)

// A Store reads the files of conversations. For an unknown file or conversation, the error is
// [agent.ErrNotFound].
type Store interface {
	Files(ctx context.Context, owner, id string) ([]schemas.File, error)
	File(ctx context.Context, owner, id string, seq int64, n int) (schemas.File, []byte, error)
}

// An Object is the JSON of a file of a message.
type Object struct {
	Name  string `json:"name"`
	Media string `json:"media"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// URL is the path of the file's content.
	URL string `json:"url"`
}

// of returns the files of a conversation, by the seq of the question that they are attached to.
func of(ctx context.Context, s Store, owner, id string) (map[int64][]Object, error) {
	if s == nil {
		return nil, nil
	}
	list, err := s.Files(ctx, owner, id)
	all := map[int64][]Object{}
	for _, f := range list {
		address := fmt.Sprintf("/v1/conversations/%s/files/%d.%d", url.PathEscape(id), f.Seq, f.N)
		all[f.Seq] = append(all[f.Seq], Object{f.Name, f.Media, f.Size, address})
	}
	return all, err
}

// serve returns the handler that answers with one file of a conversation. fault answers with the
// error of a store.
func serve(s Store, owner func(*http.Request) string, fault func(*gin.Context, string, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		before, after, _ := strings.Cut(c.Param("file"), ".")
		seq, err := strconv.ParseInt(before, 10, 64)
		n, errN := strconv.Atoi(after)
		if err != nil || errN != nil {
			wire.WriteError(c.Writer, wire.NotFound("file"))
			return
		}
		file, data, err := s.File(c.Request.Context(), owner(c.Request), c.Param("id"), seq, n)
		switch {
		case errors.Is(err, agent.ErrNotFound):
			wire.WriteError(c.Writer, wire.NotFound("file"))
			return
		case err != nil:
			fault(c, "file", err)
			return
		}
		head := c.Writer.Header()
		media, how := "application/octet-stream", "attachment"
		if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, file.Media) {
			media, how = file.Media, "inline"
		}
		head.Set("Content-Type", media)
		head.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": file.Name}))
		head.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Cache-Control", "private, no-cache") // the file may be deleted
		c.Writer.WriteHeader(http.StatusOK)
		_, _ = c.Writer.Write(data) // the error means that the client has disconnected
	}
}
