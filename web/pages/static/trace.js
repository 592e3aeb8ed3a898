// The trace of a turn: its summary, which tools were called, offered and withheld and why, where the time
// went, and what the model was told. The trace page shows all of it, the panel next to an answer and the
// desk those parts that explain an answer.

import { el, number, sourceList, t, when } from "/static/app.js";
import { badge, code, duration, facts, fold, note, outcome, pretty } from "/static/pages.js";
import { reason } from "/static/reasons.js";

export const statuses = {
  done: ["good", t("answered", "đã trả lời")],
  running: ["", t("still running", "đang chạy")],
  refused: ["warn", t("refused by the guardrail", "bị bộ kiểm tra từ chối")],
  interrupted: ["warn", t("interrupted", "bị ngắt")],
  failed: ["bad", t("failed", "thất bại")],
};

const steps = {
  guardrail: t("Guardrail", "Kiểm tra chủ đề"), memory: t("Memory", "Bộ nhớ"), search: t("Search", "Tìm kiếm"),
  queries: t("Waiting for other words", "Chờ cách hỏi khác"), answer: t("Answer", "Trả lời"), save: t("Save", "Lưu"),
};

const passes = {
  guardrail: t("Guardrail’s model", "Mô hình kiểm tra"), language: t("Language", "Ngôn ngữ"), queries: t("The question in other words", "Câu hỏi bằng lời khác"),
  tool: t("Model, with tools", "Mô hình, có công cụ"), answer: t("Model, answer", "Mô hình, trả lời"), summary: t("Summary", "Tóm tắt"),
};

const callsOf = (trace) => (trace.tools ?? []).flatMap((tool) => (tool.calls ?? []).map((call) => ({ ...call, name: tool.name })));

export const section = (title, ...children) => el("section", {}, el("h2", {}, title), ...children);

// --- the summary -----------------------------------------------------------------------------

// untracedText explains that only the question and the answer of a turn are stored.
export const untracedText = (trace) => [
  t("This turn has no trace, so nothing more is known of it: a trace is written when a turn ends, and kept for 7 days.", "Lượt này không có dấu vết nên không biết gì thêm: dấu vết được ghi khi lượt kết thúc và giữ trong 7 ngày."),
  trace.status === "interrupted" && !trace.answer ? t("Nothing of its answer is stored.", "Không có phần nào của câu trả lời được lưu.") : "",
].filter(Boolean).join(" ");

// tokens returns a text with the numbers of input tokens, of cached input tokens and of output
// tokens, and with what they cost if that is known; "" without any.
export function tokens(usage) {
  if (!usage?.total_tokens) return "";
  const [input, output, cached] = ["prompt_tokens", "completion_tokens", "cached_tokens"].map((name) => number(usage?.[name] ?? 0));
  const cacheText = usage?.cached_tokens ? t(` (${cached} from the cache)`, ` (${cached} từ bộ nhớ đệm)`) : "";
  const cost = usage?.cost ? t(`, cost ${usage.cost}`, `, chi phí ${usage.cost}`) : "";
  return t(`${input} in${cacheText}, ${output} out${cost}`, `${input} vào${cacheText}, ${output} ra${cost}`);
}

// timesOf returns a text with the times that models, tools and waiting for a person took.
export function timesOf(trace) {
  const sum = (list, of) => list.reduce((all, x) => all + (x[of] ?? 0), 0);
  const calls = callsOf(trace);
  const [models, tools, people] = [sum(trace.passes ?? [], "took_ms"), sum(calls, "took_ms"), sum(calls, "waited_ms")];
  return [
    models && t(`models ${duration(models)}`, `mô hình ${duration(models)}`), tools && t(`tools ${duration(tools)}`, `công cụ ${duration(tools)}`),
    people && t(`waiting for a person ${duration(people)}`, `chờ người duyệt ${duration(people)}`),
  ].filter(Boolean).join(" · ");
}

export const modelOf = (trace) => [trace.done?.model || trace.model, trace.done?.provider || trace.provider].filter(Boolean).join(" · ");

// calledText counts the calls of each tool in a text.
export const calledText = (trace) => (trace.tools ?? []).filter((tool) => tool.calls?.length)
  .map((tool) => (tool.calls.length > 1 ? `${tool.name} × ${number(tool.calls.length)}` : tool.name)).join(", ");

