// The chat page: it sends questions, follows their turns, also over a cut connection or a
// reload, and keeps the list of conversations and what is typed.

import { $, Problem, api, el, eventsOf, keep, kept, linesOf, problemOf, send, settings, sleep, t, translate, unreachable } from "/static/app.js";
import { draftOf, drawer, filesNow, keepDraft, loadList, look, markHere, setInput, setUpFrame, showAssistant, showMissing, showModel, withFiles } from "/static/frame.js";
import { Answer, Tree, announce, loadProse, question as questionBox, setVersions, showMark, showSome, stopTurn, storedAnswer, toEnd } from "/static/view.js";

const input = $("question");
const model = $("model");
const log = $("log");
const tabs = new BroadcastChannel("molar"); // tells other tabs what changed

let conversation = "";
let next = newID(); // what the conversation is called that the next question begins
let chosen = true; // whether the list of assistants shows who is to be asked here
let branch = ""; // the turn after which the next question goes; "" means the newest one
let view = 0; // counts the conversations shown, so that what comes late finds its own
let running = null; // the Answer that is being written here
const runs = new Set(); // all that are being written, also in conversations not shown
let noted = notedTurns(); // those that a reload left, until they are shown again
let queue = []; // what was typed while an answer is written, to be asked behind it
let editing = null; // the turn whose question is being edited, and what was typed before

