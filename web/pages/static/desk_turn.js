// A turn at the desk: question, answer, why, and the three steps that put a wrong answer right.

import { api, el, keep, sourceList, t, when } from "/static/app.js";
import { outcomeBadge, outcomes, tags } from "/static/desk_queue.js";
import { badge, code, fold, note, say, words } from "/static/pages.js";
import { reason } from "/static/reasons.js";
import { deskOf, details, explanation, statuses, untracedText } from "/static/trace.js";

// markers are the names of people who mark answers.
const markers = { person: t("the person who asked", "người hỏi"), reviewer: t("a reviewer", "người rà soát") };

let shown = ""; // the turn that is shown, or will be when it is loaded

// showTurn shows a turn in a box. back is the address of the list without it; changed is called with
// the tags of the turn whenever they have changed.
export async function showTurn(box, id, { back, changed }) {
  const link = box.querySelector(".back");
  if (id === shown && link) {
    link.href = back;
    return;
  }
  shown = id;
  const head = (...rest) => [el("h2", { id: "turn-title", tabIndex: -1 }, t("Question and answer", "Câu hỏi và trả lời")), el("a", { className: "back", href: back }, t("‹ Back to the list", "‹ Về danh sách")), ...rest];
  box.replaceChildren(...head(el("p", { className: "quiet" }, t("Loading…", "Đang tải…"))));
  box.querySelector("#turn-title").focus({ preventScroll: true });
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
  const head = el("span", { className: "mark" });
  const state = known(trace, marks);
  const path = `/v1/turns/${encodeURIComponent(id)}`;
  const steps = guide(t("Put it right", "Sửa lại cho đúng"), path, trace, state, [markStep(path, state), testStep(path, trace, state), writeStep(path, trace, state)], () => {
    head.replaceChildren(...tags(state.mark?.mark, made(state)));
    changed(tags(state.mark?.mark, made(state)));
  });
  return [
    el("article", { className: "card pad asked-and-said" },
      el("p", { className: "row" }, trace.outcome ? outcomeBadge(trace.outcome) : badge(text, kind), head,
        el("small", { className: "quiet" }, [trace.assistant, trace.name ?? trace.person, trace.started && when(trace.started)].filter(Boolean).join(" · "))),
      el("h3", {}, t("Question", "Câu hỏi")),
      el("p", { className: "told" }, trace.question || t("The text of this question is not kept.", "Nội dung câu hỏi này không được giữ.")),
      el("h3", {}, t("Answer", "Trả lời")),
      el("p", { className: "told" }, trace.answer || (trace.error ? reason(trace.error) : deskOf(trace) ?? t("There was no answer.", "Không có câu trả lời."))),
      sources.length ? fold(t("Sources", "Nguồn"), sourceList(sources)) : "",
      ...marks.filter((m) => m.note && m !== state.mine).map((m) => el("blockquote", {}, m.note, el("footer", {}, [markers[m.by], when(m.marked_at)].filter(Boolean).join(" · ")))),
      fold(t("Why this answer?", "Vì sao trả lời vậy?"), ...(trace.untraced ? [note(untracedText(trace))] : [...explanation(trace), ...details(trace).slice(0, 1)]))),
    steps,
  ];
}

// --- the three steps ---------------------------------------------------------------------------

// known returns what was done about a turn. mark is the one that counts, and mine the one that the first step changes;
// test and written are what the other steps made, and run what came of the last run of the test, at one of the steps. alone
// is set where only the second step is shown.
function known(trace, marks) {
  const by = (who) => marks.find((m) => (m.by ?? "person") === who);
  const role = trace.person ? "reviewer" : "person"; // one's own turn has no name for its person
  const mark = by("reviewer") ?? by("person");
  const latest = (kind) => {
    const all = (trace.made ?? []).filter((f) => f.kind === kind);
    return all.length ? { files: [...new Set(all.map((f) => f.path).filter(Boolean))], at: all.at(-1).made_at, answer: all.at(-1).answer } : null;
  };
  const test = latest("test");
  const written = latest("correction");
  return {
    mark, role, mine: by(role), run: null,
    test: test && { ...test, old: Boolean(mark) && Date.parse(test.at) < Date.parse(mark.marked_at) },
    written: written && (written.answer || !written.files.length) ? { file: written.files.at(-1), answer: written.answer, at: written.at } : null, // its file may have been removed
  };
}