// deskOf says what a turn had to do with people at the desk; undefined if nothing.
export const deskOf = (trace) => (trace.done?.with_desk
  ? t("The message went to people at the desk, so no model answered it.", "Tin nhắn đã được chuyển cho nhân viên, nên không mô hình nào trả lời.")
  : {
    words: t("A person was offered: the question asks for one.", "Đã mời gặp nhân viên: câu hỏi xin gặp người thật."),
    not_found: t("A person was offered: this turn and the one before it found nothing.", "Đã mời gặp nhân viên: lượt này và lượt trước đều không tìm thấy gì."),
  }[trace.done?.handover]);

// summary returns the first card of a trace. actions are what can be done with the turn; isBrief leaves out
// what the conversation beside it shows already.
export function summary(trace, actions, isBrief = false) {
  const [kind, words] = statuses[trace.status] ?? ["", trace.status];
  const warnings = (trace.done?.warnings ?? []).map((w) => note(reason(w), "warn"));
  return el("section", { className: "card summary", "aria-label": t("Summary", "Tóm tắt") },
    isBrief ? "" : el("p", { className: "asked" }, trace.question || t("The question is not kept.", "Câu hỏi không được lưu.")),
    el("div", { className: "row" }, badge(words, kind), trace.took_ms ? badge(duration(trace.took_ms)) : "",
      trace.without?.length ? badge(t(`asked without ${trace.without.join(", ")}`, `hỏi không dùng ${trace.without.join(", ")}`), "warn") : ""),
    trace.error ? note(reason(trace.error), "bad") : "",
    trace.untraced ? note(untracedText(trace)) : "",
    facts([
      [t("Model", "Mô hình"), modelOf(trace)],
      ...isBrief ? [] : [[t("Chosen because", "Được chọn vì"), reason(trace.route)], [t("Assistant", "Trợ lý"), trace.assistant]],
      [t("Guardrail", "Kiểm tra"), trace.verdict && `${trace.verdict.pass ? t("passed", "cho qua") : t("refused", "từ chối")}: ${reason(trace.verdict.reason)}`],
      [t("Desk", "Người trực"), deskOf(trace)],
      [t("Time", "Thời gian"), timesOf(trace)],
      [t("Tokens", "Token"), tokens(trace.done?.usage)],
      ...isBrief ? [] : [
        [t("When", "Lúc"), when(trace.started)],
        [t("Language", "Ngôn ngữ"), trace.language || trace.done?.language],
        [t("Memory", "Bộ nhớ"), reason(trace.memory)],
        [t("Turn", "Lượt"), el("code", {}, trace.turn_id)],
      ],
    ]),
    ...isBrief ? [] : warnings,
    trace.done && !trace.done.saved && trace.status !== "refused" ? note(t("The turn is not saved.", "Lượt này không được lưu.")) : "",
    actions ?? "");
}

// --- tools ------------------------------------------------------------------------------------

// whyTools returns the tools of a turn: the called ones with their calls, then those that were only offered,
// then the withheld ones by reason. without returns a button that asks again without a tool, or "".
function whyTools(trace, without) {
  const all = trace.tools ?? [];
  const called = all.filter((tool) => tool.calls?.length);
  const offered = all.filter((tool) => tool.offered && !tool.calls?.length);
  const withheld = Map.groupBy(all.filter((tool) => !tool.offered && !tool.calls?.length), (tool) => tool.reason);
  const none = trace.status === "refused" ? t("The question was refused before any tool was offered.", "Câu hỏi bị từ chối trước khi đưa công cụ nào.")
    : trace.verdict?.by === "emergency" ? t("The turn answers an emergency, so the assistant’s own text comes before any tool.", "Lượt này trả lời một tình trạng khẩn cấp, nên lời dặn của trợ lý có trước mọi công cụ.")
    : all.length || deskOf(trace) ? t("No tool was called.", "Không công cụ nào được gọi.")
      : t("No tool was there for this turn. Attach a server, or let the assistant use its tools.", "Lượt này không có công cụ nào. Hãy gắn máy chủ, hoặc cho trợ lý dùng công cụ.");
  return section(t("Which tools were called, and why", "Công cụ nào được gọi, và vì sao"),
    called.length ? "" : el("p", { className: "none" }, none),
    ...called.map((tool) => calledCard(tool, Date.parse(trace.started), without)),
    offered.length ? listFold("offered", offered.length === 1 ? t("1 tool was offered and not called", "1 công cụ được đưa và không được gọi")
      : t(`${number(offered.length)} tools were offered and not called`, `${number(offered.length)} công cụ được đưa và không được gọi`), offered, without) : "",
    ...[...withheld].map(([why, tools]) => listFold("withheld", (tools.length === 1 ? t("1 tool was not offered: ", "1 công cụ không được đưa: ")
      : t(`${number(tools.length)} tools were not offered: `, `${number(tools.length)} công cụ không được đưa: `)) + reason(why), tools)));
}