// newID names a conversation before its first question is sent: whatever becomes of that, the
// next one goes into the same conversation.
function newID() {
  return `chat_${[...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}

const pathOf = (id) => `/v1/conversations/${encodeURIComponent(id)}`;
const hint = (words = "") => { $("hint").textContent = words; };

// --- a turn ------------------------------------------------------------------------------------

// The running turns are noted in this tab, so that a reload finds them again.
function noteTurns() {
  const now = [...runs].filter((a) => a.turn).map((a) => ({ turn: a.turn, content: a.content, conversation: a.conversation, replaces: a.replaces, here: a === running }));
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
function begin(content, files = []) {
  $("welcome").hidden = true;
  const asked = questionBox(content, edit, files, useAgain);
  const answer = new Answer((a) => again(a));
  Object.assign(answer, { asked, content, files, conversation, home: conversation, sent: conversation || next, parent: branch, replaces: [], goesOn });
  runs.add(answer);
  log.append(asked, answer.box);
  toEnd();
  setRunning(answer);
  return answer;
}

// ask sends a question. replaces are the turns of which it is a new version, if it is one: the
// newest of them that is kept counts, and with what came after it stays in a branch beside.
async function ask(content, replaces = [], files = []) {
  const covered = cover(replaces);
  const answer = Object.assign(begin(content, files), { replaces, covered });
  const body = {
    model: chosen ? model.value : undefined, stream: true, messages: [{ role: "user", content }], chat_id: answer.sent,
    molar: { ...settings(), events: true, html: true, detach: true },
  };
  await settle(answer, async () => {
    if (files.length) body.messages[0].content = await withFiles((f) => f.partsOf(content, files));
    body.molar.parent = await parentFor(answer);
    const response = await send("/v1/chat/completions", { method: "POST", body, signal: answer.abort.signal });
    taken(answer, response.headers.get("X-Turn-Id"));
    if (!await read(response, answer)) await follow(answer);
  });
}

// cover hides the messages from the first question of these turns on, and returns them.
function cover(turns) {
  const all = [...log.querySelectorAll(".message:not([hidden])")];
  const first = all.findIndex((m) => turns.includes(m.dataset.turn));
  const covered = first < 0 ? [] : all.slice(first);
  for (const m of covered) m.hidden = true;
  return covered;
}

// parentFor is the turn that a question goes after; undefined lets the server take the newest.
async function parentFor(answer) {
  if (!answer.replaces.length) return answer.parent || undefined;
  const beside = await versionsOf(answer.sent, answer.replaces);
  if (!beside.length) return answer.parent || undefined; // the turn was not kept
  answer.versions = { at: beside.length + 1, of: beside.length + 1 };
  return beside[0].parent_turn ?? "";
}

// versionsOf are the kept versions of the newest of these turns that is kept.
async function versionsOf(id, turns) {
  try {
    const { tree } = await treeOf(id);
    const beside = await tree.beside(turns);
    tree.close();
    return beside;
  } catch (err) {
    if (err.status === 404) return []; // the conversation was not kept either
    throw err;
  }
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
    await loadProse();
    await run();
  } catch (err) {
    if (answer.paused) return; // goes on when its conversation is shown again
    answer.turn ||= err.body?.molar?.turn_id ?? "";
    if (answer.stopped || err.code === "stopped") answer.note(t("Stopped.", "Đã dừng."));
    else failed(answer, err instanceof Problem ? err : new Problem(String(err.message)));
    if (answer.source && answer === running) isKept(answer); // what there is of it
    answer.cut = Boolean(answer.source);
    if (answer === running) unqueue();
    if (!answer.home && !answer.source) isBegun(answer.sent);
  }
  runs.delete(answer);
  noteTurns();
  answer.asked.dataset.turn = answer.box.dataset.turn = answer.turn;
  answer.end();
  const here = running === answer;
  if (here) setRunning(null);
  tabs.postMessage({ changed: answer.conversation });
  loadList();
  if (!answer.home) for (const seconds of [3, 12, 45]) setTimeout(loadList, seconds * 1000); // its name comes by and by
  if (here && queue.length) askQueued();
}

// goesOn asks for the rest of an answer that was cut short.
const goesOn = () => { if (!running) ask(t("Go on where you stopped.", "Hãy viết tiếp từ chỗ đã dừng.")); };

function askQueued() {
  const [next] = queue.splice(0, 1);
  drawQueue();
  ask(next);
}

// unqueue puts what waits back into the box: its turn does not come any more.
function unqueue() {
  if (!queue.length) return;
  setInput([...queue, input.value].filter(Boolean).join("\n\n"));
  queue = [];
  drawQueue();
  keepDraft();
}

function drawQueue() {
  $("queue").replaceChildren(...queue.map((text, i) => el("li", {}, el("span", {}, text),
    el("button", { type: "button", className: "plain small", on: { click: () => { queue.splice(i, 1); drawQueue(); input.focus(); } } }, t("Do not ask", "Không gửi")))));
}

// isBegun goes on with a conversation whose first question found no answer, where it is kept
// all the same, so that a reload finds it.
async function isBegun(id) {
  const begun = await api(pathOf(id)).then(() => true, () => false);
  if (!begun || conversation || next !== id) return;
  if (draftOf("") === input.value) keep("draft.", null);
  remember(id);
  keepDraft();
}

// isKept says that an answer is in the store: what comes next goes after it.
function isKept(answer) {
  remember(answer.conversation);
  branch = "";
  if (answer.versions) setVersions(answer.asked, answer.versions, switchVersion);
}

// failed says why there is no answer, and gives back what was typed.
function failed(answer, problem) {
  answer.note(problem.advice, "bad", problem.detail);
  if (answer.source) return;
  if (answer.files?.length && answer === running) withFiles((f) => f.setFiles(answer.files));
  for (const m of answer.covered ?? []) m.hidden = false;
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
    loadList();
    tabs.postMessage({ changed: "" }); // other tabs have it in their lists at once
  }
  const piece = chunk.choices[0]?.delta.content;
  if (piece) answer.text(piece);
  if (!chunk.molar) return;
  answer.molar(chunk.molar);
  if (answer === running) tellMissing(answer, chunk.molar);
  if (chunk.molar.type !== "done") return;
  if (answer === running && (chunk.molar.model || chunk.molar.provider === "offline")) showModel(chunk.molar);
  if (chunk.molar.provider === "offline") answer.note(t("No model is attached, so this only quotes what the tools found.", "Chưa có mô hình nên đây chỉ là trích dẫn từ công cụ."), "warn");
  if (chunk.molar.saved && answer === running) isKept(answer);
  else if (!chunk.molar.refused && !chunk.molar.saved && !chunk.molar.warnings?.length) answer.note(t("This answer is not saved.", "Câu trả lời này chưa được lưu."));
}

// tellMissing says which servers are missing, once in a conversation: as soon as a turn does, and
// until one comes to its end without them.
function tellMissing(answer, { type, code, refused }) {
  if (code !== "server_missing" && (type !== "done" || refused)) return;
  const news = showMissing(answer.missing, type !== "done");
  if (news.length) announce(t(`Servers are missing: ${news.join(", ")}.`, `Thiếu máy chủ: ${news.join(", ")}.`));
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
  if (status === "running") {
    answer.note(t("This question is being answered elsewhere. Reload the page when that is done.", "Câu hỏi này đang được trả lời ở nơi khác. Hãy tải lại trang khi xong."));
    return;
  }
  if (status === "done") {
    runs.delete(answer);
    if (answer === running && answer.conversation) return openConversation(answer.conversation);
    return;
  }
  answer.note(t("The answer broke off before its end. Ask again.", "Câu trả lời bị ngắt giữa chừng. Vui lòng hỏi lại."), "bad");
}

// rejoin shows the answer that this conversation waits for: one that went on unseen, one
// that a reload left, or one that was asked for elsewhere. going is its question as the
// store has it, if it has.
function rejoin(going) {
  if (running) return;
  const unseen = [...runs].find((a) => a.conversation === conversation && a.turn);
  const left = noted.find((n) => n.conversation === conversation) ?? (going && { turn: going.turn_id, content: going.content });
  if (unseen && !isDrawn(unseen.turn)) {
    $("welcome").hidden = true;
    if (!going) unseen.covered = cover(unseen.replaces);
    log.append(unseen.asked, unseen.box);
    toEnd();
    setRunning(unseen);
    showMissing(unseen.missing);
    if (unseen.paused) settle(unseen, () => follow(unseen));
  } else if (left) {
    noted = noted.filter((n) => n !== left);
    if (isDrawn(left.turn)) return noteTurns();
    const covered = going ? [] : cover(left.replaces ?? []);
    const answer = Object.assign(begin(left.content), { turn: left.turn, replaces: left.replaces, covered, versions: going?.versions });
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
  showMissing(new Map());
  log.querySelectorAll(".batch, .message, .problem").forEach((m) => m.remove());
}

// leaveConversation keeps what is typed, but not over the draft of a question on its way.
function leaveConversation() {
  unqueue();
  if (input.value !== "") keepDraft();
  cancelEdit();
}

// again asks a question once more: its old answer is then a version beside it, and one that
// said nothing is not shown any more.
function again(answer) {
  if (running) return;
  if (!answer.source && input.value.trim() === answer.content) setInput("");
  ask(answer.content, [answer.turn, ...answer.source ? [] : answer.replaces].filter(Boolean), answer.files);
  if (answer.source) return;
  answer.asked.remove();
  answer.box.remove();
}

// unanswered asks the last question again, where it found no answer and was typed anew: then
// it came back into the box. It returns null where it was another.
function unanswered(content) {
  const last = [...log.querySelectorAll(".message:not([hidden])")].at(-1);
  return last?.previousElementSibling?.source === content ? last.askAgain : null;
}

function edit(content, box) {
  editing = { turn: box.dataset.turn ?? "", before: editing?.before ?? input.value };
  setInput(content);
  if (box.files?.length) withFiles((f) => f.setFiles(box.files));
  input.focus();
  hint(t("Change the question and send it. The old version stays beside it: ‹ and › go from one to the other. Escape leaves all as it is.",
    "Sửa câu hỏi rồi gửi. Bản cũ vẫn được giữ: dùng ‹ và › để chuyển qua lại. Phím Esc để giữ nguyên."));
}

// editLast puts the last question into the box, and says whether there is one.
function editLast() {
  const last = [...log.querySelectorAll(".user:not([hidden])")].at(-1);
  if (running || !last) return false;
  edit(last.source, last);
  return true;
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
    if (editing) {
      hint(t("Wait for the answer, or stop it, then send this.", "Hãy chờ câu trả lời, hoặc dừng nó, rồi gửi."));
      return null;
    }
    queue.push(content);
    drawQueue();
    hint(t("It is asked when this answer is done. Escape stops the answer.", "Sẽ gửi khi câu trả lời này xong. Phím Esc dừng câu trả lời."));
    return "";
  }
  const { turn = "", before = "" } = editing ?? {};
  editing = null;
  hint();
  const askAgain = turn ? null : unanswered(content);
  if (askAgain) askAgain(filesNow());
  else ask(content, turn ? [turn] : [], filesNow());
  return before;
}

// --- conversations ---------------------------------------------------------------------------------

function remember(id) {
  if (id === conversation) return;
  conversation = id;
  next = newID();
  branch = "";
  keep("conversation", id);
  history.replaceState(null, "", id ? `#${encodeURIComponent(id)}` : location.pathname);
  markHere();
}

