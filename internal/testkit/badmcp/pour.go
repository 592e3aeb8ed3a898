package main

import (
	"io"
	"strings"
	"time"
)

// pourOut writes one kind of output until the process ends.
func (s *server) pourOut() {
	const (
		progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}` + "\n"
		changed  = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
	)
	log := strings.Repeat("x", 199) + "\n"
	part := strings.Repeat("x", 1<<20)
	for {
		switch s.pour {
		case "stderr":
			_, _ = io.WriteString(s.stderr, log)
		case "junk":
			s.print(log)
		case "notes":
			s.print(progress)
		case "changes":
			s.print(changed)
		case "lines": // of 200 MB
			for range 200 {
				s.print(part)
			}
			s.print("\n")
		}
		time.Sleep(s.every)
	}
}
