// Asking a question again, without a tool or with another model, and comparing the two turns.

import { $, allows, api, el, me, send, t } from "/static/app.js";
import { duration, note, table } from "/static/pages.js";
import { calledText, modelOf, section, statuses, timesOf, tokens } from "/static/trace.js";

// askAgain asks the question of a turn again, beside that turn: on the chat page at once, elsewhere by opening it.
// how are fields of the request: provider and model, or without.
function askAgain(trace, how) {
  const again = { conversation: trace.conversation_id, turn: trace.turn_id, how };
  if ($("question")) {
    dispatchEvent(new CustomEvent("again", { detail: again }));
    return;
  }
  sessionStorage.setItem("molar.again", JSON.stringify({ ...again, at: Date.now() }));
  location.assign(`/#${encodeURIComponent(again.conversation)}`);
}

// offers returns what can be done with a turn: actions is a row of controls, without returns a button for a tool.
// testing is the address of the form that makes a test of the turn. A turn of somebody else, one that is not stored
// and one whose conversation is gone cannot be asked again.
export async function offers(trace, testing) {
  const who = await me();
  const test = !who || allows(who, "review") ? el("a", { className: "button small", href: testing }, t("Make a test of this", "Tạo bài kiểm thử")) : "";
  const none = (text) => ({ actions: el("div", { className: "row offers" }, test, text && el("span", { className: "quiet" }, text)), without: () => "" });
  if (trace.status === "running" || trace.untraced && !trace.answer) return { actions: "", without: () => "" };
  if (trace.person || !trace.question || trace.status === "refused" || !trace.conversation_id) return none("");
  if (!$("question") && !await isThere(trace.conversation_id)) return none(t("Its conversation is gone, so the question cannot be asked again there.", "Cuộc trò chuyện của lượt này không còn, nên không thể hỏi lại ở đó."));
  return {
    actions: el("div", { className: "row offers" }, await modelMenu(trace), test, $("question") ? "" : el("a", { className: "button small plain", href: `/#${encodeURIComponent(trace.conversation_id)}` }, t("Open the conversation", "Mở cuộc trò chuyện"))),
    without: (name) => (name.includes("__") ? el("button", { type: "button", className: "small again", "aria-label": t(`Ask again without it: ${name}`, `Hỏi lại không dùng nó: ${name}`), on: { click: () => askAgain(trace, { without: [name] }) } }, t("Ask again without it", "Hỏi lại không dùng nó")) : ""),
  };
}

// isThere reports whether a conversation is stored; only its first line is read.
async function isThere(id) {
  try {
    const response = await send(`/v1/conversations/${encodeURIComponent(id)}?lines=true`);
    response.body.cancel();
    return true;
  } catch (err) {
    return err.status !== 404; // otherwise asking again says what is wrong
  }
}

// models returns the other models that the reader may choose.
async function models(trace) {
  const { data } = await api("/v1/providers").catch(() => ({ data: [] }));
  const used = modelOf(trace);
  return data.filter((p) => p.ready && p.model).flatMap((p) => [...new Set([p.model, ...p.models ?? [p.small_model]])].filter(Boolean).map((name) => ({ provider: p.name, model: name })))
    .filter((m) => `${m.model} · ${m.provider}` !== used);
}

async function modelMenu(trace) {
  const all = await models(trace);
  if (!all.length) return "";
  const menu = el("details", { className: "others" }, el("summary", { className: "button small" }, t("Ask again with another model", "Hỏi lại bằng mô hình khác")),
    el("ul", { className: "card" }, all.map((m) => el("li", {}, el("button", { type: "button", className: "plain", on: { click: () => askAgain(trace, m) } }, m.model, " ", el("small", { className: "quiet" }, m.provider))))));
  const shut = () => {
    if (!menu.open) return false;
    menu.open = false;
    menu.firstElementChild.focus();
    return true;
  };
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape" && shut()) { event.preventDefault(); event.stopPropagation(); } });
  menu.addEventListener("focusout", (event) => { if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false; });
  return menu;
}

// comparison shows what differs between a turn and the one that was asked before it.
export function comparison(before, now) {
  const rows = [
    [t("Asked without", "Hỏi không dùng"), (x) => (x.without ?? []).join(", ")],
    [t("Model", "Mô hình"), modelOf],
    [t("Outcome", "Kết quả"), (x) => statuses[x.status]?.[1] ?? x.status],
    [t("Tools called", "Công cụ đã gọi"), (x) => calledText(x) || t("none", "không có")],
    [t("Time", "Thời gian"), (x) => [x.took_ms && duration(x.took_ms), timesOf(x)].filter(Boolean).join(": ")],
    [t("Tokens", "Token"), (x) => tokens(x.done?.usage)],
    [t("Answer", "Trả lời"), (x) => x.answer || t("none", "không có")],
  ].map(([name, of]) => [name, of(before), of(now)]).filter(([, a, b]) => a || b);
  const cell = (text, differs) => el("div", { className: `compared${differs ? " differs" : ""}` }, text || "–");
  return section(t("Compared with the turn before", "So với lượt trước"),
    before.question === now.question ? "" : note(t("The two questions are not the same.", "Hai câu hỏi không giống nhau."), "warn"),
    table(t("Both turns", "Hai lượt"), [t("What", "Mục"), t("Before", "Trước"), t("Now", "Bây giờ")],
      rows.map(([name, a, b]) => [name, cell(a, a !== b), cell(b, a !== b)])),
    el("p", {}, el("a", { href: `/turn?id=${encodeURIComponent(before.turn_id)}` }, t("The trace of the turn before", "Dấu vết của lượt trước"))));
}
