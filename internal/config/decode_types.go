package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A Map is a YAML mapping in the order of the file.
type Map[V any] []Entry[V]

// A Entry is one key of a [Map] and its value.
type Entry[V any] struct {
	Name  string
	Value V
}

// Get returns the value of a name, and false if there is none.
func (m Map[V]) Get(name string) (V, bool) {
	for _, e := range m {
		if e.Name == name {
			return e.Value, true
		}
	}
	var zero V
	return zero, false
}

// Names returns the names in order.
func (m Map[V]) Names() []string {
	names := make([]string, 0, len(m))
	for _, e := range m {
		names = append(names, e.Name)
	}
	return names
}

// Reset empties the map. The decoder fills maps of all value types through Reset and Add.
func (m *Map[V]) Reset() { *m = nil }

// Add appends an entry and returns its settable value.
func (m *Map[V]) Add(name string) reflect.Value {
	*m = append(*m, Entry[V]{Name: name})
	return reflect.ValueOf(&(*m)[len(*m)-1].Value).Elem()
}

// mapping is implemented by every [Map].
type mapping interface {
	Reset()
	Add(name string) reflect.Value
}

// Providers is a list of provider names. In the file, a single name needs no brackets.
type Providers []string

// A KeepAlive is a duration or a number of seconds, as written in the file.
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