const made = (state) => [state.test && "test", state.written && "correction"].filter(Boolean);

// testGuide returns the step that makes a test of a turn, for a page without the other two.
export function testGuide(id, trace, marks) {
  const path = `/v1/turns/${encodeURIComponent(id)}`;
  const state = { ...known(trace, marks), alone: true };
  const box = guide(t("Make a test of this", "Tạo bài kiểm thử từ lượt này"), path, trace, state, [testStep(path, trace, state)], () => {});
  box.append(el("p", {}, el("a", { href: `/desk?${new URLSearchParams({ turn: id })}` }, t("Mark this answer, or write the right one, at the desk", "Đánh dấu câu trả lời này, hoặc viết câu trả lời đúng, ở trang rà soát"))));
  return box;
}

// guide returns steps. Each says what has happened, and what comes next. All of them are drawn anew from the
// state after each change, so that nothing old stays beside what is new.
function guide(title, path, trace, state, steps, changed) {
  const draw = () => {
    for (const one of steps) {
      one.item.classList.toggle("finished", Boolean(one.done()));
      one.send.textContent = one.label();
      one.out.replaceChildren(...one.told().filter(Boolean));
      for (const button of one.buttons) button.hidden = !one.done() || !one.offers(button);
      one.result.replaceChildren(...(state.run?.at === one.name ? result(state, trace) : []));
    }
    changed();
  };
  // act does the work of a button, says meanwhile what happens, and then draws what came of it, or says why it
  // failed. The keyboard stays at the button, and the outcome is brought into view.
  const act = async (button, out, text, work) => {
    const had = document.activeElement;
    button.disabled = true;
    out.replaceChildren(el("p", { className: "quiet" }, text));
    try {
      await work();
      draw();
    } catch (err) {
      const kind = err.code === "budget_exceeded" ? "warn" : "bad"; // no fault, and no red test
      out.replaceChildren(el("p", { className: `note ${kind}` }, failure(err)));
    } finally {
      button.disabled = false;
      if (had?.isConnected && document.activeElement === document.body) had.focus({ preventScroll: true });
    }
    say(out.textContent);
    out.closest(".outcome").scrollIntoView({ block: "nearest" });
  };
  for (const one of steps) {
    one.form.addEventListener("submit", (event) => {
      event.preventDefault();
      act(one.send, one.out, t("One moment…", "Chờ một chút…"), one.work);
    });
    one.run?.addEventListener("click", () => act(one.run, one.result, t("The assistant is asked again…", "Đang hỏi lại trợ lý…"), async () => {
      state.run = null;
      state.run = { ...await api(`${path}/test/run`, { method: "POST", body: {} }), at: one.name };
    }));
  }
  draw();
  return el("section", { className: "guide", "aria-labelledby": "guide-title" },
    el("h2", { id: "guide-title" }, title),
    el("ol", {}, steps.map((one) => one.item)));
}

// step returns a step: a form, below it what has happened, and buttons for what comes next. work does what the form is
// for, done reports whether that has happened, and told returns the elements that say it.
function step(name, title, fields, { label, work, done, told, buttons = [], offers = () => true }) {
  const send = el("button", { type: "submit", className: "primary" });
  const form = el("form", {}, ...fields, el("div", { className: "row" }, send));
  const out = el("div", { className: "out" });
  const outcome = el("div", { className: "out" });
  const item = el("li", { className: "card pad", id: `step-${name}` }, el("h3", {}, title), form,
    el("div", { className: "outcome" }, out, buttons.length ? el("div", { className: "row" }, buttons) : "", outcome));
  return { name, item, form, send, out, result: outcome, buttons, run: buttons.find((b) => b.classList.contains("run")), label, work: () => work(form), done, told, offers };
}

