// A turn at the desk: question, answer, why, and the three steps that put a wrong answer right.

import { api, el, keep, t, when } from "/static/app.js";
import { markBadge, outcomeBadge } from "/static/desk_queue.js";
import { badge, code, fold, note, say, words } from "/static/pages.js";
import { reason } from "/static/reasons.js";
import { statuses, untracedText } from "/static/trace.js";
import { explanation } from "/static/traceparts.js";

// markers are the names of people who mark answers.
const markers = { person: t("the person who asked", "người hỏi"), reviewer: t("a reviewer", "người rà soát") };

let shown = ""; // the turn that is shown, or will be when it is loaded

// showTurn shows a turn in a box. back is the address of the list without it; changed is called with
// the badge of a new mark.
export async function showTurn(box, id, { back, changed }) {
  const link = box.querySelector(".back");
  if (id === shown && link) {
    link.href = back;
    return;
  }
  shown = id;
  const head = (...rest) => [el("h2", { id: "turn-title", tabIndex: -1 }, t("Question and answer", "Câu hỏi và trả lời")), el("a", { className: "back", href: back }, t("‹ Back to the list", "‹ Về danh sách")), ...rest];
  box.replaceChildren(...head(el("p", { className: "quiet" }, t("Loading…", "Đang tải…"))));
  box.querySelector("#turn-title").focus();
  let parts;
  try {
    const trace = await api(`/v1/turns/${encodeURIComponent(id)}`);
    const { data: marks } = await api(`/v1/feedback?${new URLSearchParams({ turn: id })}`).catch(() => ({ data: [] }));
    parts = turnParts(id, trace, marks.filter((m) => m.turn_id === id), changed);
  } catch (err) {
    parts = [el("p", { className: "note bad", role: "alert" }, err.status === 404 ? t("Nothing is stored of this turn any more. Choose another one.", "Không còn gì được lưu về lượt này. Hãy chọn lượt khác.") : words(err))];
  }
  if (shown !== id) return; // another one was chosen meanwhile
  box.replaceChildren(...head(...parts));
  box.querySelector("#turn-title").focus({ preventScroll: true });
}

function turnParts(id, trace, marks, changed) {
  const [kind, text] = statuses[trace.status] ?? ["", trace.status];
  const sources = trace.done?.sources ?? [];
  return [
    el("article", { className: "card pad asked-and-said" },
      el("p", { className: "row" }, trace.outcome ? outcomeBadge(trace.outcome) : badge(text, kind), ...marks.map((m) => markBadge(m.mark)),
        el("small", { className: "quiet" }, [trace.assistant, trace.name ?? trace.person, trace.started && when(trace.started)].filter(Boolean).join(" · "))),
      el("h3", {}, t("Question", "Câu hỏi")),
      el("p", { className: "told" }, trace.question || t("The text of this question is not kept.", "Nội dung câu hỏi này không được giữ.")),
      el("h3", {}, t("Answer", "Trả lời")),
      el("p", { className: "told" }, trace.answer || (trace.error ? reason(trace.error) : t("There was no answer.", "Không có câu trả lời."))),
      sources.length ? fold(t("Sources", "Nguồn"), el("ul", {}, sources.map((s) => el("li", {}, [s.title, s.url].filter(Boolean).join(" "))))) : "",
      ...marks.filter((m) => m.note).map((m) => el("blockquote", {}, m.note, el("footer", {}, [markers[m.by], when(m.marked_at)].filter(Boolean).join(" · ")))),
      fold(t("Why this answer?", "Vì sao trả lời vậy?"), ...(trace.untraced ? [note(untracedText(trace))] : explanation(trace)))),
    guide(id, trace, marks, changed),
  ];
}

// --- the three steps ---------------------------------------------------------------------------

// guide returns the three steps. Each says what has happened, and what comes next.
function guide(id, trace, marks, changed) {
  const path = `/v1/turns/${encodeURIComponent(id)}`;
  const state = { mark: mineOf(marks)?.mark, made: null }; // the mark, and what the second step made
  return el("section", { className: "guide", "aria-labelledby": "guide-title" },
    el("h2", { id: "guide-title" }, t("Put it right", "Sửa lại cho đúng")),
    el("ol", {},
      step("mark", t("Mark it", "Đánh dấu"), ...markStep(path, marks, state, changed)),
      step("test", t("Make a test of it", "Tạo bài kiểm thử"), ...testStep(path, state)),
      step("write", t("Write the right answer", "Viết câu trả lời đúng"), ...writeStep(path, trace, state))));
}

const step = (name, title, ...children) => el("li", { className: "card pad", id: `step-${name}` }, el("h3", {}, title), ...children);

