// Code that all pages share: the reader's language, the theme, requests to the server, and the
// only function that inserts HTML into a page.

// --- language: texts are written as pairs, English and Vietnamese, where they are used ----

export const language = (navigator.language || "en").toLowerCase().startsWith("vi") ? "vi" : "en";
export const t = (en, vi) => (language === "vi" ? vi : en);

// nameOf formats the offered name of a tool, "server__tool", for people.
export const nameOf = (tool) => tool.replace("__", " · ");

// covers describes what a lasting permission, or a destination of one, covers.
export function covers({ tool, width, arguments: compared = {}, from }) {
  const all = Object.entries(compared).map(([name, value]) => `${name} ${value}`).join(", ");
  const some = { host: t("any address at the host, ", "mọi địa chỉ tại trang, "), folder: t("anything in the folder, ", "mọi thứ trong thư mục, "), repository: t("all of the repository, ", "toàn bộ kho mã, ") }[width] ?? "";
  const line = all ? `${tool}: ${some}${all}` : t(`${tool}, whatever its arguments`, `${tool}, với mọi tham số`);
  return from ? t(`${line}, with text of ${from}`, `${line}, với nội dung của ${from}`) : line;
}

// translate replaces a page's English by Vietnamese. The text of an element is in its attribute
// data-vi; the texts of its attributes are in data-vi-label, data-vi-title and data-vi-placeholder.
export function translate(root = document) {
  document.documentElement.lang = language;
  if (language !== "vi") return;
  for (const e of root.querySelectorAll("[data-vi]")) e.textContent = e.dataset.vi;
  for (const e of root.querySelectorAll("[data-vi-label]")) e.setAttribute("aria-label", e.dataset.viLabel);
  for (const e of root.querySelectorAll("[data-vi-title]")) e.title = e.dataset.viTitle;
  for (const e of root.querySelectorAll("[data-vi-placeholder]")) e.placeholder = e.dataset.viPlaceholder;
}

export const number = (n, digits = 0) =>
  n.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
export const when = (time) =>
  new Date(time).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });

// --- elements ------------------------------------------------------------------------------

export const $ = (id) => document.getElementById(id);

// el makes an element. props are its properties; names with a dash, "role" and "for" are set as
// attributes, and "on" holds event handlers. children are nodes or texts, never HTML. Values and
// children that are null, undefined or false are skipped.
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.includes("-") || name === "role" || name === "for") e.setAttribute(name, value);
    else if (name === "on") for (const [event, run] of Object.entries(value)) e.addEventListener(event, run);
    else e[name] = value;
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

