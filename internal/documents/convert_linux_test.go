package documents_test

import (
	"context"
	"strconv"
	"testing"
	"time"
)

// The memory of a program has a limit.
func TestReader_limitsMemory(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	d, err := reader(t, shell(`while [ "$(ulimit -d)" = unlimited ]; do :; done; ulimit -d`)).Read(ctx, "a.odt", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if kib, err := strconv.Atoi(d.String()); err != nil || kib > 2<<20 {
		t.Errorf("the limit is %q KiB", d.String())
	}
}
