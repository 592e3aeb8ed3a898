package agent

import (
	"context"
	"slices"
	"strings"

	"molar/schemas"
)

// An Attachment is a text that a person attached to the question: a resource of a server, a file,
// or piped input. The model reads it fenced, as data; it is not saved with the question.
type Attachment struct {
	// Name identifies it, such as an address.
	Name string
	// Server is where it comes from; empty for a person's file. Either way tools then need
	// approval, as after a result of a server: others may have written the file.
	Server string
	// Text is cut to the limit of results, with a mark.
	Text string
	// Media are the images and other files of a resource.
	Media []schemas.Part
}

// tools gives access to the attached servers.
type tools interface {
	Status() []schemas.ServerStatus
	// Resource reads a resource of a server for who asks: its text, and the images and the like in it.
	Resource(ctx context.Context, who schemas.Caller, server, uri string) (string, []schemas.Part, error)
}

// mentionConfig configures [read].
type mentionConfig struct {
	Tools tools
	// Caller is who asks.
	Caller schemas.Caller
	// Await waits a moment for a server in its first start.
	Await func(ctx context.Context, server string)
	// May reports whether the question may name resources of a server.
	May func(server string) bool
}

// maxMentions is how many resources one question may name.
const maxMentions = 8

// read reads the resources that the "@server:uri" words of a text name. Without an allowed server
// it is an ordinary word. On an error, unread is the word that failed.
func read(ctx context.Context, cfg mentionConfig, text string) (attached []Attachment, unread string, err error) {
	for word := range strings.FieldsSeq(text) {
		server, uri, ok := split(word)
		known := func(at Attachment) bool { return at.Server == server && at.Name == uri }
		named := func(s schemas.ServerStatus) bool { return s.Name == server }
		if !ok || len(attached) == maxMentions || slices.ContainsFunc(attached, known) || !slices.ContainsFunc(cfg.Tools.Status(), named) || !cfg.May(server) {
			continue
		}
		cfg.Await(ctx, server)
		content, media, err := cfg.Tools.Resource(ctx, cfg.Caller, server, uri)
		if err != nil {
			return nil, "@" + server + ":" + uri, err
		}
		attached = append(attached, Attachment{Name: uri, Server: server, Text: content, Media: media})
	}
	return attached, "", nil
}

// split splits "@server:uri", without the punctuation after it.
func split(word string) (server, uri string, ok bool) {
	word, ok = strings.CutPrefix(strings.TrimRight(word, ".,;!?)"), "@")
	if !ok {
		return "", "", false
	}
	server, uri, ok = strings.Cut(word, ":")
	return server, uri, ok && uri != ""
}
