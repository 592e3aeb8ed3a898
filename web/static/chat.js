// The chat page: it sends questions, follows their turns, also over a cut connection or a
// reload, and keeps the list of conversations and what is typed.

import { $, Problem, api, el, eventsOf, keep, kept, problemOf, send, settings, sleep, t, translate, unreachable } from "/static/app.js";
import { draftOf, drawer, keepDraft, loadList, markHere, setInput, setUpFrame, welcome } from "/static/frame.js";
import { Answer, announce, earlierOf, question as questionBox, setEarlier, showStored, stopTurn, storedAnswer, toEnd } from "/static/view.js";

const input = $("question");
const model = $("model");
const log = $("log");
const tabs = new BroadcastChannel("molar"); // tells other tabs what changed

let conversation = "";
let view = 0; // counts the conversations shown, so that what comes late finds its own
let running = null; // the Answer that is being written here
const runs = new Set(); // all that are being written, also in conversations not shown
let noted = notedTurns(); // those that a reload left, until they are shown again
let editing = null; // the turn whose question is being edited, and what was typed before

const pathOf = (id) => `/v1/conversations/${encodeURIComponent(id)}`;
const hint = (words = "") => { $("hint").textContent = words; };

// --- a turn ------------------------------------------------------------------------------------

// The running turns are noted in this tab, so that a reload finds them again.
function noteTurns() {
  const now = [...runs].filter((a) => a.turn).map((a) => ({ turn: a.turn, content: a.content, conversation: a.conversation, here: a === running }));
  try {
    sessionStorage.setItem("molar.turns", JSON.stringify([...noted, ...now]));
  } catch { /* storage is off: a reload then shows what is stored */ }
}

function notedTurns() {
  try {
    return JSON.parse(sessionStorage.getItem("molar.turns")) ?? [];
  } catch {
    return [];
  }
}

// begin puts a question and an empty answer on the page.
function begin(content) {
  $("welcome").hidden = true;
  const asked = questionBox(content, edit);
  const answer = new Answer((a) => again(a));
  Object.assign(answer, { asked, content, conversation, home: conversation });
  runs.add(answer);
  log.append(asked, answer.box);
  toEnd();
  setRunning(answer);
  return answer;
}

// ask sends a question. replaces is the turn of which it is a new version, if it is one.
async function ask(content, replaces = "") {
  if (replaces) setEarlier(conversation, replaces, true);
  const answer = begin(content);
  answer.replaces = replaces;
  const body = {
    model: model.value, stream: true, messages: [{ role: "user", content }],
    molar: { ...settings(), events: true, html: true, detach: true },
  };
  if (conversation) body.chat_id = conversation;
  await settle(answer, async () => {
    const response = await send("/v1/chat/completions", { method: "POST", body, signal: answer.abort.signal });
    taken(answer, response.headers.get("X-Turn-Id"));
    if (!await read(response, answer)) await follow(answer);
  });
}

// taken says that the server has the question: now it need not be kept here.
function taken(answer, turn) {
  answer.turn = turn ?? "";
  noteTurns();
  if (draftOf(answer.home).trim() === answer.content) keep(`draft.${answer.home}`, null);
  if (answer === running && input.value) keepDraft();
  if (answer.stopped) stopTurn(answer.turn);
}

// settle reads a turn to its end, whatever that is, and says what went wrong.
async function settle(answer, run) {
  answer.abort = new AbortController();
  answer.paused = false;
  try {
    await run();
  } catch (err) {
    if (answer.paused) return; // goes on when its conversation is shown again
    if (answer.stopped || err.code === "stopped") answer.note(t("Stopped.", "Đã dừng."));
    else failed(answer, err instanceof Problem ? err : new Problem(String(err.message)));
    if (answer.source && answer === running) remember(answer.conversation); // what there is of it is kept
  }
  runs.delete(answer);
  noteTurns();
  answer.asked.dataset.turn = answer.box.dataset.turn = answer.turn;
  answer.end();
  if (running === answer) setRunning(null);
  tabs.postMessage({ changed: answer.conversation });
  loadList();
}

// failed says why there is no answer, and gives back what was typed.
function failed(answer, problem) {
  answer.note(problem.advice, "bad", problem.detail);
  if (answer.source) return;
  if (answer.replaces) setEarlier(answer.conversation, answer.replaces, false);
  if (answer !== running) hint(t("A question of another conversation found no answer. It is kept in the box there.", "Một câu hỏi ở cuộc trò chuyện khác không có câu trả lời. Nội dung được giữ trong ô nhập ở đó."));
  else if (input.value === "") setInput(answer.content);
  if (!draftOf(answer.home)) keep(`draft.${answer.home}`, answer.content);
}

