// The frame of a visitor: first words and consent, questions, growing answers. What is rare (a hand-over to
// a person, export and forgetting) is loaded when it is needed.

const page = document.documentElement;
export const settings = JSON.parse(page.dataset.settings);
const vi = page.lang === "vi";

// own returns the text in the frame's language of pairs of a language and a text, else the first one.
const own = (pairs) => (pairs?.find(([language]) => language === page.lang) ?? pairs?.[0] ?? [])[1];

// --- texts are written as pairs, English and Vietnamese, where they are used ---------------------

export const t = (en, viet) => (vi ? viet : en);
export const $ = (id) => document.getElementById(id);

// clock returns a time of today as a time, and another with its day.
export function clock(time) {
  const at = new Date(time);
  const today = at.toDateString() === new Date().toDateString();
  return at.toLocaleString(page.lang, { ...!today && { weekday: "long", day: "numeric", month: "numeric" }, hour: "2-digit", minute: "2-digit" });
}

// --- elements ------------------------------------------------------------------------------------

// el makes an element. props are its properties; names with a dash, "role" and "for" are set as
// attributes, and "click" and "submit" are handlers. children are nodes or texts, never HTML. What is
// null, undefined or false is skipped.
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") e.addEventListener(name, value);
    else if (name.includes("-") || name === "role" || name === "for") e.setAttribute(name, value);
    else e[name] = value;
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return e;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

export const button = (words, click, className = "") => el("button", { type: "button", className, click }, words);

// The policy passes HTML unchanged: only HTML that the server has sanitised may be given to it.
const policy = globalThis.trustedTypes?.createPolicy("molar", { createHTML: (html) => html });

function showSanitised(box, html) {
  box.innerHTML = policy ? policy.createHTML(html) : html;
  for (const table of box.querySelectorAll("table")) { // it may be wider than the frame
    const wide = el("div", { className: "wide", tabIndex: 0, role: "group", "aria-label": t("Table", "Bảng") });
    table.replaceWith(wide);
    wide.append(table);
  }
  for (const pre of box.querySelectorAll("pre")) pre.tabIndex = 0;
  for (const notice of box.querySelectorAll(".emergency")) nameEmergency(notice);
  for (const task of box.querySelectorAll("input")) task.setAttribute("aria-label", task.checked ? t("done", "xong") : t("open", "chưa xong"));
  let above = 2; // so that no level of headings is skipped
  for (const heading of box.querySelectorAll("h3, h4, h5, h6")) {
    above = Math.min(Number(heading.tagName[1]), above + 1);
    heading.setAttribute("aria-level", above);
  }
}

function nameEmergency(box) {
  box.setAttribute("role", "note");
  box.setAttribute("aria-label", t("Emergency", "Khẩn cấp"));
  return box;
}

// emergency makes the box of an emergency notice, from its sanitised HTML if there is some.
function emergency({ notice, text, html }) {
  const box = nameEmergency(el("div", { className: "emergency" }, html ? "" : notice ?? text));
  if (html) showSanitised(box, html);
  return box;
}

// announce tells screen readers a text once.
export function announce(text) {
  const words = text?.trim();
  if (!words) return;
  $("live").append(el("p", {}, words.slice(0, 2000)));
  while ($("live").children.length > 20) $("live").firstChild.remove();
}

// --- requests ------------------------------------------------------------------------------------

// A Problem is why a request failed. code is the server's, or "unreachable".
export class Problem extends Error {
  constructor(message, body = {}) {
    super(message);
    Object.assign(this, { code: body.code ?? "", until: body.until, notice: body.notice, html: body.html });
  }
}

const unreachable = () => new Problem(t("There is no connection at the moment.", "Hiện không có kết nối."), { code: "unreachable" });
const unloaded = () => new Problem(t("This part could not be loaded. Please try again.", "Không tải được phần này. Bạn vui lòng thử lại."));

const tokenName = "molar.visitor";
let token = ""; // presented instead of the cookie, where the browser keeps none for a frame
try {
  token = sessionStorage.getItem(tokenName) ?? "";
} catch { /* storage is off: the token lives as long as the frame */ }

