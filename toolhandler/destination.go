package toolhandler

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"molar/internal/text"
)

var mailAddress = regexp.MustCompile(`[^\s<>,;"']+@[^\s<>,;"']+\.[^\s<>,;"']+`)

// places returns words in argument names that mean a destination.
func places() []string {
	return []string{
		"to", "cc", "bcc", "recipient", "recipients", "receiver", "channel", "room", "chat", "phone", "number", "account", "iban", "target", "destination",
		"path", "file", "folder", "directory", "source", "host", "server", "database", "table", "calendar", "repo", "repository", "branch", "url", "uri", "address",
	}
}

// Subject identifies what an approval beyond the call covers: the tool and the destinations in
// its arguments, which are the hosts of URLs, mail addresses, and arguments named for a place.
func (a Approval) Subject() string {
	args, err := decoded(a.Call.Function.Arguments)
	if err != nil {
		args = nil
	}
	found := make(map[string]bool)
	addDestinations(found, "", args)
	if len(found) == 0 {
		return a.Tool.Name + ", whatever its arguments"
	}
	return a.Tool.Name + " to " + text.EscapeInvisible(strings.Join(slices.Sorted(maps.Keys(found)), ", "))
}

// addDestinations adds the destinations in a named value to found.
func addDestinations(found map[string]bool, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, value := range v {
			addDestinations(found, key, value)
		}
	case []any:
		for _, value := range v {
			addDestinations(found, name, value)
		}
	case json.Number:
		if namesPlace(name) {
			found[v.String()] = true
		}
	case string:
		mails := mailAddress.FindAllString(v, -1)
		for _, mail := range mails {
			found[strings.ToLower(mail)] = true
		}
		if u, err := url.Parse(strings.TrimSpace(v)); err == nil && u.Host != "" {
			found[strings.ToLower(u.Host)] = true
		} else if len(mails) == 0 && namesPlace(name) {
			found[v] = true
		}
	}
}

func namesPlace(name string) bool {
	return slices.ContainsFunc(words(name), func(word string) bool { return slices.Contains(places(), word) })
}
