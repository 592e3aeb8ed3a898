package telemetry

import "go.opentelemetry.io/otel/attribute"

// The names of span attributes, from the semantic conventions. They are defined here because the SDK no
// longer contains the conventions for GenAI and MCP, which are still in development:
//
//   - https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/
//   - https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
//   - https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/
//   - https://opentelemetry.io/docs/specs/semconv/http/http-spans/
const (
	keyOperation      = attribute.Key("gen_ai.operation.name")
	keyProvider       = attribute.Key("gen_ai.provider.name")
	keyAgent          = attribute.Key("gen_ai.agent.name")
	keyConversation   = attribute.Key("gen_ai.conversation.id")
	keyRequestModel   = attribute.Key("gen_ai.request.model")
	keyRequestStream  = attribute.Key("gen_ai.request.stream")
	keyMaxTokens      = attribute.Key("gen_ai.request.max_tokens")
	keyTemperature    = attribute.Key("gen_ai.request.temperature")
	keyResponseModel  = attribute.Key("gen_ai.response.model")
	keyFinish         = attribute.Key("gen_ai.response.finish_reasons")
	keyFirstChunk     = attribute.Key("gen_ai.response.time_to_first_chunk")
	keyInputTokens    = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens   = attribute.Key("gen_ai.usage.output_tokens")
	keyCachedTokens   = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyInput          = attribute.Key("gen_ai.input.messages")
	keyOutput         = attribute.Key("gen_ai.output.messages")
	keySystem         = attribute.Key("gen_ai.system_instructions")
	keyToolName       = attribute.Key("gen_ai.tool.name")
	keyToolType       = attribute.Key("gen_ai.tool.type")
	keyToolArguments  = attribute.Key("gen_ai.tool.call.arguments")
	keyToolResult     = attribute.Key("gen_ai.tool.call.result")
	keyMCPMethod      = attribute.Key("mcp.method.name")
	keyMCPProtocol    = attribute.Key("mcp.protocol.version")
	keyRPCStatus      = attribute.Key("rpc.response.status_code")
	keyTransport      = attribute.Key("network.transport")
	keyErrorType      = attribute.Key("error.type")
	keyHTTPMethod     = attribute.Key("http.request.method")
	keyHTTPRoute      = attribute.Key("http.route")
	keyHTTPStatus     = attribute.Key("http.response.status_code")
	keyServiceName    = attribute.Key("service.name")
	keyServiceVersion = attribute.Key("service.version")

	// Attributes that are not part of the conventions.
	keyReasoning = attribute.Key("molar.usage.reasoning_tokens")
	keyCost      = attribute.Key("molar.usage.cost")
	keyEndpoint  = attribute.Key("molar.endpoint")
	keyPass      = attribute.Key("molar.pass")
	keyTurn      = attribute.Key("molar.turn.id")
	keyOutcome   = attribute.Key("molar.turn.outcome")
	keyServer    = attribute.Key("molar.mcp.server")
	keyRequestID = attribute.Key("molar.request.id")
)

// The values of gen_ai.operation.name.
const (
	opInvokeAgent = "invoke_agent"
	opChat        = "chat"
	opExecuteTool = "execute_tool"
)

// transportName returns the name of an MCP transport in the conventions; empty for a transport
// without a network or a pipe.
func transportName(kind string) string {
	switch kind {
	case "stdio":
		return "pipe"
	case "in-process", "":
		return ""
	}
	return "tcp"
}
