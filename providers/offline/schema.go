package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"molar/schemas"
)

// A role is what a field wants, told from its type, format, name and description.
type role string

const (
	wantsID       role = "id"
	wantsNumber   role = "number"
	wantsBool     role = "boolean"
	wantsEnum     role = "enum"
	wantsDate     role = "date"
	wantsMoment   role = "date-time"
	wantsTime     role = "time"
	wantsEmail    role = "email"
	wantsURL      role = "url"
	wantsPath     role = "path"
	wantsCurrency role = "currency"
	wantsQuery    role = "query"
	wantsBody     role = "body"
	wantsPlace    role = "place"
	wantsName     role = "name"
	wantsText     role = "text"
	wantsArray    role = "array"
	wantsObject   role = "object"
)

// A field is a property of a tool's input schema.
type field struct {
	name        string
	description string
	role        role
	integer     bool
	uuid        bool
	required    bool
	enum        []json.RawMessage
	pattern     *regexp.Regexp
	fallback    json.RawMessage // the default
	minimum     *float64
	maximum     *float64
	item        *field  // of an array
	fields      []field // of an object
	keys        []string
}

// rawSchema is the part of JSON Schema that is read here.
type rawSchema struct {
	Ref         string             `json:"$ref"`
	Defs        map[string]lenient `json:"$defs"`
	Definitions map[string]lenient `json:"definitions"`
	Type        typeNames          `json:"type"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Format      string             `json:"format"`
	Pattern     string             `json:"pattern"`
	Enum        []json.RawMessage  `json:"enum"`
	Const       json.RawMessage    `json:"const"`
	Default     json.RawMessage    `json:"default"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	Properties  map[string]lenient `json:"properties"`
	Required    []string           `json:"required"`
	Items       *lenient           `json:"items"`
	AnyOf       []lenient          `json:"anyOf"`
	OneOf       []lenient          `json:"oneOf"`
	AllOf       []lenient          `json:"allOf"`
}

// typeNames is a type or a list of types; null is left out.
type typeNames []string

// UnmarshalJSON takes both forms.
func (t *typeNames) UnmarshalJSON(data []byte) error {
	var one string
	var many []string
	if json.Unmarshal(data, &one) == nil {
		many = []string{one}
	} else if err := json.Unmarshal(data, &many); err != nil {
		return err
	}
	*t = slices.DeleteFunc(many, func(s string) bool { return s == "null" })
	return nil
}

// lenient is a schema that may also be true or something unreadable; then it
// allows everything.
type lenient struct{ rawSchema }

// UnmarshalJSON never fails: a server's odd property costs only that property.
func (l *lenient) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &l.rawSchema) != nil {
		l.rawSchema = rawSchema{}
	}
	return nil
}

// maxFields bounds the work for one tool.
const maxFields = 64

// fieldsOf reads the fields of a tool: the required ones first, in the order of
// the schema's list, then the others by name.
func fieldsOf(tool schemas.ToolInfo) []field {
	var root lenient
	if len(tool.InputSchema) == 0 || json.Unmarshal(tool.InputSchema, &root) != nil {
		return nil
	}
	r := &reader{defs: root.Defs}
	if r.defs == nil {
		r.defs = root.Definitions
	}
	return r.fields(root.rawSchema, 0)
}

// A reader follows references; steps bounds them, for alternatives that multiply.
type reader struct {
	defs  map[string]lenient
	steps int
}

// maxSteps is how many references and alternatives of one schema are followed.
const maxSteps = 2000

// maxNesting is how deep objects are read: arguments nest one level, an array of
// objects is left alone.
const maxNesting = 2

