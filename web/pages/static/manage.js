// What a person does with a conversation of the list: name it, pin it, take it along as a
// file, delete it. The page loads this when the first menu is opened.

import { $, api, el, keep, t, when } from "/static/app.js";

const pathOf = (id) => `/v1/conversations/${encodeURIComponent(id)}`;

// menu opens the menu of a conversation below its button. hooks are pinned and pin, changed
// and removed, which tell what is done.
export function menu(c, button, hooks) {
  const box = $("more");
  const item = (words, run, className = "plain") => el("button", { type: "button", className, on: { click: () => { box.hidePopover(); run(); } } }, words);
  box.replaceChildren(
    item(t("Rename", "Đổi tên"), () => rename(c, button, hooks)),
    item(hooks.pinned(c.id) ? t("Unpin", "Bỏ ghim") : t("Pin", "Ghim"), () => { hooks.pin(c.id); }),
    item(t("Export as Markdown", "Xuất ra Markdown"), () => exported(c, "md")),
    item(t("Export as JSON", "Xuất ra JSON"), () => exported(c, "json")),
    item(t("Delete", "Xóa"), () => remove(c, button, hooks), "plain danger"));
  const at = button.getBoundingClientRect();
  box.showPopover({ source: button });
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - box.offsetHeight - 8))}px`;
  box.firstChild.focus();
}

// confirm shows the dialog, and resolves to what was typed, or to null.
function confirm(button, title, yes, { text = "", value = null, danger = false }) {
  $("ask-title").textContent = title;
  $("ask-text").textContent = text;
  $("ask-yes").textContent = yes;
  $("ask-yes").className = danger ? "danger" : "primary";
  $("ask-input").hidden = value === null;
  $("ask-input").value = value ?? "";
  $("ask").returnValue = "";
  $("ask").showModal();
  return new Promise((done) => {
    $("ask").addEventListener("close", () => {
      button.focus();
      done($("ask").returnValue ? $("ask-input").value : null);
    }, { once: true });
  });
}

async function change(id, options, hooks) {
  try {
    await api(pathOf(id), options);
  } catch (err) {
    $("hint").textContent = err.message;
  }
  await hooks.changed();
}

async function rename(c, button, hooks) {
  const title = await confirm(button, t("Rename the conversation", "Đổi tên cuộc trò chuyện"), t("Rename", "Đổi tên"), { value: c.title });
  if (title?.trim()) await change(c.id, { method: "PATCH", body: { title } }, hooks);
}

async function remove(c, button, hooks) {
  const sure = await confirm(button, t("Delete the conversation?", "Xóa cuộc trò chuyện?"), t("Delete", "Xóa"),
    { text: t(`“${c.title}” will be gone for good.`, `“${c.title}” sẽ bị xóa vĩnh viễn.`), danger: true });
  if (sure === null) return;
  hooks.removed(c.id);
  keep(`draft.${c.id}`, null);
  await change(c.id, { method: "DELETE" }, hooks);
}

// asMarkdown writes the branch that is newest: what was asked and answered, with the sources.
function asMarkdown(c, all) {
  const sources = (m) => (m.sources ?? []).map((s) => `- [${(s.title || s.url).replaceAll("]", "\\]")}](${s.url})`).join("\n");
  const part = (m) => `## ${m.role === "user" ? t("Question", "Câu hỏi") : t("Answer", "Trả lời")} · ${when(m.timestamp)}\n\n${m.content}${m.role === "user" || !m.sources?.length ? "" : `\n\n${t("Sources:", "Nguồn:")}\n\n${sources(m)}`}\n`;
  return [`# ${c.title}\n`, ...all.messages.map(part)].join("\n");
}

// exported gives a conversation to the browser as a file.
async function exported(c, kind) {
  try {
    const all = await api(pathOf(c.id) + (kind === "json" ? "?tree=true" : ""));
    const text = kind === "json" ? JSON.stringify(all, null, 2) : asMarkdown(c, all);
    const name = `${(c.title || c.id).replace(/[\\/:*?"<>|\p{Cc}]+/gu, " ").trim().slice(0, 60) || "molar"}.${kind}`;
    const href = URL.createObjectURL(new Blob([text], { type: kind === "json" ? "application/json" : "text/markdown" }));
    el("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  } catch (err) {
    $("hint").textContent = err.message;
  }
}
