// What stands around the conversation: the box where questions are typed, with drafts and
// the prompts of servers behind a slash; the list of conversations; the first run's steps.

import { $, api, el, icon, keep, kept, t, toggleTheme } from "/static/app.js";

const form = $("form");
const input = $("question");
const choices = $("choices");
const pathOf = (id) => `/v1/conversations/${encodeURIComponent(id)}`;

// hooks are what the conversation does: submit takes a question and returns what is left in
// the box, or null; here gives the id that is shown, answering the answers that are being
// written; fresh begins a new one, changed tells the other tabs.
let hooks = null;

export function setUpFrame(what) {
  hooks = what;
  setUpComposer();
  setUpSide();
}

// --- text and drafts ---------------------------------------------------------------------------

const manyLetters = 20000; // from here on the box has its full height, unmeasured

function grow() {
  const many = input.value.length > manyLetters;
  input.style.height = many ? "40vh" : "auto";
  if (!many) input.style.height = `${input.scrollHeight}px`;
}

export function setInput(text) {
  input.value = text;
  grow();
}

let timer = 0;

// keepDraft keeps what is typed in the conversation that is shown.
export function keepDraft() {
  clearTimeout(timer);
  timer = 0;
  keep(`draft.${hooks.here()}`, input.value);
}

export const draftOf = (id) => kept(`draft.${id}`);

// clearInput leaves rest in the box. The draft stays until the server has the question.
function clearInput(rest) {
  clearTimeout(timer);
  timer = 0;
  setInput(rest);
}

// --- prompts behind a slash ----------------------------------------------------------------------

let prompts = null; // the list, or the promise of it

async function listPrompts() {
  try {
    return (await api("/v1/prompts")).data;
  } catch {
    prompts = null; // asked again at the next slash
    return [];
  }
}

async function suggest() {
  const word = /^\/(\S*)$/.exec(input.value)?.[1];
  if (word === undefined) return closeChoices();
  prompts ??= listPrompts();
  const found = (await prompts).filter((p) => p.name.toLowerCase().startsWith(word.toLowerCase())).slice(0, 20);
  if (!found.length || !input.value.startsWith("/")) return closeChoices();
  choices.replaceChildren(...found.map((p, i) => el("li", { id: `choice-${i}`, role: "option", "aria-selected": "false", on: { mousedown: (event) => { event.preventDefault(); choose(p); } } },
    `/${p.name} `, (p.arguments ?? []).map((a) => (a.required ? `‹${a.name}› ` : `[${a.name}] `)),
    el("small", {}, [p.title || p.description, p.server].filter(Boolean).join(" · ")))));
  found.forEach((p, i) => { choices.children[i].prompt = p; });
  choices.hidden = false;
  mark(0);
}

function closeChoices() {
  choices.hidden = true;
  input.removeAttribute("aria-activedescendant");
}

function mark(i) {
  [...choices.children].forEach((c, k) => c.setAttribute("aria-selected", String(k === i)));
  input.setAttribute("aria-activedescendant", `choice-${i}`);
  choices.children[i].scrollIntoView({ block: "nearest" });
}

function choose(prompt) {
  setInput(`/${prompt.name} `);
  closeChoices();
  keepDraft();
  const names = (prompt.arguments ?? []).map((a) => a.name).join(", ");
  $("hint").textContent = names ? t(`Now type: ${names}`, `Nhập tiếp: ${names}`) : "";
}

// chooseByKey takes a key for the open list, and says whether it did.
function chooseByKey(key) {
  const all = [...choices.children];
  const now = all.findIndex((c) => c.getAttribute("aria-selected") === "true");
  switch (key) {
    case "ArrowDown": mark((now + 1) % all.length); return true;
    case "ArrowUp": mark((now + all.length - 1) % all.length); return true;
    case "Tab": case "Enter": choose(all[now].prompt); return true;
    case "Escape": closeChoices(); return true;
  }
  return false;
}

// --- keys ------------------------------------------------------------------------------------------