// setToken keeps what identifies the visitor without a cookie, "" for nothing.
export function setToken(value) {
  token = value;
  try {
    sessionStorage.setItem(tokenName, value);
  } catch { /* see above */ }
}

// send requests a path below /embed, and returns the response or throws a Problem.
export async function send(path, { method = "GET", body, signal, headers = {} } = {}) {
  const response = await fetch(`/embed/${path}${path.includes("?") ? "&" : "?"}lang=${page.lang}`, {
    method, signal, body: body && JSON.stringify(body),
    headers: { ...headers, ...body && { "Content-Type": "application/json" }, ...token && { "X-Molar-Visitor": token } },
  }).catch((err) => { throw err.name === "AbortError" ? err : unreachable(); });
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  throw new Problem(error?.message ?? t("That did not work. Please try again.", "Chưa thực hiện được. Bạn vui lòng thử lại."), error);
}

const json = async (path, options) => (await send(path, options)).json();

// visit makes a visitor, who is known by a cookie if the browser keeps it.
async function visit() {
  setToken("");
  await send("visit", { method: "POST", body: { storage: false } });
  try {
    await send("conversation");
  } catch (err) {
    if (err.code !== "no_visitor") throw err;
    setToken((await json("visit", { method: "POST", body: { storage: true } })).token);
    remember();
  }
}

// remember adds to the token what was agreed to, as the server does in its cookie.
function remember() {
  if (token && agreed && settings.consent) setToken(`${token.split(".")[0]}.${settings.consent}`);
}

// asVisitor runs a request, and makes a visitor first if there is none.
export async function asVisitor(request) {
  try {
    return await request();
  } catch (err) {
    if (err.code !== "no_visitor") throw err;
    await visit();
    return request();
  }
}

// eventsOf yields the events of a stream, each with its type and its id, until it ends or is cut.
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const dead = setTimeout(() => reader.cancel(), 45_000); // the server sends something every 10 s
    const { value, done } = await reader.read().catch((err) => {
      if (err.name === "AbortError") throw err;
      return { done: true };
    }).finally(() => clearTimeout(dead));
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const line = (name) => event.split("\n").find((l) => l.startsWith(`${name}: `))?.slice(name.length + 2);
      if (line("data")) yield { ...JSON.parse(line("data")), type: line("event"), id: line("id") };
    }
  }
}

// sleep waits for ms milliseconds, or until the browser is online again.
const sleep = (ms) => new Promise((done) => {
  setTimeout(done, ms);
  addEventListener("online", done, { once: true });
});

// --- the conversation ------------------------------------------------------------------------------

const log = $("log");
const box = $("text");
let agreed = false;
let running = null; // the answer that is being written
let seen = 0; // the number of the newest message that is shown
const shown = new Set(); // the turns that are shown
let latest = null; // the newest question: it stays in view while its answer grows

// follow keeps the end in view, and the newest question while its answer is higher than the view.
function follow() {
  const end = log.scrollHeight - log.clientHeight;
  if (atEnd) log.scrollTop = latest ? Math.min(end, latest.offsetTop - 8) : end;
}

let atEnd = true;
log.addEventListener("wheel", () => { atEnd = false; }, { passive: true });
log.addEventListener("touchmove", () => { atEnd = false; }, { passive: true });
log.addEventListener("keydown", () => { atEnd = false; });
new ResizeObserver(follow).observe(log);

function toEnd(question = null) {
  latest = question;
  atEnd = true;
  follow();
}

const append = (article) => {
  $("messages").append(article);
  follow();
  return article;
};

const heading = (words) => el("h2", { className: "hidden" }, words);

function addQuestion(text, turn) {
  if (turn) shown.add(turn);
  return append(el("article", { className: "message user" }, heading(t("You", "Bạn")), el("div", {}, text)));
}

function withDesk(question) {
  question.append(el("small", {}, t("Passed on to the staff", "Đã chuyển cho nhân viên")));
}

function addDesk({ text }) {
  append(el("article", { className: "message from-desk" }, el("h2", {}, t("Staff", "Nhân viên")), el("div", { className: "user-text" }, text)));
}

// note makes a box with a sentence and its next steps.
export const note = (words, ...steps) => el("div", { className: "message note", role: "alert" }, icon("warn"),
  el("div", {}, words.map((w) => el("p", {}, w)), steps.length > 0 && el("div", { className: "row" }, steps)));

