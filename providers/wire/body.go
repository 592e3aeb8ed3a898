package wire

import (
	"bufio"
	"io"
	"iter"

	"molar/internal/sse"
)

// maxAnswer bounds an answer that is no stream, and one message of a stream, in bytes. A
// call's arguments can come in one message, so it can be long.
const maxAnswer = 8 << 20

// Events reads the events of an answer, with all that services send in their place. An event
// that is longer than 8 MB ends them with [sse.ErrLong].
func Events(body io.Reader) iter.Seq2[sse.Event, error] {
	return sse.Events(body, sse.Config{Limit: maxAnswer, Lenient: true})
}

// Lines reads the lines of an answer, each of at most 8 MB, as [Events] does.
func Lines(body io.Reader) iter.Seq2[sse.Line, error] {
	return sse.Lines(body, sse.Config{Limit: maxAnswer})
}

// First returns the first byte of a body that is no blank, and the body from there on.
func First(body io.Reader) (byte, io.Reader, error) {
	r := bufio.NewReaderSize(body, 16) // longer reads pass the buffer by
	for {
		c, err := r.ReadByte()
		if err != nil {
			return 0, r, err
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, r, r.UnreadByte()
		}
	}
}

// All reads a whole body, up to 8 MB; a longer one is [sse.ErrLong].
func All(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err == nil && len(data) > maxAnswer {
		err = sse.ErrLong
	}
	return data, err
}
