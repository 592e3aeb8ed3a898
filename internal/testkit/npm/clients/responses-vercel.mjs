// The Vercel AI SDK with its default provider, which speaks the Responses API.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { check, equal, fails, url, weather } from "./check.mjs";
import { cases } from "./responses.mjs";

const openai = createOpenAI({ baseURL: url + "/v1", apiKey: "none" });
const ask = (prompt, more) => ({ model: openai("all"), prompt, ...more });
const tools = {
  get_weather: tool({ description: weather.description, inputSchema: jsonSchema(weather.parameters), execute: async () => "sunny" }),
};
const loop = { tools, stopWhen: isStepCount(3) };

async function read(body) {
  const result = streamText({ ...body, onError() {} });
  let text = "";
  const parts = [];
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") text += part.text ?? part.delta ?? "";
    parts.push(part);
  }
  return { text, parts, finishReason: await result.finishReason, response: await result.response };
}

// decide answers the approval that the model's call waits for.
async function decide(question, approved) {
  const messages = [{ role: "user", content: question }];
  const first = await generateText({ model: openai("all"), messages });
  const wanted = first.content.find((part) => part.type === "tool-approval-request");
  if (!wanted) throw new Error(`no request for approval: ${JSON.stringify(first.content)}`);
  messages.push(...first.response.messages,
    { role: "tool", content: [{ type: "tool-approval-response", approvalId: wanted.approvalId, approved, providerExecuted: true }] });
  return generateText({ model: openai("all"), messages });
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
  async hosted() {
    const r = await read(ask("book for hosted"));
    equal(r.text, "It is booked.", "text");
    equal(r.parts.find((p) => p.type === "tool-result")?.output?.output, "booked hosted", "call");
  },
  async approval() {
    equal((await decide("guard for approval", true)).text, "It is done.", "text");
  },
  async refusal() {
    equal((await decide("guard for refusal", false)).text, "It is done.", "text");
  },
  async clientTool() {
    equal((await generateText(ask("weather", loop))).text, "It is sunny.", "whole");
    equal((await read(ask("weather", loop))).text, "It is sunny.", "stream");
  },
  async continuation() {
    const messages = [{ role: "user", content: "remember blue" }];
    const first = await generateText({ model: openai("all"), messages });
    messages.push(...first.response.messages, { role: "user", content: "recall" });
    equal((await generateText({ model: openai("all"), messages })).text, "You said blue.", "by references");
    const id = first.providerMetadata.openai.responseId;
    const second = await generateText(ask("recall", { providerOptions: { openai: { previousResponseId: id } } }));
    equal(second.text, "You said blue.", "by the response");
  },
  async retry() {
    await fails(() => generateText(ask("fault for retry")), /a tool had already run/, "fault");
  },
  async retryStream() {
    await fails(() => read(ask("fault for retryStream")), /a tool had already run/, "fault");
  },
  async abort() {
    const stop = new AbortController();
    const result = streamText({ ...ask("slow"), abortSignal: stop.signal, onError() {} });
    for await (const part of result.fullStream) if (part.type === "text-delta") stop.abort();
  },
}, cases);
