package ollama

import (
	"context"
	"errors"
	"fmt"

	"molar/providers"
	"molar/providers/wire"
)

// again reports whether a request that failed is worth another, after what can be done for
// it: a model that hangs is loaded anew, a window that is too small grows.
func (c *call) again(ctx context.Context, chat *chatRequest, err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok {
		return err
	}
	if c.parserFault(err) || c.stuck(err) {
		c.p.unload(context.WithoutCancel(ctx), c.req.Model)
	}
	if c.answer.Answered() {
		return err
	}
	switch {
	case c.learn(chat, e), c.refused(e):
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
		// The model was pulled anew, in a version without tools.
		c.p.models.forget(fullName(c.req.Model))
		e.Again, e.Changed = "the model no longer takes tools, asked again", true
	}
	return err
}

// refused reads a refusal that names a tool, which is taken out of the offer.
func (c *call) refused(e *providers.Error) bool {
	return !isToolRefusal(e) && c.p.tools.Doubt(c.set, e, e.Err.Error(), e.Err.Error())
}

// An unreadableError is the fault of a call that could not be read, here or there.
type unreadableError struct{ error }

// Unwrap returns the fault itself.
func (e unreadableError) Unwrap() error { return e.error }

// isUnreadable reports whether a try failed because its call could not be read.
func isUnreadable(err error) bool {
	_, there := errors.AsType[unreadableError](err)
	return there || errors.Is(err, errUnreadable)
}

// parserFault reports whether the server could not read the model's tool call.
func (c *call) parserFault(err error) bool {
	broken, ok := errors.AsType[brokenError](err)
	return len(c.set) > 0 && ok && broken.ofCall()
}

// stuck reports whether the model is likely to hang for ever, because it gave nothing
// in all the time allowed and the stream before was cut short.
func (c *call) stuck(err error) bool {
	_, left := c.p.left.Load(fullName(c.req.Model))
	return left && errors.Is(err, wire.ErrNoOutput)
}
