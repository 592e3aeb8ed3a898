// The parts of a trace: the summary of a turn, where its time went, why each tool was called or not,
// and what the model was told. The trace page shows all of them, and the desk those that explain an
// answer.

import { el, number, sourceList, t, when } from "/static/app.js";
import { badge, code, duration, facts, fold, note, outcome, pretty, table } from "/static/pages.js";
import { reason } from "/static/reasons.js";
import { callsOf, offer, statuses, timesOf, tokens, untracedText } from "/static/trace.js";

const steps = {
  guardrail: t("Guardrail", "Kiểm tra chủ đề"), memory: t("Memory", "Bộ nhớ"), search: t("Search", "Tìm kiếm"),
  queries: t("Waiting for other words", "Chờ cách hỏi khác"),
  answer: t("Answer", "Trả lời"), save: t("Save", "Lưu"),
};

const passes = {
  guardrail: t("Guardrail’s model", "Mô hình kiểm tra"), language: t("Language", "Ngôn ngữ"), queries: t("The question in other words", "Câu hỏi bằng lời khác"), tool: t("Model, with tools", "Mô hình, có công cụ"),
  answer: t("Model, answer", "Mô hình, trả lời"), summary: t("Summary", "Tóm tắt"),
};

// --- the summary -----------------------------------------------------------------------------

function summary(trace) {
  const [kind, words] = statuses[trace.status] ?? ["", trace.status];
  const model = [trace.done?.provider || trace.provider, trace.done?.model || trace.model].filter(Boolean).join(" · ");
  return el("section", { className: "card summary", "aria-label": t("Summary", "Tóm tắt") },
    el("p", { className: "asked" }, trace.question || t("The question is not kept.", "Câu hỏi không được lưu.")),
    el("div", { className: "row" }, badge(words, kind), trace.took_ms ? badge(duration(trace.took_ms)) : "",
      trace.conversation_id ? el("a", { href: `/#${encodeURIComponent(trace.conversation_id)}` }, t("Open the conversation", "Mở cuộc trò chuyện")) : ""),
    trace.error ? note(reason(trace.error), "bad") : "",
    trace.untraced ? note(untracedText(trace)) : "",
    facts([
      [t("Assistant", "Trợ lý"), trace.assistant],
      [t("Model", "Mô hình"), model],
      [t("Chosen because", "Được chọn vì"), reason(trace.route)],
      [t("Language", "Ngôn ngữ"), trace.language || trace.done?.language],
      [t("When", "Lúc"), when(trace.started)],
      [t("Memory", "Bộ nhớ"), reason(trace.memory)],
      [t("Tokens", "Token"), trace.done ? tokens(trace.done.usage) : ""],
      [t("Time", "Thời gian"), timesOf(trace)],
      [t("Turn", "Lượt"), el("code", {}, trace.turn_id)],
    ]),
    el("ul", { className: "gist" }, gist(trace).map((line) => el("li", {}, line))));
}

// gist summarises the turn in a few sentences.
function gist(trace) {
  const lines = [];
  const list = trace.tools ?? [];
  const called = callsOf(trace).length;
  const offered = list.filter((tool) => tool.offered).length;
  const withheld = list.filter((tool) => !tool.offered && !tool.calls?.length).length;
  if (trace.status !== "refused" && !trace.untraced) {
    lines.push(t(`Calls of tools: ${called}. Tools offered to the model: ${offered}, not offered: ${withheld}.`, `Số lần gọi công cụ: ${called}. Công cụ được đưa cho mô hình: ${offered}, không được đưa: ${withheld}.`));
  }
  for (const warning of trace.done?.warnings ?? []) lines.push(`⚠ ${reason(warning)}`);
  if (trace.done && !trace.done.saved && trace.status !== "refused") lines.push(t("The turn is not saved.", "Lượt này không được lưu."));
  return lines;
}

// --- time -------------------------------------------------------------------------------------

