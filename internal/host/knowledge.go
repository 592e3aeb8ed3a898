package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"time"

	"molar/mcpclients"
	"molar/schemas"
)

// Knowledge reads the folders of knowledge at the tool server, in this process or in another.
type Knowledge struct{ *mcpclients.Manager }

// Status returns what each folder has read.
func (k Knowledge) Status(ctx context.Context) ([]schemas.KnowledgeStatus, error) {
	var all []schemas.KnowledgeStatus
	_, err := k.resource(ctx, "knowledge://status", &all)
	return all, err
}

// Read is Status once all folders are read, or as far as they are when ctx ends. A folder without any file is
// taken for read after a second.
func (k Knowledge) Read(ctx context.Context) ([]schemas.KnowledgeStatus, error) {
	const pause, empty = 50 * time.Millisecond, time.Second
	began := time.Now()
	var all []schemas.KnowledgeStatus
	for {
		now, err := k.Status(ctx)
		if ctx.Err() != nil && all != nil {
			return all, nil
		}
		if all = now; err != nil || !slices.ContainsFunc(all, func(s schemas.KnowledgeStatus) bool {
			return s.Done < s.Files || s.Files == 0 && time.Since(began) < empty
		}) {
			return all, err
		}
		select {
		case <-ctx.Done():
			return all, nil
		case <-time.After(pause):
		}
	}
}

// Document returns a document from one of its parts on, and false for anything that is no document of the
// folder.
func (k Knowledge) Document(ctx context.Context, folder, file string, from int) (d schemas.Document, found bool, err error) {
	if !fs.ValidPath(file) {
		return d, false, nil
	}
	uri := url.URL{Scheme: "knowledge", Host: folder, Path: "/" + file, RawQuery: url.Values{"from": {strconv.Itoa(from)}}.Encode()}
	found, err = k.resource(ctx, uri.String(), &d)
	return d, found, err
}

// resource reads a resource of JSON, and returns false if there is none.
func (k Knowledge) resource(ctx context.Context, uri string, to any) (found bool, err error) {
	var answer struct{ Contents []struct{ Text string } }
	err = k.Request(ctx, schemas.ToolServer, "resources/read", map[string]string{"uri": uri}, &answer)
	const notFound = -32001
	if e, ok := errors.AsType[interface {
		error
		RPCCode() int
	}](err); ok && e.RPCCode() == notFound {
		return false, nil
	}
	if err == nil && len(answer.Contents) != 1 {
		err = errors.New("want one content")
	}
	if err == nil {
		err = json.Unmarshal([]byte(answer.Contents[0].Text), to)
	}
	if err != nil {
		return false, fmt.Errorf("read the knowledge of the tool server: %w", err)
	}
	return true, nil
}