// reasons returns the sentences of a problem.
export const reasons = (problem) => [problem.message, problem.until && t(`You can ask again from ${clock(problem.until)}.`, `Bạn có thể hỏi lại từ ${clock(problem.until)}.`)].filter(Boolean);

// safe returns whether an address may become a link.
const safe = (url) => /^https?:\/\//.test(url ?? "");

// An Answer is the article of one answer; text is its question, "" if it is not known.
class Answer {
  blocks = new Map();
  abort = new AbortController();
  turn = "";
  last = "";
  sources = [];

  constructor(text, question = null) {
    Object.assign(this, { text, question });
    this.body = el("div", { className: "prose" });
    this.waits = el("p", { className: "waits" }, el("i"), el("i"), el("i"), el("span", { className: "hidden" }, t("Answering…", "Đang trả lời…")));
    this.article = append(el("article", { className: "message" }, heading(own(settings.titles)), this.body, this.waits));
  }

  // take shows an event of the stream, and returns whether it is the last one.
  take(event) {
    if (event.id) this.last = event.id;
    switch (event.type) {
      case "start":
        this.turn = event.turn;
        shown.add(event.turn);
        break;
      case "text":
      case "notice": this.plain(event); break;
      case "html": this.html(event.blocks); break;
      case "reset": // what came so far was said on the way
        this.blocks.clear();
        this.body.replaceChildren();
        break;
      case "sources": this.sources = event.sources; break;
      case "warning":
        this.article.append(el("p", { className: "quiet" }, event.text));
        announce(event.text);
        break;
      case "error": throw new Problem(event.message, event);
      case "done": return Boolean(this.end(event));
    }
    follow();
    return false;
  }

  // plain shows text until its HTML comes.
  plain(event) {
    const part = event.type === "notice" ? emergency(event) : el("span", {}, event.text);
    part.dataset.plain = "";
    this.body.append(part);
  }

  // html shows blocks of the answer. After a cut the first ones hold the whole text so far.
  html(blocks) {
    for (const part of this.body.querySelectorAll("[data-plain]")) part.remove();
    if (this.again && blocks[0]?.block === 0) {
      this.blocks.clear();
      this.body.replaceChildren();
    }
    for (const { block, html, closed } of blocks) {
      if (!this.blocks.has(block)) this.blocks.set(block, this.body.appendChild(el("div")));
      const part = this.blocks.get(block);
      showSanitised(part, html);
      if (closed && !this.again) announce(part.textContent);
      this.open = closed ? null : part;
    }
    this.again = false;
  }

  // end shows what follows an answer.
  end({ with_desk: desk, refused, handover, stopped } = {}) {
    this.waits.remove();
    if (stopped) this.article.append(el("p", { className: "quiet" }, t("This answer was stopped.", "Câu trả lời đã dừng.")));
    if (this.open) announce(this.open.textContent);
    if (desk && this.question) withDesk(this.question);
    if (!this.body.textContent.trim()) this.body.remove();
    else if (!desk) this.article.append(sourceList(this.sources) ?? "", el("div", { className: "after" }, !refused && settings.marks && marks(this)));
    if (handover) desks((m) => m.offer(handover));
    follow();
    return true;
  }

  fail(problem) {
    this.waits.remove();
    if (problem.notice) this.body.prepend(emergency(problem));
    const again = this.text && button([icon("again"), t("Ask again", "Hỏi lại")], () => {
      this.question?.remove();
      this.article.remove();
      ask(this.text);
    });
    this.article.append(note(reasons(problem), ...again ? [again] : []));
    follow();
  }

  // read shows a stream, and asks for the rest of one that is cut: the answer is written on meanwhile.
  async read(response) {
    for (let wait = 500; ;) {
      const before = this.last;
      if (response) for await (const event of eventsOf(response)) if (this.take(event)) return;
      if (!this.turn || wait > 16_000) throw unreachable();
      if (this.last !== before) wait = 500;
      await sleep(wait);
      wait *= 2;
      response = await send(`turns/${encodeURIComponent(this.turn)}/events`, { signal: this.abort.signal, headers: this.last ? { "Last-Event-ID": this.last } : {} })
        .catch((err) => { if (err.code !== "unreachable") throw err; });
      this.again = true;
      if (response?.status === 204) return void this.end();
    }
  }
}

