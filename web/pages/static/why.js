// The panel next to an answer: why each tool was called or not. The page loads this module when the
// first panel is opened.

import { $, api, el, icon, t } from "/static/app.js";
import { badge, duration, outcome, pretty } from "/static/pages.js";
import { reason } from "/static/reasons.js";
import { kindOf, offer, statuses, timesOf, tokens, untracedText } from "/static/trace.js";

let close = () => null; // closes the open panel

// explain opens the panel of a turn; from is the element that gets the focus back.
export async function explain(turn, from) {
  close();
  const body = el("div", { className: "inside" }, el("p", { className: "quiet" }, t("Loading…", "Đang tải…")));
  const shut = el("button", { type: "button", className: "plain square", "aria-label": t("Close", "Đóng"), on: { click: () => close() } }, icon("close"));
  const panel = el("aside", { id: "why", className: "reasons", "aria-labelledby": "why-title" }, el("header", {}, el("h2", { id: "why-title" }, t("Why this answer?", "Vì sao trả lời vậy?")), shut), body);
  const byKey = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    close();
  };
  close = () => {
    panel.remove();
    $("shell").classList.remove("explains");
    document.removeEventListener("keydown", byKey, true);
    close = () => null;
    if (from.isConnected) from.focus();
  };
  document.addEventListener("keydown", byKey, true);
  $("shell").append(panel);
  $("shell").classList.add("explains");
  shut.focus();
  try {
    body.replaceChildren(...parts(await api(`/v1/turns/${encodeURIComponent(turn)}`), turn));
  } catch (err) {
    body.replaceChildren(el("p", { className: "note bad", role: "alert" }, err.status === 404 ? t("Nothing is stored of this turn.", "Không có gì được lưu về lượt này.") : err.message));
  }
}

function parts(trace, turn) {
  const [kind, words] = statuses[trace.status] ?? ["", trace.status ?? ""];
  const model = [trace.done?.model || trace.model, trace.done?.provider || trace.provider].filter(Boolean).join(" · ");
  const command = `molar eval record --turn ${trace.turn_id ?? turn} --out turn.jsonl`;
  return [
    el("div", { className: "row" }, badge(words, kind), trace.took_ms ? badge(duration(trace.took_ms)) : ""),
    el("dl", {}, ...[
      [t("Assistant", "Trợ lý"), trace.assistant], [t("Model", "Mô hình"), model], [t("Time", "Thời gian"), timesOf(trace)],
      [t("Tokens", "Token"), trace.done ? tokens(trace.done.usage) : ""],
      [t("Guardrail", "Kiểm tra"), trace.verdict && `${trace.verdict.pass ? t("passed", "cho qua") : t("refused", "từ chối")}: ${reason(trace.verdict.reason)}`],
    ].filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    ...(trace.untraced ? [el("p", { className: "note" }, untracedText(trace))] : [tools(trace.tools ?? []), recipe(command)]),
    el("p", {}, el("a", { href: `/turn?id=${encodeURIComponent(turn)}` }, t("The whole trace", "Toàn bộ dấu vết"))),
  ];
}

const recipe = (command) => el("details", {}, el("summary", {}, t("Make a test of this", "Tạo bài kiểm thử từ lượt này")),
  el("p", {}, t("This command writes the turn down as a case that can be replayed without models and servers:", "Lệnh này ghi lượt thành một ca có thể chạy lại mà không cần mô hình và máy chủ:")),
  el("pre", { className: "code", tabIndex: 0 }, command));

const filters = [["all", t("All", "Tất cả")], ["called", t("Called", "Đã gọi")], ["offered", t("Offered", "Được đưa")], ["withheld", t("Not offered", "Không đưa")]];

// tools lists the tools of a turn with a filter, the called ones first.
function tools(all) {
  if (!all.length) return el("p", { className: "note" }, t("No tool was there for this turn.", "Lượt này không có công cụ nào."));
  const rank = { called: 0, offered: 1, withheld: 2 };
  const list = el("ul", {}, [...all].sort((a, b) => rank[kindOf(a)] - rank[kindOf(b)]).map((tool) => el("li", { "data-kind": kindOf(tool) },
    el("p", {}, el("code", {}, tool.name), " ", badge(...offer(tool))), el("p", { className: "reason" }, reason(tool.reason)), ...(tool.calls ?? []).map(call))));
  const buttons = filters.map(([kind, words]) => el("button", { type: "button", className: "small", "aria-pressed": String(kind === "all"), on: { click: () => {
    for (const b of buttons) b.setAttribute("aria-pressed", String(b === buttons[filters.findIndex(([k]) => k === kind)]));
    for (const li of list.children) li.hidden = kind !== "all" && li.dataset.kind !== kind;
  } } }, `${words} ${kind === "all" ? all.length : all.filter((tool) => kindOf(tool) === kind).length}`));
  return el("div", {}, el("div", { className: "row filter", role: "group", "aria-label": t("Which tools", "Công cụ nào") }, buttons), list);
}

function call(c) {
  const [words] = outcome(c.status);
  const waited = c.waited_ms ? t(`, ${duration(c.waited_ms)} waiting for a person`, `, ${duration(c.waited_ms)} chờ người duyệt`) : "";
  return el("details", {}, el("summary", {}, `${words} · ${duration(c.took_ms)}${waited}`),
    el("pre", { className: "code", tabIndex: 0 }, pretty(c.arguments || "{}")), el("pre", { className: "code", tabIndex: 0 }, pretty(c.output || "")));
}
