// The chat page: it takes questions from the box, sends them and follows their turns, also after a cut
// connection or a reload.

import { $, Problem, allows, api, el, eventsOf, icon, keep, language, linesOf, me, problemOf, send, settings, setupPath, sleep, storedValue, t, unreachable } from "/static/app.js";
import { drawer, loadList, markHere, setUpFrame, tabs } from "/static/frame.js";
import { Answer, Tree, announce, loadProse, noteBox, question as questionBox, setVersions, showMark, showSome, stopTurn, storedAnswer, toEnd } from "/static/view.js";

const form = $("form");
const input = $("question");
const choices = $("choices");
const model = $("model");
const log = $("log");
const restarting = "shutting_down"; // the error of a turn that the server may continue after its restart

let conversation = "";
let next = newID(); // the id of the conversation that the next question begins
let chosen = true; // whether the selected assistant is that of this conversation, and is sent with a question
let branch = ""; // the turn that the next question follows; "" means the newest one
let view = 0; // counts the conversations shown, so that a late answer to a request for an earlier one is ignored
let running = null; // the Answer that is being written in the conversation shown
const runs = new Set(); // all Answers that are being written, also in conversations not shown
let arriving = true; // whether the page is still opening what its address names
let earlierTurns = loadTurns(); // the turns that were running before a reload, until they are shown again
let queue = []; // the questions typed while an answer is written, with what was pasted; they are sent after it
let editing = null; // the turn whose question is being edited, and the text that was in the box before

