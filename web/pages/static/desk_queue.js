// The lists of the desk: turns, and questions that nobody could answer.

import { el, number, t, when } from "/static/app.js";
import { badge, words } from "/static/pages.js";
import { reason } from "/static/reasons.js";

// outcomes holds the kind of the badge and the text for each outcome of a turn.
export const outcomes = {
  not_found: ["warn", t("found nothing", "không tìm thấy gì")],
  refused: ["warn", t("refused", "bị từ chối")],
  failed: ["bad", t("failed", "thất bại")],
  interrupted: ["warn", t("interrupted", "bị ngắt")],
  unapproved: ["warn", t("not approved", "không được duyệt")],
  emergency: ["bad", t("emergency", "khẩn cấp")],
  done: ["good", t("answered", "đã trả lời")],
};

// outcomeBadge returns the badge of an outcome.
export function outcomeBadge(name) {
  const [kind, text] = outcomes[name] ?? ["", name];
  return name ? badge(text, kind) : "";
}

// markBadge returns the badge of a mark, "" without one.
export const markBadge = (mark) => ({ up: badge(t("right", "đúng"), "good"), down: badge(t("wrong", "sai"), "bad") })[mark] ?? "";

const noText = () => el("em", {}, t("The text of a refused question is not kept.", "Nội dung câu hỏi bị từ chối không được giữ."));

function turnRow(turn, linkTo) {
  return el("li", {}, el("a", linkTo(turn.id),
    el("span", { className: "row" }, outcomeBadge(turn.outcome), el("span", { className: "mark" }, markBadge(turn.mark))),
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
  return el("ul", { className: "rows gaps" }, groups.map((group) => el("li", {},
    el("h3", {}, group.words.length ? group.words.join(" ") : t("Refused questions, whose text is not kept", "Câu hỏi bị từ chối, nội dung không được giữ")),
    el("p", { className: "row" }, badge(group.count === 1 ? t("asked once", "hỏi 1 lần") : t(`asked ${number(group.count)} times`, `hỏi ${number(group.count)} lần`), "warn"),
      el("small", {}, [group.assistant, group.reason && reason(group.reason), t(`last ${when(group.last)}`, `lần cuối ${when(group.last)}`)].filter(Boolean).join(" · "))),
    group.examples.length ? el("ul", {}, group.examples.map((e) => el("li", {}, el("a", linkTo(e.turn), e.question)))) : "")));
}
