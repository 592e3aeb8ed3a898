package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A DecodedMap is a YAML mapping that keeps the order of the file.
type DecodedMap[V any] []DecodedEntry[V]

// A DecodedEntry is one key of a [DecodedMap] and its value.
type DecodedEntry[V any] struct {
	Name  string
	Value V
}

// Get returns the value of a name, and false when there is none.
func (m DecodedMap[V]) Get(name string) (V, bool) {
	for _, e := range m {
		if e.Name == name {
			return e.Value, true
		}
	}
	var zero V
	return zero, false
}

// Names returns the names in order.
func (m DecodedMap[V]) Names() []string {
	names := make([]string, 0, len(m))
	for _, e := range m {
		names = append(names, e.Name)
	}
	return names
}

// Reset empties the map. It and Add let the decoder fill a Map without knowing its type.
func (m *DecodedMap[V]) Reset() { *m = nil }

// Add returns the place of a new entry's value.
func (m *DecodedMap[V]) Add(name string) reflect.Value {
	*m = append(*m, DecodedEntry[V]{Name: name})
	return reflect.ValueOf(&(*m)[len(*m)-1].Value).Elem()
}

// mapping is what every [DecodedMap] is.
type mapping interface {
	Reset()
	Add(name string) reflect.Value
}

// Providers are texts; one may be written without a list.
type Providers []string

// A KeepAlive is a duration, or a number of seconds, as it is written.
type KeepAlive string

// A Size is a number of bytes, written as "4MiB", "512KiB" or a plain number.
type Size int64

// String writes the size with the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits() {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

type sizeUnit struct {
	name  string
	bytes int64
}

func sizeUnits() []sizeUnit {
	return []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}
}

// parseSize reads a whole number of bytes with an optional unit.
func parseSize(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), int64(1)
	for _, u := range sizeUnits() {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf(`want a size such as "4MiB"`)
	}
	return Size(n * unit), nil
}
