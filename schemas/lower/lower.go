// Package lower converts the input schemas of MCP tools, which may use all of JSON Schema, to the
// smaller dialects of model services.
//
// It works in two steps. One normalising pass, the same for every service, inlines references,
// merges allOf, turns oneOf and const into anyOf and enum, and bounds recursion, depth and size.
// Then an emitter for each service writes what that service supports and describes the rest.
//
// Lowering is pure and deterministic. The package does no I/O, depends on no SDK, and must not be
// used to check arguments: check those against the original schema.
package lower

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Limits of what can be lowered.
const (
	// MaxInput is the largest schema, in bytes.
	MaxInput = 2 << 20
	// maxDepth bounds the nesting of schemas. Deeper ones keep their type only, and the
	// description says so.
	maxDepth = 20
	// maxNesting bounds the nesting of a schema's JSON.
	maxNesting = 128
	// maxNotes bounds Result.Notes.
	maxNotes = 32
)

// The kinds of error.
var (
	// ErrInvalid: the schema cannot be read.
	ErrInvalid = errors.New("invalid schema")
	// ErrTooLarge: the schema is too large to be offered, or becomes so when its references are
	// inlined.
	ErrTooLarge = errors.New("schema too large")
)

// A Result is a lowered schema.
type Result struct {
	// Schema is the lowered schema: a JSON object of type "object".
	Schema json.RawMessage
	// Hint is what the schema states about the arguments as a whole and the service has no place
	// for. Append it to the tool's description.
	Hint string
	// Notes list for a person what was changed or lost, each with its place.
	Notes []string
	// Wrapped is set if the original was not an object and became the property "input" of one;
	// see [Unwrap].
	Wrapped bool
}

// wrapName is the property that holds a non-object schema.
const wrapName = "input"

// effort is how far references are followed.
type effort struct {
	unroll int // how often a reference may recur in itself
	depth  int // how deep schemas may nest
	spend  int // size limit of the schemas, in bytes
}

// normalise reads raw and converts it to the common form. If unrolled recursion makes a schema
// too large, it retries with less unrolling.
func normalise(raw json.RawMessage) (*node, []string, error) {
	root, err := read(raw)
	if err != nil {
		return nil, nil, err
	}
	root = link(root)
	efforts := [...]effort{
		{unroll: 1, depth: maxDepth, spend: 64<<10 + 2*len(raw)},
		{unroll: 0, depth: maxDepth, spend: 128<<10 + 2*len(raw)},
		{unroll: 0, depth: 5, spend: 256<<10 + 4*len(raw)},
	}
	for _, e := range efforts {
		n := normaliser{effort: e, root: root, left: e.spend}
		out, err := n.schema(root, 0, nil, nil)
		if err == nil {
			return out, n.notes, nil
		}
		if !errors.Is(err, ErrTooLarge) {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("%w: its references expand to more than %d kB", ErrTooLarge, efforts[2].spend>>10)
}

// read checks and parses raw. An empty one means no arguments.
func read(raw json.RawMessage) (value, error) {
	if len(raw) > MaxInput {
		return value{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(raw), MaxInput)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(`{}`)
	}
	if !utf8.Valid(raw) {
		return value{}, fmt.Errorf("%w: not UTF-8", ErrInvalid)
	}
	var buf bytes.Buffer
	buf.Grow(len(raw))
	if err := json.Compact(&buf, raw); err != nil {
		return value{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	p := parser{data: buf.Bytes()}
	v := p.value(0)
	if p.deep {
		return value{}, fmt.Errorf("%w: its JSON nests deeper than %d levels", ErrTooLarge, maxNesting)
	}
	return v, nil
}

// Unwrap undoes the wrapping of a [Result] whose Wrapped is set: of arguments {"input": X} it
// returns X if X is an object. It returns others unchanged, for the check against the original
// schema.
func Unwrap(args string) string {
	var outer map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &outer) != nil || len(outer) != 1 {
		return args
	}
	inner := bytes.TrimSpace(outer[wrapName])
	if len(inner) == 0 || inner[0] != '{' {
		return args
	}
	return string(inner)
}

// Wrap is the reverse of [Unwrap], for calls that go back to the model.
func Wrap(args string) string {
	if Unwrap(args) != args {
		return args
	}
	return `{"` + wrapName + `":` + args + `}`
}
