package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"molar/agent/guardrail"
	"molar/internal/config"
)

// openGuards builds the guardrails of the topics that an assistant keeps to.
func openGuards(cfg *config.Config, log *slog.Logger) (map[string]*guardrail.Guard, error) {
	guards := make(map[string]*guardrail.Guard)
	for _, entry := range cfg.Assistants {
		name := entry.Value.Topic
		if name == "" || guards[name] != nil {
			continue
		}
		guard, err := openGuard(cfg, name, log)
		if err != nil {
			return nil, err
		}
		guards[name] = guard
	}
	return guards, nil
}

// warm learns topics of the file and loads a local small model, so that the first
// question need not wait for either.
func (h *host) warm(ctx context.Context) {
	if err := h.agent.Warm(ctx); err != nil && ctx.Err() == nil {
		h.log.Info("the small model could not be warmed; the first questions may wait for it", "error", err)
	}
}

// openGuard builds the guardrail of one topic: the built-in one or one of the file.
func openGuard(cfg *config.Config, name string, log *slog.Logger) (*guardrail.Guard, error) {
	set, own := cfg.Topics.Get(name)
	topic := guardrail.Dental()
	switch {
	case name == config.TopicDental:
		overlay(topic.Refusal, set.Refusal)
		overlay(topic.Unavailable, set.Unavailable)
	case own:
		topic = ownTopic(name, set)
		if in, out := topic.Labels(); min(in, out) < guardrail.FewestExamples && len(topic.Examples) > 0 {
			log.Warn("a topic has too few examples to learn from: its questions go to the small model",
				"topic", name, "in", in, "out", out, "least", guardrail.FewestExamples, "wanted", guardrail.WantedExamples)
		}
	default:
		return nil, fmt.Errorf("there is no topic %q; there are: %s", name, strings.Join(cfg.TopicNames(), ", "))
	}
	return guardrail.New(guardrail.Config{Topic: topic, OnFailure: set.OnFailure, Logger: log})
}

// ownTopic is a topic of the file. Its version follows from what it holds.
func ownTopic(name string, set config.Topic) guardrail.Topic {
	topic := guardrail.Topic{
		Name:        name,
		Version:     fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", set))),
		Description: set.Description.ByLanguage(),
		Admit:       set.Phrases,
		Refusal:     set.Refusal.ByLanguage(),
		Unavailable: set.Unavailable.ByLanguage(),
	}
	for _, text := range set.Examples.In {
		topic.Examples = append(topic.Examples, guardrail.Example{Text: text, InDomain: true})
	}
	for _, text := range set.Examples.Out {
		topic.Examples = append(topic.Examples, guardrail.Example{Text: text})
	}
	return guardrail.Everyday(topic)
}

func overlay(texts map[string]string, set config.Texts) {
	maps.Copy(texts, set.ByLanguage())
}
