// How a conversation looks: questions, answers that grow, calls, approvals, sources.
// Text from the server is set as text; only HTML that the server has sanitised is set as
// HTML.

import { $, api, el, keep, kept, language, number, send, showSanitised, t } from "/static/app.js";

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
  if (atEnd && $("welcome").hidden) log.scrollTop = log.scrollHeight;
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

// question makes the article of a question. edit is called with its text and the article.
export function question(content, edit) {
  const text = el("div", { className: "text" }, content.slice(0, longQuestion));
  const box = el("article", { className: "message user", "aria-label": t("You", "Bạn") });
  const more = content.length > longQuestion && action(t("Show all", "Hiện tất cả"), () => {
    text.textContent = content;
    text.classList.add("long");
    more.remove();
  });
  if (more) text.append("…");
  box.append(el("h2", { className: "hidden" }, t("You asked", "Bạn hỏi")), text, el("div", { className: "actions" }, ...[more].filter(Boolean), copyAction(() => content), action(t("Edit", "Sửa"), () => edit(content, box))));
  return box;
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
  const seconds = () => number(milliseconds / 1000, 1);
  const took = !milliseconds ? t("done", "xong") : milliseconds < 1000 ? `${number(milliseconds)} ms` : t(`${seconds()} s`, `${seconds()} giây`);
  card.querySelector(".time").textContent = result.isError ? t("could not help", "không giúp được") : took;
  card.querySelector(".body").append(el("h3", {}, t("Answered", "Kết quả")),
    el("pre", { className: "code", tabIndex: 0 }, shown(result.output)));
}

// --- approvals -------------------------------------------------------------------------------------

// inWords is a sentence of the host. Its Vietnamese is fetched when it is needed, which is
// seldom.
function inWords(text) {
  const said = document.createTextNode(text);
  if (language === "vi") import("/static/reasons.js").then(({ reason }) => { said.data = reason(text); }, () => null);
  return said;
}

// approvalCard asks a person about a call, once. Fault and decision show in its place.
function approvalCard(ask) {
  const label = t("Arguments", "Tham số");
  const tool = nameOf(ask.tool);
  const until = new Date(ask.expires).toLocaleTimeString(language, { timeStyle: "short" });
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
    el("p", {}, t(`It belongs to ${ask.server}. You are asked because `, `Thuộc ${ask.server}. Lý do hỏi: `), inWords(ask.why),
      t(`. Without an answer until ${until} it counts as refused.`, `. Không trả lời trước ${until} nghĩa là từ chối.`)),
    edited, fault,
    el("div", { className: "row" },
      el("button", { type: "button", className: "primary", on: { click: () => decide("approve") } }, t("Approve", "Chấp thuận")),
      el("button", { type: "button", on: { click: () => decide("refuse") } }, t("Refuse", "Từ chối"))));
  card.dataset.call = ask.call_id;
  return card;
}

// --- an answer ---------------------------------------------------------------------------------------

