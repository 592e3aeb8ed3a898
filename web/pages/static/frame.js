// The parts of the chat page around the conversation: the box where questions are typed, with
// drafts; the list of conversations; the choice of the assistant; the steps of the first run.

import { $, allows, api, el, icon, keep, me, storedValue, language, setupPath, t, themeWords, toggleTheme, when } from "/static/app.js";

const form = $("form");
const input = $("question");
const choices = $("choices");

// hooks are functions of the conversation: submit takes a question and returns the text that stays
// in the box, or null; here returns the id of the conversation shown, answers the answers that are
// being written; startNew begins a new conversation, changed notifies the other tabs; editLast puts
// the last question into the box.
let hooks = null;

export function setUpFrame(functions) {
  hooks = functions;
  setUpComposer();
  setUpSide();
}

// --- text and drafts ---------------------------------------------------------------------------

const manyLetters = 20000; // a longer text gets the full height of the box without being measured

function grow() {
  const many = input.value.length > manyLetters;
  input.style.height = many ? "40vh" : "auto";
  if (!many) input.style.height = `${input.scrollHeight}px`;
}

// setInput puts a text into the box. pastes are the texts in it that were not typed; of a text about
// which that is not known any more, a long one counts as pasted.
export function setInput(text, pastes = [text]) {
  input.value = before = text;
  put = pastes.filter(isLong);
  grow();
}

// --- pasted texts --------------------------------------------------------------------------------

const isLong = (text) => text.trim().length > 400; // characters: a shorter text counts as typed

let before = ""; // the text of the box before the last change
let put = []; // the long texts that were put into the box at once since it was last empty

// pastesNow returns the long texts that were put into the box at once.
export const pastesNow = () => put;

// notePut remembers a long text that a change put into the box, however that was done.
function notePut(event) {
  const now = input.value;
  const small = event.data ? !isLong(event.data) : /^(insertLineBreak|delete)/.test(event.inputType ?? "");
  if (!small) {
    let head = 0;
    while (head < before.length && before[head] === now[head]) head++;
    let tail = 0;
    while (tail < Math.min(before.length, now.length) - head && before.at(-1 - tail) === now.at(-1 - tail)) tail++;
    const text = now.slice(head, now.length - tail);
    if (isLong(text)) put = [...put, text];
  }
  if (!now.trim()) put = [];
  before = now;
}

// textParts returns a question as the content of a message: a text, or parts of which those are marked
// that were pasted. If one of these is not in the text as it was, all of it counts as pasted.
export function textParts(text, pastes = [text]) {
  let parts = [{ type: "text", text }];
  for (const paste of pastes.map((p) => p.trim()).filter(isLong)) {
    const at = parts.findIndex((p) => !p.molar && p.text.includes(paste));
    if (at < 0) return [{ type: "text", text, molar: { origin: "paste" } }];
    const from = parts[at].text.indexOf(paste);
    parts.splice(at, 1, { type: "text", text: parts[at].text.slice(0, from) }, { type: "text", text: paste, molar: { origin: "paste" } }, { type: "text", text: parts[at].text.slice(from + paste.length) });
  }
  return joinedPastes(parts.filter((p) => p.text));
}

// joinedPastes makes one part of pasted parts that follow each other.
const joinedPastes = (parts) => parts.reduce((all, p) => {
  const last = all.at(-1);
  if (last?.molar && p.molar) last.text += p.text;
  else all.push(p);
  return all;
}, []);

let timer = 0;

// keepDraft stores the typed text as the draft of the conversation that is shown.
export function keepDraft() {
  clearTimeout(timer);
  timer = 0;
  keep(`draft.${hooks.here()}`, input.value);
}

export const draftOf = (id) => storedValue(`draft.${id}`);

// clearInput replaces the text in the box by rest. The draft stays stored until the server has the
// question.
function clearInput(rest) {
  clearTimeout(timer);
  timer = 0;
  setInput(rest);
}

// --- keys ------------------------------------------------------------------------------------------

let fileBox = null; // the module of files, once it is loaded

// withFiles loads the module of files and calls run with it.
export async function withFiles(run) {
  fileBox ??= await import("/static/files.js");
  return run(fileBox);
}

// filesNow returns the attached files and removes them from the box.
export const filesNow = () => fileBox?.takeFiles() ?? [];

function setUpFiles() {
  $("add").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", async () => {
    await withFiles((f) => f.take([...$("files").files]));
    $("files").value = "";
    input.focus();
  });
  input.addEventListener("paste", (event) => {
    const files = [...event.clipboardData?.files ?? []];
    if (!files.length) return;
    event.preventDefault();
    withFiles((f) => f.take(files));
  });
  const stage = document.querySelector(".stage");
  for (const kind of ["dragover", "dragleave", "drop"]) {
    stage.addEventListener(kind, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      stage.classList.toggle("dropping", kind === "dragover");
      if (kind === "drop") withFiles((f) => f.take([...event.dataTransfer.files]));
    });
  }
}

