package wire

import (
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"molar/providers"
	"molar/schemas"
)

// Emit passes a chunk to the consumer. It returns [ErrStopped] if the consumer broke off.
type Emit func(providers.Chunk) error

// Stream returns the stream of a run that emits its chunks.
func Stream(run func(emit Emit) error) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		err := run(func(chunk providers.Chunk) error {
			if !yield(chunk, nil) {
				return ErrStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrStopped) {
			yield(providers.Chunk{}, err)
		}
	}
}

// An Answer passes a model's output in one exchange to the consumer. It parses thoughts and calls
// out of the text.
type Answer struct {
	Emit   Emit
	X      *Exchange
	Speech *Speech
	Set    ToolSet
	// Fail returns the error of an answer that cannot be read, After the error of the try before.
	Fail  func(error) *providers.Error
	After error
	// Forbid drops calls.
	Forbid bool
	// Written is set if the model was asked to write its calls as text.
	Written bool
	// Printed counts the calls written as text.
	Printed int
	// Texts is set once text was emitted, Calls counts the emitted calls.
	Texts bool
	Calls int
	// Thought is set once reasoning was emitted.
	Thought bool

	native bool // a call came that was not written as text
}

// Say emits a piece of text and of reasoning; state belongs to the piece.
func (a *Answer) Say(text, thinking string, state *schemas.ProviderState) error {
	if text == "" && thinking == "" && state == nil {
		return nil
	}
	a.X.Output()
	p, err := a.Speech.Take(text)
	if err != nil {
		return err
	}
	p.Thinking = thinking + p.Thinking
	return a.show(p, state)
}

func (a *Answer) show(p Piece, state *schemas.ProviderState) error {
	if p == (Piece{}) && state == nil {
		return nil
	}
	a.Texts = a.Texts && !p.Retract || p.Text != ""
	a.Thought = a.Thought || p.Thinking != ""
	return a.Emit(providers.Chunk{Text: p.Text, Thinking: p.Thinking, Retract: p.Retract, State: state})
}

// Retract makes all text so far commentary: the model has marked it so, and its answer follows.
func (a *Answer) Retract() error {
	p, err := a.Speech.Retract()
	if err != nil {
		return err
	}
	return a.show(p, nil)
}

// Call emits a call of the model.
func (a *Answer) Call(f schemas.FunctionCall, state *schemas.ProviderState) error {
	a.X.Output()
	if err := a.release(); err != nil {
		return err
	}
	return a.call(f, state)
}

// release emits the held text and stops looking for calls in it.
func (a *Answer) release() error {
	if a.native {
		return nil
	}
	a.native = true
	p, _, err := a.Speech.End(true, true)
	if err != nil {
		return err
	}
	return a.show(p, nil)
}

func (a *Answer) call(f schemas.FunctionCall, state *schemas.ProviderState) error {
	if a.Forbid {
		return a.Emit(providers.Chunk{Note: forbidden(f.Name)})
	}
	a.Calls++
	return a.Emit(providers.Chunk{State: state, Call: &schemas.ToolCall{ID: uuid.NewString(), Function: a.Set.Called(f)}})
}

// End ends the text and emits the calls written in it. cut is set if the model reached a limit.
func (a *Answer) End(cut bool) error {
	p, calls, err := a.Speech.End(cut, a.native)
	if stopped := a.show(p, nil); stopped != nil {
		return stopped
	}
	switch {
	case errors.Is(err, errCutCall):
		if err := a.Emit(providers.Chunk{Note: err.Error()}); err != nil {
			return err
		}
	case errors.Is(err, ErrBrokenCall):
		return a.brokenCall(err)
	case err != nil:
		return err
	}
	if a.Printed = len(calls); a.Printed > 0 && !a.Written {
		note := fmt.Sprintf("the model printed its calls as text; %d read as such", a.Printed)
		if err := a.Emit(providers.Chunk{Note: note}); err != nil {
			return err
		}
	}
	for _, f := range calls {
		if err := a.call(f, nil); err != nil {
			return err
		}
	}
	return nil
}

// brokenCall returns the error of a printed call that cannot be read. The model is asked once more;
// what it said before is commentary then.
func (a *Answer) brokenCall(err error) error {
	e := a.Fail(err)
	if !errors.Is(a.After, ErrBrokenCall) {
		e.Again, e.Reask = "a printed tool call cannot be read, asked again", true
	}
	return e
}

// Answered reports whether the answer holds text or a call.
func (a *Answer) Answered() bool { return a.Texts || a.Calls > 0 }

// Failed returns the error of the answer. It first emits the held text, unless the same request
// may be retried.
func (a *Answer) Failed(err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || e.Again != "" || e.Status != 0 || a.Speech == nil {
		return err
	}
	if stopped := a.release(); errors.Is(stopped, ErrStopped) {
		return stopped
	}
	return err
}
