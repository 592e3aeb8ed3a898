// LangChain over the Responses API.
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { check, equal, fails, url, weather } from "./check.mjs";
import { cases } from "./responses.mjs";

const model = (more) => new ChatOpenAI({ model: "all", apiKey: "none", useResponsesApi: true, configuration: { baseURL: url + "/v1" }, ...more });
const ask = (text) => [new HumanMessage(text)];
const tools = [{ type: "function", function: weather }];

async function read(m, messages) {
  let all;
  for await (const chunk of await m.stream(messages)) all = all ? all.concat(chunk) : chunk;
  return all;
}

async function decide(question, approve) {
  const first = await model().invoke(ask(question));
  const wanted = first.additional_kwargs.tool_outputs?.find((it) => it.type === "mcp_approval_request");
  if (!wanted) throw new Error(`no request for approval: ${JSON.stringify(first)}`);
  return model().invoke([new HumanMessage({ content: [{ type: "mcp_approval_response", approval_request_id: wanted.id, approve }] })],
    { previous_response_id: first.response_metadata.id });
}

await check({
  async whole() {
    equal((await model().invoke(ask("plain"))).text, "Hello from the model.", "text");
  },
  async stream() {
    equal((await read(model(), ask("plain"))).text, "Hello from the model.", "text");
  },
  async hosted() {
    const r = await model().invoke(ask("book for hosted"));
    equal(r.text, "It is booked.", "text");
    equal(r.additional_kwargs.tool_outputs?.[0]?.output, "booked hosted", "call");
  },
  async approval() {
    equal((await decide("guard for approval", true)).text, "It is done.", "text");
  },
  async refusal() {
    equal((await decide("guard for refusal", false)).text, "It is done.", "text");
  },
  async clientTool() {
    const m = model().bindTools(tools);
    const messages = ask("weather");
    const first = await m.invoke(messages);
    equal(first.tool_calls[0].args.city, "Hanoi", "argument");
    messages.push(first, new ToolMessage({ content: "sunny", tool_call_id: first.tool_calls[0].id }));
    equal((await m.invoke(messages)).text, "It is sunny.", "text");
  },
  async continuation() {
    const first = await model().invoke(ask("remember blue"));
    const second = await model().invoke([...ask("remember blue"), first, new HumanMessage("recall")]);
    equal(second.text, "You said blue.", "by its messages");
    const third = await model().invoke(ask("recall"), { previous_response_id: first.response_metadata.id });
    equal(third.text, "You said blue.", "by the response");
  },
  async retry() {
    await fails(() => model().invoke(ask("fault for retry")), /a tool had already run/, "fault");
  },
  async retryStream() {
    await fails(() => read(model(), ask("fault for retryStream")), /a tool had already run/, "fault");
  },
  async abort() {
    const stop = new AbortController();
    try {
      for await (const chunk of await model().stream(ask("slow"), { signal: stop.signal })) if (chunk.text) stop.abort();
    } catch (err) {
      if (!stop.signal.aborted) throw err;
    }
  },
}, cases);
