// The display of a conversation: questions, growing answers, calls, approvals, sources. Text from
// the server is set as text; only HTML that the server has sanitised is set as HTML.

import { $, Problem, allows, api, el, files, icon, language, me, nameOf, number, passageLink, send, t, unreachable } from "/static/app.js";

const log = $("log");

let prose = null; // the module that shows HTML; it is loaded with the first answer

let tries = 0; // failed loads; a browser does not load the address of a failed module again

export async function loadProse() {
  prose ??= await import(`/static/prose.js${tries ? `?${tries}` : ""}`).catch(() => {
    tries++;
    throw new Problem(unreachable(), 0, "unreachable");
  });
}
const longQuestion = 4000; // characters of a question that are shown at first

// --- scrolling: the end stays in view while the reader is at the end ---------------------------

let atEnd = true;

export function toEnd() {
  atEnd = true;
  log.scrollTop = log.scrollHeight;
  $("down").hidden = true;
}

// follow keeps the end in view, but of an open approval that is higher than the view its beginning: what
// is asked, and why.
function follow() {
  if (!atEnd || !$("welcome").hidden) return;
  const open = log.querySelector(".approval:not([data-answered])");
  log.scrollTop = open ? log.scrollTop + open.getBoundingClientRect().top - log.getBoundingClientRect().top - 8 : log.scrollHeight;
}

let measuring = false;
log.addEventListener("scroll", () => {
  if (measuring) return;
  measuring = true;
  requestAnimationFrame(() => { // measures once in each frame
    measuring = false;
    atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    $("down").hidden = atEnd || Boolean(log.lastElementChild.querySelector(".approval:not([data-answered], .elsewhere)")); // it would cover the buttons
  });
}, { passive: true });
new ResizeObserver(follow).observe(log);
log.addEventListener("drawn", follow); // a formula is higher than its source
$("down").addEventListener("click", toEnd);

// --- announcements for screen readers: each block of an answer once it is complete --------------

export function announce(text) {
  const words = text.trim();
  if (words) $("live").append(el("p", {}, words.slice(0, 2000)));
  while ($("live").children.length > 30) $("live").firstChild.remove();
}

// --- a question --------------------------------------------------------------------------------

// action makes a button of an icon with a name.
const action = (sign, label, click, props = {}) =>
  el("button", { type: "button", className: "plain small square", "aria-label": label, title: label, on: { click }, ...props }, icon(sign));

// copyAction makes the button that copies a text, and shows for a moment whether that went well.
const copyAction = (text, label = t("Copy", "Sao chép")) => action("copy", label, async ({ currentTarget: button }) => {
  const done = await navigator.clipboard.writeText(text()).then(() => true, () => false);
  const words = done ? t("Copied", "Đã sao chép") : t("Copying is not allowed here", "Không được phép sao chép ở đây");
  button.replaceChildren(icon(done ? "done" : "warn"));
  button.title = words;
  announce(words);
  setTimeout(() => {
    button.replaceChildren(icon("copy"));
    button.title = label;
  }, 2000);
});

// --- notes of the host ---------------------------------------------------------------------------

// noteBox makes a box with one sentence; kind is "", "warn" or "bad". step is the button of the best next
// step, and detail the words of a program, which are folded: a click selects them.
export function noteBox(words, kind = "", detail = "", step = null) {
  return el("div", { className: `note ${kind}`, role: kind === "bad" ? "alert" : null }, kind && icon("warn"), el("div", {}, el("p", {}, words),
    (step || detail) && el("div", { className: "row" }, step,
      detail && el("details", {}, el("summary", {}, t("Details", "Chi tiết")), el("pre", { className: "detail", tabIndex: 0 }, detail), copyAction(() => detail.textContent ?? detail, t("Copy the details", "Sao chép chi tiết"))))));
}

