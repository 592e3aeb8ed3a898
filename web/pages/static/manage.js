// The menu of a conversation in the list: rename, pin, export as a file, delete. The page loads
// this module when the first menu is opened.

import { $, api, el, icon, keep, placeText, send, showSanitised, sourceText, t, when } from "/static/app.js";
import { moved } from "/static/frame.js";
import { label, setLevels } from "/static/prose.js";

const box = $("more");

box.addEventListener("keydown", (event) => {
  const to = moved(event.key, [...box.children], event.target);
  if (!to) return;
  event.preventDefault();
  to.focus();
});

const pathOf = (id) => `/v1/conversations/${encodeURIComponent(id)}`;

// menu opens the menu of a conversation below the element that it was asked for at. hooks are functions
// of the list: pinned reports whether a conversation is pinned, pin pins or unpins it, changed and removed
// are called after a change and before a deletion, and failed with the error of a change that failed.
export function menu(c, button, hooks) {
  const item = (sign, words, run, className = "plain") => el("button", { type: "button", className, on: { click: () => { box.hidePopover(); run(); } } }, icon(sign), words);
  box.replaceChildren(
    item("pen", t("Rename", "Đổi tên"), () => rename(c, button, hooks)),
    item("pin", hooks.pinned(c.id) ? t("Unpin", "Bỏ ghim") : t("Pin", "Ghim"), () => { hooks.pin(c.id); }),
    item("page", t("Share as a page", "Chia sẻ thành trang"), () => exportFile(c, "html", hooks)),
    item("down", t("Export as Markdown", "Xuất ra Markdown"), () => exportFile(c, "md", hooks)),
    item("down", t("Export as JSON", "Xuất ra JSON"), () => exportFile(c, "json", hooks)),
    item("bin", t("Delete", "Xóa"), () => remove(c, button, hooks), "plain danger"));
  const at = button.getBoundingClientRect();
  box.showPopover({ source: button });
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - box.offsetHeight - 8))}px`;
  box.firstChild.focus();
}

// confirm shows the dialog, and resolves to the typed text, or to null when it is cancelled.
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
      // The event comes after the browser restored the focus: a person may have moved on.
      if (document.activeElement === document.body) button.focus();
      done($("ask").returnValue ? $("ask-input").value : null);
    }, { once: true });
  });
}

async function change(id, options, hooks) {
  try {
    await api(pathOf(id), options);
  } catch (err) {
    await hooks.changed();
    return hooks.failed(err);
  }
  await hooks.changed();
}

async function rename(c, button, hooks) {
  const title = await confirm(button, t("Rename the conversation", "Đổi tên cuộc trò chuyện"), t("Rename", "Đổi tên"), { value: c.title });
  if (title?.trim()) await change(c.id, { method: "PATCH", body: { title } }, hooks);
}

async function remove(c, button, hooks) {
  const answer = await confirm(button, t("Delete the conversation?", "Xóa cuộc trò chuyện?"), t("Delete", "Xóa"),
    { text: t(`“${c.title}” will be gone for good.`, `“${c.title}” sẽ bị xóa vĩnh viễn.`), danger: true });
  if (answer === null) return;
  hooks.removed(c.id);
  keep(`draft.${c.id}`, null);
  await change(c.id, { method: "DELETE" }, hooks);
}

const headingOf = (m) => `${m.role === "user" ? t("Question", "Câu hỏi") : t("Answer", "Trả lời")} · ${when(m.timestamp)}`;

// asMarkdown returns the newest branch as Markdown: questions and answers with files and sources.
function asMarkdown(c, all) {
  const escape = (text) => text.replaceAll("]", "\\]");
  const sources = (m) => (m.sources ?? []).map((s) => `- ${s.url ? `[${escape(s.title || s.url)}](${s.url})` : escape(s.title)}${s.place ? ` (${escape(placeText(s.place, s.title))})` : ""}`).join("\n");
  const files = (m) => (m.files ?? []).map((f) => `- ${escape(f.name)}`).join("\n");
  const part = (m) => [`## ${headingOf(m)}`, m.content, files(m), m.sources?.length && `${t("Sources:", "Nguồn:")}\n\n${sources(m)}`].filter(Boolean).join("\n\n");
  return [`# ${c.title}`, ...all.messages.map(part)].join("\n\n") + "\n";
}

