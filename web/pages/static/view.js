// How a conversation looks: questions, answers that grow, calls, approvals, sources.
// Text from the server is set as text; only HTML that the server has sanitised is set as
// HTML.

import { $, Problem, api, el, files, icon, language, number, send, t, unreachable } from "/static/app.js";

const log = $("log");

// The module that dresses answers is loaded with the first of them.
let prose = null;

let tries = 0; // a browser remembers the address of a module that it could not load

export async function loadProse() {
  prose ??= await import(`/static/prose.js${tries ? `?${tries}` : ""}`).catch(() => {
    tries++;
    throw new Problem(unreachable(), 0, "unreachable");
  });
}
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

const copyAction = (text) =>
  action(t("Copy", "Sao chép"), (event) => prose.copy(text(), event.currentTarget));

// versionSwitch goes from one version of a question to the others. at is the number of this
// one, go is called with how far to go.
function versionSwitch({ at, of }, go) {
  const step = (by, label, sign) => action(sign, () => go(by), { "aria-label": label, title: label, disabled: at + by < 1 || at + by > of });
  return el("span", { className: "versions", role: "group", "aria-label": t("Versions of this question", "Các bản của câu hỏi này") },
    step(-1, t("The version before", "Bản trước"), "‹"), el("span", {}, `${at}/${of}`), step(1, t("The next version", "Bản sau"), "›"));
}

// setVersions puts the switch beside a question, if it has more versions than one.
export function setVersions(box, versions, go) {
  box.querySelector(".versions")?.remove();
  if (versions.of > 1) box.querySelector(".actions").prepend(versionSwitch(versions, (by) => go(box, by)));
}

function sentFile(f) {
  if (f.type.startsWith("image/") && f.type !== "image/svg+xml") return el("img", { src: f.data ?? f.url, alt: f.name, loading: "lazy" });
  return f.url ? el("a", { className: "badge", href: f.url, download: f.name }, f.name) : el("span", { className: "badge" }, f.name);
}

// question makes the article of a question. edit is called with its text and the article,
// useAgain with its files.
export function question(content, edit, files = [], useAgain = null) {
  const text = el("div", { className: "text" }, content.slice(0, longQuestion));
  const box = Object.assign(el("article", { className: "message user", "aria-label": t("You", "Bạn") }), { source: content, files });
  const more = content.length > longQuestion && action(t("Show all", "Hiện tất cả"), () => {
    text.textContent = content;
    text.classList.add("long");
    more.remove();
  });
  if (more) text.append("…");
  box.append(el("h2", { className: "hidden" }, t("You asked", "Bạn hỏi")), ...(files.length ? [el("div", { className: "sent" }, files.map(sentFile))] : []), text, el("div", { className: "actions" }, more, copyAction(() => content), action(t("Edit", "Sửa"), () => edit(content, box)), files.length > 0 && useAgain && action(t("Use the files again", "Dùng lại tệp"), () => useAgain(files))));
  return box;
}

// --- calls ---------------------------------------------------------------------------------------

