package visitors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"molar/internal/sse"
)

const (
	// most is how many visitors a crowd may have: a mark has four digits for its visitor.
	most = 10_000
	// cookie and header carry what a visitor's browser presents.
	cookie, header = "__Host-molar_visitor", "X-Molar-Visitor"
	// reachEvery is how many questions a visitor asks until they reach once for what others have.
	reachEvery = 10
)

// A visitor asks one question after the other. Each has a mark of its own, which the model repeats in
// its answer.
type visitor struct {
	crowd           *Crowd
	number, address int
	// cookies tells whether the browser keeps the cookie; else it presents the token in the header.
	cookies bool
	every   time.Duration
	token   string
	// marks are those of the questions that were answered.
	marks []string
	asked int
}

// stay comes, asks until the end, reads all that the host has kept, and goes.
func (v *visitor) stay(ctx context.Context, end time.Time) {
	pause(ctx, rand.N(v.every))
	if err := v.come(ctx); err != nil {
		v.fail("come", err)
		return
	}
	for ctx.Err() == nil && time.Now().Before(end) {
		next := time.Now().Add(v.every)
		turn, err := v.ask(ctx)
		if err != nil {
			v.fail("ask", err)
		}
		if v.asked%reachEvery == 0 {
			v.reach(ctx, turn)
		}
		pause(ctx, time.Until(next))
	}
	v.readBack(ctx)
}

func (v *visitor) fail(doing string, err error) {
	v.crowd.record.fault("visitor %d: %s: %v", v.number, doing, err)
}

// come gets a token.
func (v *visitor) come(ctx context.Context) error {
	res, err := v.send(ctx, http.MethodPost, "/embed/visit", fmt.Sprintf(`{"storage":%t}`, !v.cookies))
	if err != nil {
		return err
	}
	body, err := v.read(res)
	if err != nil {
		return err
	}
	var told struct{ Token string }
	if res.StatusCode != http.StatusOK || json.Unmarshal(body, &told) != nil {
		return fmt.Errorf("%s: %.200s", res.Status, body)
	}
	if v.token = told.Token; v.cookies {
		at := slices.IndexFunc(res.Cookies(), func(c *http.Cookie) bool { return c.Name == cookie })
		if at < 0 {
			return fmt.Errorf("the answer sets no cookie %s", cookie)
		}
		v.token = res.Cookies()[at].Value
	}
	if v.token == "" {
		return errors.New("the answer holds no token")
	}
	return nil
}

// ask asks one question and reads the answer. It returns the id of the turn, or "" where the question
// was refused.
func (v *visitor) ask(ctx context.Context) (turn string, err error) {
	mark := fmt.Sprintf("visitor%04dq%d", v.number, v.asked)
	v.asked++
	sent := time.Now()
	res, err := v.send(ctx, http.MethodPost, "/embed/chat", fmt.Sprintf(`{"text":"When are you open? tag=%s","lang":"en"}`, mark))
	if err != nil {
		return "", err
	}
	e := event{visitor: v.number, address: v.address, sent: sent, answered: time.Now()}
	switch res.StatusCode {
	case http.StatusOK:
		v.crowd.record.admitted(e)
		if turn, err = v.answer(res, mark, sent); err == nil {
			v.marks = append(v.marks, mark)
		}
		return turn, err
	case http.StatusTooManyRequests:
		return "", v.refused(res, e)
	}
	body, _ := v.read(res) // the status is the error
	return "", fmt.Errorf("%s: %.200s", res.Status, body)
}

// refused notes which limit was reached, and until when.
func (v *visitor) refused(res *http.Response, e event) error {
	body, err := v.read(res)
	if err != nil {
		return err
	}
	var refusal struct {
		Error struct {
			Code, Limit, Message string
			Until                time.Time
		}
	}
	if err := json.Unmarshal(body, &refusal); err != nil || refusal.Error.Until.IsZero() || refusal.Error.Code != "too_many_questions" {
		return fmt.Errorf("%s: %.200s", res.Status, body)
	}
	if res.Header.Get("Retry-After") == "" || refusal.Error.Message == "" {
		return fmt.Errorf("a refusal tells neither the person nor the browser how long to wait: %.200s", body)
	}
	e.limit, e.until = refusal.Error.Limit, refusal.Error.Until
	v.crowd.record.refused(e)
	return nil
}

// answer reads a stream to its end.
func (v *visitor) answer(res *http.Response, mark string, sent time.Time) (turn string, err error) {
	defer res.Body.Close()
	var all bytes.Buffer
	var first time.Duration
	told, done := false, false
	for e, err := range sse.Events(io.TeeReader(res.Body, &all), sse.Config{Limit: 1 << 20}) {
		if err != nil {
			return turn, err
		}
		if !told && bytes.Contains(e.Data, []byte(mark)) {
			told, first = true, time.Since(sent)
		}
		switch e.Name {
		case "start":
			var start struct{ Turn string }
			if err := json.Unmarshal(e.Data, &start); err != nil {
				return "", err
			}
			turn = start.Turn
		case "done":
			done = true
		case "error", "warning": // with a warning the answer may not be stored
			return turn, fmt.Errorf("the stream holds a %s: %.200s", e.Name, e.Data)
		}
	}
	v.look("the answer", all.Bytes())
	switch {
	case turn == "" || !done:
		return turn, fmt.Errorf("the stream has no start or no end: %.300s", all.Bytes())
	case !told:
		return turn, fmt.Errorf("the answer is not that of the question %s: %.300s", mark, all.Bytes())
	}
	v.crowd.record.answered(v.number, turn, first, time.Since(sent))
	return turn, nil
}

