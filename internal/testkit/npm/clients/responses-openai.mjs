// The official client over the Responses API, with its defaults.
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { answer, check, equal, fails, mismatch, url, weather } from "./check.mjs";
import { cases } from "./responses.mjs";

const client = new OpenAI({ baseURL: url + "/v1", apiKey: "none" });
const ask = (input, more) => ({ model: "all", input, ...more });
const tools = [{ type: "function", strict: false, ...weather }];

// decide answers the request for approval of a response.
async function decide(question, approve) {
  const first = await client.responses.create(ask(question));
  const wanted = first.output.at(-1);
  equal(wanted.type, "mcp_approval_request", "item");
  equal(wanted.server_label, "guarded", "server");
  const second = await client.responses.create(ask(
    [{ type: "mcp_approval_response", approval_request_id: wanted.id, approve }], { previous_response_id: first.id }));
  equal(second.output[0].type, "mcp_call", "call");
  equal(second.output[0].approval_request_id, wanted.id, "request");
  return second;
}

async function until(id, status) {
  for (let i = 0; i < 200; i++) {
    const r = await client.responses.retrieve(id);
    if (r.status === status) return r;
    await new Promise((next) => setTimeout(next, 25));
  }
  throw new Error(`${id} never was ${status}`);
}

await check({
  async whole() {
    const r = await client.responses.create(ask("plain"));
    equal(r.output_text, "Hello from the model.", "text");
    equal(r.status, "completed", "status");
  },
  async stream() {
    const stream = client.responses.stream(ask("plain"));
    let text = "";
    for await (const ev of stream) if (ev.type === "response.output_text.delta") text += ev.delta;
    equal(text, "Hello from the model.", "deltas");
    equal((await stream.finalResponse()).output_text, text, "final");
  },
  async hosted() {
    const stream = client.responses.stream(ask("book for hosted"));
    const r = await stream.finalResponse();
    equal(r.output.find((it) => it.type === "mcp_call")?.output, "booked hosted", "call");
    equal(r.output_text, "It is booked.", "text");
  },
  async approval() {
    equal((await decide("guard for approval", true)).output_text, "It is done.", "text");
  },
  async refusal() {
    const r = await decide("guard for refusal", false);
    equal(r.output[0].status, "failed", "status");
  },
  async search() {
    const more = { tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }, { type: "code_interpreter", container: { type: "auto" } }], include: ["file_search_call.results"] };
    const stream = client.responses.stream(ask("leave", more));
    const r = await stream.finalResponse();
    equal(r.output.map((it) => it.type).join(), "file_search_call,message", "items");
    equal(r.output[0].queries[0], "How long is the parental leave?", "query");
    equal(r.output[0].results[0].filename, "leave.md", "file");
    equal(r.output_text, "30 days.\n\nSources:\n\n1. Parental leave (leave.md)", "text");
    equal(/code_interpreter/.test(r.molar.warnings.join()), true, "warning");
    await fails(() => client.responses.create(ask("leave", { ...more, tool_choice: { type: "code_interpreter" } })), /400.*no call of a tool of type/, "forced");
    equal((await client.responses.inputTokens.count({ model: "all", input: "0123" })).input_tokens, 1, "tokens");
  },
  async clientTool() {
    const first = await client.responses.create(ask("weather", { tools }));
    const call = first.output.find((it) => it.type === "function_call");
    equal(JSON.parse(call.arguments).city, "Hanoi", "argument");
    const second = await client.responses.create(ask(
      [{ type: "function_call_output", call_id: call.call_id, output: "sunny" }], { tools, previous_response_id: first.id }));
    equal(second.output_text, "It is sunny.", "text");
  },
  async continuation() {
    const first = await client.responses.create(ask("remember blue"));
    const second = await client.responses.create(ask("recall", { previous_response_id: first.id }));
    equal(second.output_text, "You said blue.", "text");
    await client.responses.create(ask("remember red", { previous_response_id: first.id }));
    const branch = await client.responses.create(ask("recall", { previous_response_id: first.id }));
    equal(branch.output_text, "You said blue.", "a branch beside it");
    const items = await client.responses.inputItems.list(second.id);
    equal(items.data[0].content[0].text, "recall", "input items");
    await client.responses.delete(first.id);
    await fails(() => client.responses.create(ask("recall", { previous_response_id: first.id })), /previous_response_not_found/, "deleted");
  },
  async abort() {
    const stop = new AbortController();
    const stream = await client.responses.create(ask("slow", { stream: true }), { signal: stop.signal });
    for await (const ev of stream) if (ev.type === "response.output_text.delta") stop.abort();
  },
  async retry() {
    await fails(() => client.responses.create(ask("fault for retry")), /a tool had already run/, "fault");
  },
  async retryStream() {
    await fails(() => client.responses.stream(ask("fault for retryStream")).finalResponse(), /a tool had already run/, "fault");
  },
  async key() {
    const options = { headers: { "Idempotency-Key": "once" } };
    const first = await client.responses.create(ask("book for key"), options);
    const again = await client.responses.create(ask("book for key"), options);
    equal(again.id, first.id, "the same response");
    equal(again.output_text, "It is booked.", "text");
    await fails(() => client.responses.create(ask("plain"), options), /422.*idempotency_key_reused/s, "another body");
  },
  async conversation() {
    const conversation = await client.conversations.create({ metadata: { a: "b" } });
    await client.responses.create(ask("remember blue", { conversation: conversation.id }));
    const r = await client.responses.create(ask("recall", { conversation: { id: conversation.id } }));
    equal(r.output_text, "You said blue.", "text");
    equal(r.conversation.id, conversation.id, "conversation");
    const items = [];
    for await (const item of client.conversations.items.list(conversation.id, { order: "asc", limit: 2 })) items.push(item.content[0].text);
    equal(items.join(), "remember blue,I will.,recall,You said blue.", "items");
    equal((await client.conversations.update(conversation.id, { metadata: { a: "c" } })).metadata.a, "c", "updated");
    equal((await client.conversations.retrieve(conversation.id)).metadata.a, "c", "retrieved");
    equal((await client.conversations.delete(conversation.id)).deleted, true, "deleted");
    await fails(() => client.responses.retrieve(r.id), /404/, "its response");
    const empty = await client.conversations.create();
    equal((await client.conversations.delete(empty.id)).deleted, true, "an empty one");
    await fails(() => client.conversations.retrieve(empty.id), /404/, "an empty one that was deleted");
  },
  async compact() {
    const c = await client.responses.compact({ model: "all", input: [
      { role: "user", content: "remember blue" }, { role: "assistant", content: "I will." }] });
    const r = await client.responses.create(ask([...c.output, { role: "user", content: "recall" }]));
    equal(r.output_text, "You said blue.", "text");
  },
  async socket() {
    const ws = new ResponsesWS(client);
    const turn = (body) => new Promise((done, failed) => {
      const told = (ev) => { if (ev.type === "response.completed") { ws.off("event", told); done(ev.response); } };
      ws.on("event", told);
      ws.once("error", failed);
      ws.send({ type: "response.create", model: "all", store: false, ...body });
    });
    const first = await turn({ input: "remember blue" });
    const second = await turn({ input: "recall", previous_response_id: first.id });
    equal(second.output[0].content[0].text, "You said blue.", "text");
    ws.close();
  },
  async parse() {
    const text = { format: { type: "json_schema", name: "answer", schema: answer, strict: true } };
    const r = await client.responses.parse(ask("json", { text }));
    equal(r.output_parsed.n, 7, "number");
    equal(JSON.stringify(r.text.format.schema), JSON.stringify(answer), "schema");
    equal((await client.responses.parse(ask("prose first", { text }))).output_parsed.n, 7, "number after prose");
    const once = { maxRetries: 0 };
    await fails(() => client.responses.parse(ask("prose always", { text }), once), mismatch, "prose");
    await fails(() => client.responses.stream(ask("prose always", { text }), once).finalResponse(), mismatch, "prose of a stream");
  },
  async background() {
    const r = await client.responses.create(ask("plain", { background: true }));
    equal((await until(r.id, "completed")).output_text, "Hello from the model.", "text");
    const seen = [];
    for await (const ev of await client.responses.retrieve(r.id, { stream: true, starting_after: 2 })) seen.push(ev);
    equal(seen[0].sequence_number, 3, "first event");
    equal(seen.at(-1).type, "response.completed", "last event");
  },
  async cancel() {
    const r = await client.responses.create(ask("slow", { background: true }));
    equal((await client.responses.cancel(r.id)).status, "cancelled", "status");
  },
}, [...cases, "parse", "key", "conversation", "compact", "socket", "background", "cancel", "search"]);
