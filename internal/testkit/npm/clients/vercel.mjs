// The Vercel AI SDK with its provider for compatible servers, with its defaults: it
// retries twice, and does not read x-should-retry.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from "ai";
import { answer, cases, check, equal, fails, mismatch, url, weather } from "./check.mjs";

const provider = createOpenAICompatible({ name: "molar", baseURL: url + "/v1", includeUsage: true, supportsStructuredOutputs: true });
const ask = (prompt, more) => ({ model: provider("all"), prompt, ...more });
const tools = {
  get_weather: tool({ description: weather.description, inputSchema: jsonSchema(weather.parameters), execute: async () => "sunny" }),
};
const loop = { tools, stopWhen: isStepCount(3) };

// read gathers a stream, and throws what comes in it as an error.
async function read(body) {
  const result = streamText({ ...body, onError() {} });
  let text = "";
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") text += part.text ?? part.delta ?? "";
  }
  return { text, finishReason: await result.finishReason, usage: await result.usage, steps: await result.steps };
}

await check({
  async whole() {
    const r = await generateText(ask("plain"));
    equal(r.text, "Hello from the model.", "text");
    equal(r.finishReason, "stop", "finish");
  },
  async stream() {
    const r = await read(ask("plain"));
    equal(r.text, "Hello from the model.", "text");
    equal(r.finishReason, "stop", "finish");
  },
  async usage() {
    const r = await read(ask("plain"));
    equal(r.usage.totalTokens > 0, true, "usage");
  },
  async serverTool() {
    const r = await read(ask("book for serverTool", loop));
    equal(r.text, "It is booked.", "text");
    equal(r.steps.length, 1, "steps");
  },
  async clientTool() {
    equal((await generateText(ask("weather", loop))).text, "It is sunny.", "whole");
    equal((await read(ask("weather", loop))).text, "It is sunny.", "stream");
  },
  async mixedTools() {
    equal((await read(ask("both for mixedTools", loop))).text, "It is sunny and booked.", "text");
  },
  async typedError() {
    await fails(() => generateText({ ...ask("plain"), model: provider("nobody") }), /no assistant/, "unknown model");
  },
  async faultAfterTool() {
    await fails(() => generateText(ask("fault for faultAfterTool")), /a tool had already run/, "fault");
  },
  async faultAfterToolStream() {
    await fails(() => read(ask("fault for faultAfterToolStream")), /a tool had already run/, "fault");
  },
  async parse() {
    const output = Output.object({ schema: jsonSchema(answer) });
    equal((await generateText(ask("json", { output }))).output.n, 7, "number");
    equal((await generateText(ask("prose first", { output }))).output.n, 7, "number after prose");
    const result = streamText({ ...ask("json", { output }), onError() {} });
    equal((await result.output).n, 7, "number of a stream");
    await fails(() => generateText(ask("prose always", { output, maxRetries: 0 })), mismatch, "prose");
  },
  async abort() {
    const stop = new AbortController();
    const result = streamText({ ...ask("slow"), abortSignal: stop.signal, onError() {} });
    for await (const part of result.fullStream) {
      if (part.type === "text-delta") stop.abort();
    }
  },
}, [...cases, "parse"]);