function sourceList(sources) {
  if (!sources?.length) return null;
  return el("details", { className: "sources" }, el("summary", {}, `${t("Sources", "Nguồn")} (${sources.length})`),
    el("ol", {}, sources.map(({ title, url }) => el("li", {}, safe(url) ? el("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, title || url) : title))));
}

// marks returns the thumbs below an answer. A mark is stored at once, the words about it when they are sent.
function marks(answer) {
  if (!answer.turn) return [];
  const set = async (mark, words = "") => {
    try {
      await send(`turns/${encodeURIComponent(answer.turn)}/feedback`, { method: "POST", body: { mark, note: words } });
    } catch (err) {
      announce(err.message);
      return false;
    }
    answer.mark = mark;
    good.setAttribute("aria-pressed", String(mark === "good"));
    poor.setAttribute("aria-pressed", String(mark === "poor"));
    answer.article.querySelector(".after form")?.remove();
    announce(mark ? t("Thank you.", "Cảm ơn bạn.") : t("The mark is removed.", "Đã bỏ đánh giá."));
    return true;
  };
  const press = async (mark) => {
    const now = answer.mark === mark ? "" : mark;
    if (await set(now) && now === "poor") askWhy();
  };
  const askWhy = () => {
    const why = el("input", { maxLength: 1000, autocomplete: "off", "aria-label": t("What is wrong?", "Sai ở đâu?"), placeholder: t("What is wrong? (optional)", "Sai ở đâu? (không bắt buộc)") });
    answer.article.querySelector(".after").append(el("form", { submit: (event) => {
      event.preventDefault();
      set("poor", why.value.trim()).then((kept) => kept && poor.focus());
    } }, why, el("button", { type: "submit" }, t("Send", "Gửi"))));
    why.focus();
    follow();
  };
  const thumb = (mark, label) => el("button", { type: "button", className: "plain", "aria-label": label, title: label, "aria-pressed": String(answer.mark === mark), click: () => press(mark) }, icon(mark));
  const good = thumb("good", t("Helpful", "Hữu ích"));
  const poor = thumb("poor", t("Not helpful", "Không hữu ích"));
  return [good, poor];
}

// --- asking ------------------------------------------------------------------------------------------

function setRunning(answer) {
  running = answer;
  const focused = [$("send"), $("stop")].includes(document.activeElement);
  $("send").hidden = Boolean(answer);
  $("stop").hidden = !answer;
  if (focused) box.focus();
}

// shows runs an answer to its end; begin returns its stream.
async function shows(answer, begin) {
  setRunning(answer);
  try {
    await answer.read(await begin());
  } catch (err) {
    if (err.name === "AbortError" || err.code === "stopped") answer.end({ stopped: true });
    else if (answer.turn && ["not_found", "events_lost"].includes(err.code)) await settle(answer, err);
    else if (err.code === "consent_required") {
      answer.article.remove();
      answer.question?.remove();
      if (!box.value) box.value = answer.text;
      start(false);
    } else answer.fail(err);
  }
  setRunning(null);
  desks((m) => m.refresh(), true);
}

async function ask(text) {
  const question = addQuestion(text);
  const answer = new Answer(text, question);
  toEnd(question);
  announce(t("Answering…", "Đang trả lời…"));
  await shows(answer, () => asVisitor(() => send("chat", { method: "POST", signal: answer.abort.signal, body: { text, consent: agreed ? settings.consent : "", lang: page.lang } })));
}

const length = () => [...box.value.trim()].length;

// count shows how much room is left once it becomes little.
function count() {
  const over = length() - settings.max_text;
  $("count").textContent = over > 0 ? t(`${over} characters too many`, `Thừa ${over} ký tự`) : over > -200 ? t(`${-over} characters left`, `Còn ${-over} ký tự`) : "";
  $("count").classList.toggle("over", over > 0);
  box.setAttribute("aria-invalid", String(over > 0));
  if (!CSS.supports("field-sizing", "content")) {
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }
}

box.addEventListener("input", count);
// Enter sends and Shift+Enter breaks the line. The insertion of the line break is handled and not the key,
// because an input method may use Enter for itself.
let shift = false;
box.addEventListener("keydown", (event) => { shift = event.shiftKey; });
box.addEventListener("beforeinput", (event) => {
  if (event.inputType !== "insertLineBreak" || shift) return;
  event.preventDefault();
  $("ask").requestSubmit();
});
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const n = length();
  if (running || !n || n > settings.max_text) return box.focus();
  const text = box.value.trim();
  box.value = "";
  count();
  ask(text);
});
$("stop").addEventListener("click", () => {
  if (running.turn) send(`turns/${encodeURIComponent(running.turn)}`, { method: "DELETE" }).catch(() => running?.abort.abort());
  else running.abort.abort();
  announce(t("Stopped.", "Đã dừng."));
});

// --- first words and consent ---------------------------------------------------------------------------

const privacyLink = () => safe(settings.privacy) && el("p", {}, el("a", { href: settings.privacy, target: "_blank", rel: "noopener" }, t("Privacy", "Quyền riêng tư")));

// kept tells how long the conversation is kept.
function kept() {
  const days = settings.keep_hours / 24;
  const time = new Intl.NumberFormat(page.lang, { style: "unit", unitDisplay: "long", maximumFractionDigits: 1, unit: days > 1 ? "day" : "hour" }).format(days > 1 ? days : settings.keep_hours);
  return t(`This conversation is erased ${time} after its last message.`, `Cuộc trò chuyện này được xoá ${time} sau tin nhắn cuối.`);
}

// start shows the first words, and the form for questions once nothing has to be agreed to.
export function start(has) {
  const at = document.activeElement?.closest("#first *, #ask *");
  agreed = has;
  const open = agreed || !settings.consent;
  $("ask").hidden = $("under").hidden = !open;
  const agree = () => {
    start(true);
    remember();
    announce(t("You can ask now.", "Bạn có thể hỏi."));
  };
  $("first").className = open ? "" : "card";
  $("first").replaceChildren(...el("div", {}, !open && el("h2", {}, t("Before you ask", "Trước khi bạn hỏi")),
    open && el("p", {}, t("Hello! What would you like to know?", "Xin chào! Bạn muốn hỏi điều gì?")),
    own(settings.notices) && el("p", { className: open ? "quiet" : "" }, own(settings.notices)), el("p", { className: "quiet" }, kept()), privacyLink(),
    !open && el("div", { className: "row" }, button(t("I agree", "Tôi đồng ý"), agree, "primary"))).childNodes);
  if (at && !at.checkVisibility()) focusFirst(); // what had the focus is gone
}

// focusFirst sets the focus to what is to be done next. On phones a focused field would open the
// keyboard over the first words.
function focusFirst() {
  const todo = $("first").querySelector("button") ?? (matchMedia("(pointer: coarse)").matches || $("ask").hidden ? $("title") : box);
  todo.focus({ preventScroll: true });
}

// settle shows the stored end of an answer that cannot be followed any more.
async function settle(answer, problem) {
  const { messages } = await json(`news?after=${seen}`).catch(() => ({}));
  if (!messages?.some((m) => m.turn === answer.turn && m.by === "assistant")) return answer.fail(problem);
  answer.question?.remove();
  answer.article.remove();
  shown.delete(answer.turn);
  takeNews(messages);
}

// forgotten shows an empty conversation again.
export function forgotten() {
  setToken("");
  running?.abort.abort();
  $("messages").replaceChildren();
  seen = 0;
  shown.clear();
  desks((m) => m.forget(), true);
  start(false);
  focusFirst();
}

// --- the desk, export and forgetting: loaded when they are needed ------------------------------------------

let desk = null;

// desks runs an action of the module of hand-overs; idle means that it is not loaded for this.
async function desks(run, idle = false) {
  if (idle && !desk) return;
  desk ??= import("/embed/static/embed-desk.js");
  try {
    return await run(await desk);
  } catch {
    desk = null;
    append(note([unloaded().message]));
  }
}

// takeNews shows messages that came from elsewhere, and returns the number of the newest one.
export function takeNews(messages) {
  for (const m of messages ?? []) {
    if (m.seq <= seen) continue;
    seen = m.seq;
    if (m.by === "desk") {
      addDesk(m);
      announce(`${t("Staff", "Nhân viên")}: ${m.text}`);
      toEnd();
      if (parent !== self) parent.postMessage("molar:news", "*");
    } else if (!shown.has(m.turn)) addStored(m);
  }
  return seen;
}

// addStored shows a stored message.
function addStored(m) {
  if (m.by === "desk") return addDesk(m);
  if (m.by === "visitor") return void addQuestion(m.text);
  const answer = new Answer("");
  Object.assign(answer, { turn: m.turn, mark: m.mark, sources: m.sources });
  if (m.html) showSanitised(answer.body, m.html);
  else answer.body.textContent = m.text;
  answer.end({ stopped: m.interrupted });
}

$("person").addEventListener("click", () => desks((m) => m.openForm("button")));
for (const name of ["export", "forget"]) {
  $(name).addEventListener("click", async () => {
    $("menu").hidePopover();
    try {
      await (await import("/embed/static/embed-keep.js"))[name]();
    } catch (err) {
      append(note([err instanceof Problem ? err.message : unloaded().message]));
    }
  });
}

// --- the frame on the page of the site -----------------------------------------------------------------------

export let watched = true; // false while the frame is closed

addEventListener("message", ({ data, source }) => {
  if (source !== parent) return;
  if (data === "molar:closed") watched = false;
  if (data !== "molar:open") return;
  watched = true;
  focusFirst();
  desks((m) => m.refresh(), true);
});

function showConnection() {
  const was = $("offline").textContent;
  $("offline").textContent = navigator.onLine ? "" : t("You are offline. What you write stays here until you are back.", "Bạn đang ngoại tuyến. Nội dung bạn viết vẫn được giữ ở đây.");
  if (was && navigator.onLine) announce(t("You are online again.", "Đã có kết nối lại."));
}
addEventListener("online", showConnection);
addEventListener("offline", showConnection);

if (parent !== self) {
  const close = () => parent.postMessage("molar:close", "*"); // only the site's pages can be around this one
  $("close").hidden = false;
  $("close").addEventListener("click", close);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented && !event.isComposing && !document.querySelector("dialog[open], :popover-open")) close();
  });
}