function fresh() {
  leaveConversation();
  leave();
  remember("");
  next = newID();
  chosen = true;
  choose(kept("assistant") || model.options[0]?.value);
  $("welcome").hidden = false;
  setInput(draftOf(""));
}

// openConversation shows what is stored: the end at once, the rest when there is time.
async function openConversation(id) {
  const moved = id !== conversation; // else another tab changed it, and what is typed stays
  if (moved) {
    leaveConversation();
    chosen = false;
  }
  if (moved) leave(); // else what is on the screen stays until there is something newer
  let here = view;
  $("welcome").hidden = true;
  remember(id);
  if (moved) setInput(draftOf(id));
  try {
    const [{ tree, assistant }] = await Promise.all([treeOf(id, "&html=true"), loadProse()]);
    const leaf = await tree.newest();
    if (here !== view || (!moved && running)) return tree.close();
    if (!moved) leave();
    here = view;
    if (moved) {
      choose(assistant);
      chosen = true;
    }
    const going = await showBranch(tree, leaf);
    if (here !== view) return;
    rejoin(going);
    await loadMarks(id);
  } catch (err) {
    if (here !== view) return;
    if (!moved && err.status !== 404) return hint(err.advice);
    if (err.status === 404) {
      rejoin(); // its first turn may still be running
      if (running) return;
      fresh();
      hint(t("That conversation no longer exists. A new one has begun.", "Cuộc trò chuyện đó không còn nữa. Một cuộc mới đã bắt đầu."));
      return;
    }
    broken(err, id);
  }
}

