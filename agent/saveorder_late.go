//go:build crashlate

package agent

import (
	"context"
	"time"
)

// ending breaks the promise that a turn reported done is stored. The crash test builds
// with it, to see that it would find the fault; the pause lets a kill fall between the
// two on a busy machine too.
func ending(save, report func(context.Context) error) []func(context.Context) error {
	slow := func(ctx context.Context) error {
		time.Sleep(100 * time.Millisecond)
		return save(ctx)
	}
	return []func(context.Context) error{report, slow}
}
