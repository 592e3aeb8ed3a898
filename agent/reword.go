package agent

import (
	"context"
	"strings"
	"sync"
	"time"

	"molar/agent/answer"
	"molar/agent/prompts"
	"molar/agent/subject"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// rewordTime bounds how long the small model words a question anew, rewordColdTime the same while it may
// have to be loaded, and rewordTokens its answer: three short queries as JSON.
const (
	rewordTime     = 4 * time.Second
	rewordColdTime = 15 * time.Second
	rewordTokens   = 120
)

// A rewording asks the small model, at most once a turn, for queries in the words of the documents.
// A nil one asks nobody.
type rewording struct {
	// write returns the queries for a question that folders hold nothing sure for.
	write func(folders []schemas.Tool) ([]string, error)
	group *sync.WaitGroup
	out   *answer.Speaker
	now   func() time.Time
	// queries is nil until it has begun.
	queries *future[[]string]
}

// rewording returns the rewording of a query; nil where no model may be asked, or where there is
// nothing to word anew.
func (a *Agent) rewording(ctx context.Context, w *task, lang string, q query) *rewording {
	if w.route.Offline || w.down != nil || q.Passage != "" || !subject.NamesSomething(q.About+" "+q.Text) {
		return nil
	}
	write := func(folders []schemas.Tool) ([]string, error) {
		in := prompts.QueriesInput{Language: lang, Question: q.Text, Before: q.About}
		for _, f := range folders {
			in.Folders = append(in.Folders, prompts.QueriedFolder{Name: f.ToolName, Description: f.Description, Languages: parametersOf(f).Language.Enum})
		}
		system, messages := prompts.Queries(in)
		limit := rewordTime
		if a.judges.cold(w.route) { // given up sooner, it would never be loaded
			limit = rewordColdTime
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		req := providers.Request{
			Pass: providers.PassQueries, Model: w.route.SmallModel, System: system, Messages: messages,
			Schema: prompts.QueriesSchema(), Temperature: new(0.0), MaxTokens: rewordTokens,
		}
		var text strings.Builder
		for chunk, err := range a.stream(ctx, w, lang, &req) {
			if err != nil { // what is there counts
				return prompts.ReadQueries(text.String()), err
			}
			text.WriteString(chunk.Text)
		}
		a.judges.heardFrom(w.route)
		return prompts.ReadQueries(text.String()), nil
	}
	return &rewording{write: write, group: w.group, out: w.out, now: a.cfg.Now}
}

// Begin asks for the queries for folders, and reports whether it does: not without folders, and not
// again.
func (r *rewording) Begin(folders []schemas.Tool) bool {
	if r == nil || r.queries != nil || len(folders) == 0 {
		return false
	}
	r.queries = begin(r.group, func() ([]string, error) { return r.write(folders) })
	return true
}

// Wait returns the queries; none if they were not asked for. A model that fails only means that there
// are none.
func (r *rewording) Wait(ctx context.Context) ([]string, error) {
	if r == nil || r.queries == nil {
		return nil, nil
	}
	began := r.now()
	queries, err := r.queries.Wait(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	r.out.Trace.Step("queries", r.now().Sub(began))
	if err != nil {
		r.out.Mark("6.1", "The small model did not word the question anew in full", "queries", len(queries), "error", err.Error())
	} else {
		r.out.Mark("6.1", "The small model worded the question anew, as its own words found nothing sure", "queries", len(queries))
	}
	r.out.Between(ctx, "QUERIES", strings.Join(queries, "\n"))
	return queries, nil
}

// A lookAhead is what of a search was done before its turn came.
type lookAhead struct {
	// words may be begun; nil if no model may be asked.
	words *rewording
	// made are the calls of folders, by their keys.
	made map[string]toolhandler.Outcome
}

// lookAhead asks the folders that a list begins with, and has the question worded anew if they find
// nothing sure. It shows nothing, and what it reads are the texts of this host, so it may run beside
// the guardrail's model.
func (s *search) lookAhead(ctx context.Context, list []string, q query, words *rewording) map[string]toolhandler.Outcome {
	made := make(map[string]toolhandler.Outcome)
	var little []schemas.Tool
	for _, name := range list {
		tool, there := s.tool(name)
		if !there || !takesQueries(tool) {
			break
		}
		failed := false
		for _, q.About = range q.subjects() {
			call, err := searchCall(tool, q)
			if failed = err != nil; failed {
				break
			}
			for done := range s.begin(tool).Execute(ctx, []schemas.ToolCall{call}) {
				made[keyOf(call)] = done
				failed = done.Result.IsError
				if failed || done.Result.IsEmpty() {
					continue
				}
				if done.Result.IsDoubtful() {
					words.Begin(append(little, tool))
				}
				return made
			}
			if failed {
				break
			}
		}
		if !failed {
			little = append(little, tool)
		}
	}
	if ctx.Err() == nil {
		words.Begin(little)
	}
	return made
}
