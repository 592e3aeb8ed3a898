// The calls of others that wait for the reader's approval, on the desk.

import { api, el, language, t } from "/static/app.js";

const lookAgain = 5000; // ms

// card returns what a person decides about: who asks, what would happen, why and where, and exactly
// which call. A decision or a fault is told with say; gone is called when the call no longer waits.
function card(ask, say, gone) {
  const buttons = [["approve", t("Approve once", "Chấp thuận một lần"), "primary"], ["refuse", t("Refuse", "Từ chối"), ""]].map(([decision, words, className]) =>
    el("button", { type: "button", className, on: { click: () => decide(decision) } }, words));
  const fault = el("p", { className: "note bad", hidden: true, role: "alert" });
  const decide = async (decision) => {
    for (const b of buttons) b.disabled = true;
    try {
      await api(`/v1/approvals/${encodeURIComponent(ask.id)}`, { method: "POST", body: { token: ask.token, decision } });
      say(decision === "approve" ? t(`You approved ${ask.tool} for ${ask.person}.`, `Bạn đã chấp thuận ${ask.tool} cho ${ask.person}.`)
        : t(`You refused ${ask.tool} for ${ask.person}.`, `Bạn đã từ chối ${ask.tool} của ${ask.person}.`));
      gone();
    } catch (err) {
      if ([404, 409, 410].includes(err.status)) { // decided by another approver, or too late
        say(err.message);
        return gone();
      }
      fault.textContent = err.message;
      fault.hidden = false;
      for (const b of buttons) b.disabled = false;
    }
  };
  const until = new Date(ask.expires).toLocaleString(language, { dateStyle: "short", timeStyle: "short" });
  return el("section", { className: "approval", "aria-label": t(`Approval of ${ask.tool} for ${ask.person}`, `Chấp thuận ${ask.tool} cho ${ask.person}`) },
    el("h3", {}, t(`${ask.person} asks: may this be done?`, `${ask.person} hỏi: cho phép việc này?`)),
    el("p", { className: "asked" }, ask.question.what),
    el("p", {}, ask.question.why),
    el("p", {}, ask.question.where, t(` Open until ${until}.`, ` Còn mở đến ${until}.`)),
    el("details", {}, el("summary", {}, t(`Exactly: ${ask.tool}`, `Chính xác: ${ask.tool}`)), el("pre", {}, ask.shown)),
    ask.turn_id && el("p", {}, el("a", { href: `/turn?id=${encodeURIComponent(ask.turn_id)}` }, t("The whole turn", "Toàn bộ lượt này"))),
    fault,
    el("div", { className: "row" }, buttons));
}

// showApprovals keeps the list of waiting calls in a box up to date while the page is open. Cards stay
// in place, so that nobody presses the button of another call. The returned function ends it.
export function showApprovals(root) {
  const said = el("p", { className: "note", role: "status" });
  const none = el("p", { className: "quiet" }, t("Nothing waits for your approval.", "Không có gì chờ bạn chấp thuận."));
  const list = el("div", {});
  root.replaceChildren(said, none, list);
  const cards = new Map();
  const drop = (id) => {
    cards.get(id)?.remove();
    cards.delete(id);
    none.hidden = cards.size > 0;
  };
  const look = async () => {
    if (document.hidden) return;
    try {
      const { data } = await api("/v1/approvals?for=me");
      for (const id of [...cards.keys()]) if (!data.some((a) => a.id === id)) drop(id);
      for (const ask of data) {
        if (cards.has(ask.id)) continue;
        cards.set(ask.id, card(ask, (words) => { said.textContent = words; }, () => drop(ask.id)));
        list.append(cards.get(ask.id));
      }
      none.hidden = cards.size > 0;
    } catch (err) {
      said.textContent = err.message;
    }
  };
  look();
  const timer = setInterval(look, lookAgain);
  return () => clearInterval(timer);
}
