package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"molar/agent/answer"
	"molar/eval"
	"molar/internal/cli"
	"molar/internal/host"
	"molar/providers"
	"molar/schemas"
)

// JudgeCheckFlags are the flags of eval judge check.
type JudgeCheckFlags struct {
	Judge, Since, Assistant, Provider, Model, JSON string
	Grounded                                       bool
	// Limit bounds the answers. Gate is the smallest agreement that is good enough; 0 means any.
	Limit int
	Gate  float64
}

// JudgeCheck asks a judge about the answers that people marked, and compares its verdicts with the marks.
func (a *Commands) JudgeCheck(ctx context.Context, f JudgeCheckFlags) error {
	if (f.Judge == "") == !f.Grounded {
		return cli.Usage(errors.New("give either --judge RULE or --grounded"))
	}
	if f.Provider != "" && f.Model == "" {
		return cli.Usage(errors.New("--provider needs --model beside it"))
	}
	if f.Limit < 1 || f.Gate < 0 || f.Gate > 1 {
		return cli.Usage(errors.New("--limit is at least 1, and --gate between 0 and 1"))
	}
	if err := a.mayRecord(); err != nil {
		return err
	}
	marked := TurnFlags{Ago: f.Since}
	want, err := marked.Selected(time.Now())
	if err != nil {
		return err
	}
	cfg, err := a.LoadWithServers(nil, nil)
	if err != nil {
		return err
	}
	cfg.MCPServers = nil // no tool is called
	log, err := a.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, cfg, log, host.Options{Env: a.Env})
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.DB.Audit(ctx, schemas.AuditLine{Event: schemas.EventReview, Detail: "judge check"}); err != nil {
		return err
	}
	marks, err := h.DB.ListMarks(ctx, schemas.FeedbackFilter{Assistant: f.Assistant, Since: want.Since})
	if err != nil {
		return err
	}
	result := &eval.JudgeCheck{Disagreements: []eval.Disagreement{}}
	judged, routes := 0, make(map[string]providers.Route)
	for _, mark := range marks {
		if judged == f.Limit {
			break
		}
		of, ok, err := a.markedAnswer(ctx, h, mark)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		judged++
		if _, picked := routes[mark.Assistant]; !picked {
			c := eval.Case{Assistant: mark.Assistant, Judge: eval.JudgeModel{Provider: f.Provider, Model: f.Model}}
			if routes[mark.Assistant], err = pickJudge(ctx, cfg, log, &c); err != nil {
				return cli.With(eval.ExitInfra, err)
			}
		}
		v, err := eval.Ask(ctx, routes[mark.Assistant], eval.Check{Judge: f.Judge, Grounded: f.Grounded}, of)
		if err != nil {
			return evalError(fmt.Errorf("the judge cannot be reached: %w", err))
		}
		result.Add(mark, v)
	}
	if judged == 0 {
		return cli.With(eval.ExitNothing, errors.New("there is no marked answer whose trace is kept"))
	}
	if f.JSON != "" {
		if err := a.writeFile(f.JSON, func(w io.Writer) error { return eval.JSON(w, result) }); err != nil {
			return cli.Usage(fmt.Errorf("write the result: %w", err))
		}
	}
	if f.JSON != "-" {
		if err := result.Write(a.Stdout); err != nil {
			return err
		}
	}
	if agreed := result.Agreement.Value; f.Gate > 0 && (agreed == nil || *agreed < f.Gate) {
		return cli.With(eval.ExitFailed, fmt.Errorf("the judge agrees with %s of the marks, the gate is %g", eval.Number(agreed), f.Gate))
	}
	return nil
}

// markedAnswer returns a marked answer with what was said and found before it. ok is false if the mark
// does not count, or nothing is left to judge.
func (a *Commands) markedAnswer(ctx context.Context, h *host.Host, mark schemas.Feedback) (of eval.Judged, ok bool, err error) {
	if counts, _, err := h.DB.GetMark(ctx, mark.TurnID); err != nil || counts.By != mark.By { // a reviewer's mark counts
		return of, false, err
	}
	t, ok, err := traceOf(ctx, h, mark.TurnID)
	if err != nil || !ok || t.Question == "" || strings.TrimSpace(t.Answer) == "" {
		if err == nil {
			a.Note("turn %s is left out: no answer of it is kept", mark.TurnID)
		}
		return of, false, err
	}
	var messages []eval.Message
	var results []string
	add := func(t answer.Trace) {
		for _, tool := range t.Tools {
			for _, call := range tool.Calls {
				results = append(results, call.Output)
			}
		}
	}
	if t.Memory == "read" {
		earlier, err := messagesBefore(ctx, h, t)
		if err != nil {
			return of, false, err
		}
		for _, m := range earlier {
			messages = append(messages, eval.Message{Role: string(m.Role), Content: m.Content})
			if m.Role == schemas.RoleUser && m.TurnID != "" {
				before, _, err := traceOf(ctx, h, m.TurnID)
				if err != nil {
					return of, false, err
				}
				add(before)
			}
		}
	}
	add(t)
	messages = append(messages, eval.Message{Role: string(schemas.RoleUser), Content: t.Question})
	redact := host.Redactor(h.Config)
	for i := range messages {
		messages[i].Content = redact.Text(messages[i].Content)
	}
	for i := range results {
		results[i] = redact.Text(results[i])
	}
	return eval.Asked(messages, redact.Text(t.Answer), results), true, nil
}
