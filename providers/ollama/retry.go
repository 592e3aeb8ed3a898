package ollama

import (
	"context"
	"errors"
	"fmt"

	"molar/providers"
	"molar/providers/wire"
)

// again reports whether a failed request is worth a retry, after its remedy: it reloads a model
// that hangs, and grows a window that is too small.
func (c *call) again(ctx context.Context, chat *chatRequest, err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok {
		return err
	}
	if c.parserFault(err) || c.stuck(err) {
		c.p.unload(context.WithoutCancel(ctx), c.req.Model)
	}
	if c.answer.Answered() || errors.Is(err, wire.ErrBrokenCall) {
		return err
	}
	if !isToolRefusal(err) {
		c.p.lessons.Learn(e, wire.Refusal{Status: e.Status, Message: e.Err.Error()}, chat.parameters(), c.set)
	}
	switch {
	case e.Changed:
	case e.Kind == providers.KindContextLength && c.p.numCtx == 0 && chat.window < chat.most:
		window := max(chat.window, serverWindow)
		e.Again = fmt.Sprintf("prompt too long, asked again with a window of %d tokens", windowFor(window+1, chat.most))
		e.Err, e.Changed = overflow{e.Err, window}, true
	case errors.Is(err, errEmpty):
		e.Again = "empty answer, asked again"
	case isUnreadable(err), c.parserFault(err):
		e.Again = "unreadable tool call, asked again"
		e.Err = unreadableError{e.Err}
	case isToolRefusal(err) && len(c.set) > 0 && c.form == nil:
		// The model was pulled again, in a version without tools.
		c.p.models.forget(fullName(c.req.Model))
		e.Again, e.Changed = "the model no longer takes tools, asked again", true
	}
	return err
}

// An unreadableError is the error of a call that the server or this side could not parse.
type unreadableError struct{ error }

// Unwrap returns the wrapped error.
func (e unreadableError) Unwrap() error { return e.error }

// isUnreadable reports whether a try failed because its call could not be parsed.
func isUnreadable(err error) bool {
	_, there := errors.AsType[unreadableError](err)
	return there || errors.Is(err, errUnreadable) || errors.Is(err, wire.ErrBrokenCall)
}

// parserFault reports whether the server could not parse the model's tool call.
func (c *call) parserFault(err error) bool {
	broken, ok := errors.AsType[brokenError](err)
	return len(c.set) > 0 && ok && broken.ofCall()
}

// stuck reports whether the model probably hangs forever: it gave no output in the time limit,
// and the stream before was cut short.
func (c *call) stuck(err error) bool {
	_, left := c.p.left.Load(fullName(c.req.Model))
	return left && errors.Is(err, wire.ErrNoOutput)
}