// newID returns the id of a conversation before its first question is sent: even if that question
// fails, the next one goes into the same conversation.
function newID() {
  return `chat_${[...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}

const pathOf = (id) => `/v1/conversations/${encodeURIComponent(id)}`;
const hint = (words = "") => { $("hint").textContent = words; };

// loadReading loads the module that moves the keyboard from message to message; the log works without it.
const loadReading = () => import("/static/reading.js").catch(() => null);

// --- a turn ------------------------------------------------------------------------------------

// saveTurns stores the running turns in this tab, so that a reload can show them again.
function saveTurns() {
  const now = [...runs].filter((a) => a.turn).map((a) => ({ turn: a.turn, content: a.content, conversation: a.conversation, replaces: a.replaces, here: a === running }));
  try {
    sessionStorage.setItem("molar.turns", JSON.stringify([...earlierTurns, ...now]));
  } catch { /* storage is off: after a reload the page shows only what the server has stored */ }
}

function loadTurns() {
  try {
    return JSON.parse(sessionStorage.getItem("molar.turns")) ?? [];
  } catch {
    return [];
  }
}

// begin puts a question and an empty answer on the page.
function begin(content, files = []) {
  $("welcome").hidden = true;
  const question = questionBox(content, edit, files, useAgain);
  const answer = new Answer((a) => again(a));
  Object.assign(answer, { question, content, files, conversation, home: conversation, sent: conversation || next, parent: branch, replaces: [], continueAnswer });
  runs.add(answer);
  log.append(question, answer.box);
  toEnd();
  setRunning(answer);
  return answer;
}

// ask sends a question. replaces are the turns of which it is a new version, if any: it becomes
// another version of the newest of them that is stored, whose own branch stays. pastes are the texts in
// it that were pasted; how are more fields of the request, for a question that is asked again in another way.
async function ask(content, replaces = [], files = [], pastes = [content], how = null) {
  const hiddenMessages = hideFrom(replaces);
  const answer = Object.assign(begin(content, files), { replaces, hiddenMessages, pastes, how });
  const body = {
    model: chosen ? model.value : undefined, stream: true, messages: [{ role: "user", content }], chat_id: answer.sent,
    molar: { ...settings(), ...how, events: true, html: true, detach: true },
  };
  await settle(answer, async () => {
    const long = pastes.filter(isLong);
    const parts = long.length ? (await import("/static/pastes.js")).textParts(content, long) : [{ type: "text", text: content }];
    if (files.length) body.messages[0].content = [...parts, ...await withFiles((f) => f.partsOf(files))];
    else if (parts.some((p) => p.molar)) body.messages[0].content = parts;
    body.molar.parent = await parentFor(answer);
    const response = await send("/v1/chat/completions", { method: "POST", body, signal: answer.abort.signal });
    accept(answer, response.headers.get("X-Turn-Id"));
    if (!await read(response, answer)) await follow(answer);
  });
}

// hideFrom hides the messages from the first question of these turns on, and returns them.
function hideFrom(turns) {
  const all = [...log.querySelectorAll(".message:not([hidden])")];
  const first = all.findIndex((m) => turns.includes(m.dataset.turn));
  const messages = first < 0 ? [] : all.slice(first);
  for (const m of messages) m.hidden = true;
  return messages;
}

// parentFor returns the turn that a question follows; undefined means the newest one.
async function parentFor(answer) {
  if (!answer.replaces.length) return answer.parent || undefined;
  const versions = await versionsOf(answer.sent, answer.replaces);
  if (!versions.length) return answer.parent || undefined; // the turn was not stored
  answer.versions = { at: versions.length + 1, of: versions.length + 1 };
  return versions[0].parent_turn ?? "";
}

// versionsOf returns the stored versions of the newest of these turns that is stored.
async function versionsOf(id, turns) {
  try {
    const { tree } = await treeOf(id);
    const versions = await tree.versionsOf(turns);
    tree.close();
    return versions;
  } catch (err) {
    if (err.status === 404) return []; // the conversation was not stored either
    throw err;
  }
}

// accept is called when the server has the question: its draft is removed.
function accept(answer, turn) {
  answer.turn = turn ?? "";
  saveTurns();
  if (draftOf(answer.home).trim() === answer.content) keep(`draft.${answer.home}`, null);
  if (answer === running && input.value) keepDraft();
  if (answer.stopped) stopTurn(answer.turn);
}

// settle runs a turn until it ends or fails, shows why it failed, and cleans up after it.
async function settle(answer, run) {
  answer.abort = new AbortController();
  answer.paused = false;
  try {
    await Promise.all([loadProse(), loadReading()]);
    await run();
  } catch (err) {
    if (answer.paused) return; // it is resumed when its conversation is shown again
    answer.turn ||= err.body?.molar?.turn_id ?? "";
    if (answer.stopped || err.code === "stopped") answer.note(t("Stopped.", "Đã dừng."));
    else showFailure(answer, err instanceof Problem ? err : new Problem(String(err.message)));
    if (answer.source && answer === running) onSaved(answer); // the part that was received
    answer.cut = Boolean(answer.source);
    if (answer === running) unqueue();
    if (!answer.home && !answer.source) adoptConversation(answer.sent);
  }
  runs.delete(answer);
  saveTurns();
  answer.question.dataset.turn = answer.box.dataset.turn = answer.turn;
  answer.end();
  if (answer.how && answer.turn) answer.after.append(compareLink(answer));
  const here = running === answer;
  if (here) setRunning(null);
  tabs.postMessage({ changed: answer.conversation });
  loadList();
  if (!answer.home) for (const seconds of [3, 12, 45]) setTimeout(loadList, seconds * 1000); // its title is made later
  if (here && queue.length) askQueued();
}

// continueAnswer asks for the rest of an answer that was cut short.
const continueAnswer = () => { if (!running) ask(t("Go on where you stopped.", "Hãy viết tiếp từ chỗ đã dừng.")); };

function askQueued() {
  const [next] = queue.splice(0, 1);
  drawQueue();
  ask(next.content, [], [], next.pastes);
}

// unqueue puts the waiting questions back into the box: they will not be sent.
function unqueue() {
  if (!queue.length) return;
  setInput([...queue.map((q) => q.content), input.value].filter(Boolean).join("\n\n"), [...queue.flatMap((q) => q.pastes), ...pastesNow()]);
  queue = [];
  drawQueue();
  keepDraft();
}

function drawQueue() {
  $("queue").replaceChildren(...queue.map((q, i) => el("li", {}, el("span", {}, q.content),
    el("button", { type: "button", className: "plain small square", "aria-label": t(`Do not ask: ${q.content.slice(0, 60)}`, `Không gửi: ${q.content.slice(0, 60)}`), title: t("Do not ask", "Không gửi"), on: { click: () => { queue.splice(i, 1); drawQueue(); input.focus(); } } }, icon("close")))));
}

// adoptConversation makes a conversation the current one if the server has stored it although its
// first question found no answer, so that a reload finds it.
async function adoptConversation(id) {
  const exists = await api(pathOf(id)).then(() => true, () => false);
  if (!exists || conversation || next !== id) return;
  if (draftOf("") === input.value) keep("draft.", null);
  remember(id);
  keepDraft();
}

// onSaved is called when an answer is stored: the next question follows it.
function onSaved(answer) {
  remember(answer.conversation);
  branch = "";
  if (answer.versions) setVersions(answer.question, answer.versions, switchVersion);
}

// showFailure shows why there is no answer, and puts the question back into the box.
function showFailure(answer, problem) {
  answer.fail(problem);
  if (answer.source) return;
  if (answer.files?.length && answer === running) withFiles((f) => f.setFiles(answer.files));
  for (const m of answer.hiddenMessages ?? []) m.hidden = false;
  if (answer !== running) hint(t("A question of another conversation found no answer. It is kept in the box there.", "Một câu hỏi ở cuộc trò chuyện khác không có câu trả lời. Nội dung được giữ trong ô nhập ở đó."));
  else if (input.value === "") setInput(answer.content, answer.pastes);
  if (!draftOf(answer.home)) keep(`draft.${answer.home}`, answer.content);
}

// read shows a stream, and reports whether it was complete.
async function read(response, answer) {
  for await (const { id, data } of eventsOf(response)) {
    if (data === "[DONE]") return true;
    const chunk = data ? JSON.parse(data) : null;
    if (chunk?.error?.code === restarting) return false;
    if (chunk) show(chunk, answer);
    answer.last = id ?? answer.last;
  }
  return false;
}

function show(chunk, answer) {
  if (chunk.error) throw problemOf(chunk.error);
  if (chunk.system_fingerprint && !answer.conversation) {
    answer.conversation = chunk.system_fingerprint;
    saveTurns();
    loadList();
    tabs.postMessage({ changed: "" }); // other tabs have it in their lists at once
  }
  const piece = chunk.choices[0]?.delta.content;
  if (piece) answer.text(piece);
  if (!chunk.molar) return;
  answer.molar(chunk.molar);
  if (answer === running) reportLasting(answer, chunk.molar);
  if (chunk.molar.type !== "done") return;
  if (answer === running && (chunk.molar.model || chunk.molar.provider === "offline")) showModel(chunk.molar);
  if (chunk.molar.provider === "offline") answer.remark(t("No model is attached, so this only quotes what the tools found.", "Chưa có mô hình nên đây chỉ là trích dẫn từ công cụ."));
  if (chunk.molar.saved && answer === running) onSaved(answer);
  else if (!chunk.molar.refused && !chunk.molar.saved && !answer.remarked) answer.remark(t("This answer is not saved.", "Câu trả lời này chưa được lưu."));
}

let notices = null; // the module that shows warnings about the host, once one is needed

// showLasting shows warnings about the host in the bar, in place of those shown before, or in addition to
// them if more is true.
async function showLasting(now, more = false) {
  if (!notices && !now.size) return;
  notices ??= await import("/static/notices.js").catch(() => null);
  notices?.show(now, more);
}

// reportLasting shows the warnings about the host as they come, and at the end of a turn those of that
// turn alone: what it does not repeat is over.
function reportLasting(answer, { type, lasting, refused }) {
  if (lasting || type === "done" && !refused) showLasting(answer.lasting, type !== "done");
}

// follow resumes the stream of a turn after the last event that was received; the turn keeps
// running at the server meanwhile. It throws when the server stays unreachable.
async function follow(answer) {
  const { signal } = answer.abort;
  const report = (words) => { if (answer === running) hint(words); };
  for (let wait = 500; wait <= 16000; wait *= 2) {
    report(t("The connection was cut. Reconnecting…", "Mất kết nối. Đang kết nối lại…"));
    try {
      const response = await send(`/v1/turns/${encodeURIComponent(answer.turn)}/events?html=true`,
        { signal, headers: answer.last ? { "Last-Event-ID": answer.last } : {} });
      report();
      if (response.status === 204) return;
      const before = answer.last;
      answer.resume();
      if (await read(response, answer)) return;
      if (answer.last !== before) wait = 250; // it made progress: the waiting time starts over
    } catch (err) {
      if (err.code !== "unreachable" && err.code !== restarting) {
        report();
        if (err.status === 404 || err.status === 410) return showLostTurn(answer, err);
        throw err;
      }
    }
    await sleep(wait);
  }
  report();
  throw new Problem(`${unreachable()} ${t("The answer may be finished there: reload the page later.", "Câu trả lời có thể vẫn hoàn tất ở đó: hãy tải lại trang sau.")}`);
}

// showLostTurn shows what the server reported about a turn that cannot be followed any more.
function showLostTurn(answer, err) {
  const { status, answer: text, sources } = err.body ?? {};
  if (text) {
    answer.body.textContent = answer.source = text;
    answer.sources = sources;
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
  answer.fail(new Problem(t("The answer broke off before its end.", "Câu trả lời bị ngắt giữa chừng.")));
}

// rejoin shows the answer that is being written in this conversation: one that ran in the
// background, one from before a reload, or one that was requested elsewhere. pendingQuestion is its
// question from the store, if it is stored.
function rejoin(pendingQuestion) {
  if (running) return;
  const background = [...runs].find((a) => a.conversation === conversation && a.turn);
  const earlier = earlierTurns.find((n) => n.conversation === conversation) ?? (pendingQuestion && { turn: pendingQuestion.turn_id, content: pendingQuestion.content });
  if (background && !isDrawn(background.turn)) {
    $("welcome").hidden = true;
    if (!pendingQuestion) background.hiddenMessages = hideFrom(background.replaces);
    log.append(background.question, background.box);
    toEnd();
    setRunning(background);
    showLasting(background.lasting);
    if (background.paused) settle(background, () => follow(background));
  } else if (earlier) {
    earlierTurns = earlierTurns.filter((n) => n !== earlier);
    if (isDrawn(earlier.turn)) return saveTurns();
    const hiddenMessages = pendingQuestion ? [] : hideFrom(earlier.replaces ?? []);
    const answer = Object.assign(begin(earlier.content), { turn: earlier.turn, replaces: earlier.replaces, hiddenMessages, versions: pendingQuestion?.versions });
    saveTurns();
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

const backgroundStreams = 3; // a browser has six connections to a server, for all of its tabs

// leave clears the page for another conversation. A running turn continues in the background; only
// the streams of the latest turns stay open, the others are resumed when they are shown again.
function leave() {
  if (running) {
    setRunning(null);
    for (const a of [...runs].filter((r) => r.turn && r.conversation && !r.paused).slice(0, -backgroundStreams)) {
      a.paused = true;
      a.abort.abort();
    }
    saveTurns();
    loadList();
  }
  view++;
  hint();
  showLasting(new Map());
  log.querySelectorAll(".batch, .message, .problem").forEach((m) => m.remove());
}

// leaveConversation saves the typed text as the conversation's draft; an empty box does not replace
// the draft of a question that is being sent.
function leaveConversation() {
  unqueue();
  if (input.value !== "") keepDraft();
  cancelEdit();
}

// again sends a question once more. The old answer stays as another version; one without any text
// is removed from the page.
function again(answer) {
  if (running) return;
  if (!answer.source && input.value.trim() === answer.content) setInput("");
  ask(answer.content, [answer.turn, ...answer.source ? [] : answer.replaces].filter(Boolean), answer.files, answer.pastes);
  if (answer.source) return;
  answer.question.remove();
  answer.box.remove();
}

// askedAgain asks the question of a turn again in another way, beside that turn: as the trace page or the panel
// next to the answer says.
async function askedAgain({ conversation: id, turn, how }) {
  if (running) return hint(t("Wait for the answer, or stop it, then ask again.", "Hãy chờ câu trả lời, hoặc dừng nó, rồi hỏi lại."));
  if (id !== conversation) return; // it is gone, and the page says so
  const here = view;
  try {
    const { tree } = await treeOf(id, "&html=true");
    const question = (await tree.versionsOf([turn])).find((m) => m.turn_id === turn);
    if (here !== view || running) return tree.close();
    if (!question) {
      tree.close();
      return hint(t("That question is not in the conversation any more.", "Câu hỏi đó không còn trong cuộc trò chuyện."));
    }
    if (isDrawn(turn)) {
      tree.close();
    } else {
      leave();
      await showBranch(tree, tree.leaf(question.seq), turn);
    }
    ask(question.content, [turn], storedFiles(question), [question.content], how);
  } catch (err) {
    if (here === view) hint(err.advice ?? String(err));
  }
}

const soon = 60_000; // ms within which the page opens; later nobody expects a question to be asked

// takeAgain returns what another page wants to be asked again, once; null for nothing.
function takeAgain() {
  try {
    const again = JSON.parse(sessionStorage.getItem("molar.again"));
    sessionStorage.removeItem("molar.again");
    return Date.now() - again.at < soon ? again : null;
  } catch {
    return null;
  }
}

// compareLink says in which way a question was asked again, and links to what differs.
const compareLink = ({ how, turn, replaces }) => el("p", { className: "note" },
  how.without ? t(`Asked again without ${how.without.join(", ")}. `, `Đã hỏi lại không dùng ${how.without.join(", ")}. `) : t(`Asked again with ${how.model}. `, `Đã hỏi lại bằng ${how.model}. `),
  el("a", { href: `/turn?${new URLSearchParams({ id: turn, before: replaces[0] })}` }, t("Compare it with the answer before", "So với câu trả lời trước")));

// unanswered returns the function that asks the last question again if that question has no answer
// and content is the same text, which the failure had put back into the box; else null.
function unanswered(content) {
  const last = [...log.querySelectorAll(".message:not([hidden])")].at(-1);
  return last?.previousElementSibling?.source === content ? last.askAgain : null;
}

function edit(content, box) {
  editing = { turn: box.dataset.turn ?? "", before: editing?.before ?? input.value, pastes: editing?.pastes ?? pastesNow() };
  setInput(content);
  if (box.files?.length) withFiles((f) => f.setFiles(box.files));
  input.focus();
  hint(t("Change the question and send it. The old version stays beside it: ‹ and › go from one to the other. Escape leaves all as it is.",
    "Sửa câu hỏi rồi gửi. Bản cũ vẫn được giữ: dùng ‹ và › để chuyển qua lại. Phím Esc để giữ nguyên."));
}

// editLast puts the last question into the box, and reports whether it did.
function editLast() {
  const last = [...log.querySelectorAll(".user:not([hidden])")].at(-1);
  if (running || !last) return false;
  edit(last.source, last);
  return true;
}

// cancelEdit restores the text from before an edit, and reports whether there was an edit.
function cancelEdit() {
  if (!editing) return false;
  setInput(editing.before, editing.pastes);
  keepDraft();
  editing = null;
  hint();
  return true;
}

// submit sends or queues a question, and returns the text that stays in the box; null means that
// the question was not accepted.
function submit(content) {
  if (running) {
    if (editing) {
      hint(t("Wait for the answer, or stop it, then send this.", "Hãy chờ câu trả lời, hoặc dừng nó, rồi gửi."));
      return null;
    }
    queue.push({ content, pastes: pastesNow() });
    drawQueue();
    hint(t("It is asked when this answer is done. Escape stops the answer.", "Sẽ gửi khi câu trả lời này xong. Phím Esc dừng câu trả lời."));
    return "";
  }
  const { turn = "", before = "" } = editing ?? {};
  editing = null;
  hint();
  const askAgain = turn ? null : unanswered(content);
  if (askAgain) askAgain(filesNow());
  else ask(content, turn ? [turn] : [], filesNow(), pastesNow());
  return before;
}

// --- conversations ---------------------------------------------------------------------------------

// remember makes a conversation the one that is shown, with an address of its own in the browser's
// history. instead means that the address replaces the present one, which leads nowhere.
function remember(id, instead = false) {
  if (id !== conversation) {
    conversation = id;
    next = newID();
    branch = "";
    keep("conversation", id);
  }
  if (id !== idInAddress()) history[instead || arriving ? "replaceState" : "pushState"](null, "", id ? `#${encodeURIComponent(id)}` : location.pathname);
  markHere();
}

