package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Merge merges the JSON object extra into the object body; fields of extra win, and objects in
// both are merged. Without extra the body stays unchanged.
func Merge(body, extra json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(extra)) == 0 {
		return body, nil
	}
	var to, from map[string]json.RawMessage
	if json.Unmarshal(extra, &from) != nil {
		return nil, errors.New("extra_body is not a JSON object")
	}
	if err := json.Unmarshal(body, &to); err != nil {
		return nil, err
	}
	merge(to, from)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(to)
	return out.Bytes(), err
}

func merge(to, from map[string]json.RawMessage) {
	for key, value := range from {
		var inner, outer map[string]json.RawMessage
		isObject := json.Unmarshal(value, &inner) == nil && inner != nil
		if isObject && json.Unmarshal(to[key], &outer) == nil && outer != nil {
			merge(outer, inner)
			value, _ = json.Marshal(outer)
		}
		to[key] = value
	}
}
