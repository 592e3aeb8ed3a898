package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"molar/schemas"
)

// metrics holds the registry and its metrics.
type metrics struct {
	registry *prometheus.Registry
	// list describes our own metrics.
	list   []Metric
	models *labels // names of models
	tools  *labels // server and name of tools

	turns, unsaved, modelCalls, tokens, tokenParts, toolCalls           *prometheus.CounterVec
	cost                                                                *prometheus.CounterVec
	verdicts, truncations, reconnects, asked, webhooks, refusedVisitors *prometheus.CounterVec
	turnTime, stepTime, modelTime, firstTime                            *prometheus.HistogramVec
	toolTime, requestTime                                               *prometheus.HistogramVec
	openStreams                                                         prometheus.Gauge
	budgets                                                             *prometheus.GaugeVec
}

func newMetrics(cfg Config) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		models:   newLabels(64, cfg.Models...),
		tools:    newLabels(1000),
	}
	// From a turn that code refuses to one with a pending approval.
	long := []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	// From a call within the process to the limit of a tool.
	short := []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	m.turns = m.counter("molar_turns_total", "Turns by assistant and how they ended.", "assistant", "outcome")
	m.unsaved = m.counter("molar_turns_unsaved_total", "Turns that are not in the store because it failed.", "assistant")
	m.turnTime = m.histogram("molar_turn_duration_seconds", "Time from the question to the end of the answer.", long, "assistant")
	m.stepTime = m.histogram("molar_step_duration_seconds", "Time that a step of a turn kept it waiting.", short, "step")
	m.modelCalls = m.counter("molar_model_calls_total", "Calls of models by pass and outcome.", "provider", "model", "pass", "outcome")
	m.modelTime = m.histogram("molar_model_call_duration_seconds", "Time of a model call to the end of its stream.", long, "provider", "model")
	m.firstTime = m.histogram("molar_model_first_output_seconds", "Time of a model call to its first output.", long, "provider", "model")
	m.tokens = m.counter("molar_tokens_total", "Tokens as the providers count them.", "provider", "model", "assistant", "direction")
	m.tokenParts = m.counter("molar_token_parts_total", "Input tokens from the provider's cache, and output tokens of reasoning.", "provider", "part")
	m.cost = m.counter("molar_cost_total", "What model calls cost, in the currency of the prices; only calls whose price is known.", "provider", "model")
	m.toolCalls = m.counter("molar_tool_calls_total", "Tool calls by how they ended.", "server", "tool", "status")
	m.toolTime = m.histogram("molar_tool_call_duration_seconds", "Time of a tool call.", short, "server")
	m.verdicts = m.counter("molar_guardrail_verdicts_total", "Verdicts by topic and by who decided.", "topic", "verdict", "by")
	m.truncations = m.counter("molar_truncations_total", "Answers and tool results that were cut.", "what")
	m.reconnects = m.counter("molar_server_reconnects_total", "MCP servers that were attached again after a loss.", "server")
	m.webhooks = m.counter("molar_webhook_events_total", "Events for the webhooks of approvals and hand-overs, by outcome: delivered or failed.", "outcome")
	m.refusedVisitors = m.counter("molar_visitors_refused_total", "Questions of visitors that were refused, by limit: visitor, address, all or budget.", "limit")
	m.asked = m.counter("molar_http_requests_total", "HTTP requests by route and status.", "method", "route", "status")
	m.requestTime = m.histogram("molar_http_request_duration_seconds", "Time of an HTTP request to the end of its answer.", long, "route")
	m.openStreams = m.gauge("molar_open_streams", "Chat requests that are being answered.")
	m.note(Gauge, budgetRatio, budgetRatioHelp, "budget")
	m.budgets = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: budgetRatio, Help: budgetRatioHelp}, []string{"budget"})
	m.registry.MustRegister(m.budgets)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if cfg.TracesDropped != nil {
		const name, help = "molar_traces_dropped_total", "Traces of turns that were not stored."
		m.note(Counter, name, help)
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(cfg.TracesDropped()) }))
	}
	if cfg.SummariesBehind != nil {
		const name, help = "molar_summaries_behind", "Turns whose summary is not written yet, over all replicas."
		m.note(Gauge, name, help)
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(cfg.SummariesBehind()) }))
	}
	if cfg.Servers != nil {
		m.note(Gauge, serverReady, serverReadyHelp, "server")
		m.note(Gauge, serverTools, serverToolsHelp, "server")
		m.registry.MustRegister(serverStates{cfg.Servers})
	}
	return m
}

// The kinds of a [Metric].
const (
	Counter   = "counter"
	Histogram = "histogram"
	Gauge     = "gauge"
)

// A Metric describes one of ours, for authors of dashboards and alerts.
type Metric struct {
	Name, Help, Kind string
	Labels           []string
}

// List describes all metrics that a host may show, except go_* and process_*.
func List() []Metric {
	return newMetrics(Config{
		TracesDropped:   func() int64 { return 0 },
		SummariesBehind: func() int64 { return 0 },
		Servers:         func() []schemas.ServerStatus { return nil },
	}).list
}

func (m *metrics) note(kind, name, help string, labels ...string) {
	m.list = append(m.list, Metric{Name: name, Help: help, Kind: kind, Labels: labels})
}

func (m *metrics) counter(name, help string, names ...string) *prometheus.CounterVec {
	m.note(Counter, name, help, names...)
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names)
	m.registry.MustRegister(c)
	return c
}

func (m *metrics) histogram(name, help string, buckets []float64, names ...string) *prometheus.HistogramVec {
	m.note(Histogram, name, help, names...)
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, names)
	m.registry.MustRegister(h)
	return h
}

func (m *metrics) gauge(name, help string) prometheus.Gauge {
	m.note(Gauge, name, help)
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

const (
	budgetRatio, budgetRatioHelp = "molar_budget_used_ratio", "Share of a budget of the host (all) or of a group that is used or reserved, at its last call."

	serverReady, serverReadyHelp = "molar_server_ready", "Whether an MCP server is ready (1) or not (0)."
	serverTools, serverToolsHelp = "molar_server_tools", "Tools of an MCP server."
)

// serverStates reports at each scrape which servers are ready.
type serverStates struct{ status func() []schemas.ServerStatus }

// Describe names the two metrics.
func (s serverStates) Describe(to chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(withOne(s), to)
}

// withOne adds a placeholder server, so that the metrics can be described before there are
// any.
func withOne(serverStates) serverStates {
	return serverStates{func() []schemas.ServerStatus { return []schemas.ServerStatus{{Name: "any"}} }}
}

// Collect reads the states.
func (s serverStates) Collect(to chan<- prometheus.Metric) {
	up := prometheus.NewDesc(serverReady, serverReadyHelp, []string{"server"}, nil)
	tools := prometheus.NewDesc(serverTools, serverToolsHelp, []string{"server"}, nil)
	for _, st := range s.status() {
		ready := 0.0
		if st.State == schemas.StateReady {
			ready = 1
		}
		to <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, ready, st.Name)
		to <- prometheus.MustNewConstMetric(tools, prometheus.GaugeValue, float64(st.Tools), st.Name)
	}
}