// spans returns the steps, the model passes and the calls of a turn, by the time of their start.
function spans(trace) {
  const began = Date.parse(trace.started);
  const list = [
    ...(trace.steps ?? []).map((s) => ({ kind: "for-step", name: steps[s.step] ?? s.step, from: s.start_ms, of: s.took_ms })),
    ...(trace.passes ?? []).map((p) => ({ kind: "for-model", name: passes[p.pass] ?? p.pass, from: p.start_ms, of: p.took_ms, bad: Boolean(p.error) })),
    ...callsOf(trace).map((c) => ({ kind: "for-tool", name: c.tool || c.name, from: Math.max(0, Date.parse(c.at) - began - c.took_ms), of: c.took_ms, bad: c.status !== "ok" })),
  ];
  const rank = { "for-step": 0, "for-model": 1, "for-tool": 2 };
  return list.sort((a, b) => (a.from ?? 0) - (b.from ?? 0) || rank[a.kind] - rank[b.kind]);
}

function waterfall(trace) {
  const list = spans(trace);
  if (list.length === 0) return "";
  const end = Math.max(trace.took_ms, ...list.map((s) => (s.from ?? 0) + s.of), 0.001);
  const rows = list.map((s) => {
    const bar = el("span", {});
    bar.style.setProperty("--from", String((100 * (s.from ?? 0)) / end));
    bar.style.setProperty("--of", String((100 * s.of) / end));
    return el("li", { className: `${s.kind}${s.bad ? " wrong" : ""}` },
      el("span", { className: `what${s.kind === "for-step" ? "" : " nested"}`, title: s.name }, s.name),
      el("span", { className: "lane", "aria-hidden": "true" }, bar),
      el("span", { className: "time" }, duration(s.of)));
  });
  return section(t("Where the time went", "Thời gian đi đâu"),
    el("ul", { className: "key" },
      el("li", {}, t("step of the turn", "bước của lượt")), el("li", { className: "for-model" }, t("model", "mô hình")), el("li", { className: "for-tool" }, t("tool", "công cụ"))),
    el("ol", { className: "card fall" }, rows));
}

// --- tools ------------------------------------------------------------------------------------

function whyTools(trace) {
  const list = trace.tools ?? [];
  const rank = (tool) => (tool.calls?.length ? 0 : tool.offered ? 1 : 2);
  const sorted = [...list].sort((a, b) => rank(a) - rank(b));
  const [called, rest] = [sorted.filter((tool) => tool.calls?.length), sorted.filter((tool) => !tool.calls?.length)];
  const nothing = trace.status === "refused"
    ? t("The question was refused before any tool was offered.", "Câu hỏi bị từ chối trước khi đưa công cụ nào.")
    : t("No tool was there for this turn. Attach a server, or let the assistant use its tools.", "Lượt này không có công cụ nào. Hãy gắn máy chủ, hoặc cho trợ lý dùng công cụ.");
  return section(t("Why each tool was called, or not", "Vì sao mỗi công cụ được gọi, hoặc không"),
    list.length === 0 ? el("p", { className: "none" }, nothing) : "",
    ...called.map((tool) => el("article", { className: "card why" },
      el("div", { className: "row" }, el("span", { className: "name" }, tool.name), badge(...offer(tool))),
      el("p", {}, reason(tool.reason)),
      ...tool.calls.map(callDetails))),
    rest.length ? table(t("Tools that were not called", "Các công cụ không được gọi"),
      [t("Tool", "Công cụ"), t("Was it offered?", "Có được đưa không?"), t("Reason", "Lý do")],
      rest.map((tool) => [el("code", {}, tool.name), badge(...offer(tool)), reason(tool.reason)])) : "");
}

function callDetails(call) {
  const head = [call.status === "ok" ? t("Call", "Lần gọi") : t(`Call: ${outcome(call.status)[0]}`, `Lần gọi: ${outcome(call.status)[0]}`), call.server, duration(call.took_ms), call.waited_ms && t(`${duration(call.waited_ms)} waiting for a person`, `${duration(call.waited_ms)} chờ người duyệt`),
    call.decided_by && (call.status === "refused" ? t(`refused by ${call.decided_by}`, `${call.decided_by} đã từ chối`) : t(`approved by ${call.decided_by}`, `${call.decided_by} đã chấp thuận`))];
  return fold(head.filter(Boolean).join(" · "),
    el("p", { className: "quiet" }, t("Arguments", "Tham số")), code(pretty(call.arguments || "{}"), t("Arguments", "Tham số")),
    el("p", { className: "quiet" }, t("Output", "Kết quả")), code(pretty(call.output || ""), t("Output", "Kết quả")));
}

