package web_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"molar/agent"
	"molar/schemas"
)

// browser starts Chromium, or skips the test where there is none.
func browser(t *testing.T, language string) context.Context {
	t.Helper()
	path := os.Getenv("CHROME_PATH")
	if path == "" {
		path = "/usr/bin/chromium"
	}
	if _, err := exec.LookPath(path); err != nil {
		t.Skipf("no browser at %s; set CHROME_PATH to run the page test", path)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("lang", language), chromedp.Flag("accept-lang", language))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(cancelTab)
	if err := chromedp.Do(ctx); err != nil { // starts it; a deadline here would end the browser with it
		t.Fatal(err)
	}
	limited, cancelTest := context.WithTimeout(ctx, 60*time.Second)
	t.Cleanup(cancelTest)
	return limited
}

// await waits until a script's condition holds.
func await(condition string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(20*time.Second)))
		return err
	})
}

func TestPage_AnswersInABrowser(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	var turns []agent.Turn
	run := script(func(ctx context.Context, turn agent.Turn, yield func(agent.Event) bool) error {
		mu.Lock()
		turns = append(turns, turn)
		mu.Unlock()
		id := turn.ConversationID
		if id == "" {
			id = "c1"
		}
		yield(agent.Event{Kind: agent.EventStart, Start: &agent.Start{TurnID: turn.ID, ConversationID: id}})
		yield(toolCall())
		yield(toolResult())
		yield(text("<b>Hello</b>, "))
		select {
		case <-release: // the first half must show before the second is there
		case <-ctx.Done():
			return ctx.Err()
		}
		yield(text("see https://teeth.test/page now"))
		ev := done()
		ev.Done.Sources = []schemas.Source{{Title: "Teeth", URL: "https://teeth.test/page"}}
		yield(ev)
		return nil
	})
	ts := live(t, config(t, run))
	ctx := browser(t, "en")

	err := chromedp.Do(ctx,
		chromedp.Navigate(ts.URL+"/"),
		await(`document.querySelector("#model option")?.value === "dental"`),
		chromedp.SendKeys("#question", "What is a molar?\r"),
		await(`document.querySelector(".assistant .text")?.textContent === "<b>Hello</b>, "`),
		await(`!document.getElementById("stop").hidden && document.getElementById("send").hidden`),
		await(`document.querySelector(".assistant .note")?.textContent === "Asked search (1.5 s)"`),
		chromedp.Func(func(context.Context, *chromedp.Target) error { close(release); return nil }),
		await(`document.querySelector(".assistant a")?.href === "https://teeth.test/page"`),
		await(`location.hash === "#c1" && localStorage.getItem("molar.conversation") === "c1"`),
		await(`!document.getElementById("send").hidden`),
		chromedp.SendKeys("#question", "And now?\r"),
		await(`document.getElementById("question").value === ""`),
		await(`document.querySelectorAll(".assistant").length === 2 && !document.getElementById("send").hidden`),
		// The stored conversation comes back.
		chromedp.Reload(),
		await(`document.querySelector(".user .text")?.textContent === "hi"`),
	)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(turns) != 2 || turns[0].ConversationID != "" || turns[1].ConversationID != "c1" {
		t.Errorf("turns: %+v", turns)
	}
}

func TestPage_StopsAndExplains(t *testing.T) {
	cancelled := make(chan struct{})
	run := script(func(ctx context.Context, turn agent.Turn, yield func(agent.Event) bool) error {
		yield(start())
		if asked, _ := turn.Question(); strings.Contains(asked, "fail") {
			return agent.ErrUnavailable
		}
		yield(text("part"))
		<-ctx.Done()
		close(cancelled)
		return ctx.Err()
	})
	ts := live(t, config(t, run))
	ctx := browser(t, "vi")
	err := chromedp.Do(ctx,
		chromedp.Navigate(ts.URL+"/"),
		await(`document.documentElement.lang === "vi" && document.getElementById("send").textContent === "Gửi"`),
		chromedp.SendKeys("#question", "Răng hàm là gì?\r"),
		await(`document.querySelector(".assistant .text")?.textContent === "part"`),
		chromedp.Click("#stop"),
		await(`document.querySelector(".assistant .note")?.textContent === "Đã dừng."`),
		await(`location.hash === "#c1"`),
		chromedp.Click("#new"),
		await(`document.querySelectorAll(".message").length === 0 && location.hash === ""`),
		chromedp.SendKeys("#question", "fail\r"),
		await(`document.querySelector(".assistant .error")?.textContent.startsWith("Không thực hiện được: unavailable")`),
	)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-cancelled:
	case <-time.After(5 * time.Second):
		t.Error("the stop button did not cancel the turn")
	}
}
