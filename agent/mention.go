package agent

import (
	"context"
	"slices"
	"strings"

	"molar/schemas"
)

// An Attachment is a text that a person put beside the question: a resource of a
// server, a file, or what was piped in. The model reads it fenced, as data; it is not saved
// with the question.
type Attachment struct {
	// Name says what it is, such as an address.
	Name string
	// Server is who gave it, and empty for a file of the person's. Tools then need approval, as
	// after a result of that server: others may have written a file, too.
	Server string
	// Text is cut at the limit of results, with a mark.
	Text string
	// Media are the images and other files of a resource.
	Media []schemas.Part
}

// Tools are the attached servers.
type Tools interface {
	Status() []schemas.ServerStatus
	// Resource reads a resource of a server: its text, and the images and the like in it.
	Resource(ctx context.Context, server, uri string) (string, []schemas.Part, error)
}

// MentionConfig has what resources are read with.
type MentionConfig struct {
	Tools Tools
	// Await gives a server that is in its first start a moment.
	Await func(ctx context.Context, server string)
	// May reports whether the question may name resources of a server.
	May func(server string) bool
}

// most is how many resources one question may name.
const most = 8

// Read reads what the "@server:uri" words of a text name. A word whose first part is no
// server that may be named is an ordinary word. An error is about the word unread.
func Read(ctx context.Context, cfg MentionConfig, text string) (attached []Attachment, unread string, err error) {
	for word := range strings.FieldsSeq(text) {
		server, uri, ok := split(word)
		known := func(at Attachment) bool { return at.Server == server && at.Name == uri }
		named := func(s schemas.ServerStatus) bool { return s.Name == server }
		if !ok || len(attached) == most || slices.ContainsFunc(attached, known) || !slices.ContainsFunc(cfg.Tools.Status(), named) || !cfg.May(server) {
			continue
		}
		cfg.Await(ctx, server)
		content, media, err := cfg.Tools.Resource(ctx, server, uri)
		if err != nil {
			return nil, "@" + server + ":" + uri, err
		}
		attached = append(attached, Attachment{Name: uri, Server: server, Text: content, Media: media})
	}
	return attached, "", nil
}

// split splits "@server:uri", with the marks behind it that end a sentence.
func split(word string) (server, uri string, ok bool) {
	word, ok = strings.CutPrefix(strings.TrimRight(word, ".,;!?)"), "@")
	if !ok {
		return "", "", false
	}
	server, uri, ok = strings.Cut(word, ":")
	return server, uri, ok && uri != ""
}
