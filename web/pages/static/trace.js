// Texts about the trace of a turn, for the trace page and for the panel next to an answer.

import { number, t } from "/static/app.js";
import { duration } from "/static/pages.js";

export const statuses = {
  done: ["good", t("answered", "đã trả lời")],
  refused: ["warn", t("refused by the guardrail", "bị bộ kiểm tra từ chối")],
  interrupted: ["warn", t("interrupted", "bị ngắt")],
  failed: ["bad", t("failed", "thất bại")],
};

// untracedText explains that only the question and the answer of a turn are stored.
export const untracedText = (trace) => [
  t("This turn has no trace, so nothing more is known of it: a trace is written when a turn ends, and kept for 7 days.", "Lượt này không có dấu vết nên không biết gì thêm: dấu vết được ghi khi lượt kết thúc và giữ trong 7 ngày."),
  trace.status === "interrupted" && !trace.answer ? t("Nothing of its answer is stored.", "Không có phần nào của câu trả lời được lưu.") : "",
].filter(Boolean).join(" ");

export const callsOf = (trace) => (trace.tools ?? []).flatMap((tool) => (tool.calls ?? []).map((call) => ({ ...call, name: tool.name })));

// tokens returns a text with the numbers of input tokens, of cached input tokens and of output
// tokens, and with what they cost if that is known.
export function tokens(usage) {
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

// kindOf returns "called", "offered" or "withheld".
export const kindOf = (tool) => (tool.calls?.length ? "called" : tool.offered ? "offered" : "withheld");

// offer returns a text about the use of a tool in the turn, and the kind of its badge.
export function offer(tool) {
  if (tool.calls?.length) return [t("called", "đã gọi"), tool.calls.some((c) => c.status === "ok") ? "good" : "bad"];
  return tool.offered ? [t("offered, not called", "được đưa, không gọi"), ""] : [t("not offered", "không được đưa"), "warn"];
}
