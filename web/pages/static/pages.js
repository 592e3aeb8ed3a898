// What the pages for engineers share: frame, states of loading and failing, small parts.

import { $, api, el, kept, keep, number, setupPath, t, themeWords, toggleTheme, translate } from "/static/app.js";
import { reason } from "/static/reasons.js";

// frame makes the page ready: language, theme, and which link is this page's.
export function frame(title) {
  translate();
  document.title = `${title} · Molar`;
  $("theme").addEventListener("click", toggleTheme);
  $("theme").title = themeWords();
  for (const a of document.querySelectorAll(".top nav a")) {
    if (a.pathname === location.pathname) a.setAttribute("aria-current", "page");
  }
}

// say tells people who listen what has happened.
export function say(words) {
  $("said").textContent = words;
}

// fill loads a part of the page: it says that it loads, then shows what came, or what to
// do about the failure.
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

// words say what to do about an error; below it stand the server's own words and the faults
// that it found.
export function words(err) {
  const say = err.code === "internal_error"
    ? t("Something failed inside the server; its store may be down. Read the log of “molar serve”, then try again.", "Có lỗi bên trong máy chủ; kho dữ liệu có thể đã ngừng. Hãy đọc nhật ký của “molar serve” rồi thử lại.")
    : err.advice ?? err.message;
  return [say, err.detail && reason(err.detail), ...(err.body?.error?.faults ?? []).map(reason)].filter(Boolean).join("\n");
}

// --- what the host says of itself, for as long as the page is open ------------------------------

const lookAgain = 3000; // ms
const watchers = []; // are told how the host is
let host = null; // as it was last

// watchHost calls a function with how the host is (see GET /v1/setup), now and as often as that is
// asked for.
export function watchHost(run) {
  watchers.push(run);
  if (host) run(host);
  else if (watchers.length === 1) look();
}

async function look() {
  if (!document.hidden) await lookNow();
  setTimeout(look, lookAgain);
}

// lookNow asks how the host is, and returns it.
export async function lookNow() {
  const now = await api(setupPath()).catch(() => null); // a page says elsewhere that nothing answers
  if (now) {
    host = now;
    for (const run of watchers) run(host);
  }
  return host ?? {};
}

// fileState is a box that says what is wrong with the config file and what of it waits for a
// restart, as long as that is so.
export function fileState(box = el("div", { className: "file-state" })) {
  let said = "";
  box.setAttribute("aria-live", "polite");
  watchHost(({ file = "", faults = [], needs_restart: restart = [] }) => {
    const now = JSON.stringify([faults, restart]);
    if (now === said) return;
    said = now;
    box.replaceChildren(...[
      faults.length && el("div", { className: "note bad" },
        el("p", {}, t(`There is a fault in ${file}. What was good before stays in force until it is mended:`, `Tệp ${file} có lỗi. Cấu hình đúng trước đó vẫn được dùng cho đến khi sửa xong:`)),
        el("ul", { className: "faults" }, faults.map((fault) => el("li", {}, el("code", {}, reason(fault)))))),
      restart.length && note(t(`These keys of ${file} take effect when molar is started again: ${restart.join(", ")}`, `Các khóa này trong ${file} có hiệu lực khi khởi động lại molar: ${restart.join(", ")}`), "warn"),
    ].filter(Boolean));
  });
  return box;
}

// offerBox is a box that offers the assistant which may call what is attached, as long as another
// one is asked.
export function offerBox(box) {
  let said = "";
  watchHost(({ offer = "" }) => {
    const now = kept("assistant") === offer ? "" : offer;
    if (now === said) return;
    said = now;
    box.replaceChildren(...now ? [el("div", { className: "note offer" },
      el("p", {}, t(`The assistant that answers now may not call the tools of the attached servers; ${now} may.`, `Trợ lý đang trả lời không gọi được công cụ của các máy chủ đã gắn; ${now} thì được.`)),
      askButton(now))] : []);
  });
}

// askButton leads to a new conversation with an assistant; without a name, with the one that is
// chosen already.
export const askButton = (assistant) => el("button", { type: "button", className: "primary", on: { click: () => {
  if (assistant) {
    keep("assistant", assistant);
    keep("conversation", null);
  }
  location.assign("/");
} } }, assistant ? t(`Ask ${assistant}`, `Hỏi ${assistant}`) : t("Go to the chat", "Đến trang trò chuyện"));

export const badge = (text, kind = "") => el("span", { className: `badge ${kind}` }, text);

export const note = (text, kind = "", props = {}) => el("p", { className: `note ${kind}`, ...props }, text);

// took writes milliseconds as a person reads them.
export function took(ms) {
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

// outcome gives the words for how a call ended, and how a badge shows them.
export const outcome = (status) => [outcomes[status] ?? status.replaceAll("_", " "), status === "ok" ? "good" : "bad"];

// code shows text as it is, in a box that can be scrolled with the keyboard.
export const code = (text, label) =>
  el("pre", { className: "code", tabIndex: 0, role: "group", "aria-label": label }, text);

// pretty indents JSON, and leaves other text alone.
export function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    const read = JSON.parse(value);
    return typeof read === "string" ? read : JSON.stringify(read, null, 2);
  } catch {
    return value;
  }
}

// fold hides something below a line that opens it.
export const fold = (summary, ...children) =>
  el("details", { className: "fold" }, el("summary", {}, summary), el("div", { className: "inside" }, ...children));

// facts is a list of names and values; empty values are left out.
export function facts(pairs) {
  const kept = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return el("dl", { className: "facts" }, kept.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

// table makes a table whose rows become cards on a phone. Columns are names; cells are
// nodes or texts. The roles keep it a table for screen readers there, where its parts are
// laid out as something else.
export function table(caption, columns, rows) {
  return el("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": caption },
    el("table", { role: "table" }, el("caption", { className: "hidden" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, columns.map((c) => el("th", { scope: "col", role: "columnheader" }, c)))),
      el("tbody", { role: "rowgroup" }, rows.map((cells) => el("tr", { role: "row" }, cells.map((cell, i) => el("td", { role: "cell", "data-column": columns[i] }, cell)))))));
}