function setUpComposer() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const content = input.value.trim();
    if (!content) return;
    keepDraft();
    closeChoices();
    const rest = hooks.submit(content);
    if (rest !== null) clearInput(rest);
  });
  input.addEventListener("input", () => {
    grow();
    suggest();
    clearTimeout(timer);
    timer = setTimeout(keepDraft, 300);
  });
  addEventListener("pagehide", () => { if (timer) keepDraft(); });
  input.addEventListener("blur", closeChoices);
  // Enter sends and Shift+Enter breaks the line. The line break is what is caught, not the
  // key: an input method may use Enter for itself.
  let shift = false;
  input.addEventListener("keydown", (event) => {
    shift = event.shiftKey;
    if (!choices.hidden && !event.isComposing && chooseByKey(event.key)) event.preventDefault();
  });
  input.addEventListener("beforeinput", (event) => {
    if (event.inputType !== "insertLineBreak" || shift) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

// --- the list of conversations -----------------------------------------------------------------------

// drawer shows or hides the list where there is no room for it beside the conversation.
export function drawer(open) {
  $("chat").classList.toggle("drawer", open);
  $("menu").setAttribute("aria-expanded", String(open));
  if (open) $("close").focus();
  else if ($("side").contains(document.activeElement)) $("menu").focus();
}

function setUpSide() {
  $("menu").addEventListener("click", () => drawer(true));
  $("close").addEventListener("click", () => drawer(false));
  document.querySelector(".stage").addEventListener("click", (event) => {
    if (!$("menu").contains(event.target)) drawer(false);
  });
  $("theme").addEventListener("click", toggleTheme);
  let typing = 0;
  $("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(loadList, 200); });
  $("list").addEventListener("click", (event) => { if (event.target.closest("a")) drawer(false); });
}

let listed = ""; // the conversations as they are drawn
let asked = 0; // counts the requests for them, so that the latest is drawn last

// loadList shows the conversations that fit the search, and returns how many; -1 when it
// cannot.
export async function loadList() {
  const list = $("list");
  const mine = ++asked;
  try {
    const { data, has_more: more } = await api(`/v1/conversations?limit=100&q=${encodeURIComponent($("search").value.trim())}`);
    const found = [...unsaved(data), ...data];
    if (mine !== asked) return found.length;
    const now = JSON.stringify([found.map((c) => [c.id, c.title, c.unsaved]), more, $("search").value]);
    if (now !== listed) drawList(list, found, more);
    listed = now; // what is the same stays, and with it where the reader is
    markHere();
    return found.length;
  } catch (err) {
    listed = "";
    list.replaceChildren(el("p", { className: "note bad", title: err.detail }, err.advice),
      el("button", { type: "button", className: "small", on: { click: loadList } }, t("Try again", "Thử lại")));
    return -1;
  }
}

function drawList(list, found, more) {
  const items = found.map((c) => el("li", {},
    el("a", { href: `#${encodeURIComponent(c.id)}`, title: c.title }, c.title || t("Untitled", "Chưa đặt tên")),
    !c.unsaved && el("button", { type: "button", className: "plain square", title: t("Rename", "Đổi tên"), "aria-label": t(`Rename ${c.title}`, `Đổi tên ${c.title}`), on: { click: () => rename(c) } }, icon("pen")),
    !c.unsaved && el("button", { type: "button", className: "plain square", title: t("Delete", "Xóa"), "aria-label": t(`Delete ${c.title}`, `Xóa ${c.title}`), on: { click: () => remove(c) } }, icon("bin"))));
  const empty = $("search").value ? t("Nothing found.", "Không tìm thấy.") : t("Your conversations will appear here.", "Các cuộc trò chuyện sẽ hiện ở đây.");
  list.replaceChildren(items.length ? el("ul", { className: "items" }, items) : el("p", { className: "note" }, empty),
    ...(more ? [el("p", { className: "note" }, t("Search to find older ones.", "Hãy tìm kiếm để xem các cuộc cũ hơn."))] : []));
}

// unsaved are the conversations whose first answer is still being written.
function unsaved(saved) {
  if ($("search").value) return [];
  return hooks.answering().filter((a) => a.conversation && !saved.some((c) => c.id === a.conversation))
    .map((a) => ({ id: a.conversation, title: a.content.slice(0, 60), unsaved: true }));
}

// markHere marks the conversation that is shown, and those that wait for an answer.
export function markHere() {
  const waiting = new Set(hooks.answering().map((a) => `#${encodeURIComponent(a.conversation)}`));
  for (const a of $("list").querySelectorAll("a")) {
    const here = a.hash === `#${encodeURIComponent(hooks.here())}`;
    a.parentElement.toggleAttribute("data-here", here);
    if (!waiting.has(a.hash)) a.querySelector(".dot")?.remove();
    else if (!a.querySelector(".dot")) a.prepend(el("span", { className: "dot", role: "img", "aria-label": t("being answered", "đang trả lời") }));
    if (here) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
}

// confirm shows the dialog, and resolves to what was typed, or to null.
function confirm(title, yes, { text = "", value = null, danger = false }) {
  $("ask-title").textContent = title;
  $("ask-text").textContent = text;
  $("ask-yes").textContent = yes;
  $("ask-yes").className = danger ? "danger" : "primary";
  $("ask-input").hidden = value === null;
  $("ask-input").value = value ?? "";
  $("ask").returnValue = "";
  $("ask").showModal();
  return new Promise((done) => {
    $("ask").addEventListener("close", () => done($("ask").returnValue ? $("ask-input").value : null), { once: true });
  });
}

async function change(id, options) {
  try {
    await api(pathOf(id), options);
  } catch (err) {
    $("hint").textContent = err.message;
  }
  hooks.changed();
  await loadList();
}

async function rename(c) {
  const title = await confirm(t("Rename the conversation", "Đổi tên cuộc trò chuyện"), t("Rename", "Đổi tên"), { value: c.title });
  if (title?.trim()) await change(c.id, { method: "PATCH", body: { title } });
}

async function remove(c) {
  const sure = await confirm(t("Delete the conversation?", "Xóa cuộc trò chuyện?"), t("Delete", "Xóa"),
    { text: t(`“${c.title}” will be gone for good.`, `“${c.title}” sẽ bị xóa vĩnh viễn.`), danger: true });
  if (sure === null) return;
  if (c.id === hooks.here()) hooks.fresh();
  for (const of of ["draft", "earlier"]) keep(`${of}.${c.id}`, null);
  await change(c.id, { method: "DELETE" });
}

// --- the first run -----------------------------------------------------------------------------------

const step = (title, text, code) => el("li", { className: "card" }, el("strong", {}, title), el("p", {}, ...text),
  code && el("pre", { className: "code", tabIndex: 0 }, code));

// welcome says in three steps what to do while no model or no server is attached.
export async function welcome() {
  const setup = await api("/v1/setup").catch(() => null);
  if (!setup) return;
  const bare = !setup.provider || setup.provider === "offline";
  if (bare) $("about").textContent = t("No model is attached yet: Molar can only quote what its tools find.", "Chưa có mô hình nào: Molar chỉ trích dẫn được kết quả của công cụ.");
  $("steps")?.remove();
  $("welcome").classList.toggle("first", bare || setup.servers === 0);
  if (!bare && setup.servers > 0) return;
  const link = (href, words) => el("a", { href }, words);
  $("welcome").append(el("ol", { className: "steps", id: "steps" },
    step(t("Attach a model", "Gắn một mô hình"),
      t(["Install Ollama and fetch a model, or start Molar with a key for Gemini or an OpenAI-compatible service. The ", link("/config", "settings page"), " tests it."],
        ["Cài Ollama và tải một mô hình, hoặc chạy Molar với khóa của Gemini hay dịch vụ tương thích OpenAI. ", link("/config", "Trang cài đặt"), " giúp thử kết nối."]),
      "ollama pull qwen2.5:7b-instruct\n# or: GEMINI_API_KEY=… molar serve"),
    step(t("Attach a server", "Gắn một máy chủ công cụ"),
      t(["Its tools let the assistant look things up and act. Write it into the config file, then press “Read the config file again” on the ", link("/tools", "tools page"), "."],
        ["Công cụ của nó giúp trợ lý tra cứu và hành động. Ghi vào tệp cấu hình, rồi bấm “Đọc lại tệp cấu hình” ở ", link("/tools", "trang công cụ"), "."]),
      "# ~/.config/molar/molar.yaml\nmcpServers:\n  notes:\n    command: npx\n    args: [-y, \"@modelcontextprotocol/server-filesystem\", /home/me/notes]"),
    step(t("Ask", "Đặt câu hỏi"),
      t(["Ask below. Each answer shows the calls it made, and says why."], ["Hãy hỏi ở bên dưới. Mỗi câu trả lời cho thấy các lời gọi công cụ và lý do."]))));
}
