package documents

import (
	"errors"
	"strings"
	"testing"
)

// The rows of a table of many small cells are read up to what a document holds.
func TestCSVRows_full(t *testing.T) {
	rows, err := csvRows(t.Context(), strings.Repeat(strings.Repeat("1,", 900)+"\n", 4000), ',')
	cells := 0
	for _, r := range rows {
		cells += len(r.cells)
	}
	if !errors.Is(err, errFull) || cells < 2_500_000 || cells > 3_000_000 {
		t.Errorf("%d cells in %d rows, error %v", cells, len(rows), err)
	}
}
