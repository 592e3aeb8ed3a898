// The trace page: the steps of one turn, and why each tool was called or not.

import { $, allows, api, el, me, t, when } from "/static/app.js";
import { comparison, offers } from "/static/again.js";
import { fill, frame, note, table } from "/static/pages.js";
import { asJSON, details, explanation, section, summary } from "/static/trace.js";

// choose returns a form to select a turn, for an address without one.
async function choose() {
  const calls = (await api("/v1/calls?limit=200").catch(() => ({ data: [] }))).data.filter((c) => c.turn_id);
  const turns = [...Map.groupBy(calls, (c) => c.turn_id)].slice(0, 20);
  return [
    el("form", { className: "card pad", action: "/turn", method: "get" },
      el("div", { className: "field" },
        el("label", { for: "id" }, t("Id of a turn", "Mã của lượt")),
        el("input", { id: "id", name: "id", required: true, spellcheck: false, autocomplete: "off" }),
        el("p", { className: "why" }, t("Each answer on the chat page has a link to its trace.", "Mỗi câu trả lời ở trang trò chuyện có đường dẫn đến dấu vết của nó."))),
      el("div", { className: "row" }, el("button", { className: "primary", type: "submit" }, t("Show the trace", "Xem dấu vết")))),
    turns.length ? section(t("Turns that called tools", "Các lượt đã gọi công cụ"), table(t("Turns", "Các lượt"),
      [t("When", "Lúc"), t("Tools", "Công cụ"), t("Turn", "Lượt")],
      turns.map(([id, list]) => [when(list[0].at), [...new Set(list.map((c) => c.tool))].join(", "), el("a", { href: `/turn?id=${encodeURIComponent(id)}` }, id)]))) : "",
  ].filter(Boolean);
}

const lookAgain = 2000; // ms
const traceOf = (turn) => api(`/v1/turns/${encodeURIComponent(turn)}`);

async function load(id) {
  try {
    const trace = await traceOf(id);
    if (trace.status === "running") setTimeout(() => fill($("trace"), () => load(id), page), lookAgain);
    const earlier = parameters.get("before") ? await traceOf(parameters.get("before")).catch(() => null) : null;
    return { trace, earlier, offered: await offers(trace, "#make-test") };
  } catch (err) {
    if (err.status === 404) {
      err.detail = "";
      err.advice = t("Nothing is stored of this turn: it was deleted with its conversation, was refused and its trace is no longer kept, or it belongs to another key. Choose another turn.",
        "Không có gì được lưu về lượt này: lượt đã bị xóa cùng cuộc trò chuyện, đã bị từ chối và dấu vết không còn được giữ, hoặc thuộc khóa khác. Hãy chọn lượt khác.");
    }
    throw err;
  }
}

// testBox returns a box that gets, for a reviewer, the step that makes a test of the turn.
function testBox(trace) {
  const box = el("div", { id: "make-test" });
  const show = async () => {
    const who = await me();
    if (who && !allows(who, "review")) return;
    const [{ testGuide }, { data: marks }] = await Promise.all([import("/static/desk_turn.js"), api(`/v1/feedback?${new URLSearchParams({ turn: id })}`).catch(() => ({ data: [] }))]);
    box.append(testGuide(id, trace, marks.filter((m) => m.turn_id === id)));
    if (location.hash === "#make-test") box.scrollIntoView();
  };
  show();
  return box;
}

// page returns all of a turn. What repairs an assistant comes after what explains the answer.
function page({ trace, earlier, offered }) {
  if (trace.status === "running") return note(t("The turn is still running. Its trace appears here when it has ended.", "Lượt này còn đang chạy. Dấu vết sẽ hiện ở đây khi lượt kết thúc."));
  return [summary(trace, offered.actions), earlier ? comparison(earlier, trace) : "", ...explanation(trace, offered.without), testBox(trace), ...details(trace), asJSON(trace)];
}

frame(t("Trace", "Dấu vết"));
const parameters = new URLSearchParams(location.search);
const id = parameters.get("id");
if (id) await fill($("trace"), () => load(id), page);
else await fill($("trace"), choose, (parts) => parts);