func (r *reader) fields(s rawSchema, depth int) []field {
	s = r.resolve(s, 0)
	var names []string
	for _, n := range s.Required {
		if _, ok := s.Properties[n]; ok && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	required := len(names)
	var rest []string
	for n := range s.Properties {
		if !slices.Contains(names, n) {
			rest = append(rest, n)
		}
	}
	slices.Sort(rest)
	names = append(names, rest...)
	var out []field
	for i, n := range names {
		if len(out) == maxFields {
			break
		}
		f := r.field(n, s.Properties[n].rawSchema, depth)
		f.required = i < required
		out = append(out, f)
	}
	return out
}

func (r *reader) field(name string, s rawSchema, depth int) field {
	title := s.Description
	s = r.resolve(s, 0)
	if title != "" {
		s.Description = title
	}
	f := field{
		name: name, description: strings.TrimSpace(s.Description), enum: s.Enum, fallback: s.Default,
		minimum: s.Minimum, maximum: s.Maximum,
	}
	if len(s.Const) > 0 {
		f.enum = []json.RawMessage{s.Const}
	}
	if s.Pattern != "" {
		f.pattern, _ = regexp.Compile(s.Pattern) // ECMA patterns that Go lacks are left to the server
	}
	kind := "string"
	if len(s.Type) > 0 {
		kind = s.Type[0]
	} else if len(s.Properties) > 0 {
		kind = "object"
	}
	f.role = roleOf(&f, kind, s)
	if depth < maxNesting {
		switch f.role {
		case wantsArray:
			item := rawSchema{}
			if s.Items != nil {
				item = s.Items.rawSchema
			}
			i := r.field(name, item, depth+1)
			f.item = &i
		case wantsObject:
			f.fields = r.fields(s, depth+1)
		}
	}
	f.keys = nameKeys(name)
	return f
}

// resolve follows local references and takes the first real alternative.
func (r *reader) resolve(s rawSchema, depth int) rawSchema {
	if r.steps++; depth > 8 || r.steps > maxSteps {
		return rawSchema{}
	}
	if s.Ref != "" {
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return r.resolve(r.defs[name].rawSchema, depth+1)
	}
	if len(s.Type) > 0 || len(s.Properties) > 0 || len(s.Enum) > 0 {
		return s
	}
	for _, alternatives := range [][]lenient{s.AnyOf, s.OneOf, s.AllOf} {
		for _, a := range alternatives {
			a := r.resolve(a.rawSchema, depth+1)
			if len(a.Type) > 0 || len(a.Properties) > 0 || len(a.Enum) > 0 || len(a.Const) > 0 {
				if a.Description == "" {
					a.Description = s.Description
				}
				return a
			}
		}
	}
	return s
}

func roleOf(f *field, kind string, s rawSchema) role {
	switch {
	case len(f.enum) > 0:
		return wantsEnum
	case kind == "boolean":
		return wantsBool
	case kind == "integer", kind == "number":
		f.integer = kind == "integer"
		return wantsNumber
	case kind == "array":
		return wantsArray
	case kind == "object":
		return wantsObject
	}
	switch s.Format {
	case "uuid":
		f.uuid = true
		return wantsID
	case "date":
		return wantsDate
	case "date-time":
		return wantsMoment
	case "time":
		return wantsTime
	case "email":
		return wantsEmail
	case "uri", "url", "uri-reference":
		return wantsURL
	}
	return roleOfName(f, fold(f.description))
}

// roleOfName guesses from the name, its last word first, then from the description.
func roleOfName(f *field, description string) role {
	name := strings.Fields(fold(splitName(f.name)))
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(description, w) })
	}
	for _, w := range slices.Backward(name) {
		switch w {
		case "id", "ids", "uuid", "guid", "code", "sku", "isbn", "slug", "ref", "reference", "number", "no", "key", "barcode", "ma":
			f.uuid = w == "uuid" || says("uuid")
			if says("currency") && says("code") || slices.Contains(name, "currency") {
				return wantsCurrency
			}
			return wantsID
		case "email", "mail":
			return wantsEmail
		case "url", "uri", "link", "href":
			return wantsURL
		case "path", "paths", "file", "files", "filename", "filepath", "dir", "directory", "folder", "thumuc", "tep":
			return wantsPath
		case "currency", "currencies", "tien":
			return wantsCurrency
		case "datetime", "timestamp", "moment":
			return wantsMoment
		case "date", "day", "dob", "birthday", "birthdate", "deadline", "ngay":
			return dateOrMoment(says)
		case "time", "hour", "gio":
			if says("iso 8601", "rfc3339", "rfc 3339", "date-time", "timestamp", "date and time") {
				return wantsMoment
			}
			return wantsTime
		}
		if slices.Contains([]string{"start", "end", "since", "until", "due", "when", "after", "before", "from", "to", "checkin", "checkout", "in", "out", "departure", "return", "at", "begin"}, w) &&
			says("date", "yyyy", "iso 8601", "rfc3339", "rfc 3339", "ngay") {
			return dateOrMoment(says)
		}
	}
	return roleOfWord(name, says)
}

func dateOrMoment(says func(...string) bool) role {
	if says("rfc3339", "rfc 3339", "date-time", "date and time", "timestamp", "datetime", "hh:mm", "t09:", "t10:") {
		return wantsMoment
	}
	return wantsDate
}

func roleOfWord(name []string, says func(...string) bool) role {
	if says("path of", "path to", "file path", " path", "file name", "filename", "duong dan") {
		return wantsPath
	}
	last := ""
	if len(name) > 0 {
		last = name[len(name)-1]
	}
	switch last {
	case "q", "query", "search", "keyword", "keywords", "term", "terms", "question", "prompt", "phrase", "topic", "pattern", "filter", "tukhoa", "khoa":
		return wantsQuery
	case "text", "content", "contents", "body", "message", "note", "notes", "description", "comment", "reason", "details", "data", "summary", "feedback", "instructions", "noidung", "dung":
		return wantsBody
	case "city", "location", "place", "town", "country", "region", "address", "destination", "origin", "state", "province", "district", "area", "where", "airport", "station", "stop":
		return wantsPlace
	case "name", "title", "author", "person", "user", "username", "owner", "patient", "doctor", "member", "customer", "assignee", "recipient", "attendee", "surname", "guest", "artist", "brand", "ten":
		return wantsName
	}
	switch {
	case says("currency code", "iso 4217", "currency"):
		return wantsCurrency
	case (last == "to" || last == "recipient") && says("email", "e-mail"):
		return wantsEmail
	case says("uuid", "identifier", "the id of"):
		return wantsID
	case says("city", "place", "location"):
		return wantsPlace
	case says("keyword", "search for", "to find", "query"):
		return wantsQuery
	}
	return wantsText
}

// nameKeys are the keys of a name's words, without those that name no thing.
func nameKeys(name string) []string {
	tokens := tokenize(splitName(name))
	book := newPhraseBook(false, tokens)
	var keys []string
	for _, t := range tokens {
		switch t.bare {
		case "id", "ids", "uuid", "number", "no", "code", "of", "the", "value", "key":
			continue
		}
		keys = append(keys, t.stem)
	}
	for _, t := range book.read(tokens, nil) {
		for _, k := range t.keys {
			if k != "~number" && !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}
