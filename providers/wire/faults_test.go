package wire_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/chain"
)

// An outcome is the result of a call with retries.
type outcome struct {
	kind   providers.Kind
	says   string // a part of the error; {key} and {address} are replaced by the names of the settings
	status int
	after  time.Duration // how long the service asks to wait

	text   string // the text before the error
	calls  int
	finish providers.FinishReason
	asked  int           // number of requests; 0 means one
	took   time.Duration // at least, and at most a quarter more if a wait is randomised
}

// deviation is an outcome that differs on one wire, with the reason.
type deviation struct {
	wire, why string
	outcome
}

// fault is an action of a service, and its outcome.
type fault struct {
	does answering
	outcome
	but []deviation
}

// of returns the outcome on a wire, and the reason if it differs from the others'.
func (f fault) of(w adapter) (want outcome, why string) {
	want, why = f.outcome, "it is like the others"
	for _, u := range f.but {
		if u.wire == w.name {
			want, why = u.outcome, u.why
		}
	}
	want.asked = max(1, want.asked)
	want.says = w.named(want.says)
	return want, why
}

// The waits for a service that is busy, and for one that limits this client.
const busy, limit = 3 * time.Second, 6 * time.Second

const overflow = "This model's maximum context length is 8192 tokens."

// refusals returns answers with a status of failure.
func refusals() map[string]fault {
	is := func(kind providers.Kind, status int, says string) outcome {
		return outcome{kind: kind, status: status, says: says}
	}
	again := func(o outcome, took, after time.Duration) outcome {
		o.asked, o.took, o.after = 3, took, after
		return o
	}
	later := func(o outcome, after time.Duration) outcome { o.after = after; return o }
	limited, down := is(providers.KindQuota, 429, "slow down"), is(providers.KindUnavailable, 503, "try later")
	const inWords, muchLater = "slow down: Please try again in 1.2s. Visit the page.", "slow down: try again in 7m12.5s."
	noWords := []deviation{{"ollama", "it names a wait in the header alone", again(limited, limit, 0)}}
	noText := func(o outcome) []deviation {
		o.says = fmt.Sprintf("status %d without an explanation", o.status)
		return []deviation{{"ollama", "its errors are objects", o}}
	}
	return map[string]fault{
		"400":                    {status(400, "bad thing"), is(providers.KindInvalid, 400, "bad thing"), nil},
		"400 without a word":     {status(400, ""), is(providers.KindInvalid, 400, "status 400 without an explanation"), nil},
		"400 in plain words":     {page(400, "bad\nthing"), is(providers.KindInvalid, 400, "bad thing"), noText(is(providers.KindInvalid, 400, ""))},
		"400 with a long text":   {status(400, strings.Repeat("é", 4000)), is(providers.KindInvalid, 400, "é…"), nil},
		"400 without an end":     {page(400, strings.Repeat("x", 1<<20)), is(providers.KindInvalid, 400, "x…"), noText(is(providers.KindInvalid, 400, ""))},
		"400 with a page":        {page(400, "<html>\n<body>no</body></html>"), is(providers.KindInvalid, 400, "status 400 without an explanation"), nil},
		"400, too long a prompt": {status(400, overflow), is(providers.KindContextLength, 400, "8192 tokens"), []deviation{{"ollama", "its window can be made larger", outcome{kind: providers.KindContextLength, status: 400, says: "8192 tokens", asked: 4}}}},
		"401":                    {status(401, "who?"), is(providers.KindAuth, 401, "{key}"), nil},
		"403":                    {status(403, ""), is(providers.KindAuth, 403, "{key}"), nil},
		"404, no such model":     {status(404, "model 'm' not found"), is(providers.KindModelNotFound, 404, "model 'm' not found"), nil},
		"404, no such page":      {page(404, "404 page not found"), is(providers.KindUnavailable, 404, "{address}"), nil},
		"402":                    {status(402, "Insufficient Balance"), is(providers.KindQuota, 402, "Insufficient Balance"), nil},
		"408":                    {status(408, "late"), again(is(providers.KindTimeout, 408, "late"), limit, 0), []deviation{{"openai", "its clients take it for a limit", again(is(providers.KindQuota, 408, "late"), limit, 0)}, {"responses", "its clients take it for a limit", again(is(providers.KindQuota, 408, "late"), limit, 0)}}},
		"409":                    {status(409, "busy"), again(is(providers.KindInvalid, 409, "busy"), limit, 0), nil},
		"429":                    {status(429, "slow down"), again(limited, limit, 0), nil},
		"429, seconds":           {status(429, "slow down", "Retry-After", "30"), again(limited, time.Minute, 30*time.Second), nil},
		"429, milliseconds":      {status(429, "slow down", "Retry-After-Ms", "250", "Retry-After", "1"), again(limited, 500*time.Millisecond, 250*time.Millisecond), nil},
		"429, a date":            {status(429, "slow down", "Date", "Mon, 02 Jan 2006 15:04:05 GMT", "Retry-After", "Mon, 02 Jan 2006 15:06:05 GMT"), later(limited, 2*time.Minute), nil},
		"429, much later":        {status(429, "slow down", "Retry-After", "31"), later(limited, 31*time.Second), nil},
		"429, in words":          {status(429, inWords), again(limited, 2400*time.Millisecond, 1200*time.Millisecond), noWords},
		"429, in words alone":    {status(429, "slow down, and please retry after 26 seconds."), again(limited, 52*time.Second, 26*time.Second), noWords},
		"429, much later, so":    {status(429, muchLater), later(limited, 432500*time.Millisecond), noWords},
		"429 of a prompt's size": {status(429, "slow down: "+overflow), again(limited, limit, 0), nil},
		"500":                    {status(500, "template: x"), again(is(providers.KindUnavailable, 500, "template: x"), busy, 0), nil},
		"500 without a word":     {status(500, ""), again(is(providers.KindUnavailable, 500, "status 500 without an explanation"), busy, 0), nil},
		"501":                    {status(501, "no"), is(providers.KindUnavailable, 501, "no"), nil},
		"502 with a page":        {page(502, "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>", "Content-Type", "text/html"), again(is(providers.KindUnavailable, 502, "status 502 without an explanation"), busy, 0), nil},
		"503":                    {status(503, "try later"), again(down, busy, 0), []deviation{{"ollama", "its queue moves on in a second", again(down, 2*time.Second, time.Second)}}},
		"503, seconds":           {status(503, "try later", "Retry-After", "3"), again(down, limit, 3*time.Second), nil},
		"503, much later":        {status(503, "try later", "Retry-After", "120"), later(down, 2*time.Minute), nil},
		"504":                    {status(504, "late"), again(is(providers.KindTimeout, 504, "late"), busy, 0), nil},
		"529":                    {status(529, "overloaded"), again(is(providers.KindUnavailable, 529, "overloaded"), busy, 0), nil},
		"a redirect":             {status(307, "", "Location", "http://elsewhere.example/"), is(providers.KindProtocol, 307, "the service redirects (status 307): set {address} to where it leads"), nil},
		"503, then well":         {sequence(status(503, "try later", "Retry-After", "3"), stream(say("ab"), end)), outcome{text: "ab", finish: providers.FinishStop, asked: 2, took: 3 * time.Second}, nil},
		"500, then nothing":      {sequence(status(500, "x"), mute), outcome{kind: providers.KindTimeout, says: "no output in time", asked: 2, took: 180 * time.Second}, nil},
	}
}

