package wire

import (
	"bufio"
	"io"
	"iter"

	"molar/internal/sse"
)

// maxAnswer bounds an unstreamed answer, and one message of a stream, in bytes. It is large
// because a call's arguments can come in one message.
const maxAnswer = 8 << 20

// Events reads the events of an answer, including the forms that services send instead. An event
// that is longer than 8 MB ends them with [sse.ErrLong].
func Events(body io.Reader) iter.Seq2[sse.Event, error] {
	return sse.Events(body, sse.Config{Limit: maxAnswer, Lenient: true})
}

// Lines reads the lines of an answer, each of at most 8 MB, as [Events] does.
func Lines(body io.Reader) iter.Seq2[sse.Line, error] {
	return sse.Lines(body, sse.Config{Limit: maxAnswer})
}

// First returns the first byte of a body that is not blank, and the body from there on.
func First(body io.Reader) (byte, io.Reader, error) {
	r := bufio.NewReaderSize(body, 16) // longer reads bypass the buffer
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

// All reads a whole body of up to 8 MB; a longer one is [sse.ErrLong].
func All(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err == nil && len(data) > maxAnswer {
		err = sse.ErrLong
	}
	return data, err
}