// showProse shows sanitised HTML. What may be wider than the page scrolls by itself, also by
// keyboard: a table in a box, which leaves it a table for screen readers.
function showProse(box, html) {
  showSanitised(box, html);
  for (const pre of box.querySelectorAll("pre")) pre.tabIndex = 0;
  for (const table of box.querySelectorAll("table")) {
    const wide = el("div", { className: "wide", tabIndex: 0, role: "group", "aria-label": t("Table", "Bảng") });
    table.replaceWith(wide);
    wide.append(table);
  }
}

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
      el("h2", { className: "hidden" }, t("Answer", "Trả lời")), this.calls, this.body, this.after);
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

  // goOn is called before the stream of a cut answer continues: the next HTML holds all of
  // the text so far.
  goOn() {
    this.anew = true;
  }

  html({ block, html, closed }) {
    let box = this.blocks.get(block);
    if (!box) {
      box = el("div");
      this.blocks.set(block, box);
      this.body.append(box);
    }
    if (this.tail?.parentNode === this.body) this.tail.remove();
    showProse(box, html);
    this.open = closed ? null : box;
    if (closed && !this.anew) announce(box.textContent);
    follow();
  }

  molar(note) {
    const call = note.call ?? null;
    const id = call?.id || note.result?.id || "";
    switch (note.type) {
      case "html":
        if (this.anew) {
          this.blocks.clear();
          this.body.replaceChildren();
        }
        note.blocks.forEach((b) => this.html(b));
        this.anew = false;
        break;
      case "tool_call": this.called(id, call); break;
      case "tool_result":
        if (!this.cards.has(id) && call) this.called(id, call);
        if (this.cards.has(id)) showResult(this.cards.get(id), note.result, note.duration_ms);
        for (const ask of this.calls.querySelectorAll(".approval")) if (ask.dataset.call === id) ask.remove(); // decided elsewhere
        break;
      case "approval":
        this.calls.append(approvalCard(note));
        announce(t(`Your approval is needed for ${note.tool}.`, `Cần bạn chấp thuận ${note.tool}.`));
        break;
      case "sources": this.cited = note.sources; break;
      case "warning": this.note(inWords(note.text), "warn"); break;
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
      card.classList.replace("running", "stopped");
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
  if (m.html) showProse(answer.body, m.html);
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

const batch = 40; // messages drawn at once, which keeps the page answering

// showStored draws messages, the last ones first, while here says that they are still
// wanted. draw makes one of them, given the one before it.
export async function showStored(messages, draw, earlier, here) {
  let before = null;
  for (let end = messages.length, start; end > 0 && here(); end = start) {
    start = Math.max(0, end - batch);
    if (messages[start].role !== "user" && start > 0) start--; // an exchange stays whole
    // Each batch stands in a box of its own, so that one that changes lays out few; the
    // nearest is laid out at once, which makes the end the end.
    const drawn = el("div", { className: before ? "batch" : "batch near" }, messages.slice(start, end).map((m, i) => draw(m, messages[start + i - 1])));
    foldEarlier(drawn, earlier);
    const height = log.scrollHeight;
    const top = log.scrollTop;
    if (before) before.before(drawn);
    else $("welcome").after(drawn); // a question may have been asked meanwhile
    if (before) log.scrollTop = top + log.scrollHeight - height;
    else toEnd();
    before = drawn;
    await new Promise((next) => { (window.requestIdleCallback ?? setTimeout)(next, { timeout: 100 }); });
  }
}

// --- earlier versions ----------------------------------------------------------------------------

// The store only appends, so this browser keeps which turns were asked anew; elsewhere they
// stand unfolded.
export const earlierOf = (id) => kept(`earlier.${id}`).split(" ").filter(Boolean);

// setEarlier says that a turn is, or is not, an earlier version.
export function setEarlier(id, turn, on) {
  const others = earlierOf(id).filter((other) => other !== turn);
  if (id) keep(`earlier.${id}`, (on ? [...others, turn] : others).join(" "));
  if (on) return foldEarlier(log, [turn]);
  for (const box of log.querySelectorAll(".earlier")) {
    if (box.dataset.turn === turn) box.replaceWith(...box.querySelectorAll(".message"));
  }
}

// foldEarlier folds up the exchanges of some turns.
function foldEarlier(root, turns) {
  for (const turn of turns) {
    const pair = [...root.querySelectorAll(".message")].filter((m) => m.dataset.turn === turn && !m.closest(".earlier"));
    if (!pair.length) continue;
    const box = el("details", { className: "earlier" }, el("summary", {},
      t("Earlier version, asked again below", "Bản trước, đã hỏi lại bên dưới")));
    box.dataset.turn = turn;
    pair[0].before(box);
    box.append(...pair);
  }
}

// stopTurn asks the server to end a turn; one that has ended already is fine.
export const stopTurn = (id) => send(`/v1/turns/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => null);