// escaped writes characters that nobody sees (of no width, or of direction) as JSON escapes.
const escaped = (text) => text.replace(/[\p{Cf}\p{DI}\u2028\u2029]/gu, (c) =>
  c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

function pretty(value) {
  try {
    return escaped(JSON.stringify(typeof value === "string" ? JSON.parse(value) : value, null, 2));
  } catch {
    return escaped(String(value));
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
  card.classList.remove("running", "asks");
  card.classList.toggle("failed", Boolean(result.isError));
  const seconds = () => number(milliseconds / 1000, 1);
  const took = !milliseconds ? t("done", "xong") : milliseconds < 1000 ? `${number(milliseconds)} ms` : t(`${seconds()} s`, `${seconds()} giây`);
  card.querySelector(".time").textContent = result.isError ? t("could not help", "không giúp được") : took;
  card.querySelector(".body").append(el("h3", {}, t("Answered", "Kết quả")),
    el("pre", { className: "code", tabIndex: 0 }, shown(result.output)), ...files(result));
}

// waitsForYou says on a call's line that a person is to decide it.
function waitsForYou(card) {
  card?.classList.add("asks");
  const time = card?.querySelector(".time");
  if (time) time.textContent = t("waits for you", "chờ bạn");
}

// runsOn says that a call goes on once the person has decided.
function runsOn(card) {
  if (!card?.classList.contains("asks")) return;
  card.classList.remove("asks");
  card.querySelector(".time").textContent = t("running…", "đang chạy…");
}

// --- marks ---------------------------------------------------------------------------------------

// marks are the thumbs below an answer. A mark is kept at once, a note when it is sent.
function marks(answer) {
  const button = (mark, label) => el("button", { type: "button", className: "plain small square", "aria-label": label, title: label, "aria-pressed": String(answer.mark === mark), on: { click: () => give(answer.mark === mark ? "none" : mark, "") } }, icon(mark === "up" ? "good" : "poor"));
  const good = button("up", t("Good answer", "Câu trả lời tốt"));
  const poor = button("down", t("Poor answer", "Câu trả lời chưa tốt"));
  const give = async (mark, note) => {
    try {
      await api(`/v1/turns/${encodeURIComponent(answer.turn)}/feedback`, { method: "POST", body: { mark, note } });
      answer.mark = mark;
      good.setAttribute("aria-pressed", String(mark === "up"));
      poor.setAttribute("aria-pressed", String(mark === "down"));
      answer.after.querySelector(".said")?.remove();
      if (mark !== "none" && !note) askNote(mark);
      announce(note ? t("Your note is kept.", "Đã lưu ghi chú.") : t("Kept.", "Đã lưu."));
    } catch (err) {
      answer.note(err.advice, "bad", err.detail);
    }
  };
  const askNote = (mark) => {
    const input = el("input", { maxLength: 4000, autocomplete: "off", "aria-label": t("Note", "Ghi chú"), placeholder: mark === "up" ? t("What was good? (may stay empty)", "Điều gì tốt? (có thể để trống)") : t("What is wrong? (may stay empty)", "Sai ở đâu? (có thể để trống)") });
    const form = el("form", { className: "said row", on: { submit: (event) => {
      event.preventDefault();
      if (input.value.trim()) give(answer.mark, input.value.trim());
      else form.remove();
    } } }, input, el("button", { type: "submit", className: "small" }, t("Keep the note", "Lưu ghi chú")));
    answer.after.append(form);
    input.focus();
  };
  return [good, poor];
}

// showMark presses the thumb that was given to an answer before.
export const showMark = (box, { mark, note }) => box.dispatchEvent(new CustomEvent("marked", { detail: { mark, note } }));

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
  const edited = el("textarea", { value: pretty(ask.arguments), rows: Math.min(14, pretty(ask.arguments).split("\n").length), spellcheck: false, "aria-label": label });
  const fault = el("p", { className: "note bad", hidden: true, role: "alert" });
  const decide = async (decision, scope = "once") => {
    const body = decision === "approve" ? { token: ask.token, decision, scope } : { token: ask.token, decision };
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
    card.dataset.answered = "here"; // the call's result may come before the answer to this
    try {
      await api(`/v1/approvals/${encodeURIComponent(ask.id)}`, { method: "POST", body });
      if (body.arguments) card.dispatchEvent(new CustomEvent("changed", { detail: body.arguments }));
      const said = settle(decision !== "approve" ? t(`You refused ${tool}.`, `Bạn đã từ chối ${tool}.`)
        : scope === "once" ? t(`You approved ${tool} once.`, `Bạn đã chấp thuận ${tool} một lần.`)
          : scope === "always" ? t(`Always allowed: ${ask.subject}.`, `Luôn cho phép: ${ask.subject}.`)
            : t(`Allowed in this conversation: ${ask.subject}.`, `Cho phép trong cuộc trò chuyện này: ${ask.subject}.`));
      if (scope !== "once") import("/static/grants.js").then(({ given }) => given(said, ask.subject)).catch(() => null);
    } catch (err) {
      if ([404, 409, 410].includes(err.status)) return settle(err.message);
      fault.textContent = err.message;
      fault.hidden = false;
      delete card.dataset.answered;
      for (const b of card.querySelectorAll("button")) b.disabled = false;
    }
  };
  const settle = (words) => {
    const said = el("p", { className: "note", tabIndex: -1 }, words);
    card.dispatchEvent(new CustomEvent("decided"));
    card.replaceWith(said);
    said.focus({ preventScroll: true });
    return said;
  };
  const beyond = (ask.scopes?.length ?? 0) > 1 && [
    el("button", { type: "button", title: ask.subject, on: { click: () => decide("approve", "conversation") } }, t("In this conversation", "Trong cuộc trò chuyện này")),
    ask.scopes.includes("always") && el("button", { type: "button", title: ask.subject, on: { click: () => decide("approve", "always") } }, t("Always", "Luôn luôn"))].filter(Boolean);
  if (beyond) edited.addEventListener("input", () => beyond.forEach((b) => { b.hidden = edited.value !== pretty(ask.arguments); }));
  const card = el("section", { className: "approval", "aria-label": t("Approval", "Chấp thuận") },
    el("h3", {}, t(`May ${tool} run?`, `Cho phép chạy ${tool}?`)),
    el("p", {}, t(`It belongs to ${ask.server}. You are asked because `, `Thuộc ${ask.server}. Lý do hỏi: `), inWords(ask.why),
      t(`. Without an answer until ${until} it counts as refused.`, `. Không trả lời trước ${until} nghĩa là từ chối.`)),
    edited, fault,
    beyond && el("p", {}, t("Beyond this call you would allow: ", "Ngoài lần gọi này, bạn sẽ cho phép: "), el("strong", {}, ask.subject), "."),
    el("div", { className: "row" },
      el("button", { type: "button", className: "primary", on: { click: () => decide("approve") } }, t("Approve once", "Chấp thuận một lần")), beyond,
      el("button", { type: "button", on: { click: () => decide("refuse") } }, t("Refuse", "Từ chối"))));
  card.dataset.call = ask.call_id;
  return card;
}

// --- an answer ---------------------------------------------------------------------------------------

// commentary is what was said on the way to a call.
function commentary(text, html) {
  const box = el("div", { className: "commentary prose", role: "note", "aria-label": t("Said on the way", "Nói trong lúc làm") });
  if (html) prose.showProse(box, html);
  else box.textContent = text;
  return box;
}

// An Answer is the article of one answer. again asks its question once more.
export class Answer {
  constructor(again) {
    this.again = again;
    this.source = ""; // the answer as Markdown
    this.turn = "";
    this.files = [];
    this.replaces = []; // the turns of which its question is a new version
    this.missing = new Map(); // the servers whose tools are not there, with what was said of each
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
    if (!this.source) piece = piece.trimStart(); // a blank line only parts it from commentary
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

  // setApart takes what was shown since the last call out of the answer: it was said on the
  // way to a call, and stands before that.
  setApart({ text, html }) {
    if (this.source.endsWith(text)) this.source = this.source.slice(0, -text.length).trimEnd();
    if (this.open) announce(this.open.textContent);
    this.blocks.clear();
    this.open = this.tail = null;
    this.anew = false;
    this.body.replaceChildren(...(this.source ? [this.source] : []));
    this.calls.append(commentary(text, html));
  }

  html({ block, html, closed }) {
    let box = this.blocks.get(block);
    if (!box) {
      box = el("div");
      this.blocks.set(block, box);
      this.body.append(box);
    }
    for (const plain of [...this.body.childNodes]) if (plain.nodeType === Node.TEXT_NODE || plain === this.tail) plain.remove();
    prose.showProse(box, html);
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
      case "commentary": this.setApart(note); break;
      case "tool_call": this.called(id, call); break;
      case "tool_result":
        if (!this.cards.has(id) && call) this.called(id, call);
        if (this.cards.has(id)) showResult(this.cards.get(id), note.result, note.duration_ms);
        for (const ask of this.calls.querySelectorAll(".approval:not([data-answered])")) if (ask.dataset.call === id || ask.dataset.server && ask.dataset.server === (note.server ?? note.result?.server)) ask.remove(); // decided elsewhere
        break;
      case "approval":
        waitsForYou(this.cards.get(note.call_id));
        this.asks(note);
        announce(t(`Your approval is needed for ${note.tool}.`, `Cần bạn chấp thuận ${note.tool}.`));
        break;
      case "question":
        import("/static/questions.js").then(({ questionCard }) => {
          if (this.ended) return;
          this.calls.append(questionCard(note));
          follow();
        }, () => this.note(t("A server asks something, and this page could not load its form.", "Một máy chủ đang hỏi, nhưng trang không tải được biểu mẫu."), "bad"));
        for (const card of this.calls.querySelectorAll(".call.running")) if (card.dataset.tool.startsWith(`${note.server}__`)) waitsForYou(card);
        announce(t(`“${note.server}” asks you something.`, `“${note.server}” hỏi bạn.`));
        break;
      case "progress":
      case "log": this.heard(note); break;
      case "sources": this.cited = note.sources; break;
      case "warning":
        if (note.code === "server_missing") this.missing.set(note.server, inWords(note.text));
        else this.note(inWords(note.text), "warn");
        break;
    }
    follow();
  }

  // heard shows what a server says on the call that it belongs to: that of its tool, else the
  // only one that runs.
  heard(note) {
    const running = [...this.calls.querySelectorAll(".call.running")];
    const own = running.filter((card) => note.toolName && card.dataset.tool.endsWith(note.toolName));
    const card = own[0] ?? (running.length === 1 ? running[0] : null);
    if (card) import("/static/questions.js").then(({ showNews }) => card.classList.contains("running") && showNews(card, note), () => null);
  }

  // asks puts a call before the person. Arguments that are changed show on the call too.
  asks(note) {
    const ask = approvalCard(note);
    const card = this.cards.get(note.call_id);
    ask.addEventListener("decided", () => runsOn(card));
    ask.addEventListener("changed", ({ detail }) => { if (card) card.querySelector("pre").textContent = pretty(detail); });
    this.calls.append(ask);
  }

  called(id, call) {
    const card = callCard(call);
    card.dataset.tool = call.function.name;
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
    this.ended = true;
    this.box.classList.remove("waiting");
    for (const card of this.calls.querySelectorAll(".running")) {
      card.classList.replace("running", "stopped");
      card.querySelector(".time").textContent = t("stopped", "đã dừng");
    }
    for (const ask of this.calls.querySelectorAll(".approval:not([data-answered])")) ask.remove();
    if (this.open) announce(this.open.textContent);
    prose?.finish(this.body);
    this.showSources();
    this.box.askAgain = this.source ? null : (files = this.files) => this.again(Object.assign(this, { files }));
    this.after.querySelector(".actions")?.remove();
    const thumbs = this.turn && this.source ? marks(this) : [];
    this.after.append(el("div", { className: "actions" },
      this.source && copyAction(() => this.source),
      this.cut && this.goesOn && action(t("Continue", "Tiếp tục"), () => this.goesOn(this)),
      this.again && action(t("Ask again", "Hỏi lại"), () => this.again(this)),
      this.turn && el("a", { className: "button plain small", href: `/turn?id=${encodeURIComponent(this.turn)}`, on: { click: (event) => explain(event, this.turn) } }, t("Why this answer?", "Vì sao trả lời vậy?")),
      ...thumbs));
    this.box.addEventListener("marked", ({ detail }) => {
      this.mark = detail.mark;
      for (const [i, mark] of ["up", "down"].entries()) {
        thumbs[i]?.setAttribute("aria-pressed", String(detail.mark === mark));
        if (thumbs[i] && detail.note && detail.mark === mark) thumbs[i].title = detail.note;
      }
    });
    follow();
  }
}

// explain opens the panel of a turn beside the conversation, unless its page is wanted.
async function explain(event, turn) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const link = event.currentTarget;
  const why = await import("/static/why.js").catch(() => null);
  if (why) why.explain(turn, link);
  else location.assign(link.href);
}

