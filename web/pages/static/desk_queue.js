// The lists of the desk: turns, and questions that nobody could answer.

import { el, number, t, when } from "/static/app.js";
import { badge, words } from "/static/pages.js";
import { reason } from "/static/reasons.js";

// outcomes holds for each outcome of a turn the kind of the badge, the text, and what that means.
export const outcomes = {
  not_found: ["warn", t("no source found", "không tìm thấy nguồn"), t("Each search came back empty, so the answer rests on no source.", "Mọi lần tìm đều không có kết quả, nên câu trả lời không dựa trên nguồn nào.")],
  refused: ["warn", t("refused", "bị từ chối"), t("The guardrail refused the question; its text is not kept.", "Bộ kiểm tra từ chối câu hỏi; nội dung không được giữ.")],
  failed: ["bad", t("failed", "thất bại"), t("An error ended the turn before its answer.", "Lượt gặp lỗi trước khi có câu trả lời.")],
  interrupted: ["warn", t("interrupted", "bị ngắt"), t("Somebody stopped the answer, or the host ended before it was whole.", "Có người dừng câu trả lời, hoặc máy chủ ngừng trước khi trả lời xong.")],
  unapproved: ["warn", t("not approved", "không được duyệt"), t("A tool needed somebody’s yes and did not get it.", "Một công cụ cần được duyệt nhưng không được duyệt.")],
  emergency: ["bad", t("emergency", "khẩn cấp"), t("The answer began with the notice for emergencies.", "Câu trả lời bắt đầu bằng thông báo khẩn cấp.")],
  done: ["good", t("answered", "đã trả lời"), t("None of the other outcomes applies.", "Không thuộc kết quả nào khác.")],
};

// outcomeBadge returns the badge of an outcome.
export function outcomeBadge(name) {
  const [kind, text, title = ""] = outcomes[name] ?? ["", name];
  return name ? Object.assign(badge(text, kind), { title }) : "";
}

// tags returns the badges of a mark and of what was made of a turn: a written answer, else a test.
export const tags = (mark, made) => [
  { up: badge(t("right", "đúng"), "good"), down: badge(t("wrong", "sai"), "bad") }[mark],
  made.includes("correction") ? badge(t("put right", "đã sửa"), "good") : made.includes("test") && badge(t("test", "kiểm thử")),
].filter(Boolean);

const noText = () => el("em", {}, t("The text of a refused question is not kept.", "Nội dung câu hỏi bị từ chối không được giữ."));

function turnRow(turn, linkTo) {
  return el("li", {}, el("a", linkTo(turn.id),
    el("span", { className: "row" }, outcomeBadge(turn.outcome), el("span", { className: "mark" }, tags(turn.mark, (turn.made ?? []).map((f) => f.kind)))),
    el("strong", {}, turn.question ?? noText()),
    el("small", {}, [turn.reason && reason(turn.reason), turn.assistant, turn.name ?? turn.person, when(turn.at)].filter(Boolean).join(" · "))));
}

// turnList lists turns. more requests the page after a cursor.
export function turnList(first, linkTo, more) {
  if (!first.data.length) {
    return el("p", { className: "none" }, t("No turn matches: nobody asked in this time, or the filters leave nothing. Turns are listed as long as their traces are kept. Choose a longer time or fewer filters.",
      "Không có lượt nào khớp: chưa ai hỏi trong khoảng này, hoặc bộ lọc không để lại gì. Các lượt được liệt kê chừng nào còn giữ dấu vết. Hãy chọn khoảng dài hơn hoặc bớt điều kiện lọc."));
  }
  const list = el("ul", { className: "rows" }, first.data.map((turn) => turnRow(turn, linkTo)));
  const button = el("button", { type: "button" }, t("Older turns", "Các lượt cũ hơn"));
  const failed = el("p", { className: "note bad", role: "alert", hidden: true });
  let next = first.next;
  button.hidden = !next;
  button.addEventListener("click", async () => {
    button.disabled = failed.hidden = true;
    try {
      const page = await more(next);
      const rows = page.data.map((turn) => turnRow(turn, linkTo));
      list.append(...rows);
      next = page.next;
      button.hidden = !next;
      rows[0]?.querySelector("a").focus();
    } catch (err) {
      failed.textContent = words(err);
      failed.hidden = false;
    } finally {
      button.disabled = false;
    }
  });
  return el("div", { className: "stack" }, list, failed, button);
}

// gapList lists groups of questions that nobody could answer, the most frequent first.
export function gapList(groups, linkTo) {
  if (!groups.length) {
    return el("p", { className: "none" }, t("Every question of this time had an answer.", "Mọi câu hỏi trong khoảng này đều có câu trả lời."));
  }
  return el("ul", { className: "rows gaps" }, groups.map(({ examples: [newest, ...others], ...group }) => el("li", {},
    el("h3", {}, newest ? el("a", linkTo(newest.turn), newest.question) : t("Refused questions, whose text is not kept", "Câu hỏi bị từ chối, nội dung không được giữ")),
    el("p", { className: "row" }, badge(group.count === 1 ? t("asked once", "hỏi 1 lần") : t(`asked ${number(group.count)} times`, `hỏi ${number(group.count)} lần`), "warn"),
      el("small", {}, [group.assistant, group.reason && reason(group.reason), t(`last ${when(group.last)}`, `lần cuối ${when(group.last)}`)].filter(Boolean).join(" · "))),
    others.length ? el("ul", {}, others.map((e) => el("li", {}, el("a", linkTo(e.turn), e.question)))) : "")));
}
