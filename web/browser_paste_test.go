package web_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

// A long text that is put into the box at once is sent as a pasted part of the question, and all of the
// question is pasted if that text was changed. The question stays the same text.
func TestChatPage_Pastes(t *testing.T) {
	t.Parallel()
	j := newJourney(t, "en", newChatHost())
	j.do(chromedp.EmulateViewport(1000, 900), chromedp.Navigate(j.url+"/"))
	long := strings.TrimSpace(strings.Repeat("a letter. ", 50))
	insert := func(text string) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			var none struct{}
			return target.Call(ctx, "Input.insertText", map[string]any{"text": text}, &none)
		})
	}
	j.do(chromedp.SendKeys("#question", "Sum up: "), insert(long))
	j.ask(" in a line")
	j.sees(idle)
	j.do(chromedp.Focus("#question"), insert(long))
	eval[any](j, `(() => { const q = document.getElementById("question"); q.value = q.value.replace("letter", "mail"); q.dispatchEvent(new InputEvent("input", { inputType: "insertText", data: "mail" })); })()`)
	j.ask("!")
	j.sees(idle)
	j.ask("a short one")
	j.sees(idle)
	want := [][]schemas.Part{
		{{Kind: schemas.PartText, Text: "Sum up: "}, {Kind: schemas.PartText, Text: long, Origin: schemas.FromPaste}, {Kind: schemas.PartText, Text: " in a line"}},
		{{Kind: schemas.PartText, Text: strings.Replace(long, "letter", "mail", 1) + "!", Origin: schemas.FromPaste}},
		{{Kind: schemas.PartText, Text: "a short one"}},
	}
	var got [][]schemas.Part
	for _, turn := range j.host.turns {
		got = append(got, turn.Messages[0].Parts)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