// --- verdict and model ------------------------------------------------------------------------

function verdict(trace) {
  const v = trace.verdict;
  if (!v) return "";
  const by = { code: t("rules in code", "luật trong mã"), model: t("the guardrail’s model", "mô hình kiểm tra"), policy: t("the policy for failures", "chính sách khi lỗi") };
  return section(t("The guardrail’s verdict", "Phán quyết của bộ kiểm tra"),
    el("div", { className: "card pad" },
      el("div", { className: "row" }, v.pass ? badge(t("passed", "cho qua"), "good") : badge(t("refused", "từ chối"), "warn"), badge(duration(v.took_ms)), v.cached ? badge(t("remembered", "đã nhớ")) : ""),
      facts([
        [t("Decided by", "Quyết định bởi"), by[v.by] ?? v.by],
        [t("Reason", "Lý do"), reason(v.reason)],
        [t("Score of the code", "Điểm của mã"), number(v.score ?? 0, 2)],
      ])));
}

function model(trace) {
  if (!trace.passes?.length) return "";
  return section(t("What the model was told, and said", "Mô hình được bảo gì và nói gì"), ...trace.passes.map((p) =>
    el("article", { className: "card pass" },
      el("div", { className: "row" }, el("h3", {}, passes[p.pass] ?? p.pass), p.model ? el("code", {}, p.model) : "", badge(duration(p.took_ms)), p.error ? badge(t("failed", "thất bại"), "bad") : ""),
      facts([
        [t("First output", "Đầu ra đầu tiên"), p.first_output_ms ? duration(p.first_output_ms) : ""],
        [t("Tools offered", "Công cụ được đưa"), number(p.tools_offered)],
        [t("Tokens", "Token"), p.usage?.total_tokens ? tokens(p.usage) : ""],
        [t("Ended with", "Kết thúc vì"), p.finish_reason],
      ]),
      p.error ? note(p.error, "bad") : "",
      part(t("Note of the provider", "Ghi chú của nhà cung cấp"), p.note),
      part(t("Prompt", "Lời nhắc"), p.prompt),
      part(t("Thinking", "Suy nghĩ"), p.thinking),
      part(t("Raw output", "Đầu ra thô"), p.output),
      p.calls?.length ? part(t("Calls it asked for", "Các lời gọi mô hình yêu cầu"), p.calls.map((c) => `${c.function.name} ${c.function.arguments}`).join("\n")) : "")));
}

const part = (name, text) => (text ? fold(name, code(text, name)) : "");

function answer(trace) {
  if (!trace.answer && !trace.commentary) return "";
  const sources = trace.done?.sources ?? [];
  return section(t("The answer, as text", "Câu trả lời, dạng chữ"),
    ...(trace.commentary ?? []).map((text) => el("div", { className: "commentary", role: "note", "aria-label": t("Said on the way", "Nói trong lúc làm") }, text)),
    trace.answer ? el("div", { className: "card pad answer" }, trace.answer) : "",
    sources.length ? fold(t("Sources", "Nguồn"), sourceList(sources)) : "");
}

export const section = (title, ...children) => el("section", {}, el("h2", {}, title), ...children);

// --- all of it --------------------------------------------------------------------------------

// whole returns everything that is known of a turn.
export function whole(trace) {
  if (trace.status === "running") {
    return note(t("The turn is still running. Its trace appears here when it has ended.", "Lượt này còn đang chạy. Dấu vết sẽ hiện ở đây khi lượt kết thúc."));
  }
  return [
    summary(trace), ...explanation(trace), answer(trace),
    fold(t("The whole trace as JSON", "Toàn bộ dấu vết dạng JSON"), code(JSON.stringify(trace, null, 2), "JSON")),
  ].filter(Boolean);
}

// explanation returns the parts that explain how an answer came about.
export const explanation = (trace) => [waterfall(trace), trace.untraced ? "" : whyTools(trace), verdict(trace), model(trace)].filter(Boolean);