// failure returns the sentence for a failed step. The server says itself what is missing.
const failure = (err) => (err.status === 409 && err.detail ? reason(err.detail) : words(err));

const happened = (text, at) => el("p", { className: "note good" }, text, at ? ` ${when(at)}` : "");
const next = (text) => el("p", { className: "next" }, el("strong", {}, t("Next: ", "Tiếp theo: ")), text);
const now = () => new Date().toISOString();
const runButton = () => el("button", { type: "button", className: "primary run" }, t("Run the test", "Chạy bài kiểm thử"));

function markStep(path, state) {
  const choice = (value, text) => el("label", { className: "check" }, el("input", { type: "radio", name: "mark", value, required: true, checked: state.mark?.mark === value }), text);
  return step("mark", t("Mark it", "Đánh dấu"), [
    el("fieldset", { className: "choice" }, el("legend", {}, t("Is the answer right?", "Câu trả lời có đúng không?")),
      choice("down", t("Wrong", "Sai")), choice("up", t("Right", "Đúng"))),
    el("div", { className: "field" },
      el("label", { for: "mark-note" }, t("What is wrong, or what was good? (optional)", "Sai ở đâu, hoặc hay ở đâu? (tùy chọn)")),
      el("textarea", { id: "mark-note", name: "note", rows: 2, maxLength: 4000, value: state.mine?.note ?? "" })),
  ], {
    label: () => t("Save the mark", "Lưu đánh dấu"),
    done: () => state.mine,
    work: async ({ elements }) => {
      const mark = { mark: elements.mark.value, note: elements.note.value, marked_at: now(), by: state.role };
      await api(`${path}/feedback`, { method: "POST", body: { mark: mark.mark, note: mark.note } });
      state.mine = mark;
      if (state.role === "person" && state.mark?.by === "reviewer") return; // that one counts
      if (state.mark?.mark !== mark.mark) {
        state.run = null;
        if (state.test) state.test.old = true;
      }
      state.mark = mark;
    },
    told: () => {
      if (!state.mine) return [];
      const isWrong = state.mine.mark === "down";
      return [
        happened(isWrong ? t("Marked as wrong.", "Đã đánh dấu là sai.") : t("Marked as right.", "Đã đánh dấu là đúng."), state.mine.marked_at),
        state.test ? "" : next(isWrong ? t("make a test of it, so that this answer does not come back unnoticed.", "tạo bài kiểm thử, để câu trả lời này không lặp lại mà không ai biết.")
          : t("make a test of it, so that this answer stays right.", "tạo bài kiểm thử, để câu trả lời này luôn đúng.")),
      ];
    },
  });
}

