// How a conversation looks: questions, answers that grow, calls, approvals, sources.
// Text from the server is set as text; only HTML that the server has sanitised is set as
// HTML.

import { $, api, el, number, send, showSanitised, t } from "/static/app.js";

const log = $("log");
const longQuestion = 4000; // characters of a question that are shown at first

// --- the scroll: the end stays in view while the reader is there -----------------------------

let atEnd = true;

export function toEnd() {
  atEnd = true;
  log.scrollTop = log.scrollHeight;
  $("down").hidden = true;
}

function follow() {
  if (atEnd) log.scrollTop = log.scrollHeight;
}

let looking = false;
log.addEventListener("scroll", () => {
  if (looking) return;
  looking = true;
  requestAnimationFrame(() => { // measured once for each frame
    looking = false;
    atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    $("down").hidden = atEnd;
  });
}, { passive: true });
new ResizeObserver(follow).observe(log);
$("down").addEventListener("click", toEnd);

// --- what a screen reader hears: each block of an answer once it is whole ---------------------

export function announce(text) {
  const said = text.trim();
  if (said) $("live").append(el("p", {}, said.slice(0, 2000)));
  while ($("live").children.length > 30) $("live").firstChild.remove();
}

// --- a question --------------------------------------------------------------------------------

const action = (label, click, props = {}) =>
  el("button", { type: "button", className: "plain small", on: { click }, ...props }, label);

async function copy(text, button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = t("Copied", "Đã sao chép");
  } catch {
    button.textContent = t("Copying is not allowed here", "Không được phép sao chép ở đây");
  }
  setTimeout(() => { button.textContent = words; }, 2000);
}

const copyAction = (text) =>
  action(t("Copy", "Sao chép"), (event) => copy(text(), event.currentTarget));

// question makes the article of a question. edit is called with its text.
export function question(content, edit) {
  const text = el("div", { className: "text" }, content.slice(0, longQuestion));
  const more = content.length > longQuestion && action(t("Show all", "Hiện tất cả"), () => {
    text.textContent = content;
    text.classList.add("long");
    more.remove();
  });
  if (more) text.append("…");
  return el("article", { className: "message user", "aria-label": t("You", "Bạn") }, text,
    el("div", { className: "actions" }, more, copyAction(() => content), action(t("Edit", "Sửa"), () => edit(content))));
}

// --- calls ---------------------------------------------------------------------------------------

function pretty(value) {
  try {
    return JSON.stringify(typeof value === "string" ? JSON.parse(value) : value, null, 2);
  } catch {
    return String(value);
  }
}

const shown = (value) => (typeof value === "string" ? value : pretty(value));

// nameOf writes the offered name of a tool, "server__tool", for people.
const nameOf = (tool) => tool.replace("__", " · ");

function callCard(call) {
  const name = call.function.name;
  const card = el("details", { className: "call running" },
    el("summary", {}, el("span", { className: "dot" }), el("span", { className: "name" }, nameOf(name)),
      el("span", { className: "time" }, t("running…", "đang chạy…"))),
    el("div", { className: "body" }, el("h3", {}, t("Asked with", "Tham số")),
      el("pre", { className: "code", tabIndex: 0 }, pretty(call.function.arguments || "{}"))));
  return card;
}

function showResult(card, result, milliseconds) {
  card.classList.remove("running");
  card.classList.toggle("failed", Boolean(result.isError));
  const took = milliseconds ? t(`${number(milliseconds / 1000, 1)} s`, `${number(milliseconds / 1000, 1)} giây`) : t("done", "xong");
  card.querySelector(".time").textContent = result.isError ? t("could not help", "không giúp được") : took;
  card.querySelector(".body").append(el("h3", {}, t("Answered", "Kết quả")),
    el("pre", { className: "code", tabIndex: 0 }, shown(result.output)));
}

// --- approvals -------------------------------------------------------------------------------------

// approvalCard asks a person about a call, once. Fault and decision show in its place.
function approvalCard(ask) {
  const label = t("Arguments", "Tham số");
  const tool = nameOf(ask.tool);
  const edited = el("textarea", { value: pretty(ask.arguments), spellcheck: false, "aria-label": label });
  const fault = el("p", { className: "note bad", hidden: true, role: "alert" });
  const decide = async (decision) => {
    const body = { token: ask.token, decision };
    if (decision === "approve" && edited.value !== pretty(ask.arguments)) {
      try {
        body.arguments = JSON.parse(edited.value);
      } catch {
        fault.textContent = t("The arguments are no valid JSON. Correct them, then approve.", "Tham số không phải JSON hợp lệ. Hãy sửa rồi chấp thuận.");
        fault.hidden = false;
        return;
      }
    }
    for (const b of card.querySelectorAll("button")) b.disabled = true;
    try {
      await api(`/v1/approvals/${encodeURIComponent(ask.id)}`, { method: "POST", body });
      settle(decision === "approve" ? t(`You approved ${tool}.`, `Bạn đã chấp thuận ${tool}.`) : t(`You refused ${tool}.`, `Bạn đã từ chối ${tool}.`));
    } catch (err) {
      if ([404, 409, 410].includes(err.status)) return settle(err.message);
      fault.textContent = err.message;
      fault.hidden = false;
      for (const b of card.querySelectorAll("button")) b.disabled = false;
    }
  };
  const settle = (words) => card.replaceWith(el("p", { className: "note" }, words));
  const card = el("section", { className: "approval", "aria-label": t("Approval", "Chấp thuận") },
    el("h3", {}, t(`May ${tool} run?`, `Cho phép chạy ${tool}?`)),
    el("p", {}, t(`It belongs to ${ask.server}. You are asked because ${ask.why}. Without an answer it counts as refused.`,
      `Thuộc ${ask.server}. Lý do hỏi: ${ask.why}. Không trả lời nghĩa là từ chối.`)),
    edited, fault,
    el("div", { className: "row" },
      el("button", { type: "button", className: "primary", on: { click: () => decide("approve") } }, t("Approve", "Chấp thuận")),
      el("button", { type: "button", on: { click: () => decide("refuse") } }, t("Refuse", "Từ chối"))));
  return card;
}

