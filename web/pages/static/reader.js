// The page that shows a document of a folder of knowledge as the search reads it, as text, with the passage
// that the address names.

import { $, api, el, placeFragment, t } from "/static/app.js";
import { code, fill, frame, note, say, table, words } from "/static/pages.js";

const [, , folder, ...path] = location.pathname.split("/").map(decodeURIComponent);
const file = path.join("/");
const part = Number(new URLSearchParams(location.search).get("part"));

let parts = []; // the parts that are shown: { place, box }
let next = 0; // the first part that is not shown; 0 if all are
let link = ""; // the address of the file itself

// --- the text of a part ------------------------------------------------------------------------

// blocks splits a text at its blank lines, but not within code between fences.
function blocks(text) {
  const all = [[]];
  let fenced = false;
  for (const line of text.split("\n")) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    if (line.trim() || fenced) all.at(-1).push(line);
    else all.push([]);
  }
  return all.filter((lines) => lines.length);
}

const cellsOf = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

// show returns a block: a table, code, or a paragraph.
function show(lines) {
  if (/^\s*(```|~~~)/.test(lines[0])) return code(lines.slice(1, lines.length > 1 && /^\s*(```|~~~)/.test(lines.at(-1)) ? -1 : undefined).join("\n"), t("Code", "Mã"));
  if (lines.length > 1 && /^[\s|:-]+$/.test(lines[1]) && lines.every((line) => line.includes("|"))) {
    return table(t("Table", "Bảng"), cellsOf(lines[0]), lines.slice(2).map(cellsOf));
  }
  if (lines.some((line) => line.includes("\t"))) return code(lines.join("\n"), t("Table", "Bảng"));
  return el("p", {}, lines.join("\n"));
}

// marks returns what begins with a part: a page, a sheet or a heading.
function marks({ page, sheet, heading }, before = {}) {
  const mark = (text, kind = "") => el("h2", { className: `mark ${kind}` }, text);
  return [
    page && page !== before.page && mark(t(`Page ${page}`, `Trang ${page}`), "page"),
    sheet && sheet !== before.sheet && mark(sheet),
    heading && heading !== before.heading && heading !== $("title").textContent && mark(heading),
  ].filter(Boolean);
}

// add shows more parts of the document.
function add(list) {
  for (const { place, text } of list) {
    const rows = place.last > place.line ? `${place.line}–${place.last}` : place.line;
    const row = place.sheet && place.line ? el("p", { className: "row-number" }, place.last > place.line ? t(`Rows ${rows}`, `Dòng ${rows}`) : t(`Row ${rows}`, `Dòng ${rows}`)) : "";
    const box = el("div", { className: "part" }, row, blocks(text).map(show));
    $("document").append(...marks(place, parts.at(-1)?.place), box);
    parts.push({ place, box });
  }
}

// --- the passage of the address ------------------------------------------------------------------

const fragment = () => {
  const raw = location.hash.slice(1);
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
};

// partsAt returns the passage that the address names among those that begin at a place, else all of these.
function partsAt(name) {
  const there = parts.filter((p) => placeFragment(p.place) === name);
  const named = there.filter((p) => p.place.part === part);
  return named.length ? named : there;
}

// partsAround returns the part that holds the line or row of a fragment, if no part begins there.
function partsAround(name) {
  const [, sheet, line] = /^(?:line=|(.*)!)(\d+)$/s.exec(name) ?? [];
  return parts.filter((p) => (p.place.sheet || undefined) === sheet && p.place.line <= Number(line)).slice(-1);
}

// find marks the passage of the address and scrolls to it; it loads as much of the document as it needs.
async function find() {
  for (const { box } of parts) {
    box.classList.remove("found");
    box.querySelector(".here")?.remove();
  }
  $("gone").replaceChildren();
  const name = fragment();
  if (!name) return;
  const isShown = () => part ? parts.some((p) => p.place.part === part) : partsAt(name).length;
  while (next && !isShown() && await load(next));
  const found = partsAt(name).length ? partsAt(name) : partsAround(name);
  const [first] = found;
  if (!first) {
    $("gone").replaceChildren(note(t("The passage is not at that place any more: the document has changed.", "Đoạn này không còn ở vị trí đó: tài liệu đã thay đổi."), "warn", { role: "status" }));
    return;
  }
  for (const { box } of found) box.classList.add("found");
  const label = el("p", { className: "here", id: "here" }, t("The passage of the source", "Đoạn của nguồn"));
  first.box.prepend(label);
  for (const [name, value] of Object.entries({ tabindex: -1, role: "group", "aria-labelledby": "here" })) first.box.setAttribute(name, value);
  first.box.scrollIntoView();
  first.box.focus({ preventScroll: true });
  say(label.textContent);
}

// --- loading ---------------------------------------------------------------------------------------

const request = async (from) => {
  try {
    return await api(`/v1/knowledge/${encodeURIComponent(folder)}/document?${new URLSearchParams({ file, from })}`);
  } catch (err) {
    if (err.status === 404) {
      err.detail = "";
      err.advice = t("This document is not in the folder any more, or it is not for you.", "Tài liệu này không còn trong thư mục, hoặc không dành cho bạn.");
    }
    throw err;
  }
};

// take shows an answer to a request.
function take(doc) {
  next = doc.next ?? 0;
  add(doc.parts);
  $("further").replaceChildren(...next ? [el("button", { type: "button", on: { click: () => load(next) } }, t("Show more of the document", "Xem tiếp tài liệu"))] : []);
}

// load shows the document from a part on, and reports whether it could.
async function load(from) {
  try {
    take(await request(from));
    return true;
  } catch (err) {
    $("further").append(note(words(err), "bad", { role: "alert" }));
    return false;
  }
}

// showWhere shows what the document is, and links to the file itself where people can open it.
function showWhere() {
  const name = fragment();
  $("where").replaceChildren(`${folder} · ${file}`, ...link ? [" · ", el("a", { href: link + (name && !/^line=/.test(name) ? `#${encodeURIComponent(name).replace("%3D", "=")}` : ""), rel: "noopener noreferrer nofollow" }, t("Open the original", "Mở bản gốc"))] : []);
}

frame(t("Document", "Tài liệu"));
await fill($("document"), () => request(0), (doc) => {
  document.title = `${doc.title || file} · Molar`;
  $("title").textContent = doc.title || file;
  link = /^https?:\/\//.test(doc.link ?? "") ? doc.link : "";
  queueMicrotask(() => { // once fill has emptied the box
    take(doc);
    showWhere();
    find();
  });
  return [];
});
addEventListener("hashchange", () => { showWhere(); find(); });