// nameOf returns a tool's name with its server behind it.
function nameOf(full) {
  const [server, ...rest] = full.split("__");
  return rest.length ? [el("code", { className: "name" }, rest.join("__")), " ", el("span", { className: "quiet" }, server)] : [el("code", { className: "name" }, full)];
}

const shownText = (tool) => (tool.shown ? el("p", { className: "quiet" }, t("shown to the model for lack of room: ", "vì thiếu chỗ, mô hình chỉ thấy: "), tool.shown) : "");

function calledCard(tool, began, without) {
  return el("article", { className: "card why", "data-kind": "called" },
    el("div", { className: "row" }, el("h3", {}, ...nameOf(tool.name)), el("span", { className: "because" }, reason(tool.reason)), without(tool.name)),
    shownText(tool),
    el("ol", {}, tool.calls.map((call) => el("li", {}, callDetails(call, began)))));
}

// brief returns the arguments of a call on one line.
function brief(text) {
  try {
    return Object.entries(JSON.parse(text)).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ");
  } catch {
    return text;
  }
}

// decidedText returns who decided about a call, and how long they took.
function decidedText(call) {
  const waited = call.waited_ms ? t(`${duration(call.waited_ms)} waiting for a person`, `${duration(call.waited_ms)} chờ người duyệt`) : "";
  if (!call.decided_by) return waited;
  const who = call.status === "refused" ? t(`refused by ${call.decided_by}`, `${call.decided_by} đã từ chối`) : t(`approved by ${call.decided_by}`, `${call.decided_by} đã chấp thuận`);
  return waited ? `${who}, ${waited}` : who;
}

function callDetails(call, began) {
  const start = Math.max(0, Date.parse(call.at) - began - call.took_ms);
  const [words, kind] = outcome(call.status);
  return fold(el("span", { className: "made" }, badge(words, kind), " ", el("code", { className: "args" }, brief(call.arguments || "{}")), " ",
    el("span", { className: "time" }, [t(`${duration(call.took_ms)}, from ${duration(start)} on`, `${duration(call.took_ms)}, từ ${duration(start)}`), decidedText(call)].filter(Boolean).join(" · "))),
  code(pretty(call.arguments || "{}"), t("Arguments", "Tham số")),
  el("p", { className: "quiet" }, t("Result", "Kết quả")),
  code(pretty(call.output || t("nothing", "không có gì")), t("Result", "Kết quả")));
}

const fewTools = 8; // so many are found without a filter

// listFold returns tools behind one line. The list is made when it is first opened, as there may be hundreds,
// and can then be filtered by words and by server.
function listFold(kind, title, tools, without) {
  const box = fold(title);
  box.classList.add("tools");
  box.dataset.kind = kind;
  box.addEventListener("toggle", () => {
    const inside = box.lastElementChild;
    if (!box.open || inside.hasChildNodes()) return;
    const rows = tools.map((tool) => el("li", { "data-server": serverOf(tool.name) }, el("div", { className: "row" }, el("span", {}, ...nameOf(tool.name)), without?.(tool.name) ?? ""), shownText(tool)));
    inside.append(...tools.length > fewTools ? [filter(rows)] : [], el("ul", {}, rows));
  });
  return box;
}

const serverOf = (name) => (name.includes("__") ? name.split("__")[0] : "");

// filter returns the controls that hide rows: a box for words, and a choice of the server if there are several.
function filter(rows) {
  const servers = [...new Set(rows.map((row) => row.dataset.server).filter(Boolean))].sort();
  const words = el("input", { type: "search", "aria-label": t("Filter by name", "Lọc theo tên"), placeholder: t("Filter by name", "Lọc theo tên"), autocomplete: "off", spellcheck: false });
  const server = el("select", { "aria-label": t("Server", "Máy chủ") }, el("option", { value: "" }, t("All servers", "Mọi máy chủ")), servers.map((s) => el("option", { value: s }, s)));
  const found = el("span", { className: "quiet", role: "status" });
  const show = () => {
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(words.value.trim().toLowerCase()) || Boolean(server.value) && row.dataset.server !== server.value;
    found.textContent = t(`${number(rows.filter((row) => !row.hidden).length)} of ${number(rows.length)}`, `${number(rows.filter((row) => !row.hidden).length)} trên ${number(rows.length)}`);
  };
  words.addEventListener("input", show);
  server.addEventListener("change", show);
  show();
  return el("div", { className: "row filter" }, words, servers.length > 1 ? server : "", found);
}

// --- time -------------------------------------------------------------------------------------

