// The folders of knowledge on the tools page: what was read of each, and what was not.

import { api, el, number, t } from "/static/app.js";
import { badge, facts, fill, fold, note } from "/static/pages.js";
import { reason } from "/static/reasons.js";

const lookAgain = 2000; // ms

// reads reports whether a folder is still being read, or its vectors computed.
const reads = ({ done, files, meaning }) => !files || done < files || Boolean(meaning) && !meaning.problem && meaning.done < meaning.passages;

function state(k) {
  if (k.done < k.files) return badge(t(`reading, ${number(k.done)} of ${number(k.files)} files`, `đang đọc, ${number(k.done)} trong ${number(k.files)} tệp`));
  if (!k.files) return badge(t("no file yet", "chưa có tệp"));
  return badge(t(k.files === 1 ? "1 file" : `${number(k.files)} files`, `${number(k.files)} tệp`), "good");
}

// size formats a number of bytes.
const size = (bytes) => (bytes < 1e6 ? `${number(bytes / 1e3)} kB` : `${number(bytes / 1e6, 1)} MB`);

function card(k) {
  const { meaning: m, unread_files: left, unread } = k;
  const more = left - unread.length;
  return el("article", { className: "card folder" },
    el("header", {}, el("h3", {}, k.name), state(k)),
    k.description ? el("p", { className: "says" }, k.description) : "",
    m?.problem ? note(t(`Words alone are compared now: ${m.problem}`, `Hiện chỉ so khớp từ ngữ: ${reason(m.problem)}`), "warn") : "",
    facts([
      [t("Folder", "Thư mục"), k.path],
      [t("Passages", "Đoạn"), `${number(k.passages)} · ${size(k.bytes)}`],
      [t("Threshold", "Ngưỡng"), k.threshold ? `${number(k.threshold, 2)} · ${k.learned ? t("from its own texts", "từ chính tài liệu") : t("set", "đã đặt")}` : ""],
      [t("Meaning", "Theo nghĩa"), m && t(`${number(m.done)} of ${number(m.passages)} passages · ${m.model} (${m.provider})`, `${number(m.done)} trong ${number(m.passages)} đoạn · ${m.model} (${m.provider})`)],
    ]),
    left ? fold(t(left === 1 ? "1 file is not read" : `${number(left)} files are not read`, `${number(left)} tệp không đọc`), el("ul", { className: "faults" },
      unread.map((u) => el("li", {}, el("code", {}, u.file), `: ${reason(u.why)}`)),
      more > 0 ? el("li", {}, t(`and ${number(more)} more`, `và ${number(more)} tệp nữa`)) : "")) : "");
}

let again = 0;

// listKnowledge shows the folders in a box, and polls those that are being read. Without any folder the
// section around the box is hidden. What the reader has opened stays open.
export function listKnowledge(box) {
  clearTimeout(again);
  return fill(box, () => api("/v1/knowledge").catch((err) => {
    box.closest("section").hidden = false;
    throw err;
  }), ({ data: all }) => {
    box.closest("section").hidden = !all.length;
    if (all.some(reads)) again = setTimeout(() => listKnowledge(box), lookAgain);
    const open = new Set([...box.querySelectorAll("details[open]")].map((d) => d.closest("article").dataset.name));
    return all.map((k) => {
      const shown = card(k);
      shown.dataset.name = k.name;
      const details = shown.querySelector("details");
      if (details) details.open = open.has(k.name);
      return shown;
    });
  });
}