// stepForm returns a form that does its work when it is sent, and shows the outcome below it. work
// returns the elements that say what has happened; a failure is shown as a sentence.
function stepForm(button, children, work) {
  const out = el("div", { className: "out", role: "status" });
  const send = el("button", { type: "submit", className: "primary" }, button);
  const form = el("form", { on: { submit: async (event) => {
    event.preventDefault();
    await busy(send, out, t("One moment…", "Chờ một chút…"), async () => {
      const parts = await work(form);
      form.closest("li").classList.add("finished");
      return parts;
    });
  } } }, ...children, el("div", { className: "row" }, send));
  return [form, out];
}

// busy disables a button and says what happens while work runs, and then shows what work returns, or why it
// failed. The keyboard stays at the button.
async function busy(button, out, text, work) {
  const had = document.activeElement;
  button.disabled = true;
  out.replaceChildren(el("p", { className: "quiet" }, text));
  try {
    out.replaceChildren(...await work());
  } catch (err) {
    const kind = err.code === "budget_exceeded" ? "warn" : "bad"; // no fault, and no red test
    out.replaceChildren(el("p", { className: `note ${kind}` }, failure(err)));
  } finally {
    button.disabled = false;
    if (had?.isConnected && document.activeElement === document.body) had.focus({ preventScroll: true });
  }
}

// failure returns the sentence for a failed step. The server says itself what is missing.
const failure = (err) => (err.status === 409 && err.detail ? reason(err.detail) : words(err));

const happened = (text) => el("p", { className: "note good" }, text);
const next = (text) => el("p", { className: "next" }, el("strong", {}, t("Next: ", "Tiếp theo: ")), text);

const mineOf = (marks) => marks.find((m) => m.by === "reviewer") ?? marks[0];

function markStep(path, marks, state, changed) {
  const mine = mineOf(marks);
  const choice = (value, text) => el("label", { className: "check" }, el("input", { type: "radio", name: "mark", value, required: true, checked: mine?.mark === value }), text);
  return stepForm(t("Save the mark", "Lưu đánh dấu"), [
    el("fieldset", { className: "choice" }, el("legend", {}, t("Is the answer right?", "Câu trả lời có đúng không?")),
      choice("down", t("Wrong", "Sai")), choice("up", t("Right", "Đúng"))),
    el("div", { className: "field" },
      el("label", { for: "mark-note" }, t("What is wrong, or what was good? (optional)", "Sai ở đâu, hoặc hay ở đâu? (tùy chọn)")),
      el("textarea", { id: "mark-note", name: "note", rows: 2, maxLength: 4000 })),
  ], async (form) => {
    const mark = form.elements.mark.value;
    await api(`${path}/feedback`, { method: "POST", body: { mark, note: form.elements.note.value } });
    changed(markBadge(mark));
    const isWrong = mark === "down";
    const before = state.mark;
    state.mark = mark;
    return [
      happened(isWrong ? t("Marked as wrong.", "Đã đánh dấu là sai.") : t("Marked as right.", "Đã đánh dấu là đúng.")),
      next(state.made && before !== mark ? t("make the test again: it was made before this mark.", "tạo lại bài kiểm thử: nó được tạo trước lần đánh dấu này.")
        : isWrong ? t("make a test of it, so that this answer does not come back unnoticed.", "tạo bài kiểm thử, để câu trả lời này không lặp lại mà không ai biết.")
        : t("make a test of it, so that this answer stays right.", "tạo bài kiểm thử, để câu trả lời này luôn đúng.")),
    ];
  });
}

function testStep(path, state) {
  return stepForm(t("Make the test", "Tạo bài kiểm thử"), [
    el("p", { className: "quiet" }, t("A test keeps this question and asks it again. The test of a wrong answer is red until another answer comes.",
      "Bài kiểm thử giữ câu hỏi này và hỏi lại. Bài kiểm thử của câu trả lời sai sẽ đỏ cho đến khi có câu trả lời khác.")),
  ], async () => {
    const made = await api(`${path}/test`, { method: "POST", body: {} });
    state.made = made;
    const [run, out] = runButton(path, t("Run the test", "Chạy bài kiểm thử"));
    return [
      happened(t(`The test “${made.case}” is made.`, `Đã tạo bài kiểm thử “${made.case}”.`)),
      state.mark ? "" : note(t("This answer is not marked, so the test takes it for right. If it is wrong, mark it in step 1 and make the test again.",
        "Câu trả lời này chưa được đánh dấu, nên bài kiểm thử coi nó là đúng. Nếu nó sai, hãy đánh dấu ở bước 1 rồi tạo lại bài kiểm thử."), "warn"),
      fold(t("Its files, and how to run it at a terminal", "Các tệp, và cách chạy ở dòng lệnh"),
        el("ul", { className: "files" }, made.files.map((f) => el("li", {}, typeof f === "string" ? el("code", {}, f) : download(f)))),
        code(made.command, t("Command", "Lệnh"))),
      el("div", { className: "row" }, run), out,
      state.mark === "up" ? "" : next(t("write the right answer in step 3. Then this test turns green.", "viết câu trả lời đúng ở bước 3. Khi đó bài kiểm thử sẽ xanh.")),
    ];
  });
}