// streams returns answers with status 200.
func streams() map[string]fault {
	is := func(kind providers.Kind, text, says string) outcome {
		return outcome{kind: kind, text: text, says: says}
	}
	brokenOff := func(text string) outcome { return is(providers.KindIncomplete, text, "broke off before its end") }
	well := func(text string, finish providers.FinishReason) outcome {
		return outcome{text: text, finish: finish}
	}
	markless := func(o outcome, says string) deviation {
		o.says = says
		return deviation{"gemini", "nothing but a reason marks its end", o}
	}
	// statused is an error with a status, and may therefore be retried.
	statused := func(o outcome, status, asked int, took time.Duration) deviation {
		o.status, o.asked, o.took = status, asked, took
		return deviation{"gemini", "its events have a status", o}
	}
	// typed is an error that stands for a status by its type.
	typed := func(o outcome, status, asked int, took time.Duration) deviation {
		o.status, o.asked, o.took = status, asked, took
		return deviation{"anthropic", "its errors have types, each with a status", o}
	}
	called := func(o outcome) outcome { o.calls = 1; return o }
	wholeCalls := func(o outcome) deviation { return deviation{"ollama", "its calls come whole, one by one", called(o)} }
	const stop, empty = providers.FinishStop, "an empty answer"
	boom, boomAfter := is(providers.KindUnavailable, "", "boom"), is(providers.KindUnavailable, "a", "boom")
	speechless, limited, long := is(providers.KindUnavailable, "", "without a"), is(providers.KindQuota, "", "slow down"), is(providers.KindContextLength, "", "8192 tokens")
	longer := long
	longer.asked = 4
	return map[string]fault{
		"whole":                   {stream(say("a"), say("b"), end), well("ab", stop), nil},
		"out of tokens":           {stream(say("ab"), cut), well("ab", providers.FinishLength), nil},
		"kept alive":              {stream(idle, say("a"), idle, say("b"), idle, end), well("ab", stop), nil},
		"in one piece":            {func(a adapter) http.HandlerFunc { return page(200, a.says("ab", 1), "Content-Type", "text/plain")(a) }, well("ab", stop), nil},
		"compressed":              {zipped(stream(say("ab"), end), 0), well("ab", stop), nil},
		"compressed and cut":      {zipped(stream(say("a")), 4), brokenOff("a"), nil},
		"empty":                   {stream(), brokenOff(""), []deviation{markless(brokenOff(""), empty)}},
		"blank":                   {stream(raw("\n\n \n")), brokenOff(""), []deviation{markless(brokenOff(""), empty)}},
		"kept alive for nothing":  {stream(idle, idle), brokenOff(""), []deviation{markless(brokenOff(""), empty)}},
		"without an end":          {stream(say("a")), brokenOff("a"), []deviation{markless(brokenOff("a"), "without saying that the answer is complete")}},
		"cut within an event":     {stream(say("a"), half), brokenOff("a"), nil},
		"the connection breaks":   {abort(say("a")), brokenOff("a"), nil},
		"it breaks in an event":   {abort(say("a"), half), brokenOff("a"), nil},
		"it breaks at once":       {abort(), brokenOff(""), nil},
		"it is closed unanswered": {hangUp, is(providers.KindUnavailable, "", "it closed the connection"), nil},
		"a call without an end":   {stream(call), brokenOff(""), []deviation{wholeCalls(brokenOff("")), markless(called(brokenOff("")), "without saying that the answer is complete")}},
		"a call, then an error":   {stream(call, broken(500, "boom")), boom, []deviation{wholeCalls(boom), statused(called(boom), 500, 1, 0), typed(boom, 500, 3, busy)}},
		"an error":                {stream(broken(503, "boom")), boom, []deviation{statused(boom, 503, 3, busy), typed(boom, 529, 3, busy)}},
		"an error after text":     {stream(say("a"), broken(503, "boom")), boomAfter, []deviation{statused(boomAfter, 503, 1, 0), typed(boomAfter, 529, 1, 0)}},
		"an error without a text": {stream(broken(503, "")), speechless, []deviation{statused(speechless, 503, 3, busy), typed(speechless, 529, 3, busy)}},
		"a limit":                 {stream(broken(429, "slow down")), limited, []deviation{statused(limited, 429, 3, limit), typed(limited, 429, 3, limit), {"ollama", "its lines have no status", is(providers.KindUnavailable, "", "slow down")}}},
		"too long a prompt":       {stream(broken(400, overflow)), long, []deviation{statused(long, 400, 1, 0), typed(long, 400, 1, 0), {"ollama", "its window can be made larger", longer}}},
		"not to be read":          {stream(say("a"), raw("data: {]\n\n"), say("b"), end), is(providers.KindProtocol, "a", "cannot be read"), nil},
		"a page":                  {page(200, "<!doctype html>\n\n<html>\n<body>Welcome</body>\n</html>\n", "Content-Type", "text/html"), is(providers.KindProtocol, "", "web page: check {address}"), nil},
		"another's answer":        {page(200, `{"status":"ok"}`), brokenOff(""), []deviation{markless(brokenOff(""), empty), {"openai", "an object is an answer that is no stream", is(providers.KindProtocol, "", "no choices")}, {"responses", "an object is an answer that is no stream", is(providers.KindProtocol, "", "holds no output")}, {"anthropic", "an object is an answer that is no stream", is(providers.KindProtocol, "", "no content")}}},
		"noise":                   {page(200, "\x1f\x8b\x08\x00\x00 \xff\n\x00\x01"), brokenOff(""), []deviation{markless(brokenOff(""), empty), {"ollama", "each of its lines is an object", is(providers.KindProtocol, "", "cannot be read")}}},
		"a line over 8 MB":        {stream(say("a"), raw(strings.Repeat("x", 9<<20)), end), is(providers.KindProtocol, "a", "8 MB"), nil},
		"text after the end":      {stream(say("a"), end, say("b")), well("a", stop), []deviation{{"gemini", "it may say its reason early", well("ab", stop)}}},
	}
}

