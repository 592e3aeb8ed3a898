// The chat page: it sends a question, shows the answer as it streams, and remembers
// the conversation. What comes from the server is only ever set as text.

import { text, translate } from "/static/text.js";

const $ = (id) => document.getElementById(id);
const log = $("log");
const form = $("form");
const question = $("question");
const model = $("model");
const remembered = "molar.conversation";

let conversation = "";
let view = 0; // counts the conversations shown, so that a late answer finds its own
let running = null; // the AbortController of the turn that is being answered

// --- showing ---------------------------------------------------------------

function element(tag, className, content) {
  const el = document.createElement(tag);
  el.className = className;
  el.textContent = content;
  return el;
}

function nearEnd() {
  return log.scrollHeight - log.scrollTop - log.clientHeight < 120;
}

function follow(change) {
  const stick = nearEnd();
  change();
  if (stick) log.scrollTop = log.scrollHeight;
}

function addMessage(role, content) {
  $("empty").hidden = true;
  const box = element("article", `message ${role}`, "");
  box.setAttribute("aria-label", role === "user" ? text.you : text.answer);
  const body = element("div", "text", content);
  box.append(body);
  follow(() => log.append(box));
  return { box, body };
}

function addNote(message, content, bad) {
  const note = element("p", bad ? "note error" : "note", content);
  if (bad) note.setAttribute("role", "alert");
  follow(() => (bad ? message.box.append(note) : message.box.insertBefore(note, message.body)));
  return note;
}

// linkAddresses makes the http addresses in an answer links, once it is whole.
function linkAddresses(body) {
  const parts = body.textContent.split(/(https?:\/\/[^\s<>"')\]]+)/);
  if (parts.length < 2) return;
  body.replaceChildren(...parts.map((part, i) => {
    if (i % 2 === 0) return document.createTextNode(part);
    const a = element("a", "", part);
    a.href = part;
    a.target = "_blank";
    a.rel = "noopener noreferrer";
    return a;
  }));
}

// --- talking to the server -------------------------------------------------

async function problem(response) {
  try {
    return text.failed((await response.json()).error.message);
  } catch {
    return text.failed(`${response.status} ${response.statusText}`);
  }
}

// events yields the data of each server-sent event of a response.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      if (block.startsWith("data: ")) yield block.slice("data: ".length);
    }
  }
}

async function ask(content) {
  addMessage("user", content);
  const answer = addMessage("assistant", "");
  answer.box.classList.add("waiting");
  answer.view = view;
  const turn = new AbortController();
  setRunning(turn);
  try {
    await readAnswer(content, answer, turn.signal);
  } catch (err) {
    if (err.name === "AbortError") addNote(answer, text.stopped);
    else addNote(answer, text.unreachable, true);
  } finally {
    answer.box.classList.remove("waiting");
    // An answer that was cut short is kept too, so the next question follows it.
    if (answer.body.textContent && !answer.refused && answer.view === view) remember(answer.conversation);
    linkAddresses(answer.body);
    if (running === turn) setRunning(null);
  }
}

async function readAnswer(content, answer, signal) {
  const body = {
    model: model.value,
    stream: true,
    messages: [{ role: "user", content }],
    molar: { events: true },
  };
  if (conversation) body.chat_id = conversation;
  const response = await fetch("/v1/chat/completions", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) {
    addNote(answer, await problem(response), true);
    return;
  }
  const tools = new Map();
  for await (const data of events(response)) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data);
    if (chunk.error) {
      addNote(answer, text.failed(chunk.error.message), true);
      return;
    }
    showChunk(chunk, answer, tools);
  }
  addNote(answer, text.broken, true);
}

function showChunk(chunk, answer, tools) {
  answer.conversation = chunk.system_fingerprint ?? "";
  if (chunk.molar) showMolar(chunk.molar, answer, tools);
  const piece = chunk.choices[0]?.delta.content;
  if (piece) follow(() => answer.body.append(piece));
}

function showMolar(molar, answer, tools) {
  const id = molar.call?.id ?? molar.result?.id ?? "";
  const tool = molar.toolName || molar.result?.toolName || molar.call?.function.name;
  switch (molar.type) {
    case "tool_call":
      tools.set(id, addNote(answer, text.calling(tool)));
      break;
    case "tool_result": {
      const note = tools.get(id) ?? addNote(answer, "");
      const seconds = ((molar.duration_ms ?? 0) / 1000).toFixed(1);
      note.textContent = molar.result.isError ? text.refused(tool) : text.called(tool, seconds);
      break;
    }
    case "warning":
      addNote(answer, molar.text);
      break;
    case "done":
      answer.refused = molar.refused;
      if (!molar.saved && !molar.refused) addNote(answer, text.unsaved);
  }
}

// --- the conversation ------------------------------------------------------

function remember(id) {
  conversation = id;
  try {
    if (id) localStorage.setItem(remembered, id);
    else localStorage.removeItem(remembered);
  } catch { /* storage is switched off; the address still holds the id */ }
  history.replaceState(null, "", id ? `#${encodeURIComponent(id)}` : location.pathname);
}

function recall() {
  try {
    return decodeURIComponent(location.hash.slice(1)) || localStorage.getItem(remembered) || "";
  } catch {
    return "";
  }
}

function clearLog() {
  for (const el of log.querySelectorAll(".message")) el.remove();
  $("empty").hidden = false;
}

async function loadConversation() {
  const id = recall();
  if (!id) return;
  const here = view;
  const response = await fetch(`/v1/conversations/${encodeURIComponent(id)}`);
  if (running || here !== view) return; // the reader was faster
  if (response.status === 404) {
    remember("");
    $("empty").textContent = text.missing;
    return;
  }
  if (!response.ok) throw new Error(await problem(response));
  clearLog();
  for (const m of (await response.json()).messages) {
    linkAddresses(addMessage(m.role, m.content).body);
  }
  remember(id);
  log.scrollTop = log.scrollHeight;
}

async function loadModels() {
  const response = await fetch("/v1/models");
  if (!response.ok) throw new Error(await problem(response));
  model.replaceChildren(...(await response.json()).data.map((m) => {
    const option = element("option", "", m.id);
    option.value = m.id;
    option.title = m.description ?? "";
    return option;
  }));
}

// --- controls --------------------------------------------------------------

function setRunning(controller) {
  running = controller;
  log.setAttribute("aria-busy", String(Boolean(controller)));
  $("send").hidden = Boolean(controller);
  $("stop").hidden = !controller;
}

function grow() {
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight + 2}px`;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const content = question.value.trim();
  if (!content || running) return;
  question.value = "";
  grow();
  ask(content).finally(() => question.focus());
});

question.addEventListener("input", grow);
// Enter sends and Shift+Enter breaks the line. The line break is what is caught, not
// the key: an input method may use Enter for itself.
let shift = false;
question.addEventListener("keydown", (event) => { shift = event.shiftKey; });
question.addEventListener("beforeinput", (event) => {
  if (event.inputType !== "insertLineBreak" || shift) return;
  event.preventDefault();
  form.requestSubmit();
});

$("stop").addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
});

$("new").addEventListener("click", () => {
  running?.abort();
  view++;
  remember("");
  clearLog();
  $("empty").textContent = text.empty;
  question.focus();
});

window.addEventListener("hashchange", () => {
  running?.abort();
  setRunning(null);
  view++;
  loadConversation().catch(showStart);
});

function showStart(err) {
  $("empty").hidden = false;
  $("empty").textContent = err.name === "TypeError" ? text.unreachable : err.message;
}

translate(document);
Promise.all([loadModels(), loadConversation()]).catch(showStart);
