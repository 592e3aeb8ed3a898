package host

import (
	"context"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/telemetry"
	"molar/schemas"
)

// openTelemetry builds the telemetry of a command; only serve has metrics to show.
func (h *Host) openTelemetry(ctx context.Context) (err error) {
	h.Telemetry, err = telemetry.New(ctx, telemetry.Config{
		Version: cli.Version(),
		Metrics: h.opts.Metrics,
		Env:     h.opts.Env,
		Models:  configuredModels(h.Config),
		ProviderName: func(name string) string {
			service, _ := h.Config.LLM.ServiceOf(name)
			return service.Telemetry
		},
		Servers: func() []schemas.ServerStatus { return h.MCP.States() },
		TracesDropped: func() int64 {
			if h.Traces == nil {
				return 0
			}
			return h.Traces.Dropped()
		},
		SummariesBehind: h.summariesBehind(),
		Logger:          h.Log,
	})
	return err
}

// summariesBehind is nil if a server elsewhere stores the conversations.
func (h *Host) summariesBehind() func() int64 {
	if h.Config.Memory.URL != "" {
		return nil
	}
	return func() int64 {
		const scrape = 5 * time.Second
		ctx, cancel := context.WithTimeout(context.Background(), scrape)
		defer cancel()
		behind, err := h.DB.SummariesBehind(ctx)
		if err != nil {
			h.Log.Debug("the summaries that are behind could not be counted", "error", err)
		}
		return behind
	}
}

// configuredModels returns the models that the config names.
func configuredModels(cfg *config.Config) []string {
	var names []string
	for _, name := range cfg.LLM.EndpointNames() {
		e, _ := cfg.LLM.Endpoint(name)
		names = append(names, e.Model, e.SmallModel)
	}
	for _, entry := range cfg.Assistants {
		names = append(names, entry.Value.Model)
	}
	return names
}

// Runner returns what answers turns, observed.
func (h *Host) Runner() Agent {
	rec, _ := h.opts.Edges.(TurnRecorder)
	return Agent{Agent: h.Agent, Telemetry: h.Telemetry, Gate: h.Gate, Recorder: rec}
}

func topicsOf(cfg *config.Config) map[string]string {
	topics := make(map[string]string, len(cfg.Assistants))
	for _, entry := range cfg.Assistants {
		topics[entry.Name] = entry.Value.Topic
	}
	return topics
}
