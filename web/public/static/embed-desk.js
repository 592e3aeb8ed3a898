// The hand-over to a person: its offer, the form, what is true of it now, and what the desk writes.

import { $, Problem, announce, asVisitor, button, el, icon, note, reasons, send, settings, t, takeNews, watched } from "/embed/static/embed-chat.js";

let now = null; // the hand-over as the server told it
let timer = 0;

// active reports whether somebody may still answer.
const active = (handover = now) => ["sending", "delivered", "answered"].includes(handover?.state);

// show shows what is true of the hand-over.
export function show(handover) {
  const before = now;
  now = handover ?? { on: false };
  if (!now.state && active(before)) now = { ...now, state: "closed", text: t("Your request is closed. The assistant answers you again.", "Yêu cầu của bạn đã đóng. Trợ lý lại trả lời bạn.") };
  const bar = $("desk");
  const over = !now.state;
  $("person").hidden = !now.on || active() || Boolean($("form"));
  const focused = bar.contains(document.activeElement);
  if (before?.state !== now.state || before?.text !== now.text) {
    bar.className = `bar ${now.state ?? ""}`;
    bar.replaceChildren(...over ? [] : content());
    if (!over) announce([now.text, now.state === "failed" && now.fallback].filter(Boolean).join(" "));
    if (focused) $("text").focus();
  }
  bar.hidden = over;
  schedule();
}

function content() {
  const steps = [];
  if (active()) steps.push(button(now.callback ? t("Withdraw the request", "Rút yêu cầu") : t("Go on with the assistant", "Tiếp tục với trợ lý"), leave));
  if (now.state === "failed") steps.push(button([icon("again"), t("Try again", "Thử lại")], () => openForm("button")));
  if (now.state === "closed") steps.push(button(t("Close", "Đóng"), () => show({ ...now, state: "", text: "" })));
  return [el("p", {}, now.text), now.state === "failed" && now.fallback && el("p", {}, now.fallback), steps.length > 0 && el("div", { className: "row" }, steps)].filter(Boolean);
}

// forget shows that there is no hand-over, as there is no conversation any more.
export function forget() {
  $("form")?.remove();
  now = null;
  show({ on: settings.desk });
}

async function leave() {
  try {
    await send("handover", { method: "DELETE" });
    await refresh();
  } catch (err) {
    $("desk").append(note(reasons(err)));
  }
}

// refresh asks for news: often while somebody may answer, less when nobody looks.
export async function refresh() {
  clearTimeout(timer);
  try {
    const { messages, handover } = await (await send(`news?after=${takeNews()}`)).json();
    takeNews(messages);
    show(handover);
  } catch {
    schedule(15_000);
  }
}

function schedule(pause = document.hidden || !watched || now.callback && now.state === "delivered" ? 15_000 : 3000) {
  clearTimeout(timer);
  if (active()) timer = setTimeout(refresh, pause);
}

document.addEventListener("visibilitychange", () => { if (!document.hidden && active()) refresh(); });

// offer shows the offer of a hand-over below an answer.
export function offer(reason) {
  document.querySelector(".offer")?.remove();
  if (active() || !settings.desk) return;
  const words = reason === "not_found" ? t("I found nothing on this. Would you like somebody of the staff to answer?", "Tôi chưa tìm được thông tin về việc này. Bạn có muốn nhân viên trả lời không?") : t("Would you like to write to somebody of the staff?", "Bạn có muốn nhắn cho nhân viên không?");
  const card = el("section", { className: "message card offer", "aria-label": t("Staff", "Nhân viên") }, el("p", {}, words),
    el("div", { className: "row" }, button([icon("person"), t("Talk to a person", "Gặp nhân viên")], () => openForm(reason), "primary"), button(t("No, thank you", "Không, cảm ơn"), () => {
      card.remove();
      $("text").focus();
    })));
  $("messages").append(card);
  card.scrollIntoView({ block: "nearest" });
  announce(words);
}

// The fields of the form, by the names of the settings.
const fields = {
  name: () => ({ label: t("Name", "Họ tên"), autocomplete: "name" }),
  phone: () => ({ label: t("Phone number", "Số điện thoại"), autocomplete: "tel", type: "tel" }),
  email: () => ({ label: t("E-mail", "Email"), autocomplete: "email", type: "email" }),
};

function field(name, required) {
  const { label, ...props } = fields[name]();
  return [el("label", { for: `form-${name}` }, label, !required && el("span", { className: "quiet" }, t(" (optional)", " (không bắt buộc)"))),
    el("input", { id: `form-${name}`, name, required, maxLength: 200, ...props })];
}

// openForm asks for what the desk needs to know, instead of the form for questions.
export async function openForm(reason) {
  if ($("form")) return $("form").querySelector("input").focus();
  try {
    show((await (await asVisitor(() => send("conversation"))).json()).handover);
  } catch (err) {
    return $("messages").append(note(reasons(err)));
  }
  if (!now.on || active()) return;
  const ask = now.ask ?? [];
  const closed = now.open === false;
  const tick = el("input", { type: "checkbox", required: true, id: "form-agree" });
  const submit = el("button", { type: "submit", className: "primary" }, t("Send the request", "Gửi yêu cầu"));
  const form = el("form", { id: "form", "aria-labelledby": "form-title", submit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    form.querySelector(".note")?.remove();
    try {
      const contact = Object.fromEntries(ask.map((name) => [name, form.elements[name].value.trim()]));
      const response = await asVisitor(() => send("handover", { method: "POST", body: { consent: true, reason, contact, lang: document.documentElement.lang } }));
      const told = await response.json();
      close();
      show(told);
    } catch (err) {
      form.append(note(err instanceof Problem ? reasons(err) : [t("That did not work. Please try again.", "Chưa thực hiện được. Bạn vui lòng thử lại.")]));
    }
    submit.disabled = false;
  } },
  el("h2", { id: "form-title" }, t("Talk to a person", "Gặp nhân viên")),
  closed && el("p", { className: "quiet" }, now.state ? "" : now.text, " ", t("Leave a number, and they can call you back.", "Hãy để lại số để được gọi lại.")),
  closed && now.fallback && el("p", { className: "quiet" }, now.fallback),
  ...ask.flatMap((name) => field(name, closed && name === (ask.includes("phone") ? "phone" : "email"))),
  el("label", { className: "tick" }, tick, el("span", {}, t("I agree that this and the last messages of the conversation go to the staff.", "Tôi đồng ý gửi thông tin này và các tin nhắn gần nhất của cuộc trò chuyện cho nhân viên."))),
  el("div", { className: "row" }, submit, button(t("Cancel", "Huỷ"), () => close())));
  const close = () => {
    form.remove();
    $("ask").hidden = $("under").hidden = false;
    $("person").hidden = !now.on || active();
    $("text").focus();
  };
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  });
  document.querySelector(".offer")?.remove();
  $("ask").hidden = $("under").hidden = true;
  $("foot").append(form);
  form.querySelector("input").focus();
}
