package schemas

import "time"

// An Assistant is a named set of instructions, tools and rules: an entry of assistants in the
// config file, which clients choose as the OpenAI model.
type Assistant struct {
	// Name is the key of the entry.
	Name        string `yaml:"-"`
	Description string `yaml:"description" jsonschema_description:"One line for people and client menus."`
	// SystemPrompt replaces the built-in role text.
	SystemPrompt string `yaml:"system_prompt" jsonschema_description:"Instructions for the model; the topic's own when left out."`
	// Topic names the guardrail; empty means none.
	Topic string `yaml:"topic" jsonschema_description:"Topic that the guardrail keeps to: a built-in pack, or one of topics; none when left out."`
	// Search lists code-driven tools.
	Search []string `yaml:"search" jsonschema_description:"Search tools that run before every answer, in order; the first that answers wins."`
	// Tools are globs over offered names; "!glob" excludes. Empty means no tools.
	Tools []string `yaml:"tools" jsonschema_description:"Globs over the tools that the model may call."`
	// Skills are folders; the operator's own words stand in them.
	Skills []string `yaml:"skills" jsonschema_description:"Folders of skills, relative to the file's folder: each subfolder with a SKILL.md, or the folder itself if it has one, says how a task is done; the model reads one when its task comes up."`
	// ClientSystem empty drops a client's system text under a topic.
	ClientSystem ClientSystem `yaml:"client_system" jsonschema:"enum=below" jsonschema_description:"below lets a client's system text in below the assistant's own; under a topic it is left out otherwise."`
	// Flow empty means FlowAgentic.
	Flow Flow `yaml:"flow" jsonschema:"enum=agentic,enum=two-pass" jsonschema_description:"agentic: tool rounds until the model answers. two-pass: one tool round, then a pass without tools."`
	// Summarize empty means SummarizeCompaction.
	Summarize Summarize `yaml:"summarize" jsonschema:"enum=answer,enum=compaction" jsonschema_description:"When answers are summarised in the background: answer, after each; compaction, when the conversation soon no longer fits (default compaction)."`
	// DirectAnswer nil means true.
	DirectAnswer *bool  `yaml:"direct_answer" jsonschema_description:"With flow two-pass: whether text of the first pass may be the answer when no tool is called (default true)."`
	Provider     string `yaml:"provider" jsonschema_description:"Provider for this assistant instead of llm.provider."`
	Model        string `yaml:"model" jsonschema_description:"Model for this assistant instead of the provider's."`
	// Wire nil means true for an assistant without a topic, and false for one with a topic.
	Wire *bool `yaml:"wire" jsonschema_description:"Whether its turns keep their wire traffic, where telemetry.wire keeps any; true when left out, but false for an assistant with a topic, since it is also the only place where the text of a refused question is kept."`
	// Retention nil means memory.retention; zero keeps its conversations for ever.
	Retention *time.Duration `yaml:"retention" jsonschema_description:"In place of memory.retention for conversations that it answered last: those not changed for this long are deleted for good; 0s keeps them for ever."`
	// Tuning tunes its models; what a turn sets takes precedence.
	Tuning
}

// AnswersDirectly reports whether, in the two-pass flow, text of the first pass may be the answer
// when no tool is called.
func (a Assistant) AnswersDirectly() bool { return a.DirectAnswer == nil || *a.DirectAnswer }

// Summarize is when the answers of an assistant are summarised.
type Summarize string

// The times of summaries.
const (
	// SummarizeAnswer is after each answer.
	SummarizeAnswer Summarize = "answer"
	// SummarizeCompaction is when a compaction of the conversation is near.
	SummarizeCompaction Summarize = "compaction"
)

// A Flow is the order of tool calls and answer.
type Flow string

// The flows.
const (
	// FlowAgentic offers the tools in every round: a call starts another round, text is the answer.
	FlowAgentic Flow = "agentic"
	// FlowTwoPass is one tool round and then a chat pass without tools.
	FlowTwoPass Flow = "two-pass"
)

// A ClientSystem is the treatment of a client's system text under a topic.
type ClientSystem string

// ClientSystemBelow appends it to the assistant's own.
const ClientSystemBelow ClientSystem = "below"

// AssistantInfo is what clients and pages may know of an assistant.
type AssistantInfo struct {
	Name        string
	Description string
	// Topic is the subject that it keeps to; empty for no limit.
	Topic string
	// Providers are the endpoints that may answer, in the order of fall-over; Model is its model, empty
	// for the endpoint's.
	Providers []string
	Model     string
	// FirstQuestions are suggested first questions, by language.
	FirstQuestions map[string][]string
}