// reach tries to get, stop and mark a turn of somebody else, and to use the rest of the port.
func (v *visitor) reach(ctx context.Context, own string) {
	foreign := v.crowd.record.turnOfAnother(v.number)
	for _, try := range []struct{ method, path, body string }{
		{http.MethodGet, "/embed/turns/" + foreign + "/events", ""},
		{http.MethodDelete, "/embed/turns/" + foreign, ""},
		{http.MethodPost, "/embed/turns/" + foreign + "/feedback", `{"mark":"poor"}`},
		{http.MethodGet, "/v1/turns/" + foreign, ""},
		{http.MethodGet, "/v1/turns/" + own + "/events", ""},
		{http.MethodGet, "/v1/conversations", ""},
		{http.MethodGet, "/v1/account/export", ""},
	} {
		if strings.Contains(try.path, "/turns//") || strings.HasSuffix(try.path, "/turns/") {
			continue // nobody else has asked yet, or the own question was refused
		}
		res, err := v.send(ctx, try.method, try.path, try.body)
		if err != nil {
			v.fail("reach", err)
			continue
		}
		body, err := v.read(res)
		if err != nil {
			v.fail("reach", err)
			continue
		}
		v.crowd.record.reached()
		if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusUnauthorized {
			v.crowd.record.leak("visitor %d: %s %s: %s: %.200s", v.number, try.method, try.path, res.Status, body)
		}
	}
}

// readBack reads the conversation and the export: they hold what the visitor asked, and nothing else.
func (v *visitor) readBack(ctx context.Context) {
	for _, path := range []string{"/embed/conversation", "/embed/export"} {
		if err := v.readAll(ctx, path); err != nil {
			v.fail("read back", fmt.Errorf("GET %s: %w", path, err))
		}
	}
}

// readAll reads what a path holds. While it says that a turn still runs, it follows that turn first, as the
// page does: another replica learns of the end a moment later.
func (v *visitor) readAll(ctx context.Context, path string) error {
	body, err := v.get(ctx, path)
	var told struct{ Running string }
	if err == nil && json.Unmarshal(body, &told) == nil && told.Running != "" {
		if _, err = v.get(ctx, "/embed/turns/"+told.Running+"/events"); err == nil {
			body, err = v.get(ctx, path)
		}
	}
	if err != nil {
		return err
	}
	for _, mark := range v.marks {
		if !bytes.Contains(body, []byte("tag="+mark)) {
			return fmt.Errorf("the question %s is not there", mark)
		}
	}
	return nil
}

// get returns what a path holds.
func (v *visitor) get(ctx context.Context, path string) ([]byte, error) {
	res, err := v.send(ctx, http.MethodGet, path, "")
	if err != nil {
		return nil, err
	}
	body, err := v.read(res)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", res.Status, body)
	}
	return body, err
}

// read reads a response to its end and looks at it.
func (v *visitor) read(res *http.Response) ([]byte, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	v.look(res.Request.URL.Path, body)
	return body, err
}

// look notes marks of others in what a visitor got.
func (v *visitor) look(where string, body []byte) {
	if others := Foreign(v.number, body); len(others) > 0 {
		v.crowd.record.leak("visitor %d: %s holds %s", v.number, where, others)
	}
	v.crowd.record.looked()
}

// Foreign returns the marks of others than this visitor in a text.
func Foreign(visitor int, text []byte) (marks []string) {
	own := fmt.Sprintf("visitor%04dq", visitor)
	for _, mark := range regexp.MustCompile(`visitor\d{4}q\d+`).FindAll(text, -1) {
		if !bytes.HasPrefix(mark, []byte(own)) && !slices.Contains(marks, string(mark)) {
			marks = append(marks, string(mark))
		}
	}
	return marks
}

// send sends a request as the page in the frame does, through the proxy.
func (v *visitor) send(ctx context.Context, method, path, body string) (*http.Response, error) {
	hosts := v.crowd.cfg.Hosts
	host := hosts[rand.N(len(hosts))]
	req, err := http.NewRequestWithContext(ctx, method, host+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Forwarded-For", client(v.address, v.number))
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", host)
	}
	switch {
	case v.token == "":
	case v.cookies:
		req.AddCookie(&http.Cookie{Name: cookie, Value: v.token})
	default:
		req.Header.Set(header, v.token)
	}
	return v.crowd.client.Do(req)
}