// broken says that a conversation cannot be shown, and offers to try again.
const broken = (err, id) => log.append(el("div", { className: "problem note bad", role: "alert" },
  el("p", {}, err.advice, el("small", {}, err.detail)),
  el("button", { type: "button", on: { click: () => openConversation(id) } }, t("Try again", "Thử lại"))));

// treeOf begins to read a conversation, and tells whose it is.
async function treeOf(id, more = "") {
  const lines = linesOf(await send(`${pathOf(id)}?lines=true${more}`));
  return { ...(await lines.next()).value, tree: new Tree(lines) };
}

// showBranch draws the end of the branch that leads to a message, at least back to the question
// of a turn, and the rest when there is time. It returns the question that is still being
// answered on it, undrawn.
async function showBranch(tree, leaf, turn = "") {
  const here = view;
  const older = leaf && leaf !== await tree.newest();
  if (here !== view) return tree.close();
  branch = older ? leaf.turn_id ?? "" : "";
  const exchanges = tree.branch(leaf);
  const going = leaf?.status === "running" ? (await exchanges.next()).value?.[0] : undefined;
  const some = () => showSome(exchanges, stored, () => here === view);
  let more = true;
  do more = await some();
  while (more && turn && !isDrawn(turn));
  showRest(tree, some, more);
  return going;
}

async function showRest(tree, some, more) {
  const here = view;
  try {
    while (more) {
      await new Promise((next) => { (window.requestIdleCallback ?? setTimeout)(next, { timeout: 50 }); });
      more = await some();
    }
  } catch (err) {
    if (here === view) hint(err.advice);
  } finally {
    tree.close();
  }
}

const isDrawn = (turn) => [...log.querySelectorAll(".message")].some((m) => m.dataset.turn === turn);

let given = new Map(); // the thumbs of the conversation, by turn

async function loadMarks(id) {
  const here = view;
  const { data } = await api(`/v1/feedback?conversation=${encodeURIComponent(id)}&limit=1000`).catch(() => ({ data: [] }));
  if (here !== view) return;
  given = new Map(data.map((m) => [m.turn_id, m]));
  for (const box of log.querySelectorAll(".assistant")) if (given.has(box.dataset.turn)) showMark(box, given.get(box.dataset.turn));
}