const look = `body{font:1rem/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h2{font-size:.85rem;font-weight:600;color:light-dark(#5a6466,#a0acaf);margin:2rem 0 .4rem}.user{white-space:pre-wrap;font-weight:600;padding:.5rem .9rem;border-radius:.8rem;background:light-dark(#e9ecf9,#232a4a)}
pre{overflow:auto;padding:.8rem;border-radius:.5rem;background:light-dark(#f3f2ee,#1e2426)}table{border-collapse:collapse}td,th{border:1px solid light-dark(#e1dfd9,#2f383b);padding:.25rem .6rem;overflow-wrap:break-word}
.footnote{display:flex;gap:.5rem}.footnote p{margin:0}li:has(>input){list-style:none}
.emergency{border:2px solid light-dark(#a3212a,#ff9d97);border-left-width:.5rem;border-radius:.6rem;padding:.6rem 1rem}.emergency::before{content:"⚠ " attr(aria-label);color:light-dark(#a3212a,#ff9d97);font-weight:700}
img{max-width:100%;max-height:20rem}a{color:light-dark(#3f4fae,#a5b2ff)}
:root{color-scheme:light dark;background:light-dark(#fff,#121617);color:light-dark(#1b2021,#e6eaea)}`;

// asPage returns the same as one HTML page without scripts that loads nothing from the network.
async function asPage(c, all) {
  const page = document.implementation.createHTMLDocument(c.title);
  page.documentElement.lang = document.documentElement.lang;
  page.head.prepend(el("meta", { charset: "utf-8" }),
    el("meta", { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'" }),
    el("meta", { name: "viewport", content: "width=device-width" }));
  page.head.querySelector("meta").setAttribute("charset", "utf-8");
  const body = (m) => {
    const box = el("div", { className: m.html ? `${m.role} prose` : m.role }, m.content);
    if (!m.html) return box;
    showSanitised(box, m.html);
    setLevels(box);
    label(box);
    for (const pre of box.querySelectorAll("pre")) pre.tabIndex = 0; // so that the keyboard can scroll it
    return box;
  };
  const file = (f) => (/^data:image\/(png|jpeg|gif|webp);/.test(f.data ?? "") ? el("img", { src: f.data, alt: f.name }) : el("p", {}, f.name));
  const sources = (m) => m.sources?.length && el("ul", {}, m.sources.map((s) => el("li", {}, /^https?:/.test(s.url) ? el("a", { href: s.url, rel: "noopener noreferrer nofollow" }, sourceText(s)) : sourceText(s))));
  page.body.append(el("main", {}, el("h1", {}, c.title), ...all.messages.map((m) => el("section", {}, el("h2", {}, headingOf(m)), ...(m.files ?? []).map(file), body(m), sources(m)))));
  // The style is put in as text: as an element it would be refused, by this page's own policy.
  const maths = page.querySelector("code.math, .language-math") ? await (await import("/static/math.js")).drawAll(page) : "";
  return `<!doctype html>\n${page.documentElement.outerHTML.replace("</head>", () => `<style>${look}${maths}</style></head>`)}\n`;
}

// withData downloads the files of messages, since an exported file cannot link to the server.
async function withData(all) {
  const { dataOf } = await import("/static/files.js");
  for (const f of all.messages.flatMap((m) => m.files ?? [])) {
    f.data = (await dataOf(await (await send(f.url)).blob())).replace(/^data:[^;,]*/, `data:${f.media}`);
  }
}

// exportFile lets the browser save a conversation as a file.
async function exportFile(c, kind, hooks) {
  const media = { html: "text/html", json: "application/json", md: "text/markdown" }[kind];
  try {
    const all = await api(pathOf(c.id) + { html: "?html=true", json: "?tree=true", md: "" }[kind]);
    if (kind !== "md") await withData(all);
    const text = await { html: asPage, md: asMarkdown, json: (_, whole) => JSON.stringify(whole, null, 2) }[kind](c, all);
    const name = `${(c.title || c.id).replace(/[\\/:*?"<>|\p{Cc}]+/gu, " ").trim().slice(0, 60) || "molar"}.${kind}`;
    const href = URL.createObjectURL(new Blob([text], { type: media }));
    el("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  } catch (err) {
    hooks.failed(err);
  }
}
