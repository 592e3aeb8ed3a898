package toolhandler

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var mailAddress = regexp.MustCompile(`[^\s<>,;"']+@[^\s<>,;"']+\.[^\s<>,;"']+`)

// places are names of arguments that say where something goes.
func places() []string {
	return []string{
		"to", "cc", "bcc", "recipient", "recipients", "receiver", "channel", "room", "chat", "phone", "number", "account", "target", "destination",
		"path", "file", "folder", "directory", "source", "host", "server", "database", "table", "calendar", "repo", "repository", "branch", "url", "uri", "address",
	}
}

// Subject names what an approval beyond the call is about: the tool, and where its arguments
// go. That is the hosts of addresses, mail addresses, and arguments that name a place.
func (a Approval) Subject() string {
	var args map[string]any
	if json.Unmarshal([]byte(a.Call.Function.Arguments), &args) != nil {
		return a.Tool.Name
	}
	found := make(map[string]bool)
	for name, value := range args {
		for _, leaf := range leaves(nil, value) {
			mails := mailAddress.FindAllString(leaf, -1)
			for _, mail := range mails {
				found[strings.ToLower(mail)] = true
			}
			if u, err := url.Parse(strings.TrimSpace(leaf)); err == nil && u.Host != "" {
				found[strings.ToLower(u.Host)] = true
			} else if len(mails) == 0 && slices.Contains(places(), strings.ToLower(name)) {
				found[leaf] = true
			}
		}
	}
	if len(found) == 0 {
		return a.Tool.Name
	}
	return a.Tool.Name + " to " + strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}