// files returns elements for the images and sounds of a tool's result.
export function files(result) {
  return (result.media ?? []).map((file) => {
    if (/^data:image\//.test(file.text)) return el("img", { className: "file", src: file.text, alt: file.name || t("Image of the result", "Hình trong kết quả") });
    if (/^data:audio\//.test(file.text)) return el("audio", { className: "file", src: file.text, controls: true });
    return null;
  }).filter(Boolean);
}

// --- places in documents of folders of knowledge, as package schemas names them -----------------

// placeText returns a place as a person reads it, without the heading that the title before it ends with.
export function placeText({ file, page, sheet, line, last, heading }, title = "") {
  if (page) return `${file}, ${t("page", "trang")} ${page}`;
  if (sheet && last > line) return `${file}, ${sheet}, ${t("rows", "dòng")} ${line}–${last}`;
  if (sheet && line) return `${file}, ${sheet}, ${t("row", "dòng")} ${line}`;
  if (heading) return title.endsWith(heading) ? file : `${file}, ${heading}`;
  return line ? `${file}:${line}` : file;
}

// placeFragment returns a place within its document as the fragment of an address.
export function placeFragment({ page, sheet, line, anchor }) {
  if (page) return `page=${page}`;
  if (sheet) return `${sheet}!${line || 1}`;
  return anchor || (line ? `line=${line}` : "");
}

const placeAddress = (p) => `/knowledge/${[p.folder, ...p.file.split("/")].map(encodeURIComponent).join("/")}${p.part ? `?part=${p.part}` : ""}#${encodeURIComponent(placeFragment(p))}`;

// passageLink returns a link that opens the passage of a source at its place, or null for a source of
// another kind.
export const passageLink = ({ title, place }) => place?.file ? el("a", { href: placeAddress(place), target: "_blank", rel: "noopener", className: "passage", title: placeText(place) },
  title || place.file, " ", el("small", {}, placeText(place, title))) : null;

// sourceText returns a source as text.
export const sourceText = (s) => [s.title || s.url, s.place?.file && `(${placeText(s.place, s.title)})`].filter(Boolean).join(" ");

// sourceList returns sources as a list, with the addresses of pages as text.
export const sourceList = (sources) => el("ul", {}, sources.map((s) => el("li", {}, passageLink(s) ?? s.title ?? "", s.url ? ` ${s.url}` : "")));

// icon draws a symbol of the page's sprite; screen readers do not read it.
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

// The policy passes HTML unchanged: only HTML that the server has sanitised may be given to it.
const policy = globalThis.trustedTypes?.createPolicy("molar", { createHTML: (html) => html });

// showSanitised sets the content of an element to HTML that the server has sanitised.
export function showSanitised(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
}

// --- values stored in this browser ------------------------------------------------------------

// keep stores a value under "molar." and name; null or "" removes it.
export function keep(name, value) {
  try {
    if (value === null || value === "") localStorage.removeItem(`molar.${name}`);
    else localStorage.setItem(`molar.${name}`, value);
  } catch { /* storage is off or full: the page works without it */ }
}

// storedValue returns the value that keep stored, or "".
export function storedValue(name) {
  try {
    return localStorage.getItem(`molar.${name}`) ?? "";
  } catch {
    return "";
  }
}

// settings returns the choices of the settings page, which are sent with each question: provider,
// model and guardrail_model, all optional.
export function settings() {
  try {
    return JSON.parse(storedValue("settings") || "{}") ?? {};
  } catch {
    return {};
  }
}

// setupPath returns the path of the host's state. Its answer includes the model that would answer
// a question from this browser to an assistant.
export function setupPath(assistant = storedValue("assistant")) {
  const { provider = "", model = "" } = settings();
  return `/v1/setup?${new URLSearchParams({ assistant, provider, model })}`;
}

// --- the theme: the system's, unless the reader chose one -------------------------------------

function applyTheme(theme = storedValue("theme")) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

// setUpTheme makes the choice of the theme show what is chosen, also what another tab chooses.
export function setUpTheme() {
  const show = () => {
    applyTheme();
    for (const input of $("theme").querySelectorAll("input")) input.checked = input.value === (document.documentElement.dataset.theme ?? "");
  };
  $("theme").addEventListener("change", (event) => {
    keep("theme", event.target.value);
    applyTheme();
  });
  addEventListener("storage", show);
  show();
}

// --- names of controls that show only an icon ---------------------------------------------------

const patience = 500; // ms that a pointer rests on a control before its name appears

// setUpTips shows the name of a control without words while it has the keyboard's focus or the pointer
// rests on it, and for the focus also the title of an element, or what describes it without being seen. The
// title is shown to a pointer by the browser itself.
export function setUpTips() {
  const box = el("div", { className: "tip", popover: "manual", "aria-hidden": "true" }); // a screen reader reads the name itself
  document.body.append(box);
  let waiting = 0;
  const hide = () => {
    clearTimeout(waiting);
    if (box.matches(":popover-open")) box.hidePopover();
  };
  const nameless = (e) => e.matches("button, a, input[type=radio]") && !e.textContent.trim() ? e.getAttribute("aria-label") : "";
  const unseen = (e) => {
    const about = $(e.getAttribute("aria-describedby") ?? "");
    return about?.matches(".hidden") ? about.textContent : "";
  };
  const show = (e, text) => {
    if (!text || !e.isConnected) return;
    box.textContent = text;
    if (!box.matches(":popover-open")) box.showPopover();
    const at = e.getBoundingClientRect();
    const below = at.bottom + box.offsetHeight + 8 < innerHeight;
    box.style.left = `${Math.max(4, Math.min(at.left + (at.width - box.offsetWidth) / 2, innerWidth - box.offsetWidth - 4))}px`;
    box.style.top = `${below ? at.bottom + 4 : (at.height > innerHeight / 2 ? at.bottom : at.top) - box.offsetHeight - 4}px`;
  };
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    hide();
    const e = target.closest("button, a, input[type=radio]");
    if (e && !e.title && pointerType !== "touch") waiting = setTimeout(() => show(e, nameless(e)), patience);
  });
  document.addEventListener("focusin", ({ target }) => {
    hide();
    if (target.matches(":focus-visible")) show(target, target.title || nameless(target) || unseen(target));
  });
  for (const event of ["focusout", "pointerdown", "keydown", "scroll"]) document.addEventListener(event, hide, true);
}

