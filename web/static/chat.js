// The chat page: it sends questions, follows their turns, also over a cut connection or a
// reload, and keeps the list of conversations and what is typed.

import { $, Problem, api, el, keep, kept, problemOf, send, settings, t, toggleTheme, translate, unreachable } from "/static/app.js";
import { draftOf, keepDraft, loadList, markHere, setInput, setUpFrame, welcome } from "/static/frame.js";
import { Answer, announce, question as questionBox, stopTurn, storedAnswer, toEnd } from "/static/view.js";

const input = $("question");
const model = $("model");
const log = $("log");
const tabs = new BroadcastChannel("molar"); // tells other tabs what changed

let conversation = "";
let view = 0; // counts the conversations shown, so that a late answer finds its own
let running = null; // the Answer that is being written

const pathOf = (id) => `/v1/conversations/${encodeURIComponent(id)}`;
const hint = (words = "") => { $("hint").textContent = words; };
const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

// --- a turn ------------------------------------------------------------------------------------

// The running turn is kept in this tab, so that a reload finds it again.
function noteTurn(turn) {
  try {
    if (turn) sessionStorage.setItem("molar.turn", JSON.stringify(turn));
    else sessionStorage.removeItem("molar.turn");
  } catch { /* storage is off: a reload then shows what is stored */ }
}

function notedTurn() {
  try {
    return JSON.parse(sessionStorage.getItem("molar.turn"));
  } catch {
    return null;
  }
}

// begin puts a question and an empty answer on the page.
function begin(content) {
  $("welcome").hidden = true;
  const asked = questionBox(content, edit);
  const answer = new Answer((a) => again(a));
  Object.assign(answer, { asked, content, view, conversation });
  log.append(asked, answer.box);
  toEnd();
  setRunning(answer);
  return answer;
}

async function ask(content) {
  const answer = begin(content);
  const body = {
    model: model.value, stream: true, messages: [{ role: "user", content }],
    molar: { ...settings(), events: true, html: true, detach: true },
  };
  if (conversation) body.chat_id = conversation;
  answer.abort = new AbortController();
  await settle(answer, async () => {
    const response = await send("/v1/chat/completions", { method: "POST", body, signal: answer.abort.signal });
    taken(answer, response.headers.get("X-Turn-Id"));
    if (!await read(response, answer)) await follow(answer);
  });
}

// taken says that the server has the question: now it need not be kept here.
function taken(answer, turn) {
  answer.turn = turn ?? "";
  noteTurn({ turn: answer.turn, content: answer.content, conversation: answer.conversation });
  if (input.value === "") keep(`draft.${answer.conversation}`, null);
  if (answer.stopped) stopTurn(answer.turn);
}

// settle runs a turn to its end, whatever that is, and says what went wrong.
async function settle(answer, run) {
  try {
    await run();
  } catch (err) {
    if (answer.stopped || err.code === "stopped") answer.note(t("Stopped.", "Đã dừng."));
    else if (err.name !== "AbortError") failed(answer, err instanceof Problem ? err : new Problem(String(err.message)));
  }
  if (answer.left) return;
  answer.end();
  noteTurn(null);
  if (running === answer) setRunning(null);
  tabs.postMessage({ changed: answer.conversation });
  loadList();
}

// failed says why there is no answer, and gives back what was typed.
function failed(answer, problem) {
  answer.note(problem.advice, "bad", problem.detail);
  if (!answer.source && answer.view === view && input.value === "") {
    setInput(answer.content);
    keep(`draft.${conversation}`, answer.content);
  }
}

// read shows a stream, and says whether it came to its end.
async function read(response, answer) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { value, done } = await reader.read().catch((err) => {
      if (err.name === "AbortError") throw err;
      return { done: true };
    });
    if (done) return false;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "))?.slice(6);
      if (data === "[DONE]") return true;
      if (data) show(JSON.parse(data), answer);
    }
  }
}

function show(chunk, answer) {
  if (chunk.error) throw problemOf(chunk.error);
  if (chunk.system_fingerprint && !answer.conversation) {
    answer.conversation = chunk.system_fingerprint;
    noteTurn({ turn: answer.turn, content: answer.content, conversation: answer.conversation });
  }
  const piece = chunk.choices[0]?.delta.content;
  if (piece) answer.text(piece);
  if (!chunk.molar) return;
  answer.molar(chunk.molar);
  if (chunk.molar.type !== "done") return;
  if (chunk.molar.provider === "offline") answer.note(t("No model is attached, so this only quotes what the tools found.", "Chưa có mô hình nên đây chỉ là trích dẫn từ công cụ."), "warn");
  if (chunk.molar.saved && answer.view === view) remember(answer.conversation);
  else if (!chunk.molar.refused && !chunk.molar.saved) answer.note(t("This answer is not saved.", "Câu trả lời này chưa được lưu."));
}