function testStep(path, trace, state) {
  const made = step("test", t("Make a test of it", "Tạo bài kiểm thử"), [
    el("p", { className: "quiet" }, t("A test keeps this question and asks it again. The test of a wrong answer is red until another answer comes.",
      "Bài kiểm thử giữ câu hỏi này và hỏi lại. Bài kiểm thử của câu trả lời sai sẽ đỏ cho đến khi có câu trả lời khác.")),
    trace.untraced ? note(t("No test can be made of this turn: it has no trace.", "Không thể tạo bài kiểm thử từ lượt này: lượt không có dấu vết."), "warn")
      : trace.question ? "" : note(t("The text of this question is not kept, so a test can be made only if the traffic of this assistant is: with telemetry.wire, and wire: true for the assistant.",
        "Nội dung câu hỏi này không được giữ, nên chỉ có thể tạo bài kiểm thử nếu trao đổi của trợ lý này được giữ: với telemetry.wire, và wire: true cho trợ lý."), "warn"),
  ], {
    label: () => (state.test ? t("Make the test again", "Tạo lại bài kiểm thử") : t("Make the test", "Tạo bài kiểm thử")),
    done: () => state.test,
    buttons: [runButton()],
    work: async () => {
      state.test = { ...await api(`${path}/test`, { method: "POST", body: {} }), at: now() };
      state.run = null;
    },
    told: () => {
      const { test } = state;
      if (!test) return [];
      return [
        happened(test.case ? t(`The test “${test.case}” is made.`, `Đã tạo bài kiểm thử “${test.case}”.`) : t("The test is made.", "Đã tạo bài kiểm thử."), test.at),
        test.old ? note(t("It was made before the mark. Make it again.", "Bài này được tạo trước lần đánh dấu. Hãy tạo lại."), "warn") : "",
        state.mark ? "" : note(t("This answer is not marked, so the test takes it for right. If it is wrong, mark it and make the test again.",
          "Câu trả lời này chưa được đánh dấu, nên bài kiểm thử coi nó là đúng. Nếu nó sai, hãy đánh dấu rồi tạo lại bài kiểm thử."), "warn"),
        test.files.length ? Object.assign(fold(test.command ? t("Its files, and how to run it at a terminal", "Các tệp, và cách chạy ở dòng lệnh") : t("Its files", "Các tệp"),
          el("ul", { className: "files" }, test.files.map((f) => el("li", {}, typeof f === "string" ? el("code", {}, f) : download(f)))),
          test.command ? code(test.command, t("Command", "Lệnh")) : ""), { open: Boolean(state.alone) }) : note(t("It was downloaded.", "Bài này đã được tải xuống.")),
        state.mark?.mark !== "down" || state.written || state.run?.passed ? "" : next(state.run ? t("write the right answer. Then this test turns green.", "viết câu trả lời đúng. Khi đó bài kiểm thử sẽ xanh.")
          : t("run the test: it should be red. Then write the right answer.", "chạy bài kiểm thử: nó sẽ đỏ. Rồi viết câu trả lời đúng.")),
      ];
    },
  });
  made.send.hidden = Boolean(trace.untraced);
  return made;
}

// whyRed returns the sentence for a reason of a red test.
const whyRed = (r, trace) => ({
  same_answer: t("It gave the same answer again.", "Trợ lý lại trả lời như cũ."),
  same_end: t(`The outcome is as before: ${outcomes[trace.outcome]?.[1]}.`, `Kết quả vẫn như trước: ${outcomes[trace.outcome]?.[1]}.`),
  correction_not_used: t("The assistant did not find the written answer: write it for the question as it was asked.", "Trợ lý không tìm thấy câu trả lời đã viết: hãy viết cho đúng câu hỏi đã được hỏi."),
})[r.code] ?? r.text;

// green says what a green test means: it depends on the mark, and on whether an answer was written.
function green(state) {
  if (state.written?.file) return t("The assistant found the written answer, and no longer answers as before. Read whether the answer is right.", "Trợ lý tìm thấy câu trả lời đã viết và không còn trả lời như trước. Hãy đọc xem câu trả lời đã đúng chưa.");
  if (state.mark?.mark === "down") return t("It is no longer the old answer. Whether the new one is right, read yourself.", "Không còn là câu trả lời cũ. Câu trả lời mới có đúng không, bạn hãy tự đọc.");
  return t("The answer still has what the old one had.", "Câu trả lời vẫn có những gì câu trả lời cũ có.");
}

// result returns what came of a run of the test.
const result = (state, trace) => [
  el("p", { className: `note ${state.run.passed ? "good" : "bad"}` }, state.run.passed ? t("Green: the test passes.", "Xanh: bài kiểm thử đạt.") : t("Red: the test does not pass.", "Đỏ: bài kiểm thử không đạt.")),
  el("ul", {}, state.run.passed ? el("li", {}, green(state)) : state.run.reasons.map((r) => el("li", {}, whyRed(r, trace)))),
  el("h4", {}, t("The answer now", "Câu trả lời bây giờ")),
  el("p", { className: "told" }, state.run.answer || t("There was no answer.", "Không có câu trả lời.")),
];

