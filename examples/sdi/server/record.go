package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Limits of a shown record.
const (
	maxAbstract = 600 // characters, in a list of records
	maxTags     = 20
	maxLinks    = 20
)

// A record describes a data set, a service or a map.
type record struct {
	UUID         string   `json:"uuid"`
	Title        string   `json:"title"`
	Abstract     string   `json:"abstract,omitempty"`
	Type         string   `json:"type,omitempty"`
	Organisation string   `json:"organisation,omitempty"`
	Changed      string   `json:"changed,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	URL          string   `json:"url"`
	Links        []link   `json:"links,omitempty"`
}

// A link leads to the data or to a page about them.
type link struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Protocol string `json:"protocol,omitempty"`
}

// recordFields are the fields of the index that make a record.
func recordFields() []string {
	return []string{
		"uuid", "resourceTitleObject", "resourceAbstractObject", "resourceType", "tag", "link",
		"OrgForResourceObject", "changeDate", "dateStamp",
	}
}

// A searchAnswer is an answer of Elasticsearch.
type searchAnswer struct {
	Hits struct {
		Total struct {
			Value int `json:"value"`
		} `json:"total"`
		Hits []hit `json:"hits"`
	} `json:"hits"`
}

// A hit is one record as it is indexed. Texts are objects with a default and one field
// for each language; which fields are lists depends on the record.
type hit struct {
	ID     string `json:"_id"`
	Source struct {
		UUID         string        `json:"uuid"`
		Title        text          `json:"resourceTitleObject"`
		Abstract     text          `json:"resourceAbstractObject"`
		Type         listed[plain] `json:"resourceType"`
		Tags         listed[text]  `json:"tag"`
		Organisation listed[text]  `json:"OrgForResourceObject"`
		Changed      plain         `json:"changeDate"`
		DateStamp    plain         `json:"dateStamp"`
		Links        listed[struct {
			Protocol plain `json:"protocol"`
			URL      text  `json:"urlObject"`
			Name     text  `json:"nameObject"`
			About    text  `json:"descriptionObject"`
		}] `json:"link"`
	} `json:"_source"`
}

// text is a text in the record's own language, or the text itself.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var object struct {
		Default string `json:"default"`
		English string `json:"langeng"`
	}
	var plain string
	if json.Unmarshal(data, &plain) == nil {
		*t = text(plain)
	} else if json.Unmarshal(data, &object) == nil {
		*t = text(or(object.Default, object.English))
	}
	return nil // a field of another form is as good as absent
}

// plain is a string; a field of another type counts as absent.
type plain string

func (p *plain) UnmarshalJSON(data []byte) error {
	var s string
	_ = json.Unmarshal(data, &s)
	*p = plain(s)
	return nil
}

// listed is a list, or one element without it.
type listed[T any] []T

func (l *listed[T]) UnmarshalJSON(data []byte) error {
	var many []T
	if json.Unmarshal(data, &many) == nil {
		*l = many
		return nil
	}
	var one T
	if json.Unmarshal(data, &one) == nil {
		*l = []T{one}
	}
	return nil
}

// record makes the short form of a hit. base is the catalogue's address.
func (h hit) record(base string) record {
	s := h.Source
	r := record{
		UUID: or(s.UUID, h.ID), Title: strings.TrimSpace(string(s.Title)), Abstract: strings.TrimSpace(string(s.Abstract)),
		Changed: or(string(s.Changed), string(s.DateStamp)),
	}
	r.URL = base + "/srv/api/records/" + url.PathEscape(r.UUID)
	if len(s.Type) > 0 {
		r.Type = string(s.Type[0])
	}
	if len(s.Organisation) > 0 {
		r.Organisation = string(s.Organisation[0])
	}
	for _, tag := range s.Tags[:min(len(s.Tags), maxTags)] {
		if tag != "" {
			r.Tags = append(r.Tags, string(tag))
		}
	}
	for _, l := range s.Links {
		if l.URL != "" && len(r.Links) < maxLinks {
			r.Links = append(r.Links, link{or(string(l.Name), string(l.About)), string(l.URL), string(l.Protocol)})
		}
	}
	return r
}

// short is the record as lists show it.
func (r record) short() record {
	if runes := []rune(r.Abstract); len(runes) > maxAbstract {
		r.Abstract = strings.TrimSpace(string(runes[:maxAbstract])) + "…"
	}
	r.Links = nil
	return r
}

// describe is the record as text, for clients that do not read structured results.
func (r record) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nUUID: %s", or(r.Title, "(no title)"), r.UUID)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\n%s: %s", name, value)
		}
	}
	line("Type", r.Type)
	line("Organisation", r.Organisation)
	line("Changed", r.Changed)
	line("Tags", strings.Join(r.Tags, ", "))
	line("Abstract", r.Abstract)
	line("Link", r.URL)
	for _, l := range r.Links {
		fmt.Fprintf(&b, "\n- %s: %s", or(l.Name, or(l.Protocol, "link")), l.URL)
	}
	return b.String()
}
