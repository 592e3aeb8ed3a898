// What the trace of a turn says, for the trace page and for the panel beside an answer.

import { number, t } from "/static/app.js";
import { took } from "/static/pages.js";

export const statuses = {
  done: ["good", t("answered", "đã trả lời")],
  refused: ["warn", t("refused by the guardrail", "bị bộ kiểm tra từ chối")],
  interrupted: ["warn", t("interrupted", "bị ngắt")],
  failed: ["bad", t("failed", "thất bại")],
};

// untraced is said of a turn of which only question and answer are stored.
export const untraced = (trace) => [
  t("This turn has no trace, so nothing more is known of it: a trace is written when a turn ends, and kept for 7 days.", "Lượt này không có dấu vết nên không biết gì thêm: dấu vết được ghi khi lượt kết thúc và giữ trong 7 ngày."),
  trace.status === "interrupted" && !trace.answer ? t("Nothing of its answer is stored.", "Không có phần nào của câu trả lời được lưu.") : "",
].filter(Boolean).join(" ");

export const callsOf = (trace) => (trace.tools ?? []).flatMap((tool) => (tool.calls ?? []).map((call) => ({ ...call, name: tool.name })));

// tokens are those that went in, how many of them the service had in its cache, and those
// that came out.
export function tokens(usage) {
  const [put, got, cached] = ["prompt_tokens", "completion_tokens", "cached_tokens"].map((name) => number(usage?.[name] ?? 0));
  const known = usage?.cached_tokens ? t(` (${cached} from the cache)`, ` (${cached} từ bộ nhớ đệm)`) : "";
  return t(`${put} in${known}, ${got} out`, `${put} vào${known}, ${got} ra`);
}

// timesOf parts the time of a turn: what models took, tools, and a person who was asked.
export function timesOf(trace) {
  const sum = (list, of) => list.reduce((all, x) => all + (x[of] ?? 0), 0);
  const calls = callsOf(trace);
  const [models, tools, people] = [sum(trace.passes ?? [], "took_ms"), sum(calls, "took_ms"), sum(calls, "waited_ms")];
  return [
    models && t(`models ${took(models)}`, `mô hình ${took(models)}`), tools && t(`tools ${took(tools)}`, `công cụ ${took(tools)}`),
    people && t(`waiting for a person ${took(people)}`, `chờ người duyệt ${took(people)}`),
  ].filter(Boolean).join(" · ");
}

// kindOf is called, offered or withheld.
export const kindOf = (tool) => (tool.calls?.length ? "called" : tool.offered ? "offered" : "withheld");

// offer are the words for what became of a tool, and how a badge shows them.
export function offer(tool) {
  if (tool.calls?.length) return [t("called", "đã gọi"), tool.calls.some((c) => c.status === "ok") ? "good" : "bad"];
  return tool.offered ? [t("offered, not called", "được đưa, không gọi"), ""] : [t("not offered", "không được đưa"), "warn"];
}