// startNew begins a conversation; instead is as for remember.
function startNew(instead = false) {
  leaveConversation();
  leave();
  remember("", instead);
  next = newID();
  chosen = true;
  choose(storedValue("assistant") || model.options[0]?.value);
  $("welcome").hidden = false;
  setInput(draftOf(""));
}

// openConversation shows a stored conversation: its end at once, the rest when the browser is idle.
async function openConversation(id) {
  const isOther = id !== conversation; // otherwise another tab changed it, and the typed text stays
  if (isOther) {
    leaveConversation();
    chosen = false;
  }
  if (isOther) leave(); // otherwise the screen stays until the newer messages have come
  let here = view;
  $("welcome").hidden = true;
  remember(id);
  if (isOther) setInput(draftOf(id));
  try {
    const [{ tree, assistant }] = await Promise.all([treeOf(id, "&html=true"), loadProse(), loadReading()]);
    const leaf = await tree.newest();
    if (here !== view || (!isOther && running)) return tree.close();
    if (!isOther) leave();
    here = view;
    if (isOther) {
      choose(assistant);
      chosen = true;
    }
    const pendingQuestion = await showBranch(tree, leaf);
    if (here !== view) return;
    rejoin(pendingQuestion);
    await loadMarks(id);
  } catch (err) {
    if (here !== view) return;
    if (!isOther && err.status !== 404) return hint(err.advice);
    if (err.status === 404) {
      rejoin(); // its first turn may still be running
      if (running) return;
      startNew(true);
      log.prepend(el("p", { className: "problem note warn", role: "alert" }, t("There is no such conversation here: it was deleted, or belongs to somebody else. A new one has begun.", "Ở đây không có cuộc trò chuyện này: nó đã bị xóa, hoặc là của người khác. Một cuộc mới đã bắt đầu.")));
      return;
    }
    showBroken(err, id);
  }
}

