package text

import "strings"

// Clip returns at most so many bytes of a text, with a mark behind them where something is left
// out. It cuts no character in two.
func Clip(s string, most int, mark string) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + mark
}