// stepButton returns the button of the best next step after a problem; again asks once more, if that is
// possible. Settings are for those who may change them.
async function stepButton({ step }, again) {
  const to = (href, words) => el("a", { className: "button", href }, words);
  const who = step === "settings" && await me();
  if (step === "sign-in") return to("/login", t("Sign in", "Đăng nhập"));
  if (step === "settings" && (!who || allows(who, "admin"))) return to("/config", t("Open the settings", "Mở cài đặt"));
  if (step === "new") return el("button", { type: "button", on: { click: () => $("new").click() } }, t("New conversation", "Cuộc trò chuyện mới"));
  return again && step !== "none" ? el("button", { type: "button", on: { click: again } }, icon("again"), t("Ask again", "Hỏi lại")) : null;
}

// versionSwitch returns the buttons that switch between the versions of a question. at is the
// number of the version shown, of the number of versions; go is called with the distance, 1 or -1.
function versionSwitch({ at, of }, go) {
  const step = (by, label, sign) => action(sign, label, () => go(by), { disabled: at + by < 1 || at + by > of });
  return el("span", { className: "versions", role: "group", "aria-label": t("Versions of this question", "Các bản của câu hỏi này") },
    step(-1, t("The version before", "Bản trước"), "back"), el("span", {}, `${at}/${of}`), step(1, t("The next version", "Bản sau"), "next"));
}

// setVersions adds the switch to a question with more than one version.
export function setVersions(box, versions, go) {
  box.querySelector(".versions")?.remove();
  if (versions.of > 1) box.querySelector(".actions").append(versionSwitch(versions, (by) => go(box, by)));
}

// fileSize returns the size of a file for people.
const fileSize = (bytes) => (bytes < 1000 ? `${number(bytes)} B` : bytes < 999_500 ? `${number(bytes / 1000)} kB` : `${number(bytes / 1e6, 1)} MB`);

// fileChip returns what stands for a file: a picture that opens, or an icon with the name and the size.
export function fileChip(f, props = {}) {
  if (f.type.startsWith("image/") && f.type !== "image/svg+xml") {
    return el("button", { type: "button", className: "thumb", "aria-label": t(`Open ${f.name}`, `Mở ${f.name}`), title: f.name, on: { click: () => import("/static/files.js").then((m) => m.openPicture(f), () => null) } }, el("img", { src: f.data ?? f.url, alt: f.name, loading: "lazy" }));
  }
  return el(f.url ? "a" : "span", { className: "chip", ...f.url ? { href: f.url, download: f.name } : {}, ...props }, icon("file"), el("span", { className: "name" }, f.name), f.size > 0 && el("small", {}, fileSize(f.size)));
}

// question makes the article of a question. edit is called with its text and the article, useAgain
// with its files.
export function question(content, edit, files = [], useAgain = null) {
  const text = el("div", { className: "text" }, content.slice(0, longQuestion));
  const box = Object.assign(el("article", { className: "message user", "aria-label": t("You", "Bạn") }), { source: content, files });
  if (content.length > longQuestion) {
    const more = el("button", { type: "button", className: "plain small", on: { click: () => {
      text.textContent = content;
      text.classList.add("long");
    } } }, t("Show all", "Hiện tất cả"));
    text.append("… ", more);
    addEventListener("beforeprint", () => { if (more.isConnected) more.click(); });
  }
  box.append(el("h2", { className: "hidden" }, t("You asked", "Bạn hỏi")), ...(files.length ? [el("div", { className: "sent" }, files.map((f) => fileChip(f)))] : []),
    el("div", { className: "said-so" }, text, el("div", { className: "actions" }, copyAction(() => content), action("pen", t("Edit", "Sửa"), () => edit(content, box)), files.length > 0 && useAgain && action("clip", t("Use the files again", "Dùng lại tệp"), () => useAgain(files)))));
  return box;
}

// --- calls ---------------------------------------------------------------------------------------

