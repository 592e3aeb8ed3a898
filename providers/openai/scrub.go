package openai

import (
	"net/url"
	"regexp"
	"strings"
)

// maxMessage is how much of a foreign message is shown, in bytes.
const maxMessage = 500

// A scrubber takes out of foreign messages what people who read them must not
// learn: the key, the address of the service, and the queries of other addresses.
type scrubber struct {
	secrets *strings.Replacer
	link    *regexp.Regexp
}

func newScrubber(key string, base *url.URL) scrubber {
	pairs := []string{}
	hide := func(secret, label string) {
		if secret != "" {
			pairs = append(pairs, secret, label)
		}
	}
	hide(key, "[key]")
	if password, ok := base.User.Password(); ok {
		hide(password, "[key]")
	}
	for _, values := range base.Query() {
		for _, v := range values {
			if len(v) >= 8 {
				hide(v, "[key]")
			}
		}
	}
	if base.Host != defaultHost {
		hide(base.Host, "[server]")
		// A name without a dot may be a word of the message.
		if host := base.Hostname(); strings.ContainsAny(host, ".:") {
			hide(host, "[server]")
		}
	}
	return scrubber{strings.NewReplacer(pairs...), regexp.MustCompile(`(https?://)[^\s"'<>]+`)}
}

// defaultHost is known to everybody.
const defaultHost = "api.openai.com"

// clean makes a foreign message fit to be shown: short, valid, one line, without
// secrets.
func (s scrubber) clean(message string) string {
	// Cut before the work on it, with room for what the work takes away.
	if len(message) > 8*maxMessage {
		message = message[:8*maxMessage]
	}
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "�")), " ")
	message = s.link.ReplaceAllStringFunc(s.secrets.Replace(message), bare)
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// bare strips an address of user, query and fragment.
func bare(link string) string {
	link, _, _ = strings.Cut(link, "?")
	link, _, _ = strings.Cut(link, "#")
	scheme, rest, _ := strings.Cut(link, "://")
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if path != "" {
		host += "/" + path
	}
	return scheme + "://" + host
}