// switchVersion shows another version of a question, with what came after it.
async function switchVersion(box, by) {
  if (running) {
    hint(t("Wait for the answer, or stop it, then look at another version.", "Hãy chờ câu trả lời, hoặc dừng nó, rồi xem bản khác."));
    return;
  }
  leave();
  const here = view;
  try {
    const { tree } = await treeOf(conversation, "&html=true");
    const beside = await tree.beside([box.dataset.turn]);
    const version = beside[beside.findIndex((m) => m.turn_id === box.dataset.turn) + by];
    if (here !== view) return tree.close();
    const going = await showBranch(tree, version ? tree.leaf(version.seq) : await tree.newest(), version?.turn_id);
    if (here !== view) return;
    rejoin(going);
    const shown = [...log.querySelectorAll(".user")].find((m) => m.dataset.turn === version?.turn_id);
    shown?.scrollIntoView({ block: "nearest" });
    shown?.querySelector(".versions button:enabled")?.focus({ preventScroll: true });
  } catch (err) {
    if (here === view) broken(err, conversation);
  }
}

// keptFiles are the files of a stored question, as the box holds files.
const keptFiles = (m) => (m.files ?? []).map(({ name, media, size, url }) => ({ name, type: media, size, url }));

// useAgain lets files go with the next question too: a model sees them with their own alone.
const useAgain = (files) => withFiles((f) => f.useAgain(files));

function stored(m, asked) {
  const box = m.role === "user" ? questionBox(m.content, edit, keptFiles(m), useAgain)
    : storedAnswer(m, (a) => asked && again(Object.assign(a, { asked: a.box.previousElementSibling, content: asked.content, files: [...keptFiles(asked), ...a.files] })), goesOn);
  box.classList.add("stored");
  box.dataset.turn = m.turn_id ?? "";
  if (m.versions) setVersions(box, m.versions, switchVersion);
  if (m.role !== "user" && given.has(m.turn_id)) showMark(box, given.get(m.turn_id));
  return box;
}

// --- controls ------------------------------------------------------------------------------------------

// takeShortcut runs what keys with Ctrl stand for, and says whether they stand for anything.
function takeShortcut(key, shift) {
  if (key === "k" && !shift) {
    drawer(true);
    $("search").focus();
  } else if (key === "o" && shift) {
    $("new").click();
  } else {
    return false;
  }
  return true;
}

function setUpControls() {
  $("stop").addEventListener("click", stop);
  $("new").addEventListener("click", () => { fresh(); drawer(false); input.focus(); });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && takeShortcut(event.key.toLowerCase(), event.shiftKey)) return event.preventDefault();
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], :popover-open")) return;
    if ($("chat").classList.contains("drawer")) drawer(false);
    else if (!cancelEdit()) stop();
  });
  model.addEventListener("change", () => { keep("assistant", model.value); chosen = true; showAssistant(); look(); });
  addEventListener("focus", () => look()); // what was done in another window shows
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  addEventListener("hashchange", () => {
    const id = hashed();
    if (id !== conversation) (id ? openConversation(id) : fresh());
  });
  addEventListener("offline", () => hint(unreachable()));
  addEventListener("online", () => { hint(); loadList(); });
  tabs.addEventListener("message", ({ data }) => {
    loadList();
    if (data.changed && data.changed === conversation && !running) openConversation(conversation);
  });
}

// choose selects an assistant, if there is one of that name.
function choose(name) {
  const before = model.value;
  if ([...model.options].some((o) => o.value === name)) model.value = name;
  showAssistant();
  if (model.value !== before) look();
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
    editLast,
  });
  choose(kept("assistant"));
  const id = hashed() || noted.find((n) => n.here)?.conversation || kept("conversation");
  if (id) await openConversation(id);
  else setInput(draftOf(""));
  if (matchMedia("(pointer: fine)").matches) input.focus();
  performance.mark("usable");
  if (!id) rejoin();
  if (document.readyState !== "complete") await new Promise((loaded) => { addEventListener("load", loaded, { once: true }); });
  await look(await loadList() === 0);
}

start();