// showBroken shows why a conversation cannot be shown, and offers to try again.
const showBroken = (err, id) => {
  const box = noteBox(err.advice, "bad", err.detail, el("button", { type: "button", on: { click: () => openConversation(id) } }, t("Try again", "Thử lại")));
  box.classList.add("problem");
  log.append(box);
};

// treeOf begins to read a conversation. It returns the tree and the fields of the first line, such
// as the assistant.
async function treeOf(id, more = "") {
  const lines = linesOf(await send(`${pathOf(id)}?lines=true${more}`));
  return { ...(await lines.next()).value, tree: new Tree(lines) };
}

// showBranch draws the end of the branch that leads to a message, at least back to the question of
// turn, and the rest when the browser is idle. If the last question is still being answered, it is
// returned and not drawn.
async function showBranch(tree, leaf, turn = "") {
  const here = view;
  const older = leaf && leaf !== await tree.newest();
  if (here !== view) return tree.close();
  branch = older ? leaf.turn_id ?? "" : "";
  const exchanges = tree.branch(leaf);
  const pendingQuestion = leaf?.status === "running" ? (await exchanges.next()).value?.[0] : undefined;
  const some = () => showSome(exchanges, messageBox, () => here === view);
  let more = true;
  do more = await some();
  while (more && turn && !isDrawn(turn));
  showRest(tree, some, more);
  return pendingQuestion;
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

let thumbs = new Map(); // the thumbs given in the conversation, by turn

async function loadMarks(id) {
  const here = view;
  const { data } = await api(`/v1/feedback?conversation=${encodeURIComponent(id)}&limit=1000`).catch(() => ({ data: [] }));
  if (here !== view) return;
  thumbs = new Map(data.map((m) => [m.turn_id, m]));
  for (const box of log.querySelectorAll(".assistant")) if (thumbs.has(box.dataset.turn)) showMark(box, thumbs.get(box.dataset.turn));
}

// switchVersion shows another version of a question, with the messages that follow it. by is the
// number of versions to move, 1 or -1.
async function switchVersion(box, by) {
  if (running) {
    hint(t("Wait for the answer, or stop it, then look at another version.", "Hãy chờ câu trả lời, hoặc dừng nó, rồi xem bản khác."));
    return;
  }
  leave();
  const here = view;
  try {
    const { tree } = await treeOf(conversation, "&html=true");
    const versions = await tree.versionsOf([box.dataset.turn]);
    const version = versions[versions.findIndex((m) => m.turn_id === box.dataset.turn) + by];
    if (here !== view) return tree.close();
    const pendingQuestion = await showBranch(tree, version ? tree.leaf(version.seq) : await tree.newest(), version?.turn_id);
    if (here !== view) return;
    rejoin(pendingQuestion);
    const target = [...log.querySelectorAll(".user")].find((m) => m.dataset.turn === version?.turn_id);
    target?.scrollIntoView({ block: "nearest" });
    target?.querySelector(".versions button:enabled")?.focus({ preventScroll: true });
  } catch (err) {
    if (here === view) showBroken(err, conversation);
  }
}

// storedFiles returns the files of a stored question in the form of attached files.
const storedFiles = (m) => (m.files ?? []).map(({ name, media, size, url }) => ({ name, type: media, size, url }));

// useAgain attaches files to the next question too: a model receives files only with the question
// that they are attached to.
const useAgain = (files) => withFiles((f) => f.useAgain(files));

// messageBox makes the article of a stored message; question is the message that it answers.
function messageBox(m, question) {
  const box = m.role === "user" ? questionBox(m.content, edit, storedFiles(m), useAgain)
    : storedAnswer(m, (a) => question && again(Object.assign(a, { question: a.box.previousElementSibling, content: question.content, files: [...storedFiles(question), ...a.files] })), continueAnswer);
  box.classList.add("stored");
  box.dataset.turn = m.turn_id ?? "";
  if (m.versions) setVersions(box, m.versions, switchVersion);
  if (m.role !== "user" && thumbs.has(m.turn_id)) showMark(box, thumbs.get(m.turn_id));
  return box;
}

// --- the box where questions are typed, with drafts ---------------------------------------------------------------------------

const manyLetters = 20000; // a longer text gets the full height of the box without being measured

function grow() {
  const many = input.value.length > manyLetters;
  input.style.height = many ? "40vh" : "auto";
  if (!many) input.style.height = `${input.scrollHeight}px`;
}

// setInput puts a text into the box. pastes are the texts in it that were not typed; of a text about
// which that is not known any more, a long one counts as pasted.
function setInput(text, pastes = [text]) {
  input.value = before = text;
  put = pastes.filter(isLong);
  grow();
}

// --- pasted texts --------------------------------------------------------------------------------

const isLong = (text) => text.trim().length > 400; // characters: a shorter text counts as typed

let before = ""; // the text of the box before the last change
let put = []; // the long texts that were put into the box at once since it was last empty

// pastesNow returns the long texts that were put into the box at once.
const pastesNow = () => put;

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

let timer = 0;

// keepDraft stores the typed text as the draft of the conversation that is shown.
function keepDraft() {
  clearTimeout(timer);
  timer = 0;
  keep(`draft.${conversation}`, input.value);
}

const draftOf = (id) => storedValue(`draft.${id}`);

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
async function withFiles(run) {
  fileBox ??= await import("/static/files.js");
  return run(fileBox);
}

// filesNow returns the attached files and removes them from the box.
const filesNow = () => fileBox?.takeFiles() ?? [];

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
    const rest = submit(content);
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
    else if (event.key === "ArrowUp" && input.value === "" && editLast()) event.preventDefault();
  });
  input.addEventListener("beforeinput", (event) => {
    if (event.inputType !== "insertLineBreak" || shift) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

// --- the bar: who answers --------------------------------------------------------------

// showAssistant shows the selected assistant, its description and its first questions.
function showAssistant() {
  const chosenOption = model.selectedOptions[0];
  $("who").textContent = chosenOption?.value ?? "";
  document.documentElement.dataset.topic = chosenOption?.dataset.topic ?? "";
  if (!$("steps")) $("about").textContent = chosenOption?.title ?? "";
  const questions = JSON.parse(chosenOption?.dataset.questions ?? "{}")[language] ?? [];
  $("questions").replaceChildren(...questions.slice(0, 4).map((q) => el("li", {}, el("button", { type: "button", on: { click: () => submit(q) } }, q))));
}

// showModel shows the model that answers here.
function showModel({ provider = "", model: name = "", why = "" }) {
  const none = !provider || provider === "offline";
  $("by").textContent = none ? t("no model", "chưa có mô hình") : [name, provider].filter(Boolean).join(" · ");
  $("by").title = none ? why : "";
}

// --- the state of the host: the answering model, what the reader can do ----------------------------------

let setupRequests = 0; // counts the requests for the host's state, so that only the latest is shown
let first = false; // whether there is no conversation yet
let operates = false; // whether the reader may open the pages of tools and settings
me().then((who) => { operates = !who || allows(who, "admin"); }); // at once: the page itself says who reads it

// look requests the host's state, and shows the answering model, an offer and the steps of the
// first run.
async function look(isFirst = first) {
  first = isFirst;
  const mine = ++setupRequests;
  const setup = await api(setupPath(model.value)).catch(() => null);
  if (!setup || mine !== setupRequests) return;
  showModel(setup);
  if (setup.offer || !$("offer").hidden || first && operates) {
    const { showOffer, showSteps } = await import("/static/welcome.js");
    showOffer(setup.offer ?? "", (name) => { keep("assistant", name); startNew(); input.focus(); });
    if (first) showSteps(setup, operates, look);
  }
}

// --- controls ------------------------------------------------------------------------------------------

function setUpControls() {
  $("stop").addEventListener("click", stop);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open], .menu:popover-open")) return;
    if (!cancelEdit()) stop();
  });
  $("assistants").addEventListener("beforetoggle", async (event) => {
    if (event.newState === "open") (await import("/static/picker.js")).showChoices(operates, () => { look(); input.focus(); });
  });
  addEventListener("storage", ({ key }) => { if (key === "molar.settings") look(); }); // the settings page is open too
  addEventListener("again", ({ detail }) => askedAgain(detail));
  model.addEventListener("change", () => { keep("assistant", model.value); chosen = true; showAssistant(); look(); });
  addEventListener("focus", () => look()); // shows changes that were made in another window
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  addEventListener("hashchange", () => {
    const id = idInAddress();
    if (id === "new" || !id && conversation) startNew(id === "new");
    else if (id !== conversation) openConversation(id);
  });
  addEventListener("offline", () => hint(unreachable()));
  addEventListener("online", () => { hint(); loadList(); });
  tabs.addEventListener("message", ({ data }) => {
    if (data.changed && data.changed === conversation && !running) openConversation(conversation);
  });
}

// choose selects the assistant with a name, if there is one.
function choose(name) {
  const before = model.value;
  if ([...model.options].some((o) => o.value === name)) model.value = name;
  showAssistant();
  if (model.value !== before) look();
}

// idInAddress returns the conversation that the page's address names, or "".
function idInAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

async function start() {
  setUpFrame({
    answers: () => [...runs],
    here: () => conversation,
    startNew: () => { startNew(); drawer(false); input.focus(); },
    left: () => startNew(true),
  });
  setUpControls();
  setUpComposer();
  choose(storedValue("assistant"));
  const again = takeAgain();
  const id = idInAddress() || earlierTurns.find((n) => n.here)?.conversation || storedValue("conversation");
  if (id === "new") startNew();
  else if (id) await openConversation(id);
  else setInput(draftOf(""));
  arriving = false;
  if (again) askedAgain(again);
  if (matchMedia("(pointer: fine)").matches) input.focus();
  performance.mark("usable");
  if (!conversation) rejoin();
  if (document.readyState !== "complete") await new Promise((loaded) => { addEventListener("load", loaded, { once: true }); });
  await look(await loadList() === 0);
}

start();
