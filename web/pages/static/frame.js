// What stands around the conversation: the box where questions are typed, with drafts; the
// list of conversations; who is asked; the first run's steps.

import { $, api, el, icon, keep, kept, language, t, themeWords, toggleTheme, when } from "/static/app.js";

const form = $("form");
const input = $("question");
const choices = $("choices");

// hooks are what the conversation does: submit takes a question and returns what is left in
// the box, or null; here gives the id that is shown, answering the answers that are being
// written; fresh begins a new one, changed tells the other tabs; editLast puts the last
// question into the box.
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

// --- keys ------------------------------------------------------------------------------------------

let fileBox = null; // the module, once there was a file

// withFiles runs something with the module of files.
export async function withFiles(run) {
  fileBox ??= await import("/static/files.js");
  return run(fileBox);
}

// filesNow are the files that go with the question that is sent now.
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

let prompts = null; // the module, once there was a slash

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
  input.addEventListener("input", () => {
    grow();
    if (input.value.startsWith("/")) slash((prompts) => prompts.suggest((text) => { setInput(text); keepDraft(); }));
    else choices.hidden = true;
    clearTimeout(timer);
    timer = setTimeout(keepDraft, 300);
  });
  setUpFiles();
  addEventListener("pagehide", () => { if (timer) keepDraft(); });
  input.addEventListener("blur", () => { choices.hidden = true; });
  // Enter sends and Shift+Enter breaks the line. The line break is what is caught, not the
  // key: an input method may use Enter for itself.
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
  $("theme").title = themeWords();
  $("assistants").addEventListener("beforetoggle", (event) => { if (event.newState === "open") listAssistants(); });
  if (matchMedia("(pointer: coarse)").matches) $("search").placeholder = t("Search", "Tìm kiếm"); // no key to name
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
    const found = [...unsaved(data), ...data.filter((c) => isPinned(c.id)), ...data.filter((c) => !isPinned(c.id))];
    if (mine !== asked) return found.length;
    const now = JSON.stringify([found.map((c) => [c.id, c.title, c.unsaved, c.running, c.snippet, isPinned(c.id)]), more, $("search").value]);
    list.querySelector(".problem")?.remove();
    if (now !== listed) drawList(list, found, more);
    listed = now; // what is the same stays, and with it where the reader is
    markHere();
    return found.length;
  } catch (err) {
    if (mine !== asked) return -1;
    const problem = el("div", { className: "problem" }, el("p", { className: "note bad", title: err.detail }, err.advice),
      el("button", { type: "button", className: "small", on: { click: loadList } }, t("Try again", "Thử lại")));
    list.querySelector(".problem")?.remove();
    if (listed) list.prepend(problem); // what was loaded stays of use
    else list.replaceChildren(problem);
    return -1;
  }
}

function drawList(list, found, more) {
  const items = found.map((c) => el("li", { "data-running": c.running ? "" : null },
    el("a", { href: `#${encodeURIComponent(c.id)}`, title: [c.title, c.assistant, c.updated_at && when(c.updated_at)].filter(Boolean).join(" · ") },
      isPinned(c.id) && icon("pin"), el("span", {}, c.title || t("Untitled", "Chưa đặt tên")), c.snippet && el("small", {}, c.snippet)),
    !c.unsaved && el("button", { type: "button", className: "plain square", title: t("More", "Thêm"), "aria-haspopup": "true", "aria-label": t(`More on ${c.title}`, `Thêm về ${c.title}`), on: { click: (event) => openMenu(c, event.currentTarget) } }, icon("more"))));
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
  document.title = "Molar";
  const waiting = new Set(hooks.answering().map((a) => `#${encodeURIComponent(a.conversation)}`));
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

// --- pins are kept in this browser ------------------------------------------------------------------

const pins = () => kept("pins").split("\n").filter(Boolean);
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
      if (id === hooks.here()) hooks.fresh();
      keep("pins", pins().filter((p) => p !== id).join("\n"));
    },
    changed: () => { hooks.changed(); return loadList(); },
  });
}

// --- assistants ---------------------------------------------------------------------------------------

const model = $("model");

// showAssistant draws who is asked, what that is for, and with which questions to begin.
export function showAssistant() {
  const chosen = model.selectedOptions[0];
  $("who").textContent = chosen?.value ?? "";
  document.documentElement.dataset.topic = chosen?.dataset.topic ?? "";
  if (!$("steps")) $("about").textContent = chosen?.title ?? "";
  const questions = JSON.parse(chosen?.dataset.questions ?? "{}")[language] ?? [];
  $("questions").replaceChildren(...questions.slice(0, 4).map((q) => el("li", {}, el("button", { type: "button", on: { click: () => hooks.submit(q) } }, q))));
}

// showModel says which model answers here; "" where that is not known.
export function showModel(name) {
  $("by").textContent = name;
}

async function listAssistants() {
  const item = (o) => el("button", { type: "button", className: "plain", "aria-pressed": String(o.selected), on: { click: () => {
    model.value = o.value;
    model.dispatchEvent(new Event("change"));
    $("assistants").hidePopover();
    input.focus();
  } } }, el("strong", {}, o.value), el("small", {}, o.title));
  const by = el("p", { className: "by" });
  $("assistants").replaceChildren(...[...model.options].map(item), by);
  const setup = await api("/v1/setup").catch(() => null);
  if (setup?.model) by.append(t(`Answers come from ${setup.model} (${setup.provider}). `, `Trả lời bằng ${setup.model} (${setup.provider}). `), el("a", { href: "/config" }, t("Choose another model", "Chọn mô hình khác")));
}

// --- the first run -----------------------------------------------------------------------------------

const step = (title, text, code) => el("li", { className: "card" }, el("strong", {}, title), el("p", {}, ...text),
  code && el("pre", { className: "code", tabIndex: 0 }, code));

// welcome says in three steps what to do while no model or no server is attached.
export async function welcome() {
  const setup = await api("/v1/setup").catch(() => null);
  if (!setup) return;
  const bare = !setup.provider || setup.provider === "offline";
  if (!bare) showModel(setup.model ?? "");
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
      `# ${setup.file || "molar.yaml"}\nmcpServers:\n  notes:\n    command: npx\n    args: [-y, "@modelcontextprotocol/server-filesystem", /home/me/notes]`),
    step(t("Ask", "Đặt câu hỏi"),
      t(["Ask below. Each answer shows the calls it made, and says why."], ["Hãy hỏi ở bên dưới. Mỗi câu trả lời cho thấy các lời gọi công cụ và lý do."]))));
}
