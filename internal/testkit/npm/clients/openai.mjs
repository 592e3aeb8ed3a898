// The official client, with its defaults: it retries twice.
import OpenAI from "openai";
import { answer, cases, check, equal, fails, mismatch, url, weather } from "./check.mjs";

const client = new OpenAI({ baseURL: url + "/v1", apiKey: "none" });
const ask = (content, more) => ({ model: "all", messages: [{ role: "user", content }], ...more });
const tools = [{ type: "function", function: weather }];

// read gathers a stream by the client's own helper, which is strict.
async function read(body) {
  return client.chat.completions.stream(body).finalChatCompletion();
}

// roundTrip calls the client's tool and sends its result.
async function roundTrip(question, run) {
  const body = ask(question, { tools });
  const first = await run(body);
  equal(first.choices[0].finish_reason, "tool_calls", "finish");
  const message = first.choices[0].message;
  equal(message.tool_calls.length, 1, "calls");
  equal(message.tool_calls[0].function.name, "get_weather", "name");
  equal(JSON.parse(message.tool_calls[0].function.arguments).city, "Hanoi", "argument");
  body.messages = [...body.messages, message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny" }];
  const second = await run(body);
  equal(second.choices[0].finish_reason, "stop", "finish after the result");
  return second.choices[0].message.content;
}

const format = { response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema: answer } } };
const once = new OpenAI({ baseURL: url + "/v1", apiKey: "none", maxRetries: 0 });

const whole = (body) => client.chat.completions.create(body);

await check({
  async whole() {
    const c = await whole(ask("plain"));
    equal(c.choices[0].message.content, "Hello from the model.", "content");
    equal(c.choices[0].finish_reason, "stop", "finish");
    equal(c.usage.total_tokens, c.usage.prompt_tokens + c.usage.completion_tokens, "usage");
  },
  async stream() {
    equal((await read(ask("plain"))).choices[0].message.content, "Hello from the model.", "content");
  },
  async usage() {
    const stream = await client.chat.completions.create(ask("plain", { stream: true, stream_options: { include_usage: true } }));
    let seen = 0;
    for await (const chunk of stream) if (chunk.usage) seen++;
    equal(seen, 1, "chunks with usage");
  },
  async serverTool() {
    const c = await read(ask("book for serverTool", { tools }));
    equal(c.choices[0].message.content, "It is booked.", "content");
    equal(c.choices[0].message.tool_calls, undefined, "calls");
  },
  async clientTool() {
    equal(await roundTrip("weather", whole), "It is sunny.", "whole");
    equal(await roundTrip("weather", read), "It is sunny.", "stream");
  },
  async mixedTools() {
    equal(await roundTrip("both for mixedTools", read), "It is sunny and booked.", "content");
  },
  async typedError() {
    await fails(() => whole({ ...ask("plain"), model: "nobody" }), /NotFoundError|404.*model_not_found/s, "unknown model");
    await fails(() => whole(ask("plain", { n: 2 })), /400/, "n");
  },
  async faultAfterTool() {
    await fails(() => whole(ask("fault for faultAfterTool")), /a tool had already run/, "fault");
  },
  async faultAfterToolStream() {
    await fails(() => read(ask("fault for faultAfterToolStream")), /a tool had already run/, "fault");
  },
  async parse() {
    const c = await client.chat.completions.parse(ask("json", format));
    equal(c.choices[0].message.parsed.n, 7, "number");
    equal((await read(ask("json", format))).choices[0].message.parsed.n, 7, "number of a stream");
    equal((await client.chat.completions.parse(ask("prose first", format))).choices[0].message.parsed.n, 7, "number after prose");
    await fails(() => once.chat.completions.parse(ask("prose always", format)), mismatch, "prose");
    await fails(() => once.chat.completions.stream(ask("prose always", format)).finalChatCompletion(), mismatch, "prose of a stream");
  },
  async abort() {
    const stream = await client.chat.completions.create(ask("slow", { stream: true }));
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
  },
}, [...cases, "parse"]);
