// How the sanitised Markdown of answers is dressed: code with its language and a button to
// copy it, tables that scroll by themselves, notes that are found from their marks, pictures
// that are loaded when the reader asks for them.

import { el, showSanitised, t } from "/static/app.js";

export async function copy(text, button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = t("Copied", "Đã sao chép");
  } catch {
    button.textContent = t("Copying is not allowed here", "Không được phép sao chép ở đây");
  }
  setTimeout(() => { button.textContent = words; }, 2000);
}

// names are what the languages of code are called, where that is not what stands in the answer.
const names = { json: "JSON", yaml: "YAML", html: "HTML", css: "CSS", sql: "SQL", go: "Go", rust: "Rust", javascript: "JavaScript", typescript: "TypeScript", python: "Python", java: "Java", math: t("formula (TeX)", "công thức (TeX)"), js: "JavaScript", ts: "TypeScript", py: "Python", sh: "Shell", bash: "Shell", yml: "YAML", mermaid: t("Mermaid diagram", "sơ đồ Mermaid") };

function dressCode(pre) {
  const code = pre.firstElementChild;
  const language = /(?:^| )language-(\S+)/.exec(code?.className ?? "")?.[1] ?? "";
  const button = el("button", { type: "button", className: "plain small", "aria-label": t("Copy the code", "Sao chép mã"), on: { click: () => copy(pre.textContent.replace(/\n$/, ""), button) } }, t("Copy", "Sao chép"));
  const box = el("div", { className: "listing" }, el("div", { className: "head" }, el("span", {}, names[language] ?? language), button));
  pre.tabIndex = 0;
  pre.replaceWith(box);
  box.append(pre);
}

// A table that may be wider than the page scrolls in a box, which leaves it a table for
// screen readers.
function dressTable(table) {
  const wide = el("div", { className: "wide", tabIndex: 0, role: "group", "aria-label": t("Table", "Bảng") });
  table.replaceWith(wide);
  wide.append(table);
}

// dressPicture puts the address of a picture beside its words, and a button that loads it: in
// a frame that may load from that host and do nothing else.
function dressPicture(link) {
  const words = link.textContent || t("Picture", "Hình");
  link.textContent = link.href;
  const box = el("span", { className: "picture" }, el("span", {}, `${words} `));
  const show = el("button", { type: "button", className: "small", on: { click: () => {
    const frame = el("iframe", { title: words, sandbox: "", src: `/picture?of=${encodeURIComponent(link.href)}` });
    show.replaceWith(frame);
  } } }, t("Load the picture", "Tải hình"));
  link.replaceWith(box);
  box.append(link, show);
}

// showProse shows sanitised HTML.
export function showProse(box, html) {
  showSanitised(box, html);
  for (const pre of box.querySelectorAll("pre")) dressCode(pre);
  for (const table of box.querySelectorAll("table")) dressTable(table);
  label(box);
  for (const link of box.querySelectorAll("a.image")) dressPicture(link);
}

// finish sees to what the parts of an answer have in common once all are there. A heading says
// its level to screen readers where it leaves one out; what it looks like stays.
export function finish(answer) {
  setLevels(answer);
  linkNotes(answer);
}

export function setLevels(answer) {
  let above = 2; // that of the answer itself
  for (const heading of answer.querySelectorAll("h3, h4, h5, h6")) {
    above = Math.min(Number(heading.tagName[1]), above + 1);
    heading.setAttribute("aria-level", above);
  }
}

// label says in the reader's language what tasks and the notice of an emergency are.
export const label = (box) => {
  for (const notice of box.querySelectorAll(".emergency")) {
    notice.setAttribute("role", "note");
    notice.setAttribute("aria-label", t("Emergency", "Khẩn cấp"));
  }
  for (const task of box.querySelectorAll("input")) task.setAttribute("aria-label", task.checked ? t("done", "xong") : t("open", "chưa xong"));
};

// linkNotes makes numbered buttons of the marks of notes that an answer has: they may stand in
// another part of it, and come after their marks.
function linkNotes(answer) {
  const notes = new Map([...answer.querySelectorAll(".footnote > sup")].map((sup) => [sup.textContent, sup.parentElement]));
  const numbers = new Map();
  for (const mark of notes.size ? answer.querySelectorAll("sup:not(.footnote > sup)") : []) {
    const note = notes.get(mark.textContent);
    if (!note || mark.querySelector("button")) continue;
    if (!numbers.has(note)) numbers.set(note, String(numbers.size + 1));
    const at = numbers.get(note);
    note.tabIndex = -1;
    const words = note.textContent.trim().slice(mark.textContent.length).trim();
    mark.replaceChildren(el("button", { type: "button", title: words, "aria-label": t(`Note ${at}`, `Chú thích ${at}`), on: { click: () => { note.scrollIntoView({ block: "nearest" }); note.focus(); } } }, at));
  }
  for (const [note, at] of numbers) note.querySelector("sup").textContent = at;
}