// waits returns answers that are slow.
func waits() map[string]fault {
	late := func(text, says string, took time.Duration) outcome {
		return outcome{kind: providers.KindTimeout, text: text, says: says, took: took}
	}
	well := func(text string, took time.Duration) outcome {
		return outcome{text: text, finish: providers.FinishStop, took: took}
	}
	const first, more, drain = 180 * time.Second, 20 * time.Second, 250 * time.Millisecond
	const nothing, nothingMore = "no output in time: nothing for 3m0s", "the stream stalled: nothing more for 20s"
	open := []deviation{{"gemini", "it may say its reason early", well("ab", 2*time.Second)}}
	return map[string]fault{
		"no answer":              {mute, late("", nothing, first), nil},
		"no stream":              {silent(), late("", nothing, first), nil},
		"kept alive for nothing": {paced(10*time.Second, nil, slices.Repeat([]part{idle}, 40)...), late("", nothing, first), nil},
		"stalled":                {silent(say("a")), late("a", nothingMore, more), nil},
		"stalled in an event":    {silent(say("a"), half), late("a", nothingMore, more), nil},
		"kept alive after text":  {paced(time.Second, nil, append([]part{say("a")}, slices.Repeat([]part{idle}, 40)...)...), late("a", nothingMore, more+time.Second), nil},
		"a late start":           {paced(170*time.Second, nil, func(a adapter) string { return a.says("ab", 1) }), well("ab", 170*time.Second), nil},
		"slow but steady":        {paced(19*time.Second, nil, say("a"), say("b"), say("c"), end), well("abc", 76*time.Second), nil},
		"events without text":    {paced(15*time.Second, nil, say("a"), say(""), say(""), say("b"), end), well("ab", 75*time.Second), nil},
		"not closed at the end":  {silent(say("ab"), end), well("ab", drain), open},
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for place, faults := range map[string]map[string]fault{"refusals": refusals(), "streams": streams(), "waits": waits()} {
		for name, f := range faults {
			for _, u := range f.but {
				if u.outcome == f.outcome {
					t.Errorf("%s/%s: %s is like the others", place, name, u.wire)
				}
			}
			for _, w := range wires() {
				t.Run(fmt.Sprint(place, "/", name, "/", w.name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { f.check(t, w) })
				})
			}
		}
	}
}