// follow goes on with a turn whose stream was cut: from its begin, drawn anew, since the
// turn runs on at the server. It throws when that is out of reach for good.
async function follow(answer) {
  for (let wait = 500; wait <= 16000; wait *= 2) {
    hint(t("The connection was cut. Reconnecting…", "Mất kết nối. Đang kết nối lại…"));
    try {
      const response = await send(`/v1/turns/${encodeURIComponent(answer.turn)}/events?html=true`, { signal: answer.abort?.signal });
      hint();
      if (response.status === 204) return;
      const fresh = new Answer(answer.again);
      answer.box.replaceWith(fresh.box);
      Object.assign(answer, { ...fresh });
      if (await read(response, answer)) return;
    } catch (err) {
      if (err.code === "unreachable") await sleep(wait);
      else if (err.status !== 404 && err.status !== 410) throw err;
      else return missing(answer, err);
    }
  }
  hint();
  throw new Problem(`${unreachable()} ${t("The answer may be finished there: reload the page later.", "Câu trả lời có thể vẫn hoàn tất ở đó: hãy tải lại trang sau.")}`);
}

// missing shows what is known of a turn that cannot be followed any more.
async function missing(answer, err) {
  hint();
  const { status, answer: said, sources } = err.body ?? {};
  if (said) {
    answer.body.textContent = answer.source = said;
    answer.cited = sources;
  }
  if (status === "done" && answer.view === view && answer.conversation) return openConversation(answer.conversation);
  answer.note(t("The answer broke off before its end. Ask again.", "Câu trả lời bị ngắt giữa chừng. Vui lòng hỏi lại."), "bad");
}

// resume goes on with the turn that a reload left.
async function resume() {
  const noted = notedTurn();
  if (!noted?.turn || running || noted.conversation !== conversation && conversation) return;
  const last = [...log.querySelectorAll(".message")].at(-1);
  if (last?.dataset.turn === noted.turn) return noteTurn(null); // it is stored by now
  const answer = begin(noted.content);
  Object.assign(answer, { turn: noted.turn, conversation: noted.conversation, abort: new AbortController() });
  await settle(answer, () => follow(answer));
}

function stop() {
  if (!running) return;
  running.stopped = true;
  hint();
  if (running.turn) stopTurn(running.turn);
}

function setRunning(answer) {
  running = answer;
  log.setAttribute("aria-busy", String(Boolean(answer)));
  $("send").hidden = Boolean(answer);
  $("stop").hidden = !answer;
  if (answer) announce(t("The answer is being written.", "Đang trả lời."));
}

// leave lets a running turn go on unseen, for another conversation is shown.
function leave() {
  if (running) {
    running.left = true;
    running.abort?.abort();
    setRunning(null);
  }
  view++;
  hint();
  log.querySelectorAll(".batch, .message, .problem").forEach((m) => m.remove());
}

// leaveDraft keeps what is typed, but not over the draft of a question that is on its way.
function leaveDraft() {
  if (input.value !== "") keepDraft();
}

function again(answer) {
  if (running) return;
  if (!answer.source && answer.asked) {
    answer.asked.remove();
    answer.box.remove();
    if (input.value === answer.content) setInput("");
  }
  ask(answer.content);
}

function edit(content) {
  setInput(content);
  input.focus();
}

// --- conversations ---------------------------------------------------------------------------------

function remember(id) {
  if (id === conversation) return;
  conversation = id;
  keep("conversation", id);
  history.replaceState(null, "", id ? `#${encodeURIComponent(id)}` : location.pathname);
  markHere();
}

function fresh() {
  leaveDraft();
  leave();
  remember("");
  $("welcome").hidden = false;
  noteTurn(null);
  setInput(draftOf(""));
}

