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

// places are words in the names of arguments that say where something goes.
func places() []string {
	return []string{
		"to", "cc", "bcc", "recipient", "recipients", "receiver", "channel", "room", "chat", "phone", "number", "account", "iban", "target", "destination",
		"path", "file", "folder", "directory", "source", "host", "server", "database", "table", "calendar", "repo", "repository", "branch", "url", "uri", "address",
	}
}

// Subject names what an approval beyond the call is about: the tool, and where its arguments
// go. That is the hosts of addresses, mail addresses, and arguments that name a place.
func (a Approval) Subject() string {
	args, err := decoded(a.Call.Function.Arguments)
	if err != nil {
		args = nil
	}
	found := make(map[string]bool)
	goesTo(found, "", args)
	if len(found) == 0 {
		return a.Tool.Name + ", whatever its arguments"
	}
	return a.Tool.Name + " to " + text.Seen(strings.Join(slices.Sorted(maps.Keys(found)), ", "))
}

// goesTo finds where a value under a name goes.
func goesTo(found map[string]bool, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, value := range v {
			goesTo(found, key, value)
		}
	case []any:
		for _, value := range v {
			goesTo(found, name, value)
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