// storedAnswer makes the article of an answer that was kept.
export function storedAnswer(m, again, goesOn) {
  const answer = Object.assign(new Answer(again), { goesOn, cut: m.status === "interrupted" });
  answer.source = m.content;
  answer.turn = m.turn_id ?? "";
  if (m.html) prose.showProse(answer.body, m.html);
  else answer.body.textContent = m.content;
  for (const round of m.calls ?? []) {
    for (const part of round.said?.parts ?? []) {
      if (!part.call) continue;
      const said = m.commentary?.find((c) => c.call === part.call.id);
      if (said) answer.calls.append(commentary(said.text, said.html));
      const card = callCard(part.call);
      const result = round.results?.find((r) => r.id === part.call.id);
      if (result) showResult(card, result, 0);
      answer.calls.append(card);
    }
  }
  answer.cited = m.sources;
  if (m.status === "interrupted") whyCut(answer);
  answer.end();
  return answer.box;
}

// whyCut says that an answer broke off, and why, as far as the trace of its turn knows.
async function whyCut(answer) {
  const said = answer.note(answer.source ? t("This answer was cut short.", "Câu trả lời này bị ngắt giữa chừng.")
    : t("This question found no answer.", "Câu hỏi này không có câu trả lời."));
  if (!answer.turn) return;
  const { error } = await api(`/v1/turns/${encodeURIComponent(answer.turn)}`).catch(() => ({}));
  if (error) said.append(el("small", {}, inWords(error)));
}