// download returns a button that saves a file of a test which the host has not written.
const download = ({ name, content }) => el("button", { type: "button", on: { click: () => {
  const href = URL.createObjectURL(new Blob([content]));
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
} } }, t(`Download ${name}`, `Tải ${name}`));

function writeStep(path, trace, state) {
  const field = (name, label, props) => el("div", { className: "field" }, el("label", { for: `write-${name}` }, label), el("textarea", { id: `write-${name}`, name, ...props }));
  const question = field("question", t("Question", "Câu hỏi"), { rows: 2, required: true, maxLength: 500, value: trace.question ?? "" });
  const run = runButton();
  return step("write", t("Write the right answer", "Viết câu trả lời đúng"), [
    question,
    el("p", { className: "quiet" }, t("Whoever asks with these words, in any order, gets your answer. If people also ask in other words, save it once more with those.",
      "Ai hỏi bằng những từ này, theo thứ tự nào cũng được, sẽ nhận câu trả lời của bạn. Nếu có người hỏi bằng từ khác, hãy lưu thêm một lần với những từ đó.")),
    field("answer", t("The right answer", "Câu trả lời đúng"), { rows: 6, required: true, maxLength: 8000, value: state.written?.answer ?? "" }),
    field("sources", t("Sources, one on each line (optional)", "Nguồn, mỗi dòng một nguồn (tùy chọn)"), { rows: 2 }),
  ], {
    label: () => t("Save the answer", "Lưu câu trả lời"),
    done: () => state.written,
    buttons: [run, askNow(question.querySelector("textarea"), trace.assistant)],
    offers: (button) => state.written.file && (button !== run || state.test),
    work: async (form) => {
      const [asked, answer, sources] = ["question", "answer", "sources"].map((name) => form.elements[name].value.trim());
      const list = sources.split("\n").map((line) => line.trim()).filter(Boolean);
      state.written = { ...await api(`${path}/correction`, { method: "POST", body: { question: asked, answer, ...(list.length && { sources: list }) } }), at: now() };
      state.run = null;
    },
    told: () => {
      const { written } = state;
      if (!written) return [];
      if (!written.file) {
        return [
          note(t("No knowledge folder takes corrections, so nothing was written. Put this text into one, or ask the operator of this host to set corrections: true for a folder.",
            "Chưa có thư mục kiến thức nào nhận câu trả lời sửa, nên chưa ghi gì. Hãy đưa nội dung này vào một thư mục, hoặc nhờ người vận hành đặt corrections: true cho một thư mục."), "warn"),
          written.text ? code(written.text, t("The text to copy", "Nội dung để chép")) : "",
        ];
      }
      return [
        happened(t("Saved. Who asks with these words gets this answer from now on.", "Đã lưu. Từ nay ai hỏi bằng những từ này sẽ nhận câu trả lời này."), written.at),
        el("p", { className: "files" }, el("code", {}, written.file)),
        next(state.test && !state.run?.passed ? t("run the test: it should be green now. Then ask the question yourself.", "chạy bài kiểm thử: giờ nó sẽ xanh. Rồi tự hỏi lại câu này.")
          : t("ask the question yourself.", "tự hỏi lại câu này.")),
      ];
    },
  });
}

// askNow returns a link that opens a new conversation with the question in its box, beside the desk.
const askNow = (question, assistant) => el("a", { className: "button primary ask", href: "/", target: "_blank", rel: "noopener", on: { click: () => {
  keep("assistant", assistant ?? null);
  keep("conversation", null);
  keep("draft.", question.value.trim());
  say(t("The question stands in the chat. Send it.", "Câu hỏi đã nằm sẵn trong khung trò chuyện. Hãy gửi đi."));
} } }, t("Ask it now", "Hỏi ngay"));
