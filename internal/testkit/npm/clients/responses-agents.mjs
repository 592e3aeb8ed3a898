// OpenAI's Agents SDK, which speaks the Responses API unless it is told otherwise.
import { Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { check, equal, fails, url, weather } from "./check.mjs";
import { cases } from "./responses.mjs";

setTracingDisabled(true);
const client = new OpenAI({ baseURL: url + "/v1", apiKey: "none" });
const getWeather = tool({ ...weather, strict: false, execute: async () => "sunny" });
const agent = (more) => new Agent({ name: "a", model: new OpenAIResponsesModel(client, "all"), ...more });
const runner = new Runner();

async function decide(question, approve) {
  const first = await client.responses.create({ model: "all", input: question });
  const wanted = first.output.at(-1);
  return runner.run(agent(), [{ type: "hosted_tool_call", name: "mcp_approval_response",
    providerData: { type: "mcp_approval_response", approval_request_id: wanted.id, approve } }], { previousResponseId: first.id });
}

await check({
  async whole() {
    equal((await runner.run(agent(), "plain")).finalOutput, "Hello from the model.", "text");
  },
  async stream() {
    const r = await runner.run(agent(), "plain", { stream: true });
    let text = "";
    for await (const piece of r.toTextStream()) text += piece;
    await r.completed;
    equal(text, "Hello from the model.", "text");
  },
  async hosted() {
    const r = await runner.run(agent(), "book for hosted");
    equal(r.finalOutput, "It is booked.", "text");
    const call = r.newItems.find((it) => it.rawItem?.type === "hosted_tool_call");
    equal(call?.rawItem?.output ?? call?.rawItem?.providerData?.output, "booked hosted", "call");
  },
  async approval() {
    equal((await decide("guard for approval", true)).finalOutput, "It is done.", "text");
  },
  async refusal() {
    equal((await decide("guard for refusal", false)).finalOutput, "It is done.", "text");
  },
  async clientTool() {
    equal((await runner.run(agent({ tools: [getWeather] }), "weather")).finalOutput, "It is sunny.", "text");
  },
  async continuation() {
    const first = await runner.run(agent(), "remember blue");
    const second = await runner.run(agent(), "recall", { previousResponseId: first.lastResponseId });
    equal(second.finalOutput, "You said blue.", "by the response");
    const third = await runner.run(agent(), [...first.history, { role: "user", content: "recall" }]);
    equal(third.finalOutput, "You said blue.", "by its items");
  },
  async session() {
    const session = new OpenAIConversationsSession({ client });
    equal((await runner.run(agent(), "remember blue", { session })).finalOutput, "I will.", "first answer");
    equal((await runner.run(agent(), "recall", { session })).finalOutput, "You said blue.", "second answer");
    equal((await runner.run(agent({ tools: [getWeather] }), "weather", { session })).finalOutput, "It is sunny.", "an answer with a tool");
    const kinds = (await session.getItems()).map((it) => it.role ?? it.type);
    equal(kinds.join(), "user,assistant,user,assistant,user,function_call,function_call_result,assistant", "items");
    equal((await session.getItems(2)).map((it) => it.role ?? it.type).join(), "function_call_result,assistant", "the newest items");
    equal((await session.popItem()).content[0].text, "It is sunny.", "the item that was taken back");
    equal((await session.getItems()).length, 7, "items after that");
    for (let n = 7; n > 4; n--) await session.popItem();
    const streamed = await runner.run(agent(), "plain", { session, stream: true });
    for await (const piece of streamed.toTextStream()) void piece;
    await streamed.completed;
    equal((await session.getItems()).length, 6, "items with a streamed answer");
    // The host itself can go on with it, too.
    const r = await client.responses.create({ model: "all", input: "recall", conversation: await session.getSessionId() });
    equal(r.output_text, "You said blue.", "by the conversation");
    await session.clearSession();
    equal((await session.getItems()).length, 0, "items of a new session");
  },
  async retry() {
    await fails(() => runner.run(agent(), "fault for retry"), /a tool had already run/, "fault");
  },
  async retryStream() {
    await fails(async () => {
      const r = await runner.run(agent(), "fault for retryStream", { stream: true });
      for await (const piece of r.toTextStream()) void piece;
      await r.completed;
    }, /a tool had already run/, "fault");
  },
  async abort() {
    const stop = new AbortController();
    try {
      const r = await runner.run(agent(), "slow", { stream: true, signal: stop.signal });
      for await (const piece of r.toTextStream()) if (piece) stop.abort();
    } catch (err) {
      if (!stop.signal.aborted) throw err;
    }
  },
}, [...cases, "session"]);
