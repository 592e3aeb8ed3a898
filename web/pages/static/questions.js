// The questions, progress and log lines of servers while a tool runs.

import { api, el, icon, language, t } from "/static/app.js";
import { formFor } from "/static/toolform.js";

// isHere reports whether an address is on the person's own computer, where other programs listen.
function isHere(url) {
  try {
    const host = new URL(url).hostname;
    return host === "localhost" || host.endsWith(".localhost") || /^(127\.|0\.)/.test(host) || host === "[::1]" || host === "[::]" || host.startsWith("[::ffff:7f");
  } catch {
    return true;
  }
}

// loginCard returns a card that leads to the login at a server, in another tab: the call that waits for
// it goes on by itself, and its result removes the card.
function loginCard(ask) {
  const said = el("p", { className: "note", role: "status" });
  const open = () => { said.textContent = t("Log in on the page that was opened. The answer goes on by itself after that.", "Hãy đăng nhập ở trang vừa mở. Sau đó câu trả lời tự tiếp tục."); };
  const decline = async (event) => {
    event.target.disabled = true;
    try {
      await api(`/v1/questions/${encodeURIComponent(ask.id)}`, { method: "POST", body: { action: "decline" } });
    } catch (err) {
      said.textContent = err.message;
    }
  };
  const card = el("section", { className: "approval question", "aria-label": t("Login", "Đăng nhập") },
    el("h3", {}, icon("ask"), t(`Connect to “${ask.server}”`, `Kết nối với “${ask.server}”`)),
    el("p", {}, t("The answer needs this service, and it knows you only after you log in there. You can end the connection on your account page.",
      "Câu trả lời cần dịch vụ này, và dịch vụ chỉ biết bạn sau khi bạn đăng nhập ở đó. Bạn có thể ngắt kết nối ở trang tài khoản.")),
    el("div", { className: "row" },
      el("a", { className: "button primary", href: `/v1/logins/${encodeURIComponent(ask.server)}/begin`, target: "_blank", rel: "noopener", on: { click: open } }, t("Log in", "Đăng nhập")),
      el("button", { type: "button", on: { click: decline } }, t("Not now", "Để sau"))),
    said);
  card.dataset.server = ask.server;
  return card;
}

// questionCard returns a form with a server's question, which can be answered once. The server's
// message is set as text.
export function questionCard(ask) {
  if (ask.login) return loginCard(ask);
  const until = new Date(ask.expires).toLocaleTimeString(language, { timeStyle: "short" });
  const fault = el("p", { className: "note bad", hidden: true, role: "alert" });
  const form = ask.url ? null : formFor(ask.schema ?? {}, ask.id, t("Nothing is to be filled in.", "Không cần điền gì."), true);
  const buttons = () => card.querySelectorAll("button");
  const settle = (words) => {
    const text = el("p", { className: "note", tabIndex: -1 }, words);
    card.replaceWith(text);
    text.focus({ preventScroll: true });
  };
  const answer = async (action, content) => {
    for (const b of buttons()) b.disabled = true;
    card.dataset.answered = ""; // keeps the card until the outcome replaces it, even if its call ends first
    try {
      await api(`/v1/questions/${encodeURIComponent(ask.id)}`, { method: "POST", body: { action, content } });
      settle(action === "accept" ? t(`You answered “${ask.server}”.`, `Bạn đã trả lời “${ask.server}”.`) : t(`You did not answer “${ask.server}”.`, `Bạn không trả lời “${ask.server}”.`));
    } catch (err) {
      if ([404, 409].includes(err.status)) return settle(err.message);
      fault.textContent = err.message;
      fault.hidden = false;
      delete card.dataset.answered;
      for (const b of buttons()) b.disabled = false;
    }
  };
  const accept = () => {
    if (ask.url) {
      if (!isHere(ask.url)) window.open(ask.url, "_blank", "noopener,noreferrer");
      return answer("accept");
    }
    const content = form.read();
    return content && answer("accept", content);
  };
  const card = el("section", { className: "approval question", "aria-label": t("Question", "Câu hỏi") },
    el("h3", {}, icon("ask"), t(`“${ask.server}” asks`, `“${ask.server}” hỏi`)),
    el("p", { className: "asked" }, ask.message),
    ask.url ? el("p", {}, t("It wants you to open this address: ", "Máy chủ muốn bạn mở địa chỉ này: "), el("code", {}, ask.url)) : "",
    ...(form?.elements ?? []),
    ask.url && isHere(ask.url) ? el("p", {}, t("It is on your own computer, so it is not opened from here.", "Địa chỉ này nằm trên chính máy của bạn nên không được mở từ đây.")) : "",
    el("p", {}, t(`This comes from the server, not from the assistant: give it no password, and never a key of Molar, with which no server has any business. Without an answer until ${until} it is cancelled.`,
      `Câu hỏi này do máy chủ đưa ra, không phải trợ lý: đừng cho biết mật khẩu, và đừng bao giờ đưa khóa của Molar, vì không máy chủ nào cần đến nó. Không trả lời trước ${until} nghĩa là hủy.`)),
    fault,
    el("div", { className: "row" },
      el("button", { type: "button", className: "primary", on: { click: accept } }, ask.url && isHere(ask.url) ? t("I have opened it", "Tôi đã mở") : ask.url ? t("Open it", "Mở") : t("Answer", "Trả lời")),
      el("button", { type: "button", on: { click: () => answer("decline") } }, t("Decline", "Từ chối"))));
  card.dataset.server = ask.server;
  return card;
}

// showNews shows the progress or a log line of a server on the card of its call.
export function showNews(card, news) {
  if (news.type === "progress") {
    const progress = news.total ? `${Math.round((100 * news.progress) / news.total)} %` : String(news.progress);
    card.querySelector(".time").textContent = [progress, news.text].filter(Boolean).join(" ");
    return;
  }
  const lines = card.querySelector(".lines") ?? card.querySelector(".body").appendChild(el("pre", { className: "code lines", tabIndex: 0, "aria-label": t("What the server says", "Máy chủ cho biết") }));
  const all = [...lines.textContent.split("\n").filter(Boolean), `${news.level}: ${news.text}`];
  lines.textContent = all.slice(-50).join("\n");
}
