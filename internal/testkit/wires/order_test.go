package _test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
)

// newest returns the last question in a body that matches the pattern.
func newest(pattern, b string) string {
	all := regexp.MustCompile(pattern).FindAllString(b, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// stored returns the messages of the newest branch, one per line.
func (c *talk) stored(t *testing.T) []string {
	t.Helper()
	messages, err := c.memory.Branch(t.Context(), "", "c", "")
	must(t, err)
	var lines []string
	for _, m := range messages {
		line := string(m.Role) + ": " + m.Content
		if m.Status != "" {
			line += " [" + m.Status + "]"
		}
		lines = append(lines, line)
	}
	return lines
}

// Two and three concurrent turns in one conversation are all answered and stored, in the order in
// which they came, and each sees the previous ones.
func TestOrder_turnsAtOnce(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		for _, n := range []int{2, 3} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				c := newTalk(t, w, desk{}, agent.Limits{})
				c.model.setAnswer(func(b string) reply {
					return reply{pieces: []string{"To " + newest(`ask \d+`, b), " this."}, pause: 60 * time.Millisecond}
				})
				var want []string
				for round := range 3 {
					var group sync.WaitGroup
					for i := range n {
						question := fmt.Sprintf("ask %d", round*n+i)
						want = append(want, "user: "+question, "assistant: To "+question+" this.")
						group.Go(func() {
							if text, err := c.listen(t.Context(), question, ""); err != nil || text != "To "+question+" this." {
								t.Errorf("%s: %q %v", question, text, err)
							}
						})
						<-c.came                          // the order of their arrival
						time.Sleep(20 * time.Millisecond) // for the few steps from there into the queue
					}
					group.Wait()
				}
				same(t, "the conversation", c.stored(t), want...)
				bodies := c.model.sent()
				for i, b := range bodies {
					if shown := c.model.messages(t, b); len(shown) != 2*i+1 {
						t.Errorf("call %d of %d shows %d messages", i, len(bodies), len(shown))
					}
				}
			})
		}
	})
}

// listen runs a turn. It stops reading after the text until, if that is not empty.
func (c *talk) listen(ctx context.Context, question, until string) (text string, err error) {
	for event, err := range c.agent.Run(ctx, turn(question)) {
		if err != nil {
			return text, err
		}
		if event.Kind != answer.KindText {
			continue
		}
		if text += event.Text; until != "" && strings.Contains(text, until) {
			return text, nil
		}
	}
	return text, nil
}

// A hundred times a person stops an answer after its first text and asks the next question at
// once, by breaking off or by disconnecting without waiting for the end: each stopped question is
// stored with its text so far, each next one is answered, in order.
func TestOrder_stopThenAsk(t *testing.T) {
	times := 100
	if testing.Short() {
		times = 10
	}
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		c := newTalk(t, w, desk{}, agent.Limits{})
		c.model.setAnswer(func(b string) reply {
			question := newest(`(stop|ask) \d+`, b)
			if strings.HasPrefix(question, "stop") {
				return reply{pieces: []string{"To " + question + "."}, endless: true}
			}
			return says("To "+question, ".")
		})
		var want []string
		var group sync.WaitGroup
		defer group.Wait()
		for i := range times {
			stop, ask := fmt.Sprintf("stop %d", i), fmt.Sprintf("ask %d", i)
			if i%2 == 0 {
				if _, err := c.listen(t.Context(), stop, "."); err != nil {
					t.Fatal(err)
				}
			} else {
				c.hangUp(t, stop, &group)
			}
			if text, err := c.listen(t.Context(), ask, ""); err != nil || text != "To "+ask+"." {
				t.Fatalf("%s: %q %v", ask, text, err)
			}
			want = append(want, "user: "+stop, "assistant: To "+stop+". ["+schemas.StatusInterrupted+"]", "user: "+ask, "assistant: To "+ask+".")
		}
		same(t, "the conversation", c.stored(t), want...)
	})
}

// hangUp runs a turn whose client disconnects after its first text; it does not wait for the
// turn's end.
func (c *talk) hangUp(t *testing.T, question string, group *sync.WaitGroup) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said := make(chan struct{})
	once := sync.OnceFunc(func() { close(said) })
	group.Go(func() {
		defer once()
		for event, err := range c.agent.Run(ctx, turn(question)) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", question, err)
			}
			if event.Kind == answer.KindText {
				once()
			}
		}
	})
	<-said
	cancel()
}