// check runs the fault on a wire.
func (f fault) check(t *testing.T, w adapter) {
	want, why := f.of(w)
	n, p := w.serve(t, f.does)
	start := time.Now()
	heard, _, err := read(t, chain.Again(p, 0), question())
	got := outcome{text: heard.Text, calls: len(heard.Calls), finish: providers.FinishReason(heard.Finish), asked: int(n.asked.Load()), took: time.Since(start)}
	if e, ok := errors.AsType[*providers.Error](err); ok {
		got.kind, got.says, got.status, got.after = e.Kind, e.Error(), e.Status, e.RetryAfter
		if e.Provider != w.name {
			t.Errorf("an error of %q", e.Provider)
		}
	} else if err != nil {
		t.Errorf("an error without a kind: %v", err)
	}
	wantNoSecret(t, got.says)
	if strings.Contains(got.says, want.says) {
		got.says = want.says
	}
	if got.took >= want.took && got.took <= want.took+want.took/4 && (want.asked > 1 || got.took == want.took) {
		got.took = want.took
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("%s: %s", why, diff)
	}
	n.wantIdle(t)
}

// The wait for the first output is the configured one.
func TestFirstOutput(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := connect(t, mute(w))
				p, err := w.at(place{host: host, client: n.client, first: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				_, _, err = read(t, p, question())
				if providers.KindOf(err) != providers.KindTimeout || !strings.Contains(err.Error(), "nothing for 1s") || time.Since(start) != time.Second {
					t.Errorf("%v after %v", err, time.Since(start))
				}
			})
		})
	}
}

// wantNoSecret checks that an error may be shown: it is short, one line, and reveals neither the
// address of the service nor its keys.
func wantNoSecret(t *testing.T, says string) {
	t.Helper()
	if len(says) > 800 || strings.ContainsAny(says, "\n\r") || strings.Contains(says, "<h") {
		t.Errorf("an error of %d bytes that cannot be shown: %.300q", len(says), says)
	}
	for _, secret := range []string{"secret", password, "internal", "127.0.0.1"} {
		if strings.Contains(says, secret) {
			t.Errorf("%q shows in %s", secret, says)
		}
	}
}