// spans returns the steps, the model passes and the calls of a turn, by the time of their start. before is how
// long a person was waited for, before the start.
function spans(trace) {
  const began = Date.parse(trace.started);
  const list = [
    ...(trace.steps ?? []).map((s) => ({ kind: "for-step", name: steps[s.step] ?? s.step, from: s.start_ms, of: s.took_ms })),
    ...(trace.passes ?? []).map((p) => ({ kind: "for-model", name: passes[p.pass] ?? p.pass, from: p.start_ms, of: p.took_ms, bad: Boolean(p.error) })),
    ...callsOf(trace).map((c) => ({ kind: "for-tool", name: c.tool || c.name, from: Date.parse(c.at) - began - c.took_ms, of: c.took_ms, before: c.waited_ms ?? 0, bad: c.status !== "ok" })),
  ].map((s) => ({ before: 0, ...s, from: Math.max(s.before ?? 0, s.from ?? 0) }));
  const rank = { "for-step": 0, "for-model": 1, "for-tool": 2 };
  return list.sort((a, b) => a.from - a.before - (b.from - b.before) || rank[a.kind] - rank[b.kind]);
}

// bar returns a part of a lane: from and of are in milliseconds, end is the length of the lane.
function bar(from, of, end, className = "") {
  const b = el("span", { className });
  b.style.setProperty("--from", String((100 * from) / end));
  b.style.setProperty("--of", String((100 * of) / end));
  return b;
}

function waterfall(trace) {
  const list = spans(trace);
  if (list.length === 0) return "";
  const end = Math.max(trace.took_ms, ...list.map((s) => s.from + s.of), 0.001);
  const has = (test) => list.some(test);
  const rows = list.map((s) => el("li", { className: `${s.kind}${s.bad ? " wrong" : ""}` },
    el("span", { className: `what${s.kind === "for-step" ? "" : " nested"}`, title: s.name }, s.name),
    el("span", { className: "lane", "aria-hidden": "true" }, s.before ? bar(s.from - s.before, s.before, end, "waits") : "", bar(s.from, s.of, end)),
    el("span", { className: "time" }, duration(s.of),
      el("span", { className: "hidden" }, [t(`, from ${duration(s.from)} on`, `, từ ${duration(s.from)}`), s.before && t(`, after ${duration(s.before)} waiting for a person`, `, sau khi chờ người duyệt ${duration(s.before)}`), s.bad && t(", failed", ", thất bại")].filter(Boolean).join("")))));
  return section(t("Where the time went", "Thời gian đi đâu"),
    el("div", { className: "card falling" },
      el("ul", { className: "key" },
        has((s) => s.kind === "for-step") ? el("li", {}, t("step of the turn", "bước của lượt")) : "",
        has((s) => s.kind === "for-model") ? el("li", { className: "for-model" }, t("model", "mô hình")) : "",
        has((s) => s.kind === "for-tool") ? el("li", { className: "for-tool" }, t("tool", "công cụ")) : "",
        has((s) => s.before) ? el("li", { className: "waits" }, t("waiting for a person", "chờ người duyệt")) : "",
        has((s) => s.bad) ? el("li", { className: "wrong" }, t("failed", "thất bại")) : ""),
      el("ol", { className: "fall" }, rows),
      el("p", { className: "axis", "aria-hidden": "true" }, el("span", {}, "0"), el("span", {}, duration(end / 2)), el("span", {}, duration(end)))));
}

// --- verdict and model ------------------------------------------------------------------------

function verdict(trace) {
  const v = trace.verdict;
  if (!v) return "";
  const by = { code: t("rules in code", "luật trong mã"), model: t("the guardrail’s model", "mô hình kiểm tra"), policy: t("the policy for failures", "chính sách khi lỗi"), emergency: t("the signs of an emergency", "dấu hiệu khẩn cấp") };
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
        [t("Tokens", "Token"), tokens(p.usage)],
        [t("Ended with", "Kết thúc vì"), p.finish_reason],
      ]),
      p.error ? note(el("q", {}, p.error), "bad") : "",
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

// --- all of it --------------------------------------------------------------------------------

const noButton = () => "";

// explanation returns the parts that explain how an answer came about, the same wherever they are shown.
export const explanation = (trace, without = noButton) => [trace.untraced ? "" : whyTools(trace, without), waterfall(trace), verdict(trace)].filter(Boolean);

// details returns what people who repair an assistant want to know beside it.
export const details = (trace) => [model(trace), answer(trace)].filter(Boolean);

// asJSON returns the trace as the host stores it.
export const asJSON = (trace) => fold(t("The whole trace as JSON", "Toàn bộ dấu vết dạng JSON"), code(JSON.stringify(trace, null, 2), "JSON"));