// --- an answer ---------------------------------------------------------------------------------------

// An Answer is the article of one answer. again asks its question once more.
export class Answer {
  constructor(again) {
    this.again = again;
    this.source = ""; // the answer as Markdown
    this.turn = "";
    this.blocks = new Map();
    this.cards = new Map();
    this.body = el("div", { className: "text prose" });
    this.calls = el("div");
    this.after = el("div");
    this.box = el("article", { className: "message assistant waiting", "aria-label": t("Answer", "Trả lời") },
      this.calls, this.body, this.after);
  }

  // text appends a piece as it is; html soon puts its form in its place.
  text(piece) {
    this.source += piece;
    if (!this.tail?.isConnected) {
      this.tail = el("span");
      (this.open ?? this.body).append(this.tail);
    }
    this.tail.append(piece);
    follow();
  }

  html({ block, html, closed }) {
    let box = this.blocks.get(block);
    if (!box) {
      box = el("div");
      this.blocks.set(block, box);
      this.body.append(box);
    }
    if (this.tail?.parentNode === this.body) this.tail.remove();
    showSanitised(box, html);
    this.open = closed ? null : box;
    if (closed) announce(box.textContent);
    follow();
  }

  molar(note) {
    const call = note.call ?? null;
    const id = call?.id || note.result?.id || "";
    switch (note.type) {
      case "html": note.blocks.forEach((b) => this.html(b)); break;
      case "tool_call": this.called(id, call); break;
      case "tool_result":
        if (!this.cards.has(id) && call) this.called(id, call);
        if (this.cards.has(id)) showResult(this.cards.get(id), note.result, note.duration_ms);
        break;
      case "approval":
        this.calls.append(approvalCard(note));
        announce(t(`Your approval is needed for ${note.tool}.`, `Cần bạn chấp thuận ${note.tool}.`));
        break;
      case "sources": this.cited = note.sources; break;
      case "warning": this.note(note.text, "warn"); break;
    }
    follow();
  }

  called(id, call) {
    const card = callCard(call);
    this.cards.set(id, card);
    this.calls.append(card);
    announce(t(`Asking ${call.function.name}`, `Đang hỏi ${call.function.name}`));
  }

  // showSources lists the sources that the answer itself does not link to.
  showSources() {
    this.after.querySelector(".sources")?.remove();
    const linked = new Set([...this.body.querySelectorAll("a")].map((a) => a.getAttribute("href")));
    const links = (this.cited ?? []).filter((s) => /^https?:\/\//.test(s.url) && !linked.has(s.url)).map((s) => el("li", {},
      el("a", { href: s.url, target: "_blank", rel: "noopener noreferrer nofollow", title: s.url }, s.title || s.url)));
    if (links.length) this.after.prepend(el("ul", { className: "sources", "aria-label": t("Sources", "Nguồn") }, links));
  }

  // note says something below the answer, and a detail for experts; kind is "", "warn" or
  // "bad".
  note(words, kind = "", detail = "") {
    const p = el("p", { className: `note ${kind}`, role: kind === "bad" ? "alert" : null }, words, detail && el("small", {}, detail));
    this.after.append(p);
    follow();
    return p;
  }

  // end closes the answer and offers what can be done with it.
  end() {
    this.box.classList.remove("waiting");
    for (const card of this.calls.querySelectorAll(".running")) {
      card.classList.remove("running");
      card.querySelector(".time").textContent = t("stopped", "đã dừng");
    }
    for (const ask of this.calls.querySelectorAll(".approval")) ask.remove();
    if (this.open) announce(this.open.textContent);
    this.showSources();
    this.after.querySelector(".actions")?.remove();
    this.after.append(el("div", { className: "actions" },
      this.source && copyAction(() => this.source),
      this.again && action(t("Ask again", "Hỏi lại"), () => this.again(this)),
      this.turn && el("a", { className: "button plain small", href: `/turn?id=${encodeURIComponent(this.turn)}` }, t("Why this answer?", "Vì sao trả lời vậy?"))));
    follow();
  }
}

// storedAnswer makes the article of an answer that was kept.
export function storedAnswer(m, again) {
  const answer = new Answer(again);
  answer.source = m.content;
  answer.turn = m.turn_id ?? "";
  if (m.html) showSanitised(answer.body, m.html);
  else answer.body.textContent = m.content;
  for (const round of m.calls ?? []) {
    for (const part of round.said?.parts ?? []) {
      if (!part.call) continue;
      const card = callCard(part.call);
      const result = round.results?.find((r) => r.id === part.call.id);
      if (result) showResult(card, result, 0);
      answer.calls.append(card);
    }
  }
  answer.cited = m.sources;
  if (m.status === "interrupted") answer.note(t("This answer was cut short.", "Câu trả lời này bị ngắt giữa chừng."));
  answer.end();
  return answer.box;
}

// stopTurn asks the server to end a turn; one that has ended already is fine.
export const stopTurn = (id) => send(`/v1/turns/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => null);