// --- the server ---------------------------------------------------------------------------------

// A Problem is the error of a failed request. advice is a sentence for the reader, detail the
// server's own message; the message of the error contains both. step names what is best done next:
// "again" (to try once more), "settings", "sign-in", "new" (to begin a new conversation), or "none".
export class Problem extends Error {
  constructor(advice, status = 0, code = "", detail = "", step = "again") {
    super(detail ? `${advice} (${detail})` : advice);
    this.advice = advice;
    this.detail = detail;
    this.status = status;
    this.code = code;
    this.step = step;
  }
}

// advice is what a failure means for the reader, in both languages, and what is best done next, by the
// code of the server's error.
const advice = {
  invalid_api_key: ["This browser is not signed in.", "Trình duyệt này chưa đăng nhập.", "sign-in"],
  insufficient_scope: ["You may not do that with this key.", "Khóa này không cho phép việc đó.", "sign-in"],
  model_auth: ["The model's service refused the key.", "Dịch vụ mô hình từ chối khóa.", "settings"],
  model_unreachable: ["The model's service cannot be reached.", "Không kết nối được với dịch vụ mô hình."],
  model_failed: ["The model's service answered with an error.", "Dịch vụ mô hình báo lỗi."],
  model_overloaded: ["The model's service has too much to do now.", "Dịch vụ mô hình đang quá tải."],
  budget_exceeded: ["The budget for models is used up.", "Ngân sách dành cho mô hình đã dùng hết."],
  model_quota: ["The model's service takes no more questions for now.", "Dịch vụ mô hình tạm thời không nhận thêm câu hỏi."],
  model_timeout: ["The model took too long.", "Mô hình trả lời quá lâu."],
  model_incomplete: ["The model broke off in the middle.", "Mô hình dừng giữa chừng."],
  model_protocol: ["The model's service gave an answer that cannot be read.", "Không đọc được câu trả lời của dịch vụ mô hình.", "settings"],
  model_not_found: ["The model's service does not have this model.", "Dịch vụ mô hình không có mô hình này.", "settings"],
  context_length_exceeded: ["The conversation is too long for the model.", "Cuộc trò chuyện quá dài đối với mô hình.", "new"],
  request_too_large: ["The question or its files are too large to send.", "Câu hỏi hoặc tệp kèm theo quá lớn để gửi.", "none"],
  rate_limit_exceeded: ["Too many questions at once.", "Quá nhiều câu hỏi cùng lúc."],
  conversation_busy: ["This conversation is being answered elsewhere, perhaps in another tab.", "Cuộc trò chuyện này đang được trả lời ở nơi khác, có thể là thẻ khác."],
  search_unavailable: ["This assistant cannot search the web, which it needs.", "Trợ lý này không tìm kiếm được trên mạng, là việc nó cần.", "settings"],
  store_unavailable: ["The store of conversations cannot be reached.", "Không kết nối được với kho hội thoại."],
  server_unavailable: ["The server takes no more questions at this moment.", "Máy chủ hiện chưa nhận thêm câu hỏi."],
  answer_not_saved: ["The answer could not be saved.", "Không lưu được câu trả lời."],
  turn_interrupted: ["The server that was answering is gone; what was stored stands in the conversation.", "Máy chủ đang trả lời đã ngừng chạy; phần đã lưu nằm trong cuộc trò chuyện."],
  shutting_down: ["The server is restarting.", "Máy chủ đang khởi động lại."],
};

export const unreachable = () => navigator.onLine === false
  ? t("You are offline. Your text is kept; send it again when the connection is back.", "Bạn đang ngoại tuyến. Nội dung được giữ lại; hãy gửi lại khi có kết nối.")
  : t("The server cannot be reached. Start “molar serve”, then try again. Nothing you typed is lost.", "Không kết nối được với máy chủ. Hãy chạy “molar serve” rồi thử lại. Nội dung bạn gõ không bị mất.");

