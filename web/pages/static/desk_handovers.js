// The people who asked for somebody at the desk, and what they and the desk write, on the desk.

import { api, el, language, t, when } from "/static/app.js";
import { badge, facts, say as announce, words } from "/static/pages.js";

const lookAgain = 5000; // ms

const states = {
  sending: ["warn", t("being sent to the inbox", "đang gửi đến hộp thư")],
  delivered: ["warn", t("waits for an answer", "đang chờ trả lời")],
  answered: ["good", t("answered", "đã trả lời")],
  failed: ["bad", t("the inbox did not take it", "hộp thư không nhận được")],
  closed: ["", t("ended", "đã kết thúc")],
};
const reasons = {
  button: t("pressed the button", "đã bấm nút"), words: t("asked in their own words", "hỏi bằng lời của mình"), not_found: t("two answers found nothing", "hai lần không tìm thấy câu trả lời"),
};
const authors = { visitor: t("The person", "Người hỏi"), assistant: t("The assistant", "Trợ lý"), desk: t("The desk", "Nhân viên") };
const fields = { name: t("Name", "Tên"), phone: t("Telephone", "Điện thoại"), email: t("Email", "Email") };
const languages = new Intl.DisplayNames([language], { type: "language" });

const pathOf = (h) => `/v1/conversations/${encodeURIComponent(h.conversation_id)}/messages`;
const stateOf = (h) => badge(states[h.state]?.[1] ?? h.state, states[h.state]?.[0]);

// newKey returns a key for a message, so that one that is sent again is written once.
const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");

// row returns who waits, as a button that opens what they wrote.
function row(h, open) {
  const since = el("span", {}, t(`since ${when(h.created_at)}`, `từ ${when(h.created_at)}`));
  return el("li", {}, el("button", { type: "button", "data-handover": h.id, on: { click: () => open(h) } },
    el("span", { className: "row" }, stateOf(h), h.callback && badge(t("to be called back", "cần gọi lại"))),
    since, el("small", {}, [h.assistant, reasons[h.reason]].filter(Boolean).join(" · "))));
}

const messageOf = (m) => el("div", { className: m.by, "data-seq": m.seq }, el("small", {}, `${authors[m.by] ?? m.by} · ${when(m.at)}`), el("p", { className: "told" }, m.text));

// thread returns the box of one hand-over: how to reach the person, what was written, and a form to answer.
// changed is called when the desk has changed its state. look reads what is new.
function thread(h, changed) {
  const list = el("div", { className: "thread", role: "log", tabIndex: 0, "aria-label": t("What was written", "Nội dung trao đổi") });
  const contact = el("div");
  const state = el("p", { className: "row" });
  const fault = el("p", { className: "note bad", role: "alert", hidden: true });
  const text = el("textarea", { id: "desk-answer", rows: 3, maxLength: 10000 });
  const send = el("button", { type: "submit", className: "primary" }, t("Send", "Gửi"));
  const end = el("button", { type: "button", on: { click: () => act({ text: text.value.trim() || undefined, close: true }) } }, t("End the conversation", "Kết thúc cuộc trò chuyện"));
  const form = el("form", { on: { submit: (event) => {
    event.preventDefault();
    if (text.value.trim()) act({ text: text.value.trim() });
    else text.focus();
  } } },
  el("div", { className: "field" }, el("label", { for: text.id }, t("Your answer, which the person reads at once", "Câu trả lời của bạn, người hỏi đọc được ngay")), text),
  el("p", { className: "quiet" }, t("No model answers the person from your answer on until you end the conversation.", "Từ khi bạn trả lời đến khi bạn kết thúc, không mô hình nào trả lời người hỏi.")),
  el("div", { className: "row" }, send, end));
  let last = 0; // the seq of the last message that is shown
  let key = newKey();
  let draft = ""; // the message that the key is for

  const show = (now) => {
    h = { ...h, ...now };
    state.replaceChildren(stateOf(h), h.callback ? badge(t("to be called back", "cần gọi lại")) : "");
    form.hidden = h.state === "closed";
  };
  const fail = (err) => {
    if (err?.code === "handover_closed") show({ state: "closed" });
    fault.textContent = !err ? "" : err.code === "handover_closed" ? t("The conversation has ended: the person talks with the assistant again. Nothing was written.", "Cuộc trò chuyện đã kết thúc: người hỏi lại nói chuyện với trợ lý. Tin của bạn chưa được gửi.") : words(err);
    fault.hidden = !err;
  };
  const look = async () => {
    try {
      const { data, handover } = await api(`${pathOf(h)}?after=${last}`);
      if (handover.id !== h.id) return show({ state: "closed" }); // they have asked again
      if (last === 0) {
        contact.replaceChildren(facts([...Object.entries(handover.contact ?? {}).map(([name, value]) => [fields[name] ?? name, value]),
          [t("Language", "Ngôn ngữ"), h.language && languages.of(h.language)], [t("Why", "Lý do"), reasons[h.reason]]]));
      }
      const fresh = data.filter((m) => m.seq > last); // another look may have been faster
      const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
      list.append(...fresh.map(messageOf));
      last = Math.max(last, ...fresh.map((m) => m.seq));
      if (fresh.length && atEnd) list.scrollTop = list.scrollHeight;
      show(handover);
      fail(null);
    } catch (err) {
      fail(err);
    }
  };
  const act = async (body) => {
    send.disabled = end.disabled = true;
    const now = JSON.stringify(body);
    if (now !== draft) [draft, key] = [now, newKey()];
    try {
      await api(pathOf(h), { method: "POST", body, headers: { "Idempotency-Key": key } });
      draft = text.value = "";
      announce(body.close ? t("The conversation is ended.", "Cuộc trò chuyện đã kết thúc.") : t("Sent.", "Đã gửi."));
      await look();
      changed();
      (form.hidden ? list : text).focus();
    } catch (err) {
      fail(err);
    } finally {
      send.disabled = end.disabled = false;
    }
  };
  show(h);
  look();
  return { box: el("article", { className: "card pad", "aria-label": t("The conversation", "Cuộc trò chuyện") }, state, contact, list, fault, form), look, id: () => h.id };
}