// How many messages are drawn at once, and for how many milliseconds, which keeps the page
// answering; and how long more of them are waited for.
const least = 6, batch = 40, slice = 12, patience = 60;

// showSome draws the next exchanges of a branch above those that are drawn, until it took long
// enough, and says whether there may be more. draw makes one message, given the one before it.
// Nothing is drawn once the branch is no longer the one that is shown.
export async function showSome(exchanges, draw, isShown) {
  const some = [];
  let ended = false;
  for (let spent = 0, began = 0; some.length < batch && (some.length < least || spent < slice && performance.now() - began < patience);) {
    const { value: exchange, done } = await exchanges.next();
    began ||= performance.now(); // the first is waited for
    ended = done;
    if (done) break;
    const before = performance.now();
    some.unshift(...exchange.map((m, i) => draw(m, exchange[i - 1])));
    spent += performance.now() - before;
  }
  if (!isShown()) return false;
  if (!some.length) return !ended;
  // Each batch stands in a box of its own, so that one that changes lays out few; the
  // nearest is laid out at once, which makes the end the end.
  const before = log.querySelector(".batch");
  const drawn = el("div", { className: before ? "batch" : "batch near" }, some);
  drawn.style.containIntrinsicSize = `auto ${17 * some.length}rem`;
  const height = log.scrollHeight;
  const top = log.scrollTop;
  if (before) before.before(drawn);
  else $("welcome").after(drawn); // a question may have been asked meanwhile
  if (before) log.scrollTop = top + log.scrollHeight - height;
  else toEnd();
  return !ended;
}

