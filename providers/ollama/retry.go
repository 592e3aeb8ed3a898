package ollama

import (
	"context"
	"errors"
	"fmt"

	"molar/providers"
)

// run asks until there is an answer, or a reason to give up.
func (c *call) run(ctx context.Context) error {
	chat, err := c.prepare(ctx)
	if err != nil {
		return err
	}
	if c.form != nil {
		if err := c.emit(providers.Chunk{Note: "tools were offered through the answer's format"}); err != nil {
			return err
		}
	}
	for {
		err := c.attempt(ctx, chat)
		if err == nil || errors.Is(err, errStopped) {
			return err
		}
		if c.parserFault(err) || c.stuck(err) {
			c.p.unload(ctx, c.req.Model)
		}
		note := ""
		if !c.texts && c.calls == 0 {
			note = c.again(ctx, &chat, err)
		}
		if note == "" {
			return c.giveUp(err)
		}
		if err := c.emit(providers.Chunk{Note: note}); err != nil {
			return err
		}
	}
}

// again decides whether a request that gave nothing is worth another, changes it
// for that, and says why; "" means that it is not.
func (c *call) again(ctx context.Context, chat **chatRequest, err error) string {
	switch {
	case providers.KindOf(err) == providers.KindContextLength && c.enlarge(*chat):
		return fmt.Sprintf("prompt too long, asked again with a window of %d tokens", (*chat).window)
	case errors.Is(err, errEmpty) && !c.repeated:
		c.repeated = true
		return "empty answer, asked again"
	case c.unreadable(err) && !c.repaired:
		c.repaired = true
		(*chat).repair()
		return "unreadable tool call, asked again"
	case isToolRefusal(err) && len(c.set) > 0 && !c.reformed:
		// The model was pulled anew, in a version without tools.
		c.reformed = true
		c.p.models.forget(fullName(c.req.Model))
		if other, err := c.prepare(ctx); err == nil {
			*chat = other
			return "the model no longer takes tools, asked again"
		}
	}
	return ""
}

// giveUp hands on the text that was still held, for the error comes last.
func (c *call) giveUp(err error) error {
	if c.reader == nil {
		return err
	}
	if rest := c.reader.rest(); rest != "" {
		if stop := c.emit(providers.Chunk{Text: rest}); stop != nil {
			return stop
		}
	}
	return err
}

// unreadable says whether the model's tool call could not be read, here or there.
func (c *call) unreadable(err error) bool {
	return errors.Is(err, errUnreadable) || c.parserFault(err)
}

// parserFault says whether the server could not read the model's tool call.
func (c *call) parserFault(err error) bool {
	return len(c.set) > 0 && providers.KindOf(err) == providers.KindUnavailable && isParserFault(err.Error())
}

// stuck says whether the model is likely to hang for ever, because it gave nothing
// in all the time allowed and the stream before was cut short.
func (c *call) stuck(err error) bool {
	_, left := c.p.left.Load(fullName(c.req.Model))
	return left && errors.Is(err, errNoOutput)
}
