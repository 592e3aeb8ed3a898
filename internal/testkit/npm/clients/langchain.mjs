// LangChain, with its defaults: it retries up to six times.
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { check, equal, fails, url, weather } from "./check.mjs";

const model = (more) => new ChatOpenAI({ model: "all", apiKey: "none", configuration: { baseURL: url + "/v1" }, ...more });
const ask = (text) => [new HumanMessage(text)];
const tools = [{ type: "function", function: weather }];

// read joins the chunks of a stream.
async function read(m, messages) {
  let all;
  for await (const chunk of await m.stream(messages)) all = all ? all.concat(chunk) : chunk;
  return all;
}

const whole = (m, messages) => m.invoke(messages);

// roundTrip calls the client's tool and sends its result.
async function roundTrip(question, run) {
  const m = model().bindTools(tools);
  const messages = ask(question);
  const first = await run(m, messages);
  equal(first.tool_calls.length, 1, "calls");
  equal(first.tool_calls[0].name, "get_weather", "name");
  equal(first.tool_calls[0].args.city, "Hanoi", "argument");
  messages.push(first, new ToolMessage({ content: "sunny", tool_call_id: first.tool_calls[0].id }));
  return (await run(m, messages)).text;
}

await check({
  async whole() {
    const r = await whole(model(), ask("plain"));
    equal(r.text, "Hello from the model.", "text");
    equal(r.response_metadata.finish_reason, "stop", "finish");
  },
  async stream() {
    const r = await read(model(), ask("plain"));
    equal(r.text, "Hello from the model.", "text");
    equal(r.response_metadata.finish_reason, "stop", "finish");
  },
  async usage() {
    equal((await read(model(), ask("plain"))).usage_metadata.total_tokens > 0, true, "usage");
  },
  async serverTool() {
    const r = await read(model().bindTools(tools), ask("book for serverTool"));
    equal(r.text, "It is booked.", "text");
    equal(r.tool_calls.length, 0, "calls");
  },
  async clientTool() {
    equal(await roundTrip("weather", whole), "It is sunny.", "whole");
    equal(await roundTrip("weather", read), "It is sunny.", "stream");
  },
  async mixedTools() {
    equal(await roundTrip("both for mixedTools", read), "It is sunny and booked.", "text");
  },
  async typedError() {
    await fails(() => whole(model({ model: "nobody" }), ask("plain")), /404/, "unknown model");
  },
  async faultAfterTool() {
    await fails(() => whole(model(), ask("fault for faultAfterTool")), /a tool had already run/, "fault");
  },
  async faultAfterToolStream() {
    await fails(() => read(model(), ask("fault for faultAfterToolStream")), /a tool had already run/, "fault");
  },
  async abort() {
    const stop = new AbortController();
    try {
      for await (const chunk of await model().stream(ask("slow"), { signal: stop.signal })) if (chunk.text) stop.abort();
    } catch (err) {
      if (!/abort/i.test(String(err))) throw err;
    }
  },
});
