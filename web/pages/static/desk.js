// The desk: the turns of all people, the questions that nobody could answer, and the steps that put
// a wrong answer right. The address holds what is shown, so that it can be kept and sent.

import { $, allows, api, el, me, t } from "/static/app.js";
import { gapList, outcomes, turnList } from "/static/desk_queue.js";
import { showTurn } from "/static/desk_turn.js";
import { fill, frame, note } from "/static/pages.js";

const filters = {
  outcome: [["", t("any", "bất kỳ")], ...Object.entries(outcomes).map(([name, [, words]]) => [name, words])],
  assistant: [["", t("any", "bất kỳ")]],
  marked: [["", t("any or none", "có hoặc không")], ["any", t("marked", "đã đánh dấu")], ["bad", t("wrong", "sai")], ["good", t("right", "đúng")]],
  since: [["1d", t("1 day", "1 ngày")], ["7d", t("7 days", "7 ngày")], ["30d", t("30 days", "30 ngày")], ["", t("ever", "từ đầu")]],
};
const defaults = { since: "30d" };

const here = () => new URLSearchParams(location.search);
const valueOf = (query, name) => query.get(name) ?? defaults[name] ?? "";
const isGaps = (query) => query.get("view") === "gaps";

// addressOf returns the address of the desk with some parts of the present one changed; null removes
// a part.
function addressOf(changes) {
  const query = here();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  return `/desk${query.size ? "?" : ""}${query}`;
}

// --- the filters -------------------------------------------------------------------------------

const options = (all) => all.map(([value, words]) => el("option", { value }, words));

// setFilters shows the values of the address in the form.
function setFilters(query) {
  for (const [name, all] of Object.entries(filters)) {
    const value = valueOf(query, name);
    const select = $(name);
    select.replaceChildren(...options(all.some(([v]) => v === value) ? all : [...all, [value, value]]));
    select.value = value;
  }
  for (const field of document.querySelectorAll('#filters [data-for="turns"]')) field.hidden = isGaps(query);
  for (const a of document.querySelectorAll(".views a")) {
    if ((a.dataset.view === "gaps") === isGaps(query)) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  }
}

// chosen returns the parts of the address for the values of the form; defaults are left out.
function chosen() {
  const parts = { turn: null };
  for (const name of Object.keys(filters)) parts[name] = $(name).value === (defaults[name] ?? "") ? null : $(name).value;
  return parts;
}

// --- what is shown -----------------------------------------------------------------------------

let listed = ""; // the filters of the list that is shown
let open = null; // the turn that is shown

// show shows what the address names. Whoever comes back from a turn stands at its row in the list.
function show() {
  const query = here();
  setFilters(query);
  const turn = query.get("turn");
  const left = turn ? null : open;
  open = turn;
  $("review").classList.toggle("open", Boolean(turn));
  showList(query, turn);
  if (turn) showTurn($("turn"), turn, { back: addressOf({ turn: null }), changed: (tags) => markRow(turn, tags) });
  else $("turn").replaceChildren(el("p", { className: "none" }, t("Choose a question to see its answer, why it came about, and what you can do about it.", "Chọn một câu hỏi để xem câu trả lời, vì sao có câu trả lời đó, và bạn có thể làm gì.")));
  rowOf(left)?.focus();
}

function showList(query, turn) {
  const want = new URLSearchParams();
  for (const name of isGaps(query) ? ["since"] : Object.keys(filters)) {
    if (valueOf(query, name)) want.set(name, valueOf(query, name));
  }
  const key = `${isGaps(query)}?${want}`;
  if (key === listed) return markCurrent(turn);
  listed = key;
  $("list-title").textContent = isGaps(query) ? t("Questions that nobody could answer", "Câu hỏi chưa ai trả lời được") : t("Questions", "Câu hỏi");
  $("rows").replaceChildren();
  const load = isGaps(query) ? () => api(`/v1/turns/gaps?${want}`) : () => api(`/v1/turns?${want}`);
  const more = (after) => api(`/v1/turns?${new URLSearchParams({ ...Object.fromEntries(want), after })}`);
  return fill($("rows"), load, (all) => {
    if (key !== listed) return [...$("rows").childNodes]; // a later request is shown
    return isGaps(query) ? gapList(all.data, linkTo) : turnList(all, linkTo, more);
  }).then(() => markCurrent(here().get("turn")));
}

// linkTo returns the properties of a link to a turn; the list stays as it is.
const linkTo = (id) => ({ href: addressOf({ turn: id }), "data-turn": id });

const rowOf = (turn) => document.querySelector(`#rows a[data-turn="${CSS.escape(turn ?? "")}"]`);

function markCurrent(turn) {
  for (const a of document.querySelectorAll("#rows a[data-turn]")) {
    a.href = addressOf({ turn: a.dataset.turn });
    if (a.dataset.turn === turn) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  }
  rowOf(turn)?.scrollIntoView({ block: "nearest" });
}

// markRow shows new tags in the row of a turn.
function markRow(turn, tags) {
  for (const a of document.querySelectorAll("#rows a[data-turn]")) {
    if (a.dataset.turn === turn) a.querySelector(".mark")?.replaceChildren(...tags);
  }
}

// go shows another address of the desk without loading the page again.
function go(address, focus) {
  history.pushState(null, "", address);
  show();
  if (here().get("turn")) {
    $("turn").scrollIntoView(); // beside it the list shows its row
    $(focus)?.focus({ preventScroll: true });
  } else if (!document.activeElement?.dataset.turn) { // not at the row that one came from
    $(focus)?.focus();
  }
}

// follow handles clicks on links within the desk, unless they open another tab.
function follow(event) {
  const a = event.target.closest?.("a[href]");
  if (!a || a.pathname !== "/desk" || a.closest(".side") || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  go(a.href, a.dataset.turn ? "turn-title" : "list-title");
}

async function begin() {
  const who = await me();
  const reviews = !who || allows(who, "review");
  $("review").hidden = !reviews;
  if (who?.desk) {
    $("handovers").hidden = false;
    const { showHandovers } = await import("/static/desk_handovers.js");
    showHandovers($("handovers"));
  }
  if (who?.approver) {
    $("approvals").hidden = false;
    const { showApprovals } = await import("/static/desk_approvals.js");
    showApprovals($("approvals"));
  }
  if (!reviews) {
    if (!who.approver) $("main").append(note(t("You may not read the turns of others. Ask for the scope review.", "Bạn không được đọc lượt của người khác. Hãy xin quyền review.")));
    return;
  }
  const models = await api("/v1/models").catch(() => ({ data: [] }));
  filters.assistant.push(...models.data.map(({ id }) => [id, id]));
  for (const name of Object.keys(filters)) $(name).addEventListener("change", () => go(addressOf(chosen()), name));
  $("filters").addEventListener("submit", (event) => {
    event.preventDefault();
    listed = "";
    go(addressOf(chosen()), "list-title");
  });
  document.addEventListener("click", follow);
  addEventListener("popstate", show);
  show();
}

frame(t("Desk", "Rà soát"));
await begin();
