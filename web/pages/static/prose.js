// Additions to the sanitised HTML of answers: code gets its language and a button to copy it, tables get a
// box to scroll in, formulas are drawn, and footnote marks become buttons that lead to the notes.

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

// diagrams are the languages of diagrams, with the ending of their files.
const diagrams = { mermaid: "mmd", dot: "dot", graphviz: "dot", plantuml: "puml", puml: "puml" };

const diagram = (name) => t(`${name} diagram`, `sơ đồ ${name}`);

// names are the display names of code languages that differ from the name in the answer.
const names = { json: "JSON", yaml: "YAML", html: "HTML", css: "CSS", sql: "SQL", go: "Go", rust: "Rust", javascript: "JavaScript", typescript: "TypeScript", python: "Python", java: "Java", math: t("formula (TeX)", "công thức (TeX)"), latex: "LaTeX", tex: "TeX", js: "JavaScript", ts: "TypeScript", py: "Python", sh: "Shell", bash: "Shell", yml: "YAML", mermaid: diagram("Mermaid"), dot: diagram("Graphviz"), graphviz: diagram("Graphviz"), plantuml: diagram("PlantUML"), puml: diagram("PlantUML") };

// save lets the browser keep a text as a file.
function save(text, name) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

function dressCode(pre) {
  const code = pre.firstElementChild;
  const language = /(?:^| )language-(\S+)/.exec(code?.className ?? "")?.[1] ?? "";
  const button = (words, label, click) => el("button", { type: "button", className: "plain small", "aria-label": label, on: { click: (event) => click(pre.textContent.replace(/\n$/, ""), event.currentTarget) } }, words);
  const ending = diagrams[language];
  const box = el("div", { className: "listing" }, el("div", { className: "head" }, el("span", {}, names[language] ?? language),
    ending && button(t("Save", "Lưu"), t("Save the diagram as a file", "Lưu sơ đồ thành tệp"), (text) => save(`${text}\n`, `diagram.${ending}`)),
    button(t("Copy", "Sao chép"), t("Copy the code", "Sao chép mã"), copy)));
  pre.tabIndex = 0;
  pre.replaceWith(box);
  box.append(pre);
}

// dressTable puts a table into a box that scrolls, since it may be wider than the page. The table
// stays a table for screen readers.
function dressTable(table) {
  const wide = el("div", { className: "wide", tabIndex: 0, role: "group", "aria-label": t("Table", "Bảng") });
  table.replaceWith(wide);
  wide.append(table);
}

let math = null; // the module that draws formulas; it is loaded with the first one
let waiting = null; // the formulas that wait for it

const isFormula = (pre) => pre.firstElementChild?.classList.contains("language-math");

// keepSource shows a formula that cannot be drawn as code.
const keepSource = (code) => { if (code.parentElement.tagName === "PRE") dressCode(code.parentElement); };

function loadMath() {
  if (waiting) return;
  waiting = [];
  import("/static/math.js").then((module) => {
    math = module;
    return math.drawSoon(waiting, keepSource);
  }).catch(() => waiting.forEach(({ code }) => keepSource(code)));
}

const slice = 8; // milliseconds of drawing at once

// drawFormulas draws the formulas of box; ended means that no text of them follows.
function drawFormulas(box, ended) {
  const later = [];
  const began = performance.now();
  for (const code of box.querySelectorAll("code.math, code.language-math")) {
    loadMath();
    if (!math) waiting.push({ code, ended });
    else if (performance.now() - began < slice) math.draw(code, ended, keepSource);
    else later.push({ code, ended });
  }
  if (later.length) math.drawSoon(later, keepSource);
}

// showProse sets the content of box to sanitised HTML, with the additions.
export function showProse(box, html) {
  showSanitised(box, html);
  drawFormulas(box, false);
  for (const pre of box.querySelectorAll("pre")) if (!isFormula(pre)) dressCode(pre);
  for (const table of box.querySelectorAll("table")) dressTable(table);
  for (const link of box.querySelectorAll("a")) if (link.textContent !== link.getAttribute("href")) link.className = "named"; // on paper the address follows
  label(box);
}

// finish corrects the heading levels, links the footnotes and draws the last formulas of a complete answer.
export function finish(answer) {
  drawFormulas(answer, true);
  setLevels(answer);
  linkNotes(answer);
}

// setLevels sets the levels of headings for screen readers so that none is skipped. Their look
// stays.
export function setLevels(answer) {
  let above = 2; // the level of the answer's own heading
  for (const heading of answer.querySelectorAll("h3, h4, h5, h6")) {
    above = Math.min(Number(heading.tagName[1]), above + 1);
    heading.setAttribute("aria-level", above);
  }
}

// label names tasks and emergency notices for screen readers, in the reader's language.
export const label = (box) => {
  for (const notice of box.querySelectorAll(".emergency")) {
    notice.setAttribute("role", "note");
    notice.setAttribute("aria-label", t("Emergency", "Khẩn cấp"));
  }
  for (const task of box.querySelectorAll("input")) task.setAttribute("aria-label", task.checked ? t("done", "xong") : t("open", "chưa xong"));
};

// linkNotes turns the footnote marks of an answer into numbered buttons. It needs the complete
// answer, since a note may be in another block than its mark, and after it.
function linkNotes(answer) {
  const notes = new Map([...answer.querySelectorAll(".footnote > sup")].map((sup) => [sup.textContent, sup.parentElement]));
  const numbers = new Map();
  for (const mark of notes.size ? answer.querySelectorAll("sup.footmark") : []) {
    const note = notes.get(mark.textContent);
    if (!note || mark.querySelector("button")) continue;
    if (!numbers.has(note)) numbers.set(note, String(numbers.size + 1));
    const at = numbers.get(note);
    note.tabIndex = -1;
    const words = note.textContent.trim().slice(mark.textContent.length).trim();
    mark.replaceChildren(el("button", { type: "button", title: words, "aria-label": t(`Note ${at}`, `Chú thích ${at}`), on: { click: () => { note.scrollIntoView({ block: "nearest" }); note.focus(); } } }, at));
  }
  for (const [note, at] of numbers) {
    const back = () => [...answer.querySelectorAll("sup.footmark button")].find((mark) => mark.textContent === at)?.focus();
    note.querySelector("sup").replaceChildren(el("button", { type: "button", "aria-label": t(`Note ${at}: back to the text`, `Chú thích ${at}: về lại văn bản`), on: { click: back } }, at));
  }
}
