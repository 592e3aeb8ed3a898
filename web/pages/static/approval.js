// The question to a person about a call, and the note for whom others decide. The page loads this module when
// the first call asks.

import { api, covers, el, icon, language, nameOf, t } from "/static/app.js";
import { pretty, toEnd, waitsFor } from "/static/view.js";

// editable returns arguments as JSON in which the characters that the host has written out, as they
// cannot be seen or look like others, are escapes.
function editable(ask) {
  const strange = new Set([...(ask.shown ?? "").matchAll(/‹U\+([0-9A-F]{4,6})›/g)].map((m) => String.fromCodePoint(parseInt(m[1], 16))).filter((c) => c > "\x7f"));
  return [...pretty(ask.arguments)].map((c) => (strange.has(c) ? c.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("") : c)).join("");
}

const shortArguments = 400; // characters of arguments that are shown at first

// waitingCard shows who decides about a call, where the person who asks may not.
function waitingCard(ask) {
  const until = new Date(ask.expires).toLocaleTimeString(language, { timeStyle: "short" });
  const card = el("section", { className: "approval elsewhere", "aria-label": t("Approval", "Chấp thuận") },
    el("h3", {}, icon("clock"), t(`Waiting for ${waitsFor(ask)}`, `Đang chờ ${waitsFor(ask)}`)),
    el("p", { className: "asked" }, ask.question.what),
    el("p", {}, ask.question.why),
    el("p", {}, ask.question.where, t(` This answer waits until ${until}; after that the request stays open for a day, and your next yes runs it once it is approved.`,
      ` Câu trả lời này chờ đến ${until}; sau đó yêu cầu còn mở trong một ngày, và lời đồng ý tiếp theo của bạn sẽ thực hiện khi đã được chấp thuận.`)));
  card.dataset.call = ask.call_id;
  return card;
}

// approvalCard returns a form in which a person decides about a call, once: what would happen, why it
// asks, where it goes, and the arguments, which are folded if they are long. A fault is shown in it;
// the decision replaces it.
export function approvalCard(ask) {
  if (waitsFor(ask)) return waitingCard(ask);
  const label = t("Arguments", "Tham số");
  const given = editable(ask);
  const tool = nameOf(ask.tool);
  const until = new Date(ask.expires).toLocaleTimeString(language, { timeStyle: "short" });
  const editor = el("textarea", { value: given, rows: Math.min(14, given.split("\n").length), spellcheck: false, "aria-label": label });
  const fault = el("p", { className: "note bad", hidden: true, role: "alert" });
  const wide = (ask.destinations?.length ?? 0) > 1 && el("select", { "aria-label": t("What you would allow", "Điều bạn sẽ cho phép") },
    ask.destinations.map((d) => el("option", { value: d.id }, covers({ ...d, tool: ask.tool }))));
  const chosen = () => ({ ...(ask.destinations?.find((d) => d.id === wide?.value) ?? ask.destinations?.[0]), tool: ask.tool });
  const decide = async (decision, scope = "once") => {
    const body = decision === "approve" ? { token: ask.token, decision, scope } : { token: ask.token, decision };
    if (scope !== "once" && wide) body.destination = wide.value;
    if (decision === "approve" && editor.value !== given) {
      try {
        body.arguments = JSON.parse(editor.value);
      } catch {
        fault.textContent = t("The arguments are no valid JSON. Correct them, then approve.", "Tham số không phải JSON hợp lệ. Hãy sửa rồi chấp thuận.");
        fault.hidden = false;
        folded.open = true;
        return;
      }
    }
    for (const b of card.querySelectorAll("button")) b.disabled = true;
    card.dataset.answered = "here"; // keeps the card: the call's result may come before the answer to this request
    try {
      await api(`/v1/approvals/${encodeURIComponent(ask.id)}`, { method: "POST", body });
      if (body.arguments) card.dispatchEvent(new CustomEvent("changed", { detail: body.arguments }));
      const note = settle(decision !== "approve" ? t(`You refused ${tool}.`, `Bạn đã từ chối ${tool}.`)
        : scope === "once" ? t(`You approved ${tool} once.`, `Bạn đã chấp thuận ${tool} một lần.`)
          : scope === "always" ? t(`Always allowed: ${covers(chosen())}.`, `Luôn cho phép: ${covers(chosen())}.`)
            : t(`Allowed in this conversation: ${covers(chosen())}.`, `Cho phép trong cuộc trò chuyện này: ${covers(chosen())}.`));
      if (scope !== "once") import("/static/grants.js").then(({ addTakeBack }) => addTakeBack(note, chosen())).catch(() => null);
    } catch (err) {
      if ([404, 409, 410].includes(err.status)) return settle(err.message);
      fault.textContent = err.message;
      fault.hidden = false;
      delete card.dataset.answered;
      for (const b of card.querySelectorAll("button")) b.disabled = false;
    }
  };
  const settle = (words) => {
    const note = el("p", { className: "note", tabIndex: -1 }, words);
    card.dispatchEvent(new CustomEvent("decided"));
    card.replaceWith(note);
    note.focus({ preventScroll: true });
    toEnd();
    return note;
  };
  const beyond = (ask.scopes?.length ?? 0) > 1 && [
    el("button", { type: "button", on: { click: () => decide("approve", "conversation") } }, t("In this conversation", "Trong cuộc trò chuyện này")),
    ask.scopes.includes("always") && el("button", { type: "button", on: { click: () => decide("approve", "always") } }, t("Always", "Luôn luôn"))].filter(Boolean);
  if (beyond) editor.addEventListener("input", () => beyond.forEach((b) => { b.hidden = editor.value !== given; }));
  const folded = el("details", { open: given.length <= shortArguments }, el("summary", {}, t(`Exactly: ${ask.tool}`, `Chính xác: ${ask.tool}`)), editor);
  const card = el("section", { className: "approval", "aria-label": t("Approval", "Chấp thuận") },
    el("h3", {}, icon("hand"), ask.unsure ? t("Was this done?", "Việc này đã được thực hiện chưa?") : t("May this be done?", "Cho phép việc này?")),
    el("p", { className: "asked" }, ask.question.what),
    el("p", {}, ask.question.why),
    el("p", {}, ask.question.where, t(` Without an answer until ${until} it counts as refused.`, ` Không trả lời trước ${until} nghĩa là từ chối.`)),
    folded, fault,
    beyond && el("p", {}, t("Beyond this call you would allow: ", "Ngoài lần gọi này, bạn sẽ cho phép: "), wide || el("strong", {}, covers(chosen()))),
    beyond && el("div", { className: "row beyond" }, beyond),
    el("div", { className: "row" },
      el("button", { type: "button", className: "primary", on: { click: () => decide("approve") } }, ask.unsure ? t("No: run it again", "Chưa: chạy lại") : t("Approve once", "Chấp thuận một lần")),
      el("button", { type: "button", on: { click: () => decide("refuse") } }, ask.unsure ? t("It was done, or is not wanted", "Đã xong, hoặc không cần nữa") : t("Refuse", "Từ chối"))));
  card.dataset.call = ask.call_id;
  return card;
}
