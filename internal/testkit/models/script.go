package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Reply is one answer of the model.
type Reply struct {
	// Tokens are streamed one by one.
	Tokens []string
	// Calls come after the tokens, as the wire sends them.
	Calls []Call
	// Status, when not 0, refuses the request with this HTTP status and Error, after the wait for
	// the first token.
	Status int
	Error  string
	// RetryAfter is sent with Status, in whole seconds; 0 omits the header.
	RetryAfter int
	// RetryAfterMS is sent with Status, in milliseconds, for tests that should not wait.
	RetryAfterMS int
	// CutAfter ends the stream without its last message after this many tokens; 0 means never, a
	// negative number before the first one. With Abort the connection is dropped too; otherwise
	// the response ends as if it were complete.
	CutAfter int
	Abort    bool
	// Reason is the finish reason, in the wire's words; empty means the wire's word for a natural
	// end.
	Reason string
}

// A Call is a tool call of the model.
type Call struct {
	// Name is an offered name.
	Name string
	// Args is a JSON object.
	Args json.RawMessage
}

// Text returns a reply that streams the text word by word.
func Text(text string) *Reply { return &Reply{Tokens: strings.SplitAfter(text, " ")} }

// passOf guesses the kind of a request.
func passOf(r Request) Pass {
	switch {
	case len(r.Tools) == 0 && (r.Format || r.MaxTokens > 0 && r.MaxTokens <= 16):
		return PassJudge
	case len(r.Tools) > 0 && !slices.Contains(r.Roles, "tool"):
		return PassTool
	default:
		return PassText
	}
}

// reply returns the script's reply, or else the default one.
func (s *Server) reply(r Request) *Reply {
	if s.cfg.Script != nil {
		if own := s.cfg.Script(r); own != nil {
			return own
		}
	}
	switch r.Pass {
	case PassJudge:
		return &Reply{Tokens: []string{s.cfg.Verdict}}
	case PassTool:
		if name := s.pick(r.Tools); name != "" {
			return &Reply{Calls: []Call{{Name: name, Args: s.cfg.Args}}}
		}
	case PassText:
	}
	return &Reply{Tokens: s.tokens(r.Tag)}
}

// pick returns the offered name of the configured tool; empty if it is not offered.
func (s *Server) pick(offered []string) string {
	for _, name := range offered {
		if s.cfg.Tool == "" || name == s.cfg.Tool || strings.HasSuffix(name, "__"+s.cfg.Tool) {
			return name
		}
	}
	return ""
}

// tokens returns the default answer; with a tag every token contains it, so that a token in a
// wrong stream is noticed.
func (s *Server) tokens(tag string) []string {
	if tag != "" {
		tag = ":" + tag
	}
	tokens := make([]string, s.cfg.Tokens)
	for i := range tokens {
		end := " "
		switch {
		case i == len(tokens)-1:
			end = ""
		case s.cfg.LineEvery > 0 && (i+1)%s.cfg.LineEvery == 0:
			end = "\n"
		}
		tokens[i] = fmt.Sprintf("tok%d%s%s", i+1, tag, end)
	}
	return tokens
}

// tagOf returns the tag after "tag=" in the text: letters, digits, "-" and "_".
func tagOf(text string) string {
	_, rest, found := strings.Cut(text, "tag=")
	if !found {
		return ""
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	if end < 0 {
		return rest
	}
	return rest[:end]
}
