// The calls of others that wait for the reader's approval, on the desk.

import { api, el, language, nameOf, t } from "/static/app.js";
import { say as announce } from "/static/pages.js";

const lookAgain = 5000; // ms
const shortCall = 400; // characters of a call that are shown at first

const askerOf = (ask) => ask.person || t("Somebody", "Một người");

// card returns what a person decides about: who asks, what would happen, why and where, and exactly
// which call. gone is called with what to say when the call no longer waits.
function card(ask, gone) {
  const who = askerOf(ask);
  const tool = nameOf(ask.tool);
  const buttons = [["approve", t("Approve once", "Chấp thuận một lần"), "primary"], ["refuse", t("Refuse", "Từ chối"), ""]].map(([decision, words, className]) =>
    el("button", { type: "button", className, on: { click: () => decide(decision) } }, words));
  const fault = el("p", { className: "note bad", hidden: true, role: "alert" });
  const decide = async (decision) => {
    for (const b of buttons) b.disabled = true;
    try {
      await api(`/v1/approvals/${encodeURIComponent(ask.id)}`, { method: "POST", body: { token: ask.token, decision } });
      gone(decision === "approve" ? t(`You approved ${tool} for ${who}.`, `Bạn đã chấp thuận ${tool} cho ${who}.`)
        : t(`You refused ${tool} for ${who}.`, `Bạn đã từ chối ${tool} của ${who}.`));
    } catch (err) {
      if ([404, 409, 410].includes(err.status)) return gone(over(ask));
      fault.textContent = err.message;
      fault.hidden = false;
      for (const b of buttons) b.disabled = false;
    }
  };
  const until = new Date(ask.expires).toLocaleString(language, { dateStyle: "short", timeStyle: "short" });
  return el("section", { className: "approval", "aria-label": t(`${who} asks: ${tool}`, `${who} hỏi: ${tool}`) },
    el("h3", {}, t(`${who} asks: may this be done?`, `${who} hỏi: cho phép việc này?`)),
    el("p", { className: "asked" }, ask.question.what),
    el("p", {}, ask.question.why),
    el("p", {}, ask.question.where, t(` Open until ${until}.`, ` Còn mở đến ${until}.`)),
    el("details", { open: ask.shown.length <= shortCall }, el("summary", {}, t(`Exactly: ${ask.tool}`, `Chính xác: ${ask.tool}`)), el("pre", { className: "code", tabIndex: 0 }, ask.shown)),
    ask.turn_id && el("p", {}, el("a", { href: `/desk?turn=${encodeURIComponent(ask.turn_id)}` }, t("The whole turn", "Toàn bộ lượt này"))),
    fault,
    el("div", { className: "row" }, buttons));
}

// over returns what to say of a call that the reader did not decide about.
const over = (ask) => t(`${nameOf(ask.tool)} for ${askerOf(ask)} waits no longer: somebody else decided, or the request ended.`,
  `${nameOf(ask.tool)} của ${askerOf(ask)} không còn chờ: người khác đã quyết định, hoặc yêu cầu đã kết thúc.`);

// showApprovals keeps the list of waiting calls in a box up to date while the page is open, and their
// number in the page's title. Cards stay in place, so that nobody presses the button of another call.
export function showApprovals(root) {
  const title = el("h2", { id: "approvals-title" });
  const said = el("p", { role: "status", tabIndex: -1 });
  const none = el("p", { className: "quiet" }, t("No call waits for you.", "Không có việc nào chờ bạn."));
  const list = el("div", { className: "waiting-calls" });
  root.replaceChildren(title, said, none, list);
  root.setAttribute("aria-labelledby", title.id);
  const page = document.title;
  const cards = new Map();
  const say = (words) => {
    said.className = "note";
    said.textContent = words;
  };
  const count = () => {
    none.hidden = cards.size > 0;
    document.title = cards.size ? `(${cards.size}) ${page}` : page;
    title.textContent = t("Waiting for your approval", "Chờ bạn chấp thuận") + (cards.size ? ` (${cards.size})` : "");
  };
  const drop = (id, words, here = cards.get(id)?.contains(document.activeElement)) => {
    cards.get(id)?.remove();
    if (!cards.delete(id)) return;
    say(words);
    if (here) said.focus({ preventScroll: true });
    count();
  };
  const look = async () => {
    if (document.hidden) return;
    try {
      const { data } = await api("/v1/approvals?for=me");
      for (const [id, { ask }] of cards) if (!data.some((a) => a.id === id)) drop(id, over(ask));
      const fresh = data.filter((a) => !cards.has(a.id));
      for (const ask of fresh) {
        cards.set(ask.id, Object.assign(card(ask, (words) => drop(ask.id, words, true)), { ask }));
        list.append(cards.get(ask.id));
      }
      if (fresh.length) announce(fresh.map((ask) => t(`${askerOf(ask)} asks for ${nameOf(ask.tool)}.`, `${askerOf(ask)} hỏi ${nameOf(ask.tool)}.`)).join(" "));
      count();
    } catch (err) {
      say(err.message);
    }
  };
  count();
  look();
  setInterval(look, lookAgain);
  document.addEventListener("visibilitychange", look);
}