// read shows a stream, and says whether it came to its end.
async function read(response, answer) {
  for await (const { id, data } of eventsOf(response)) {
    if (data === "[DONE]") return true;
    if (data) show(JSON.parse(data), answer);
    answer.last = id ?? answer.last;
  }
  return false;
}

function show(chunk, answer) {
  if (chunk.error) throw problemOf(chunk.error);
  if (chunk.system_fingerprint && !answer.conversation) {
    answer.conversation = chunk.system_fingerprint;
    noteTurns();
    if (answer !== running) loadList();
  }
  const piece = chunk.choices[0]?.delta.content;
  if (piece) answer.text(piece);
  if (!chunk.molar) return;
  answer.molar(chunk.molar);
  if (chunk.molar.type !== "done") return;
  if (chunk.molar.provider === "offline") answer.note(t("No model is attached, so this only quotes what the tools found.", "Chưa có mô hình nên đây chỉ là trích dẫn từ công cụ."), "warn");
  if (chunk.molar.saved && answer === running) remember(answer.conversation);
  else if (!chunk.molar.refused && !chunk.molar.saved) answer.note(t("This answer is not saved.", "Câu trả lời này chưa được lưu."));
}

// follow goes on with a turn whose stream was cut, after the last event that came, since
// the turn runs on at the server. It throws when that is out of reach for good.
async function follow(answer) {
  const { signal } = answer.abort;
  const tell = (words) => { if (answer === running) hint(words); };
  for (let wait = 500; wait <= 16000; wait *= 2) {
    tell(t("The connection was cut. Reconnecting…", "Mất kết nối. Đang kết nối lại…"));
    try {
      const response = await send(`/v1/turns/${encodeURIComponent(answer.turn)}/events?html=true`,
        { signal, headers: answer.last ? { "Last-Event-ID": answer.last } : {} });
      tell();
      if (response.status === 204) return;
      const before = answer.last;
      answer.goOn();
      if (await read(response, answer)) return;
      if (answer.last !== before) wait = 250; // it got further: patience begins anew
    } catch (err) {
      if (err.code !== "unreachable") {
        tell();
        if (err.status === 404 || err.status === 410) return missing(answer, err);
        throw err;
      }
    }
    await sleep(wait);
  }
  tell();
  throw new Problem(`${unreachable()} ${t("The answer may be finished there: reload the page later.", "Câu trả lời có thể vẫn hoàn tất ở đó: hãy tải lại trang sau.")}`);
}

// missing shows what is known of a turn that cannot be followed any more.
function missing(answer, err) {
  const { status, answer: said, sources } = err.body ?? {};
  if (said) {
    answer.body.textContent = answer.source = said;
    answer.cited = sources;
  }
  if (status === "done") {
    runs.delete(answer);
    if (answer === running && answer.conversation) return openConversation(answer.conversation);
    return;
  }
  answer.note(t("The answer broke off before its end. Ask again.", "Câu trả lời bị ngắt giữa chừng. Vui lòng hỏi lại."), "bad");
}

// rejoin shows the answer that this conversation waits for: one that went on unseen, or
// one that a reload left.
function rejoin() {
  if (running) return;
  const isStored = (turn) => [...log.querySelectorAll(".message")].some((m) => m.dataset.turn === turn);
  const unseen = [...runs].find((a) => a.conversation === conversation && a.turn);
  const left = noted.find((n) => n.conversation === conversation);
  if (unseen && !isStored(unseen.turn)) {
    $("welcome").hidden = true;
    log.append(unseen.asked, unseen.box);
    toEnd();
    setRunning(unseen);
    if (unseen.paused) settle(unseen, () => follow(unseen));
  } else if (left) {
    noted = noted.filter((n) => n !== left);
    if (isStored(left.turn)) return noteTurns();
    const answer = Object.assign(begin(left.content), { turn: left.turn });
    noteTurns();
    settle(answer, () => follow(answer));
  }
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
  markHere();
}

const unseenStreams = 3; // a browser has six connections to a server, for all of its tabs

// leave lets a running turn go on unseen, for another conversation is shown. Only the
// latest are read on; the others are followed when they are shown again.
function leave() {
  if (running) {
    setRunning(null);
    for (const a of [...runs].filter((r) => r.turn && r.conversation && !r.paused).slice(0, -unseenStreams)) {
      a.paused = true;
      a.abort.abort();
    }
    noteTurns();
    loadList();
  }
  view++;
  hint();
  log.querySelectorAll(".batch, .earlier, .message, .problem").forEach((m) => m.remove());
}