// begin sets the focus, and tells the page of the site that the frame can be used.
function begin() {
  focusFirst();
  if (parent !== self) parent.postMessage("molar:ready", "*");
}

function translate() {
  if (!vi) return;
  for (const e of document.querySelectorAll("[data-vi]")) e.textContent = e.dataset.vi;
  for (const e of document.querySelectorAll("[data-vi-label]")) e.setAttribute("aria-label", e.dataset.viLabel);
  for (const e of document.querySelectorAll("[data-vi-placeholder]")) e.placeholder = e.dataset.viPlaceholder;
}

// open shows what is stored of the conversation, if there is one.
async function open() {
  translate();
  showConnection();
  $("person").hidden = !settings.desk;
  if (safe(settings.privacy)) Object.assign($("privacy"), { href: settings.privacy, hidden: false });
  start(false);
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin, { once: true }); // only then does the fragment of the address leave the focus alone
  performance.mark("usable");
  if (settings.mark) Object.assign($("mark"), { src: "/embed/mark", hidden: false });
  let stored;
  try {
    stored = await json("conversation");
  } catch (err) {
    if (err.code !== "no_visitor") append(note(reasons(err), button([icon("again"), t("Try again", "Thử lại")], ({ currentTarget }) => {
      currentTarget.closest(".note").remove();
      open();
    })));
    return;
  }
  if (!running) start(stored.consent?.agreed ?? false);
  for (const m of stored.messages ?? []) {
    seen = Math.max(seen, m.seq);
    if (!shown.has(m.turn)) addStored(m);
  }
  for (const m of stored.messages ?? []) if (m.turn) shown.add(m.turn);
  toEnd();
  if (stored.handover?.state && stored.handover.state !== "closed") desks((m) => m.show(stored.handover));
  if (stored.running && !running) {
    const answer = new Answer("");
    answer.turn = stored.running;
    shows(answer, () => send(`turns/${encodeURIComponent(stored.running)}/events`, { signal: answer.abort.signal }));
  }
}

open();
