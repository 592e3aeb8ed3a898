package cli

import (
	"fmt"
	"io"
)

// maxPrompt is the most that is read of standard input, in bytes.
const maxPrompt = 4 << 20

// ReadAll reads standard input to its end; more than 4 MiB is an error.
func ReadAll(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > maxPrompt {
		return "", fmt.Errorf("the text on standard input is longer than %d MiB; send less", maxPrompt>>20)
	}
	return string(data), nil
}
