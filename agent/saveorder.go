//go:build !crashlate

package agent

import "context"

// ending is the order of a turn's last two steps: only what is stored is reported done.
func ending(save, report func(context.Context) error) []func(context.Context) error {
	return []func(context.Context) error{save, report}
}
