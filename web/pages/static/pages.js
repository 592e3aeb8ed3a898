// Code that the pages for engineers share: the frame, the states of loading and failure, small
// elements.

import { $, api, el, storedValue, keep, number, setupPath, t } from "/static/app.js";
import { loadList, setUpFrame } from "/static/frame.js";
import { reason } from "/static/reasons.js";

// frame prepares the page: the frame around it, and its title.
export function frame(title) {
  document.title = `${title} · Molar`;
  setUpFrame();
  loadList();
}

// say sets the status text that screen readers announce.
export function say(text) {
  $("said").textContent = text;
}

// fill loads a part of the page. The box shows that it is loading, then the result or the failure
// with a button to try again. fill reports whether it succeeded.
export async function fill(box, load, render) {
  if (!box.hasChildNodes()) box.replaceChildren(el("p", { className: "quiet" }, t("Loading…", "Đang tải…")));
  try {
    box.replaceChildren(...[render(await load())].flat());
    return true;
  } catch (err) {
    const retry = el("button", { type: "button", on: { click: () => fill(box, load, render) } }, t("Try again", "Thử lại"));
    box.replaceChildren(el("div", { className: "note bad", role: "alert" }, el("p", {}, words(err)), retry));
    return false;
  }
}

// words returns the text of an error: what the reader can do, then the server's own message, then
// the faults that the server found, each on a line.
export function words(err) {
  const advice = err.code === "internal_error"
    ? t("Something failed inside the server; its store may be down. Read the log of “molar serve”, then try again.", "Có lỗi bên trong máy chủ; kho dữ liệu có thể đã ngừng. Hãy đọc nhật ký của “molar serve” rồi thử lại.")
    : err.advice ?? err.message;
  return [advice, err.detail && reason(err.detail), ...(err.body?.error?.faults ?? []).map(reason)].filter(Boolean).join("\n");
}

// --- the state of the host, polled while the page is open ---------------------------------------

const lookAgain = 3000; // ms
const watchers = []; // functions that are called with the host's state
let host = null; // the latest state

// watchHost calls a function with the host's state (see GET /v1/setup): now if it is known, and
// after each request for it.
export function watchHost(run) {
  watchers.push(run);
  if (host) run(host);
  else if (watchers.length === 1) look();
}

async function look() {
  if (!document.hidden) await lookNow();
  setTimeout(look, lookAgain);
}

// lookNow requests the host's state, and returns it.
export async function lookNow() {
  const now = await api(setupPath()).catch(() => null); // other parts of the page show that the server is unreachable
  if (now) {
    host = now;
    for (const run of watchers) run(host);
  }
  return host ?? {};
}

// fileState returns a box with the faults of the config file and the keys that need a restart; it
// is empty while there are none.
export function fileState(box = el("div", { className: "file-state" })) {
  let last = "";
  box.setAttribute("aria-live", "polite");
  watchHost(({ file = "", faults = [], needs_restart: restart = [] }) => {
    const now = JSON.stringify([faults, restart]);
    if (now === last) return;
    last = now;
    box.replaceChildren(...[
      faults.length && el("div", { className: "note bad" },
        el("p", {}, t(`There is a fault in ${file}. The last valid configuration stays in force until it is fixed:`, `Tệp ${file} có lỗi. Cấu hình đúng trước đó vẫn được dùng cho đến khi sửa xong:`)),
        el("ul", { className: "faults" }, faults.map((fault) => el("li", {}, el("code", {}, reason(fault)))))),
      restart.length && note(t(`These keys of ${file} take effect when molar is started again: ${restart.join(", ")}`, `Các khóa này trong ${file} có hiệu lực khi khởi động lại molar: ${restart.join(", ")}`), "warn"),
    ].filter(Boolean));
  });
  return box;
}

// offerBox shows in a box the assistant that may call the tools of the attached servers, while
// another one is selected.
export function offerBox(box) {
  let last = "";
  watchHost(({ offer = "" }) => {
    const now = storedValue("assistant") === offer ? "" : offer;
    if (now === last) return;
    last = now;
    box.replaceChildren(...now ? [el("div", { className: "note offer" },
      el("p", {}, t(`The assistant that answers now may not call the tools of the attached servers; ${now} may.`, `Trợ lý đang trả lời không gọi được công cụ của các máy chủ đã gắn; ${now} thì được.`)),
      askButton(now))] : []);
  });
}

// askButton returns a button that opens a new conversation with an assistant; without a name it
// opens the chat as it is.
export const askButton = (assistant) => el("button", { type: "button", className: "primary", on: { click: () => {
  if (assistant) {
    keep("assistant", assistant);
    keep("conversation", null);
  }
  location.assign("/");
} } }, assistant ? t(`Ask ${assistant}`, `Hỏi ${assistant}`) : t("Go to the chat", "Đến trang trò chuyện"));

export const badge = (text, kind = "") => el("span", { className: `badge ${kind}` }, text);

export const note = (text, kind = "", props = {}) => el("p", { className: `note ${kind}`, ...props }, text);

// duration formats milliseconds for people.
export function duration(ms) {
  if (ms === undefined || ms === null) return "";
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${number(ms)} ms`;
  return `${number(ms / 1000, ms < 10000 ? 2 : 1)} s`;
}

const outcomes = {
  ok: t("ok", "được"), tool_error: t("tool error", "công cụ báo lỗi"), timeout: t("too slow", "quá lâu"),
  unknown_tool: t("no such tool", "không có công cụ này"), invalid_arguments: t("invalid arguments", "tham số không hợp lệ"),
  not_approved: t("not approved", "không được chấp thuận"), refused: t("refused", "bị từ chối"),
  limit: t("over a limit", "vượt giới hạn"), failed: t("failed", "thất bại"), client: t("run by the client", "ứng dụng khách chạy"),
};

// outcome returns the text for the status of a call, and the kind of its badge.
export const outcome = (status) => [outcomes[status] ?? status.replaceAll("_", " "), status === "ok" ? "good" : "bad"];

// code shows text unchanged, in a box that the keyboard can scroll.
export const code = (text, label) =>
  el("pre", { className: "code", tabIndex: 0, role: "group", "aria-label": label }, text);

// pretty indents JSON, and returns other text unchanged.
export function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    const data = JSON.parse(value);
    return typeof data === "string" ? data : JSON.stringify(data, null, 2);
  } catch {
    return value;
  }
}

// fold returns elements that are hidden until their summary line is opened.
export const fold = (summary, ...children) =>
  el("details", { className: "fold" }, el("summary", {}, summary), el("div", { className: "inside" }, ...children));

// facts returns a list of names and values; empty values are skipped.
export function facts(pairs) {
  const filled = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return el("dl", { className: "facts" }, filled.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

// table makes a table whose rows become cards on a phone. columns are names; cells are nodes or
// texts. The roles keep it a table for screen readers where the style sheet lays its parts out as
// cards.
export function table(caption, columns, rows) {
  return el("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": caption },
    el("table", { role: "table" }, el("caption", { className: "hidden" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, columns.map((c) => el("th", { scope: "col", role: "columnheader" }, c)))),
      el("tbody", { role: "rowgroup" }, rows.map((cells) => el("tr", { role: "row" }, cells.map((cell, i) => el("td", { role: "cell", "data-column": columns[i] }, cell)))))));
}
