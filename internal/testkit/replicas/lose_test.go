package _test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"
)

// Loss is the outcome of a host's death or freeze during a turn, as another host reports it.
type Loss struct {
	// Told is the time until a follower of the turn got its end, Free the time until the next
	// question of its conversation was answered.
	Told, Free time.Duration
}

// Lose kills or freezes a host during a turn of a new conversation, measures how another host
// handles it, and restores the host.
func Lose(ctx context.Context, harm Harm, owner, other *Host, conversation string) (l Loss, err error) {
	const into = time.Second // within a turn of three seconds
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := "http://" + other.Addr()
	f := detach(ctx, client, owner, conversation, url)
	if f == nil {
		return l, errors.New("the turn does not begin")
	}
	<-time.After(into)
	began := time.Now()
	mend := owner.Start
	if harm == Kill {
		err = owner.Kill()
	} else {
		p := owner.Process().Process
		mend, err = func() error { return p.Signal(syscall.SIGCONT) }, p.Signal(syscall.SIGSTOP)
	}
	if err != nil {
		return l, err
	}
	told := make(chan error, 1)
	go func() {
		told <- f.follow(ctx)
	}()
	w := &writer{name: conversation, conversation: conversation, url: url, client: client}
	t := &turn{id: conversation + "-0", writer: conversation}
	w.insist(ctx, t)
	l.Free = time.Since(began)
	err = <-told
	l.Told = f.endedAt.Sub(began)
	if f.code != "" || !t.done {
		err = errors.Join(err, fmt.Errorf("the follower was told %q, code %q; the next question: done %v, %q", f.text, f.code, t.done, w.faults))
	}
	return l, errors.Join(err, mend())
}