// runButton returns a button that runs the test of a turn, and the box for what comes of it.
function runButton(path, label) {
  const out = el("div", { className: "out", role: "status" });
  const run = el("button", { type: "button", className: "primary run", on: {
    click: () => busy(run, out, t("The assistant is asked again…", "Đang hỏi lại trợ lý…"), async () => result(await api(`${path}/test/run`, { method: "POST", body: {} }))),
  } }, label);
  return [run, out];
}

// whyRed are the sentences for the reasons of a red test.
const whyRed = {
  same_answer: t("It gave the same answer again.", "Trợ lý lại trả lời như cũ."),
  same_end: t("It ended in the same way again.", "Lượt lại kết thúc như trước."),
  correction_not_used: t("The written answer was not found by this question: write it for the question as it was asked.", "Câu hỏi này không tìm thấy câu trả lời đã viết: hãy viết cho đúng câu hỏi đã được hỏi."),
};

// result returns what came of a run of a test.
const result = (run) => [
  el("p", { className: `note ${run.passed ? "good" : "bad"}` }, run.passed ? t("Green: the test passes.", "Xanh: bài kiểm thử đạt.") : t("Red: the test does not pass.", "Đỏ: bài kiểm thử không đạt.")),
  run.reasons.length ? el("ul", {}, run.reasons.map((r) => el("li", {}, whyRed[r.code] ?? r.text))) : "",
  el("h4", {}, t("The answer now", "Câu trả lời bây giờ")),
  el("p", { className: "told" }, run.answer || t("There was no answer.", "Không có câu trả lời.")),
];

// download returns a button that saves a file of a test which the host has not written.
const download = ({ name, content }) => el("button", { type: "button", on: { click: () => {
  const href = URL.createObjectURL(new Blob([content]));
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
} } }, t(`Download ${name}`, `Tải ${name}`));

function writeStep(path, trace, state) {
  const field = (name, label, props) => el("div", { className: "field" }, el("label", { for: `write-${name}` }, label), el("textarea", { id: `write-${name}`, name, ...props }));
  return stepForm(t("Save the answer", "Lưu câu trả lời"), [
    field("question", t("Question", "Câu hỏi"), { rows: 2, required: true, maxLength: 500, value: trace.question ?? "" }),
    el("p", { className: "quiet" }, t("Asked in these words, in any order, the answer is found first. For other words write it once more.", "Hỏi bằng những từ này, theo thứ tự nào cũng được, câu trả lời được tìm thấy trước tiên. Với từ khác, hãy viết thêm lần nữa.")),
    field("answer", t("The right answer", "Câu trả lời đúng"), { rows: 6, required: true, maxLength: 8000 }),
    field("sources", t("Sources, one on each line (optional)", "Nguồn, mỗi dòng một nguồn (tùy chọn)"), { rows: 2 }),
  ], async (form) => {
    const [question, answer, sources] = ["question", "answer", "sources"].map((name) => form.elements[name].value.trim());
    const list = sources.split("\n").map((line) => line.trim()).filter(Boolean);
    const written = await api(`${path}/correction`, { method: "POST", body: { question, answer, ...(list.length && { sources: list }) } });
    if (!written.file) {
      return [
        note(t("No knowledge folder takes corrections, so nothing was written. Put this text into one, or ask the operator of this host to set corrections: true for a folder.",
          "Chưa có thư mục kiến thức nào nhận câu trả lời sửa, nên chưa ghi gì. Hãy đưa nội dung này vào một thư mục, hoặc nhờ người vận hành đặt corrections: true cho một thư mục."), "warn"),
        code(written.text, t("The text to copy", "Nội dung để chép")),
      ];
    }
    const [run, out] = runButton(path, t("Run the test again", "Chạy lại bài kiểm thử"));
    return [
      happened(t("Written. From now on this question finds it first.", "Đã ghi. Từ nay câu hỏi này tìm thấy nó trước tiên.")),
      el("p", { className: "files" }, el("code", {}, written.file)),
      next(state.made ? t("run the test: it should be green now. Then ask the question yourself.", "chạy bài kiểm thử: giờ nó sẽ xanh. Rồi tự hỏi lại câu này.")
        : t("ask the question yourself.", "tự hỏi lại câu này.")),
      el("div", { className: "row" }, askNow(question, trace.assistant), state.made && run), out,
    ];
  });
}

// askNow returns a button that opens a new conversation with the question in its box.
const askNow = (question, assistant) => el("button", { type: "button", className: "primary", on: { click: () => {
  keep("assistant", assistant ?? null);
  keep("conversation", null);
  keep("draft.", question);
  say(t("The question stands in the chat. Send it.", "Câu hỏi đã nằm sẵn trong khung trò chuyện. Hãy gửi đi."));
  location.assign("/");
} } }, t("Ask it now", "Hỏi ngay"));