// --- branches -------------------------------------------------------------------------------------

// A Tree is a conversation as its lines come: each message says by seq which one it follows,
// and the newest come first. Questions that follow the same message are versions of one
// another; those of a message are known once that has come.
export class Tree {
  constructor(lines) {
    this.lines = lines;
    this.all = new Map(); // by seq, the newest first
    this.versions = new Map(); // the questions after each message
  }

  // read takes one more message; null when there is none.
  async read() {
    const { value: m } = await this.lines.next();
    this.oldest = m?.seq ?? -1;
    if (!m) return null;
    this.all.set(m.seq, m);
    if (m.role !== "user") return m;
    const parent = m.parent ?? 0;
    this.versions.set(parent, [m, ...this.versions.get(parent) ?? []]);
    return m;
  }

  // find reads on until a message is there; 0 stands before the first.
  async find(seq = 0) {
    while (!(this.oldest <= seq)) if (!await this.read()) break;
    return this.all.get(seq);
  }

  // newest is the message that came last, where there is one.
  async newest() {
    if (!this.all.size) await this.read();
    return this.all.values().next().value;
  }

  // beside are the versions of the question of the newest of these turns, in their order.
  async beside(turns) {
    let asked = null;
    while (!asked) {
      const m = await this.read();
      if (!m) return [];
      if (m.role === "user" && turns.includes(m.turn_id)) asked = m;
    }
    await this.find(asked.parent);
    return this.versions.get(asked.parent ?? 0);
  }

  // leaf is the newest message of all that come after one.
  leaf(seq) {
    const under = new Set([seq]);
    let leaf = null;
    for (const m of [...this.all.values()].reverse()) {
      if (!under.has(m.seq) && !under.has(m.parent)) continue;
      under.add(m.seq);
      leaf = m;
    }
    return leaf;
  }

  // branch gives the exchanges that lead to a message, the newest first, each as soon as the
  // versions of its question are known: how many there are, and which one it is.
  async* branch(leaf) {
    let exchange = [];
    for (let m = leaf; m;) {
      exchange.unshift(m);
      const before = await this.find(m.parent);
      if (m.role === "user" || !before) {
        const beside = this.versions.get(m.parent ?? 0) ?? [];
        if (m.role === "user") m.versions = { at: beside.indexOf(m) + 1, of: beside.length };
        yield exchange;
        exchange = [];
      }
      m = before;
    }
  }

  // close ends the reading.
  close() {
    this.lines.return();
  }
}

// stopTurn asks the server to end a turn; one that has ended already is fine.
export const stopTurn = (id) => send(`/v1/turns/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => null);