// showHandovers keeps the list of those who wait up to date while the page is open, and the conversation that
// is chosen, whose id the address may have after #handovers/.
export function showHandovers(root) {
  const title = el("h2", { id: "handovers-title", tabIndex: -1 }, t("People who ask for somebody", "Người cần gặp nhân viên"));
  const none = el("p", { className: "quiet" }, t("Nobody waits.", "Không ai đang chờ."));
  const fault = el("p", { className: "note bad", role: "alert", hidden: true });
  const list = el("ul", { className: "rows" });
  const chosen = el("div");
  root.replaceChildren(title, fault, none, el("div", { className: "benches" }, list, chosen));
  root.setAttribute("aria-labelledby", title.id);
  let all = null; // those that are listed
  let open = null;

  const mark = () => {
    for (const b of list.querySelectorAll("button")) {
      if (b.dataset.handover === open?.id()) b.setAttribute("aria-current", "true");
      else b.removeAttribute("aria-current");
    }
  };
  const choose = (h) => {
    history.replaceState(null, "", `#handovers/${h.id}`);
    open = thread(h, look);
    chosen.replaceChildren(open.box);
    mark();
    chosen.querySelector("textarea").focus();
  };
  const draw = (data) => {
    const waits = (h) => h.state !== "answered";
    data.sort((a, b) => waits(b) - waits(a) || Date.parse(a.created_at) - Date.parse(b.created_at)); // who waits longest comes first
    const key = JSON.stringify(data);
    if (all && key === JSON.stringify(all)) return;
    const fresh = all ? data.filter((h) => !all.some((old) => old.id === h.id)) : [];
    const at = list.contains(document.activeElement) ? document.activeElement.dataset.handover : null;
    all = data;
    list.replaceChildren(...data.map((h) => row(h, choose)));
    if (at) (list.querySelector(`[data-handover="${CSS.escape(at)}"]`) ?? title).focus();
    none.hidden = data.length > 0;
    title.textContent = t("People who ask for somebody", "Người cần gặp nhân viên") + (data.length ? ` (${data.length})` : "");
    if (fresh.length) announce(t("Somebody asks for the desk.", "Có người cần gặp nhân viên."));
    mark();
  };
  const look = async () => {
    if (document.hidden) return;
    try {
      draw((await api("/v1/handovers?limit=200")).data);
      fault.hidden = true;
    } catch (err) {
      fault.textContent = words(err);
      fault.hidden = false;
    }
  };
  const fromAddress = async () => {
    const [, id] = location.hash.match(/^#handovers\/([\w-]+)$/) ?? [];
    if (!id || open?.id() === id) return;
    const h = all?.find((one) => one.id === id) ?? (await api("/v1/handovers?state=all&limit=200").catch(() => ({ data: [] }))).data.find((one) => one.id === id);
    if (h) choose(h);
    else chosen.replaceChildren(el("p", { className: "none" }, t("This conversation is not there any more.", "Cuộc trò chuyện này không còn nữa.")));
    root.scrollIntoView();
  };
  look().then(fromAddress);
  setInterval(() => {
    look();
    if (!document.hidden) open?.look();
  }, lookAgain);
  document.addEventListener("visibilitychange", look);
  addEventListener("hashchange", fromAddress);
}