// escapeInvisible replaces invisible characters (of no width, or of direction) by JSON escapes.
const escapeInvisible = (text) => text.replace(/[\p{Cf}\p{DI}\u2028\u2029]/gu, (c) =>
  c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

export function pretty(value) {
  try {
    return escapeInvisible(JSON.stringify(typeof value === "string" ? JSON.parse(value) : value, null, 2));
  } catch {
    return escapeInvisible(String(value));
  }
}

const outputText = (value) => (typeof value === "string" ? value : pretty(value));

// either formats names of which one is enough.
const either = (names) => new Intl.ListFormat(language, { type: "disjunction" }).format(names);

// The states of a call, each with its icon.
const signs = { running: "turn", asks: "clock", done: "done", failed: "warn", refused: "close", stopped: "stop" };

// setState shows the state of a call, in words beside its icon.
function setState(card, state, words) {
  if (card.dataset.state !== state) card.querySelector(".sign").replaceChildren(icon(signs[state]));
  card.dataset.state = state;
  card.classList.remove(...Object.keys(signs));
  card.classList.add(state);
  card.querySelector(".time").textContent = words;
}

const tookText = (ms) => (ms < 1000 ? `${number(ms)} ms` : t(`${number(ms / 1000, 1)} s`, `${number(ms / 1000, 1)} giây`));

function callCard(call) {
  const name = call.function.name;
  const card = el("details", { className: "call" },
    el("summary", {}, el("span", { className: "sign" }), el("span", { className: "name" }, nameOf(name)), el("span", { className: "time" })),
    el("div", { className: "body" }, el("h3", {}, t("Asked with", "Tham số")),
      el("pre", { className: "code", tabIndex: 0 }, pretty(call.function.arguments || "{}"))));
  setRunning(card);
  return card;
}

// setRunning shows that a call runs, and for how long after its first second.
function setRunning(card) {
  const words = t("running…", "đang chạy…");
  const began = card.began = performance.now();
  setState(card, "running", words);
  const timer = setInterval(() => {
    if (card.dataset.state !== "running" || card.began !== began) return clearInterval(timer);
    const time = card.querySelector(".time");
    if (time.textContent.startsWith(words)) time.textContent = `${words} ${tookText(Math.floor((performance.now() - began) / 1000) * 1000)}`;
  }, 1000);
}

function showResult(card, result, milliseconds, refused = false) {
  const state = refused ? "refused" : result.isError ? "failed" : "done";
  const took = milliseconds ? tookText(milliseconds) : "";
  setState(card, state, { refused: t("refused", "bị từ chối"), failed: [t("failed", "không thành"), took].filter(Boolean).join(" · "), done: took || t("done", "xong") }[state]);
  card.querySelector(".body").append(el("h3", {}, t("Answered", "Kết quả")),
    el("pre", { className: "code", tabIndex: 0 }, outputText(result.output)), ...files(result));
}

// markWaiting shows on the line of a call that it waits for a person.
function markWaiting(card, approvers) {
  if (card) setState(card, "asks", approvers ? t(`waits for ${approvers}`, `chờ ${approvers}`) : t("waits for you", "chờ bạn"));
}

// markRunning shows that a call that waited for a person runs again.
function markRunning(card) {
  if (card?.dataset.state === "asks") setRunning(card);
}

// --- marks ---------------------------------------------------------------------------------------

// marks returns the thumbs below an answer. A mark is stored at once, a note when it is sent.
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
      answer.fail(err);
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

// showMark shows the stored mark of an answer.
export const showMark = (box, { mark, note }) => box.dispatchEvent(new CustomEvent("marked", { detail: { mark, note } }));

// --- approvals -------------------------------------------------------------------------------------

// inWords returns a text node with a sentence of the host. The Vietnamese translations are loaded
// only when they are needed, which is rare.
function inWords(text) {
  const node = document.createTextNode(text);
  if (language === "vi") import("/static/reasons.js").then(({ reason }) => { node.data = reason(text); }, () => null);
  return node;
}

// waitsFor returns the groups whose members decide about a call, where the person who asks may not.
export const waitsFor = (ask) => (ask.mine ? "" : either(ask.approvers ?? []));

// decided returns what somebody else decided about a call.
const decided = (tool, by, refused) => (refused ? t(`${tool}: refused by ${by}`, `${tool}: ${by} đã từ chối`) : t(`${tool}: approved by ${by}`, `${tool}: ${by} đã chấp thuận`));

// --- an answer ---------------------------------------------------------------------------------------

// commentary returns a box with text that the model wrote before a call.
function commentary(text, html) {
  const box = el("div", { className: "commentary prose", role: "note", "aria-label": t("Said on the way", "Nói trong lúc làm") });
  if (html) prose.showProse(box, html);
  else box.textContent = text;
  return box;
}

// An Answer is the article of one answer. again is called to ask its question once more.
export class Answer {
  constructor(again) {
    this.again = again;
    this.source = ""; // the answer as Markdown
    this.turn = "";
    this.files = [];
    this.replaces = []; // the turns of which its question is a new version
    this.lasting = new Map(); // the turn's warnings about the host, by what each is about
    this.blocks = new Map();
    this.cards = new Map();
    this.body = el("div", { className: "text prose", "data-waits": t("Thinking…", "Đang suy nghĩ…") });
    this.calls = el("div");
    this.after = el("div");
    this.box = el("article", { className: "message assistant waiting", "aria-label": t("Answer", "Trả lời") },
      el("h2", { className: "hidden" }, t("Answer", "Trả lời")), this.calls, this.body, this.after);
  }

  // text appends a piece as plain text, which html replaces soon.
  text(piece) {
    if (!this.source) piece = piece.trimStart(); // a blank line at the beginning only separates it from commentary
    this.source += piece;
    if (!this.tail?.isConnected) {
      this.tail = el("span");
      (this.open ?? this.body).append(this.tail);
    }
    this.tail.append(piece);
    follow();
  }

  // resume is called before the stream of a cut answer is resumed: the next HTML contains the whole
  // text so far and replaces the blocks.
  resume() {
    this.replaceBlocks = true;
  }

  // setApart moves the text since the last call out of the answer: it is commentary, which is shown
  // before the call that follows.
  setApart({ text, html }) {
    const from = this.source.lastIndexOf(text); // after a reset there may be more, which nobody recorded
    if (from >= 0) this.source = this.source.slice(0, from).trimEnd();
    if (this.open) announce(this.open.textContent);
    this.blocks.clear();
    this.open = this.tail = null;
    this.replaceBlocks = false;
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
    if (closed && !this.replaceBlocks) announce(box.textContent);
    follow();
  }

  molar(note) {
    const call = note.call ?? null;
    const id = call?.id || note.result?.id || "";
    switch (note.type) {
      case "html":
        if (this.replaceBlocks) {
          this.blocks.clear();
          this.body.replaceChildren();
        }
        note.blocks.forEach((b) => this.html(b));
        this.replaceBlocks = false;
        break;
      case "commentary": this.setApart(note); break;
      case "reset": // another process continues the turn, and asks its last round again
        if (note.text) this.setApart(note);
        this.stopCalls();
        for (const ask of this.calls.querySelectorAll(".approval:not([data-answered])")) ask.remove();
        break;
      case "tool_call": this.addCall(id, call); break;
      case "tool_result":
        if (!this.cards.has(id) && call) this.addCall(id, call);
        if (this.cards.has(id)) showResult(this.cards.get(id), note.result, note.duration_ms, note.refused);
        for (const ask of this.calls.querySelectorAll(".approval:not([data-answered])")) if (ask.dataset.call === id || ask.dataset.server && ask.dataset.server === (note.server ?? note.result?.server)) ask.remove(); // decided elsewhere
        if (note.decided_by) this.note(decided(nameOf((note.call ?? call).function.name), note.decided_by, note.refused));
        break;
      case "approval":
        markWaiting(this.cards.get(note.call_id), waitsFor(note));
        this.addApproval(note);
        announce(waitsFor(note) ? t(`${nameOf(note.tool)} waits for ${waitsFor(note)}`, `${nameOf(note.tool)} đang chờ ${waitsFor(note)}`)
          : t(`Your approval is needed for ${note.tool}.`, `Cần bạn chấp thuận ${note.tool}.`));
        break;
      case "question":
        import("/static/questions.js").then(({ questionCard }) => {
          if (this.ended) return;
          this.calls.append(questionCard(note));
          follow();
        }, () => this.fail(new Problem(t("A server asks something, and this page could not load its form.", "Một máy chủ đang hỏi, nhưng trang không tải được biểu mẫu."))));
        for (const card of this.calls.querySelectorAll(".call.running")) if (card.dataset.tool.startsWith(`${note.server}__`)) markWaiting(card);
        announce(note.login ? t(`You need to log in at “${note.server}”.`, `Bạn cần đăng nhập ở “${note.server}”.`) : t(`“${note.server}” asks you something.`, `“${note.server}” hỏi bạn.`));
        break;
      case "progress":
      case "log": this.showServerNews(note); break;
      case "sources": this.sources = note.sources; break;
      case "warning":
        if (note.lasting) this.lasting.set(`${note.code} ${note.server ?? ""}`, { ...note, words: inWords(note.text) });
        else this.remark(inWords(note.text));
        break;
    }
    follow();
  }

  // showServerNews shows the progress or log line of a server on its call: the running call of the
  // tool that it names, else the only running call.
  showServerNews(note) {
    const running = [...this.calls.querySelectorAll(".call.running")];
    const own = running.filter((card) => note.toolName && card.dataset.tool.endsWith(note.toolName));
    const card = own[0] ?? (running.length === 1 ? running[0] : null);
    if (card) import("/static/questions.js").then(({ showNews }) => card.classList.contains("running") && showNews(card, note), () => null);
  }

  // addApproval asks the person about a call. Changed arguments are shown on the card of the call
  // too.
  async addApproval(note) {
    const card = this.cards.get(note.call_id);
    const cards = await import("/static/approval.js").catch(() => null);
    if (!cards) return this.fail(new Problem(t("A call waits for you, and this page could not load its form.", "Một lời gọi đang chờ bạn, nhưng trang không tải được biểu mẫu.")));
    if (this.ended || card && card.dataset.state !== "asks") return; // decided meanwhile
    const ask = cards.approvalCard(note);
    ask.addEventListener("decided", () => markRunning(card));
    ask.addEventListener("changed", ({ detail }) => { if (card) card.querySelector("pre").textContent = pretty(detail); });
    this.calls.append(ask);
    follow();
  }

  // addCall adds the card of a call.
  addCall(id, call) {
    const card = callCard(call);
    card.dataset.tool = call.function.name;
    this.cards.set(id, card);
    this.calls.append(card);
    announce(t(`Asking ${call.function.name}`, `Đang hỏi ${call.function.name}`));
  }

  // showSources lists the sources that the answer itself does not link to, and passages of documents, which it
  // cannot link to.
  showSources() {
    this.after.querySelector(".sources")?.remove();
    const linked = new Set([...this.body.querySelectorAll("a")].map((a) => a.getAttribute("href")));
    const page = (s) => /^https?:\/\//.test(s.url) && !linked.has(s.url) && el("a", { href: s.url, target: "_blank", rel: "noopener noreferrer nofollow", title: s.url }, s.title || s.url);
    const links = (this.sources ?? []).flatMap((s) => [passageLink(s), page(s)]).filter(Boolean).map((a) => el("li", {}, a));
    if (links.length) this.after.prepend(el("ul", { className: "sources", "aria-label": t("Sources", "Nguồn") }, links));
  }

  // put adds an element below the answer, above its actions.
  put(element) {
    const actions = this.after.querySelector(".actions");
    if (actions) actions.before(element);
    else this.after.append(element);
    follow();
  }

  // note adds a text of the host below the answer.
  note(words) { this.put(noteBox(words)); }

  // remark adds a quiet line about this answer.
  remark(words) {
    this.remarked = true;
    this.put(el("p", { className: "remark" }, icon("warn"), el("span", {}, words)));
  }

  // fail shows a problem below the answer: one sentence, the best next step, and the server's own words
  // folded.
  async fail(problem) {
    this.failed = true;
    const box = noteBox(problem.advice, "bad", problem.detail);
    this.put(box);
    const step = await stepButton(problem, this.source ? null : () => this.again(Object.assign(this, { files: this.files })));
    if (!step) return;
    const row = box.querySelector(".row");
    if (row) row.prepend(step);
    else box.lastElementChild.append(el("div", { className: "row" }, step));
    follow();
  }

  // stopCalls shows of the calls that run that they are stopped.
  stopCalls() {
    for (const card of this.calls.querySelectorAll(".call:is(.running, .asks)")) setState(card, "stopped", t("stopped", "đã dừng"));
  }

  // end completes the answer and adds its actions.
  end() {
    this.ended = true;
    this.box.classList.remove("waiting");
    this.stopCalls();
    for (const ask of this.calls.querySelectorAll(".approval:not([data-answered])")) ask.remove();
    if (this.open) announce(this.open.textContent);
    prose?.finish(this.body);
    this.showSources();
    this.box.askAgain = this.source ? null : (files = this.files) => this.again(Object.assign(this, { files }));
    this.after.querySelector(".actions")?.remove();
    const thumbs = this.turn && this.source ? marks(this) : [];
    const why = t("Why this answer?", "Vì sao trả lời vậy?");
    this.after.append(el("div", { className: "actions" },
      this.turn && el("a", { className: "button plain small why", href: `/turn?id=${encodeURIComponent(this.turn)}`, "aria-label": why, title: why, on: { click: (event) => explain(event, this.turn) } }, icon("why"), t("Why?", "Vì sao?")),
      this.source && copyAction(() => this.source),
      this.cut && this.continueAnswer && action("on", t("Continue", "Tiếp tục"), () => this.continueAnswer(this)),
      this.again && (this.source || !this.failed) && action("again", t("Ask again", "Hỏi lại"), () => this.again(this)),
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

// explain opens the panel of a turn next to the conversation, unless a modifier key asks for its
// page.
async function explain(event, turn) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const link = event.currentTarget;
  const why = await import("/static/why.js").catch(() => null);
  if (why) why.explain(turn, link);
  else location.assign(link.href);
}

// storedAnswer makes the article of a stored answer.
export function storedAnswer(m, again, continueAnswer) {
  const answer = Object.assign(new Answer(again), { continueAnswer, cut: m.status === "interrupted" });
  answer.source = m.content;
  answer.turn = m.turn_id ?? "";
  if (m.html) prose.showProse(answer.body, m.html);
  else answer.body.textContent = m.content;
  for (const round of m.calls ?? []) {
    for (const part of round.said?.parts ?? []) {
      if (!part.call) continue;
      const before = m.commentary?.find((c) => c.call === part.call.id);
      if (before) answer.calls.append(commentary(before.text, before.html));
      const card = callCard(part.call);
      const result = round.results?.find((r) => r.id === part.call.id);
      if (result) showResult(card, result, round.took_ms?.[round.results.indexOf(result)]);
      else setState(card, "stopped", t("stopped", "đã dừng"));
      answer.calls.append(card);
    }
  }
  for (const d of m.decisions ?? []) answer.note(decided(nameOf(d.tool), d.decided_by, d.refused));
  answer.sources = m.sources;
  answer.failed = m.status === "interrupted" && !answer.source;
  if (m.status === "interrupted") whyCut(answer);
  answer.end();
  return answer.box;
}

// whyCut shows that an answer is incomplete, and the error of its turn if the trace has one.
async function whyCut(answer) {
  const { error } = answer.turn ? await api(`/v1/turns/${encodeURIComponent(answer.turn)}`).catch(() => ({})) : {};
  const problem = new Problem(answer.source ? t("This answer was cut short.", "Câu trả lời này bị ngắt giữa chừng.")
    : t("This question found no answer.", "Câu hỏi này không có câu trả lời."), 0, "", error ? inWords(error) : "");
  if (answer.source) answer.put(noteBox(problem.advice, "", problem.detail));
  else answer.fail(problem);
}

// Limits of one batch of drawing, which keep the page responsive: it has at least least messages
// and about batch at most, draws for slice ms, and waits for more messages until patience ms have
// passed.
const least = 6, batch = 40, slice = 12, patience = 60;

// showSome draws the next batch of exchanges of a branch above those that are drawn, and reports
// whether there may be more. draw makes one message, given the one before it. Nothing is drawn when
// isShown reports that the branch is no longer the one on the page.
export async function showSome(exchanges, draw, isShown) {
  const some = [];
  let ended = false;
  for (let spent = 0, began = 0; some.length < batch && (some.length < least || spent < slice && performance.now() - began < patience);) {
    const { value: exchange, done } = await exchanges.next();
    began ||= performance.now(); // waiting for the first exchange does not count
    ended = done;
    if (done) break;
    const before = performance.now();
    some.unshift(...exchange.map((m, i) => draw(m, exchange[i - 1])));
    spent += performance.now() - before;
  }
  if (!isShown()) return false;
  if (!some.length) return !ended;
  // Each batch has its own box, so that a change causes the layout of few messages. The last batch
  // of the branch is laid out at once, so that scrolling to the end reaches the end.
  const before = log.querySelector(".batch");
  const box = el("div", { className: before ? "batch" : "batch near" }, some);
  box.style.containIntrinsicSize = `auto ${17 * some.length}rem`;
  const height = log.scrollHeight;
  const top = log.scrollTop;
  if (before) before.before(box);
  else $("welcome").after(box); // a question may have been asked meanwhile
  if (before) log.scrollTop = top + log.scrollHeight - height;
  else toEnd();
  return !ended;
}

// --- branches -------------------------------------------------------------------------------------

// A Tree is a conversation that is read line by line, the newest message first. The field parent of
// a message is the seq of the message that it follows. Questions that follow the same message are
// versions of one another; all of them are known once that message has been read.
export class Tree {
  constructor(lines) {
    this.lines = lines;
    this.all = new Map(); // by seq, the newest first
    this.versions = new Map(); // the questions after each message
  }

  // read reads one more message, and returns it, or null at the end.
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

  // find reads until the message with this seq is read, and returns it; 0 means the beginning of
  // the conversation, which has no message.
  async find(seq = 0) {
    while (!(this.oldest <= seq)) if (!await this.read()) break;
    return this.all.get(seq);
  }

  // newest returns the newest message, if there is one.
  async newest() {
    if (!this.all.size) await this.read();
    return this.all.values().next().value;
  }

  // versionsOf returns the versions of the question of the newest of these turns, oldest first.
  async versionsOf(turns) {
    let match = null;
    while (!match) {
      const m = await this.read();
      if (!m) return [];
      if (m.role === "user" && turns.includes(m.turn_id)) match = m;
    }
    await this.find(match.parent);
    return this.versions.get(match.parent ?? 0);
  }

  // leaf returns the newest message of the branches that begin with the message seq.
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

  // branch yields the exchanges that lead to a message, the newest first, each as soon as the
  // versions of its question are known. The question gets their number and its own number among
  // them.
  async* branch(leaf) {
    let exchange = [];
    for (let m = leaf; m;) {
      exchange.unshift(m);
      const before = await this.find(m.parent);
      if (m.role === "user" || !before) {
        const versions = this.versions.get(m.parent ?? 0) ?? [];
        if (m.role === "user") m.versions = { at: versions.indexOf(m) + 1, of: versions.length };
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
