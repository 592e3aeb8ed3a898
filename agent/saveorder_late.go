//go:build crashlate

package agent

import "context"

// ending breaks the promise that a turn reported done is stored. The crash test builds
// with it, to see that it would find the fault.
func ending(save, report func(context.Context) error) []func(context.Context) error {
	return []func(context.Context) error{report, save}
}