// leaveConversation keeps what is typed, but not over the draft of a question on its way.
function leaveConversation() {
  if (input.value !== "") keepDraft();
  cancelEdit();
}

// again asks a question once more: its old answer is then an earlier version, and one that
// said nothing goes.
function again(answer) {
  if (running) return;
  if (!answer.source && answer.asked) {
    answer.asked.remove();
    answer.box.remove();
    if (input.value === answer.content) setInput("");
  }
  ask(answer.content, answer.source ? answer.turn : answer.replaces);
}

function edit(content, box) {
  editing = { turn: box.dataset.turn ?? "", before: editing?.before ?? input.value };
  setInput(content);
  input.focus();
  hint(t("Change the question and send it. The new answer comes at the end, the old one is folded up. Escape leaves all as it is.",
    "Sửa câu hỏi rồi gửi. Câu trả lời mới nằm ở cuối, câu cũ được thu gọn. Phím Esc để giữ nguyên."));
}

// cancelEdit says whether there was anything to cancel.
function cancelEdit() {
  if (!editing) return false;
  setInput(editing.before);
  keepDraft();
  editing = null;
  hint();
  return true;
}

// submit takes what was typed, and returns what stays in the box; null when it takes nothing.
function submit(content) {
  if (running) {
    hint(t("Wait for the answer, or stop it, then send this.", "Hãy chờ câu trả lời, hoặc dừng nó, rồi gửi."));
    return null;
  }
  const { turn = "", before = "" } = editing ?? {};
  editing = null;
  hint();
  ask(content, turn);
  return before;
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
  leaveConversation();
  leave();
  remember("");
  $("welcome").hidden = false;
  setInput(draftOf(""));
}

// openConversation shows what is stored: the end at once, the rest when there is time.
async function openConversation(id) {
  const moved = id !== conversation; // else another tab changed it, and what is typed stays
  if (moved) leaveConversation();
  leave();
  const here = view;
  $("welcome").hidden = true;
  remember(id);
  if (moved) setInput(draftOf(id));
  try {
    const { messages } = await api(`${pathOf(id)}?html=true`);
    if (here === view) await showStored(messages, stored, earlierOf(id), () => here === view);
    if (here === view) rejoin();
  } catch (err) {
    if (here !== view) return;
    if (err.status === 404) {
      rejoin(); // its first turn may still be running
      if (running) return;
      fresh();
      hint(t("That conversation no longer exists. A new one has begun.", "Cuộc trò chuyện đó không còn nữa. Một cuộc mới đã bắt đầu."));
      return;
    }
    log.append(el("div", { className: "problem note bad", role: "alert" }, el("p", {}, err.advice, el("small", {}, err.detail)),
      el("button", { type: "button", on: { click: () => openConversation(id) } }, t("Try again", "Thử lại"))));
  }
}

function stored(m, asked) {
  const box = m.role === "user" ? questionBox(m.content, edit) : storedAnswer(m, () => !running && asked && ask(asked.content, m.turn_id));
  box.classList.add("stored");
  box.dataset.turn = m.turn_id ?? "";
  return box;
}

// --- controls ------------------------------------------------------------------------------------------

function setUpControls() {
  $("stop").addEventListener("click", stop);
  $("new").addEventListener("click", () => { fresh(); drawer(false); input.focus(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || $("ask").open) return;
    if ($("chat").classList.contains("drawer")) drawer(false);
    else if (!cancelEdit()) stop();
  });
  model.addEventListener("change", () => { keep("assistant", model.value); describe(); });
  addEventListener("hashchange", () => {
    const id = hashed();
    if (id !== conversation) (id ? openConversation(id) : fresh());
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
    submit,
    answering: () => [...runs],
    here: () => conversation,
    fresh,
    changed: () => tabs.postMessage({ changed: "" }),
  });
  if ([...model.options].some((o) => o.value === kept("assistant"))) model.value = kept("assistant");
  describe();
  const id = hashed() || noted.find((n) => n.here)?.conversation || kept("conversation");
  if (id) await openConversation(id);
  else setInput(draftOf(""));
  if (matchMedia("(pointer: fine)").matches) input.focus();
  performance.mark("usable");
  if (!id) rejoin();
  if (document.readyState !== "complete") await new Promise((loaded) => { addEventListener("load", loaded, { once: true }); });
  const conversations = await loadList();
  if (conversations === 0) await welcome();
}

start();