let prompts = null; // the module of prompts, once it is loaded

async function slash(run) {
  prompts ??= await import("/static/prompts.js");
  run(prompts);
}

function setUpComposer() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const content = input.value.trim();
    if (!content) return;
    keepDraft();
    choices.hidden = true;
    const rest = hooks.submit(content);
    if (rest !== null) clearInput(rest);
    if (document.activeElement === document.body || document.activeElement === $("send")) input.focus();
  });
  input.addEventListener("input", (event) => {
    notePut(event);
    grow();
    if (input.value.startsWith("/")) slash((prompts) => prompts.suggest((text) => { setInput(text); keepDraft(); }));
    else choices.hidden = true;
    clearTimeout(timer);
    timer = setTimeout(keepDraft, 300);
  });
  setUpFiles();
  addEventListener("pagehide", () => { if (timer) keepDraft(); });
  input.addEventListener("blur", () => { choices.hidden = true; });
  // Enter sends and Shift+Enter breaks the line. The page handles the insertion of the line break,
  // not the key, because an input method may use Enter for itself.
  let shift = false;
  input.addEventListener("keydown", (event) => {
    shift = event.shiftKey;
    if (event.isComposing) return;
    if (!choices.hidden && prompts?.takeKey(event.key)) event.preventDefault();
    else if (event.key === "ArrowUp" && input.value === "" && hooks.editLast()) event.preventDefault();
  });
  input.addEventListener("beforeinput", (event) => {
    if (event.inputType !== "insertLineBreak" || shift) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

// --- the list of conversations -----------------------------------------------------------------------

// drawer opens or closes the list on screens that have no room for it next to the conversation.
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
  $("theme").title = themeWords();
  $("assistants").addEventListener("beforetoggle", (event) => { if (event.newState === "open") listAssistants(); });
  if (matchMedia("(pointer: coarse)").matches) $("search").placeholder = t("Search", "Tìm kiếm"); // a touch screen has no Ctrl key
  let typing = 0;
  $("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(loadList, 200); });
  $("list").addEventListener("click", (event) => { if (event.target.closest("a")) drawer(false); });
}

let listState = ""; // the list as it is drawn, as JSON
let listRequests = 0; // counts the requests for the list, so that only the latest is drawn

// loadList shows the conversations that match the search, and returns their number, or -1 when the
// request failed.
export async function loadList() {
  const list = $("list");
  const mine = ++listRequests;
  try {
    const { data, has_more: more } = await api(`/v1/conversations?limit=100&q=${encodeURIComponent($("search").value.trim())}`);
    const conversations = [...unsavedConversations(data), ...data.filter((c) => isPinned(c.id)), ...data.filter((c) => !isPinned(c.id))];
    if (mine !== listRequests) return conversations.length;
    const now = JSON.stringify([conversations.map((c) => [c.id, c.title, c.unsaved, c.running, c.snippet, isPinned(c.id)]), more, $("search").value]);
    list.querySelector(".problem")?.remove();
    if (now !== listState) drawList(list, conversations, more); // an unchanged list keeps its scroll position and focus
    listState = now;
    markHere();
    return conversations.length;
  } catch (err) {
    if (mine !== listRequests) return -1;
    const problem = el("div", { className: "problem" }, el("p", { className: "note bad", title: err.detail }, err.advice),
      el("button", { type: "button", className: "small", on: { click: loadList } }, t("Try again", "Thử lại")));
    list.querySelector(".problem")?.remove();
    if (listState) list.prepend(problem); // the list loaded before stays usable
    else list.replaceChildren(problem);
    return -1;
  }
}

function drawList(list, conversations, more) {
  const items = conversations.map((c) => el("li", { "data-running": c.running ? "" : null },
    el("a", { href: `#${encodeURIComponent(c.id)}`, title: [c.title, c.assistant, c.updated_at && when(c.updated_at)].filter(Boolean).join(" · ") },
      isPinned(c.id) && icon("pin"), el("span", {}, c.title || t("Untitled", "Chưa đặt tên")), c.snippet && el("small", {}, c.snippet)),
    !c.unsaved && el("button", { type: "button", className: "plain square", title: t("More", "Thêm"), "aria-haspopup": "true", "aria-label": t(`More on ${c.title}`, `Thêm về ${c.title}`), on: { click: (event) => openMenu(c, event.currentTarget) } }, icon("more"))));
  const empty = $("search").value ? t("Nothing found.", "Không tìm thấy.") : t("Your conversations will appear here.", "Các cuộc trò chuyện sẽ hiện ở đây.");
  list.replaceChildren(items.length ? el("ul", { className: "items" }, items) : el("p", { className: "note" }, empty),
    ...(more ? [el("p", { className: "note" }, t("Search to find older ones.", "Hãy tìm kiếm để xem các cuộc cũ hơn."))] : []));
}

// unsavedConversations returns the conversations that are not in the list yet because their first
// answer is still being written.
function unsavedConversations(saved) {
  if ($("search").value) return [];
  return hooks.answers().filter((a) => a.conversation && !saved.some((c) => c.id === a.conversation))
    .map((a) => ({ id: a.conversation, title: a.content.slice(0, 60), unsaved: true }));
}

// markHere marks the conversation that is shown, and the conversations with a running answer.
export function markHere() {
  document.title = "Molar";
  const waiting = new Set(hooks.answers().map((a) => `#${encodeURIComponent(a.conversation)}`));
  for (const a of $("list").querySelectorAll("a")) {
    const here = a.hash === `#${encodeURIComponent(hooks.here())}`;
    a.parentElement.toggleAttribute("data-here", here);
    if (here) document.title = `${a.querySelector("span:not(.dot)")?.textContent ?? ""} · Molar`;
    if (!waiting.has(a.hash) && !("running" in a.parentElement.dataset)) a.querySelector(".dot")?.remove();
    else if (!a.querySelector(".dot")) a.prepend(el("span", { className: "dot", role: "img", "aria-label": t("being answered", "đang trả lời") }));
    if (here) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
}

// --- pins, stored in this browser --------------------------------------------------------------------

const pins = () => storedValue("pins").split("\n").filter(Boolean);
const isPinned = (id) => pins().includes(id);

async function openMenu(c, button) {
  const { menu } = await import("/static/manage.js");
  menu(c, button, {
    pinned: isPinned,
    pin: (id) => {
      keep("pins", (isPinned(id) ? pins().filter((p) => p !== id) : [id, ...pins()]).join("\n"));
      hooks.changed();
      loadList();
    },
    removed: (id) => {
      if (id === hooks.here()) hooks.startNew();
      keep("pins", pins().filter((p) => p !== id).join("\n"));
    },
    changed: () => { hooks.changed(); return loadList(); },
  });
}

// --- assistants ---------------------------------------------------------------------------------------

const model = $("model");

// showAssistant shows the selected assistant, its description and its first questions.
export function showAssistant() {
  const chosen = model.selectedOptions[0];
  $("who").textContent = chosen?.value ?? "";
  document.documentElement.dataset.topic = chosen?.dataset.topic ?? "";
  if (!$("steps")) showAbout();
  const questions = JSON.parse(chosen?.dataset.questions ?? "{}")[language] ?? [];
  $("questions").replaceChildren(...questions.slice(0, 4).map((q) => el("li", {}, el("button", { type: "button", on: { click: () => hooks.submit(q) } }, q))));
}

// showModel shows the model that answers here.
export function showModel({ provider = "", model: name = "", why = "" }) {
  const none = !provider || provider === "offline";
  $("by").textContent = none ? t("no model", "chưa có mô hình") : [name, provider].filter(Boolean).join(" · ");
  $("by").title = none ? why : "";
}

const showAbout = () => { $("about").textContent = model.selectedOptions[0]?.title ?? ""; };

async function listAssistants() {
  const item = (o) => el("button", { type: "button", className: "plain", "aria-pressed": String(o.selected), on: { click: () => {
    model.value = o.value;
    model.dispatchEvent(new Event("change"));
    $("assistants").hidePopover();
    input.focus();
  } } }, el("strong", {}, o.value), el("small", {}, o.title));
  const by = el("p", { className: "by" });
  $("assistants").replaceChildren(...[...model.options].map(item), by);
  const setup = await api(setupPath(model.value)).catch(() => null);
  if (setup?.model) by.append(t(`Answers come from ${setup.model} (${setup.provider}). `, `Trả lời bằng ${setup.model} (${setup.provider}). `), ...operates ? [el("a", { href: "/config" }, t("Choose another model", "Chọn mô hình khác"))] : []);
}

// --- the state of the host: the answering model, what the reader can do --------------------------------

let setupRequests = 0; // counts the requests for the host's state, so that only the latest is shown
let first = false; // whether there is no conversation yet
let operates = false; // whether the reader may open the pages of tools and settings
me().then((who) => { operates = !who || allows(who, "admin"); }); // at once: the page itself says who reads it

// look requests the host's state, and shows the answering model, an offer and the steps of the
// first run.
export async function look(isFirst = first) {
  first = isFirst;
  const mine = ++setupRequests;
  const setup = await api(setupPath(model.value)).catch(() => null);
  if (!setup || mine !== setupRequests) return;
  showModel(setup);
  showOffer(setup.offer ?? "");
  if (first) welcome(setup);
}

// showOffer offers the assistant that may call the tools of the attached servers, while another one
// is selected and the reader has not declined the offer.
function showOffer(name) {
  const open = [...model.options].some((o) => o.value === name) && model.value !== name && storedValue("declined") !== name;
  const box = $("offer");
  const now = open ? `${model.value} ${name}` : "";
  if (box.dataset.state === now) return;
  box.dataset.state = now;
  box.replaceChildren(...open ? [
    el("p", {}, t(`Servers are attached. The assistant ${model.value} may not call their tools; ${name} may.`, `Đã gắn máy chủ. Trợ lý ${model.value} không gọi được công cụ của chúng; ${name} thì được.`)),
    el("div", { className: "row" },
      el("button", { type: "button", className: "primary", on: { click: () => {
        keep("assistant", name);
        hooks.startNew();
        input.focus();
      } } }, t(`Ask ${name}`, `Hỏi ${name}`)),
      el("button", { type: "button", className: "plain", on: { click: () => {
        keep("declined", name);
        showOffer(name);
        input.focus();
      } } }, t(`Stay with ${model.value}`, `Giữ ${model.value}`))),
  ] : []);
  box.hidden = !open;
}

// --- the first run -----------------------------------------------------------------------------------

const step = (title, text, code) => el("li", { className: "card" }, el("strong", {}, title), el("p", {}, ...text),
  code && el("pre", { className: "code", tabIndex: 0 }, code));

const lookAgain = 4000; // ms
let looking = 0; // the timer

// welcome shows three steps for a reader who operates the host while no model or no server is attached,
// and polls until both are.
function welcome(setup) {
  const bare = !setup.provider || setup.provider === "offline";
  const state = operates && (bare || setup.servers === 0) ? `${bare} ${setup.model} ${setup.servers}` : "";
  if (state !== ($("steps")?.dataset.state ?? "")) showSteps(setup, bare, state);
  clearTimeout(looking);
  if (state) looking = setTimeout(() => { if (!document.hidden && !$("welcome").hidden) look(); }, lookAgain);
}

function showSteps(setup, bare, state) {
  $("steps")?.remove();
  $("welcome").classList.toggle("first", state !== "");
  showAbout();
  if (bare) $("about").textContent = t("No model is attached yet: Molar can only quote what its tools find.", "Chưa có mô hình nào: Molar chỉ trích dẫn được kết quả của công cụ.");
  if (!state) return;
  const link = (href, words) => el("a", { href }, words);
  $("welcome").append(el("ol", { className: "steps", id: "steps", "data-state": state },
    bare ? step(t("Attach a model", "Gắn một mô hình"),
      t(["Run “molar init” in a terminal: it finds out what this machine has, and asks which model should answer. Or fetch one with Ollama, or start Molar with a key. The ", link("/config", "settings page"), " tests it."],
        ["Hãy chạy “molar init” trong cửa sổ dòng lệnh: lệnh này xem máy có gì và hỏi nên dùng mô hình nào. Hoặc tải một mô hình bằng Ollama, hoặc chạy Molar với khóa. ", link("/config", "Trang cài đặt"), " giúp thử kết nối."]),
      "molar init\n# or: ollama pull qwen2.5:7b-instruct\n# or: GEMINI_API_KEY=… molar serve")
      : step(t("A model answers", "Đã có mô hình trả lời"), [`${setup.model} (${setup.provider})`]),
    setup.servers === 0 ? step(t("Attach a server", "Gắn một máy chủ công cụ"),
      t(["Its tools let the assistant look things up and act. Paste its command, its address, or the block that you have for another program, into the form ", link("/tools#attach-title", "Attach a server"), ". Or let “molar init” find the servers of Claude Desktop, Cursor, VS Code and Gemini CLI."],
        ["Công cụ của nó giúp trợ lý tra cứu và hành động. Hãy dán lệnh, địa chỉ, hoặc khối cấu hình bạn đang dùng ở chương trình khác vào mẫu ", link("/tools#attach-title", "Gắn máy chủ"), ". Hoặc để “molar init” tìm máy chủ của Claude Desktop, Cursor, VS Code và Gemini CLI."]))
      : step(t("A server is attached", "Đã gắn máy chủ"), [link("/tools", t("See its tools", "Xem công cụ của nó"))]),
    step(t("Ask", "Đặt câu hỏi"),
      t(["Ask below. Each answer shows the calls it made, and says why."], ["Hãy hỏi ở bên dưới. Mỗi câu trả lời cho thấy các lời gọi công cụ và lý do."]))));
}
