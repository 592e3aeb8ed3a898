// Files and pictures that go with a question: chosen, dropped or pasted. The page loads this
// with the first of them.

import { $, el, icon, number, send, t } from "/static/app.js";

const most = 20 * 1024 * 1024; // bytes in one question
let held = []; // name, type, size and data (a data URL) of each

// take reads files into the box.
export async function take(files) {
  for (const file of files) {
    if (held.reduce((sum, f) => sum + f.size, file.size) > most) {
      $("hint").textContent = t(`${file.name} is too large: a question takes ${number(most / 1024 / 1024)} MB of files.`, `${file.name} quá lớn: một câu hỏi nhận tối đa ${number(most / 1024 / 1024)} MB tệp.`);
      continue;
    }
    const data = await dataOf(file).catch(() => null);
    if (data) held.push({ name: file.name || t("pasted picture", "hình đã dán"), type: file.type, size: file.size, data });
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

// setFiles replaces what is held, as for a question that is edited.
export function setFiles(files) {
  held = [...files];
  draw();
}

// useAgain puts kept files beside what is typed.
export function useAgain(files) {
  held = [...held, ...files.filter((f) => !held.includes(f))];
  draw();
  $("question").focus();
}

// takeFiles returns what is held, and holds nothing any more.
export function takeFiles() {
  const files = held;
  held = [];
  draw();
  return files;
}

function draw() {
  $("attached").replaceChildren(...held.map((f, i) => el("li", {},
    f.type.startsWith("image/") ? el("img", { src: f.data ?? f.url, alt: "" }) : null, el("span", {}, f.name),
    el("button", { type: "button", className: "plain small square", "aria-label": t(`Leave out ${f.name}`, `Bỏ ${f.name}`), on: { click: () => { held.splice(i, 1); draw(); $("question").focus(); } } }, icon("close")))));
}

// partsOf is the content of a message with files, of which those that are kept are read first.
export async function partsOf(text, files) {
  const parts = await Promise.all(files.map(async (f) => {
    const data = f.data ?? (await dataOf(await (await send(f.url)).blob())).replace(/^data:[^;,]*/, `data:${f.type}`);
    return { type: "file", file: { filename: f.name, file_data: data } };
  }));
  return [{ type: "text", text }, ...parts];
}