// openConversation shows what is stored: the end at once, the rest when there is time.
async function openConversation(id) {
  leaveDraft();
  leave();
  const here = view;
  $("welcome").hidden = true;
  remember(id);
  setInput(draftOf(id));
  try {
    const { messages } = await api(`${pathOf(id)}?html=true`);
    if (here === view) await showStored(messages, here);
  } catch (err) {
    if (here !== view) return;
    if (err.status === 404) {
      if (notedTurn()?.conversation === id) return; // its first turn is still running
      fresh();
      hint(t("That conversation no longer exists. A new one has begun.", "Cuộc trò chuyện đó không còn nữa. Một cuộc mới đã bắt đầu."));
      return;
    }
    log.append(el("div", { className: "problem note bad", role: "alert" }, el("p", {}, err.advice, el("small", {}, err.detail)),
      el("button", { type: "button", on: { click: () => openConversation(id) } }, t("Try again", "Thử lại"))));
  }
}

const batch = 40; // messages drawn at once, which keeps the page answering

async function showStored(messages, here) {
  let before = null;
  for (let end = messages.length; end > 0 && here === view; end -= batch) {
    const start = Math.max(0, end - batch);
    // Each batch stands in a box of its own, so that one that changes lays out few; the
    // nearest is laid out at once, which makes the end the end.
    const drawn = el("div", { className: before ? "batch" : "batch near" }, messages.slice(start, end).map((m, i) => stored(m, messages[start + i - 1])));
    const height = log.scrollHeight;
    const top = log.scrollTop;
    if (before) before.before(drawn);
    else log.append(drawn);
    if (before) log.scrollTop = top + log.scrollHeight - height;
    else toEnd();
    before = drawn;
    await new Promise((next) => { (window.requestIdleCallback ?? setTimeout)(next, { timeout: 100 }); });
  }
}

function stored(m, asked) {
  const box = m.role === "user" ? questionBox(m.content, edit) : storedAnswer(m, () => !running && asked && ask(asked.content));
  box.classList.add("stored");
  box.dataset.turn = m.turn_id ?? "";
  return box;
}

// --- controls ------------------------------------------------------------------------------------------

function drawer(open) {
  $("chat").classList.toggle("drawer", open);
  $("menu").setAttribute("aria-expanded", String(open));
  if (open) $("close").focus();
  else if ($("side").contains(document.activeElement)) $("menu").focus();
}

function setUpControls() {
  $("menu").addEventListener("click", () => drawer(true));
  $("close").addEventListener("click", () => drawer(false));
  document.querySelector(".stage").addEventListener("click", (event) => {
    if (!$("menu").contains(event.target)) drawer(false);
  });
  $("theme").addEventListener("click", toggleTheme);
  $("stop").addEventListener("click", stop);
  $("new").addEventListener("click", () => { fresh(); drawer(false); input.focus(); });
  let typing = 0;
  $("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(loadList, 200); });
  $("list").addEventListener("click", (event) => { if (event.target.closest("a")) drawer(false); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || $("ask").open) return;
    if ($("chat").classList.contains("drawer")) drawer(false);
    else stop();
  });
  model.addEventListener("change", () => { keep("assistant", model.value); describe(); });
  addEventListener("hashchange", () => {
    const id = hashed();
    if (id !== conversation) (id ? openConversation(id).then(resume) : fresh());
  });
  addEventListener("offline", () => hint(unreachable()));
  addEventListener("online", () => hint());
  tabs.addEventListener("message", ({ data }) => {
    loadList();
    if (data.changed && data.changed === conversation && !running) openConversation(conversation);
  });
}

// describe says what the chosen assistant is for.
function describe() {
  if (!$("steps")) $("about").textContent = model.selectedOptions[0]?.title ?? "";
}

function hashed() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

async function start() {
  translate();
  setUpControls();
  setUpFrame({
    submit: (content) => !running && (ask(content), true),
    here: () => conversation,
    fresh,
    changed: () => tabs.postMessage({ changed: "" }),
  });
  if ([...model.options].some((o) => o.value === kept("assistant"))) model.value = kept("assistant");
  describe();
  const id = hashed() || notedTurn()?.conversation || kept("conversation");
  if (id) await openConversation(id);
  else setInput(draftOf(""));
  if (matchMedia("(pointer: fine)").matches) input.focus();
  performance.mark("usable");
  const found = resume();
  if (document.readyState !== "complete") await new Promise((loaded) => { addEventListener("load", loaded, { once: true }); });
  const conversations = await loadList();
  if (conversations === 0) await welcome();
  await found;
}

start();
