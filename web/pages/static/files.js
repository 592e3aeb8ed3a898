// Files and pictures that are attached to a question: chosen, dropped or pasted. The page loads
// this module when the first one is attached.

import { $, el, icon, number, send, t } from "/static/app.js";
import { fileChip } from "/static/view.js";

const maxBytes = 20 * 1024 * 1024; // of all files of one question
let attached = []; // objects with name, type and size, and data (a data URL) or url (of a stored file)

// take reads files and attaches them to the question.
export async function take(files) {
  for (const file of files) {
    if (attached.reduce((sum, f) => sum + f.size, file.size) > maxBytes) {
      $("hint").textContent = t(`${file.name} is too large: a question takes ${number(maxBytes / 1024 / 1024)} MB of files.`, `${file.name} quá lớn: một câu hỏi nhận tối đa ${number(maxBytes / 1024 / 1024)} MB tệp.`);
      continue;
    }
    const data = await dataOf(file).catch(() => null);
    if (data) attached.push({ name: file.name || t("pasted picture", "hình đã dán"), type: file.type, size: file.size, data });
    else $("hint").textContent = t(`${file.name} cannot be read.`, `Không đọc được ${file.name}.`);
  }
  draw();
}

// dataOf reads a file as a data URL.
export const dataOf = (blob) => new Promise((done, fail) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result);
  reader.onerror = () => fail(reader.error);
  reader.readAsDataURL(blob);
});

// setFiles replaces the attached files, for example when a question is edited.
export function setFiles(files) {
  attached = [...files];
  draw();
}

// useAgain attaches files of an earlier question too.
export function useAgain(files) {
  attached = [...attached, ...files.filter((f) => !attached.includes(f))];
  draw();
  $("question").focus();
}

// takeFiles returns the attached files and removes them from the box.
export function takeFiles() {
  const files = attached;
  attached = [];
  draw();
  return files;
}

function draw() {
  $("attached").replaceChildren(...attached.map((f, i) => el("li", {}, fileChip(f),
    el("button", { type: "button", className: "plain small square", "aria-label": t(`Leave out ${f.name}`, `Bỏ ${f.name}`), on: { click: () => { attached.splice(i, 1); draw(); $("question").focus(); } } }, icon("close")))));
}

// partsOf returns files as parts of a message. Stored files are downloaded first.
export async function partsOf(files) {
  return Promise.all(files.map(async (f) => {
    const data = f.data ?? (await dataOf(await (await send(f.url)).blob())).replace(/^data:[^;,]*/, `data:${f.type}`);
    return { type: "file", file: { filename: f.name, file_data: data } };
  }));
}

// openPicture shows a picture in a dialog.
export function openPicture(f) {
  const shut = el("button", { type: "button", className: "square", "aria-label": t("Close", "Đóng"), on: { click: () => box.close() } }, icon("close"));
  const box = el("dialog", { className: "picture-box", "aria-label": f.name, on: { close: () => box.remove(), click: ({ target }) => { if (target === box) box.close(); } } }, shut, el("img", { src: f.data ?? f.url, alt: f.name }));
  document.body.append(box);
  box.showModal();
}
