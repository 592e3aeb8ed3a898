package live

import (
	"encoding/json"
	"strings"

	"molar/schemas"
)

// server is the name of the server whose tools are offered.
const server = "office"

// declare returns a tool of the office. Its arguments are an object with the properties; required are
// the names of those that it must have, with blanks between them.
func declare(name, description, required, properties string, run func(string) (string, bool)) tool {
	return tool{
		info: schemas.ToolInfo{
			Name: server + "__" + name, Server: server, ToolName: name, Description: description,
			InputSchema: json.RawMessage(`{"type":"object","properties":` + properties +
				`,"required":["` + strings.Join(strings.Fields(required), `","`) + `"],"additionalProperties":false}`),
		},
		run: run,
	}
}

// always returns what runs a tool with one result.
func always(result string) func(string) (string, bool) {
	return func(string) (string, bool) { return result, false }
}

func weather() tool {
	return declare("get_weather", "Returns the weather of a city now.", "city", `{"city":{"type":"string","description":"Name of the city."}}`,
		always(`{"sky":"light rain","temperature_celsius":23.7}`))
}

func booking() tool {
	return declare("book_room", "Books a meeting room.", "room people projector contact", `{
		"room":{"type":"string","enum":["red","green","blue"]},
		"people":{"type":"integer","minimum":1},
		"projector":{"type":"boolean"},
		"contact":{"type":"object","properties":{"name":{"type":"string"},"phone":{"type":"string"}},"required":["name","phone"],"additionalProperties":false}}`,
		always(`{"booked":true}`))
}

func person() tool {
	return declare("get_person", "Returns a person's record.", "id name", `{"id":{"type":"string","description":"The id, as given."},"name":{"type":"string","description":"The full name, as given."}}`,
		always(`{"found":true}`))
}

func message() tool {
	return declare("send_message", "Sends a message to a colleague.", "recipient text", `{"recipient":{"type":"string","description":"Name of the colleague."},"text":{"type":"string"}}`,
		always(`{"sent":true}`))
}

// thirty returns three tools for each of ten things.
func thirty() []tool {
	var all []tool
	for _, thing := range []string{"invoice", "ticket", "contact", "appointment", "order", "contract", "employee", "parcel", "vehicle", "project"} {
		for _, verb := range []struct{ name, about string }{{"get", "Returns"}, {"create", "Creates"}, {"delete", "Deletes"}} {
			key, properties := "id", `{"id":{"type":"string","description":"Number of the `+thing+`."}}`
			if verb.name == "create" {
				key, properties = "title", `{"title":{"type":"string","description":"Title of the new `+thing+`."}}`
			}
			all = append(all, declare(verb.name+"_"+thing, verb.about+" one "+thing+" of the office.", key, properties, always(`{"done":true}`)))
		}
	}
	return all
}

// read decodes arguments strictly: an unknown key or another type is an error.
func read(arguments string, into any) error {
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