// problemOf converts the server's error object to a Problem. The server's own message becomes its
// detail, for the person who repairs the server.
export function problemOf(error, status = 0) {
  const code = error?.code ?? "";
  const [en, vi, step] = advice[code] ?? ["That did not work.", "Không thực hiện được."];
  const wait = error?.retry_after ?? 0;
  const from = wait > 1 && new Date(Date.now() + wait * 1000);
  const at = from && from.toLocaleString(language, { timeStyle: wait < 3600 ? "medium" : "short", ...wait < 43_200 ? {} : { dateStyle: "medium" } });
  return new Problem(t(en, vi).replace(/\.$/, at ? t(`; ask again at ${at}.`, `; hãy hỏi lại lúc ${at}.`) : "."), status, code, error?.message ?? "", step);
}

// send makes a request and returns the response, or throws a Problem. body is sent as JSON.
export async function send(path, { method = "GET", body, signal, headers = {} } = {}) {
  const init = { method, signal, headers: { ...headers } };
  if (body !== undefined) {
    init.headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, init);
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Problem(unreachable(), 0, "unreachable");
  }
  if (response.ok) return response;
  const failure = await response.json().catch(() => ({}));
  throw Object.assign(problemOf(failure.error ?? { message: `${response.status} ${response.statusText}` }, response.status), { body: failure });
}

// api is send for routes that answer with JSON; it returns the parsed answer.
export const api = async (path, options) => (await send(path, options)).json();

// --- who reads, and the links to other pages -----------------------------------------------------

let reader = null; // the answer of GET /v1/me, requested once

// me returns who the reader is: id, name, person, session, scopes, groups, approver and desk; null if the host
// does not say.
export function me() {
  const told = document.body.dataset.me; // the chat page holds it
  reader ??= told ? Promise.resolve(JSON.parse(told)) : api("/v1/me").catch(() => null);
  return reader;
}

// allows reports whether the reader has one of the scopes that an element names in data-scope.
// "approver" is held by people who may approve calls of others, "desk" by those who may answer people who
// asked for somebody, and "own" by those who have something of their own: people and keys.
export function allows(who, scopes) {
  const held = [...who.scopes ?? [], who.approver && "approver", who.desk && "desk", who.id && "own"];
  return scopes.split(" ").some((scope) => held.includes(scope));
}

// showLinks shows the elements with data-scope that the reader may use, and hides the others; the button
// to sign out is for readers with a session. The server decides who may do what; this only hides what it
// would refuse. While the host does not say who the reader is, they stay as the page has them.
export async function showLinks() {
  const who = await me();
  if (!who) return;
  for (const e of document.querySelectorAll("[data-scope]")) e.hidden = !allows(who, e.dataset.scope);
  $("sign-out").hidden = !who.session;
  $("sign-out").addEventListener("click", signOut);
}

// signOut ends the reader's session everywhere.
async function signOut() {
  await send("/logout", { method: "POST" }).catch(() => null); // then the page for signing in shows that the session goes on
  location.assign("/login");
}

// linesOf yields the JSON lines of an answer. After every 8 ms of work it lets the browser run
// other tasks, so that the page stays responsive.
export async function* linesOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let busy = performance.now();
  try {
    for (let rest = ""; ;) {
      const { value, done } = await reader.read().catch(() => { throw new Problem(unreachable(), 0, "unreachable"); });
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        yield JSON.parse(line);
        if (performance.now() - busy < 8) continue;
        await new Promise((next) => { setTimeout(next); });
        busy = performance.now();
      }
    }
  } finally {
    reader.cancel().catch(() => null);
  }
}

// sleep waits for ms milliseconds, or until the browser is online again.
export const sleep = (ms) => new Promise((done) => {
  setTimeout(done, ms);
  addEventListener("online", done, { once: true });
});

const silence = 45_000; // ms without data after which a connection is dead: the server sends every 10 s

// eventsOf yields the events of a stream, each with its data and its id, until the stream ends or
// is cut.
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const dead = setTimeout(() => reader.cancel(), silence);
    const { value, done } = await reader.read().catch((err) => {
      if (err.name === "AbortError") throw err;
      return { done: true };
    }).finally(() => clearTimeout(dead));
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const line = (name) => event.split("\n").find((l) => l.startsWith(name))?.slice(name.length);
      yield { id: line("id: "), data: line("data: ") };
    }
  }
}

applyTheme();
