// The panel next to an answer: why each tool was called or not. The page loads this module when the
// first panel is opened.

import { api, el, icon, t } from "/static/app.js";
import { offers } from "/static/again.js";
import { explanation, summary } from "/static/trace.js";

let close = () => null; // closes the open panel

// style loads the look of a trace; the panel waits for it.
const style = new Promise((done) => {
  document.head.append(el("link", { rel: "stylesheet", href: "/static/trace.css", on: { load: done, error: done } }));
});

// explain opens the panel of a turn; from is the element that gets the focus back.
export async function explain(turn, from) {
  close();
  await style;
  const body = el("div", { className: "inside" }, el("p", { className: "quiet" }, t("Loading…", "Đang tải…")));
  const shut = el("button", { type: "button", className: "plain square", "aria-label": t("Close", "Đóng"), on: { click: () => close() } }, icon("close"));
  const panel = el("aside", { id: "why", className: "reasons", "aria-labelledby": "why-title" }, el("header", {}, el("h2", { id: "why-title" }, t("Why this answer?", "Vì sao trả lời vậy?")), shut), body);
  const shell = document.querySelector(".stage").parentElement;
  const byKey = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.target.closest?.(".others[open]")) return;
    event.preventDefault();
    close();
  };
  close = () => {
    panel.remove();
    shell.classList.remove("explains");
    document.removeEventListener("keydown", byKey, true);
    close = () => null;
    if (from.isConnected) from.focus();
  };
  document.addEventListener("keydown", byKey, true);
  shell.append(panel);
  shell.classList.add("explains");
  shut.focus();
  try {
    const trace = await api(`/v1/turns/${encodeURIComponent(turn)}`);
    const page = `/turn?id=${encodeURIComponent(turn)}`;
    const { actions, without } = await offers(trace, `${page}#make-test`);
    body.replaceChildren(summary(trace, actions, true), ...explanation(trace, without), el("p", {}, el("a", { href: page }, t("The whole trace", "Toàn bộ dấu vết"))));
  } catch (err) {
    body.replaceChildren(el("p", { className: "note bad", role: "alert" }, err.status === 404 ? t("Nothing is stored of this turn.", "Không có gì được lưu về lượt này.") : err.message));
  }
}

addEventListener("again", () => close()); // the new answer is what the reader wants to see
