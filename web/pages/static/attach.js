// Attaching a server with the page's help: what was pasted becomes the text for molar.yaml;
// once that is saved there, the page shows what the server brings. The page loads this when
// the first block is sent.

import { $, api, el, keep, t } from "/static/app.js";
import { badge, code, note, words } from "/static/pages.js";
import { reason } from "/static/reasons.js";

let watch = 0;

// attach shows the text for what was pasted, and waits for its servers. changed is called
// when they are there.
export async function attach(text, changed) {
  clearTimeout(watch);
  const box = $("attaching");
  try {
    const found = await api("/v1/servers/import", { method: "POST", body: { text } });
    const waiting = el("p", { className: "note" }, t(`Save this in ${found.file}. The page waits for it: the file is watched.`, `Hãy lưu vào ${found.file}. Trang đang chờ: tệp được theo dõi.`));
    const copy = el("button", { type: "button", on: { click: async () => {
      await navigator.clipboard.writeText(found.yaml).catch(() => null);
      copy.textContent = t("Copied", "Đã sao chép");
    } } }, t("Copy", "Sao chép"));
    box.replaceChildren(el("div", {},
      found.variables?.length ? note(t(`Secrets stay out of the file. Set before molar starts: ${found.variables.join(", ")}`, `Bí mật không nằm trong tệp. Hãy đặt trước khi chạy molar: ${found.variables.join(", ")}`), "warn") : "",
      found.left_out?.length ? note(t(`Left out, with the reason in a comment: ${found.left_out.join(", ")}`, `Bị bỏ qua, lý do ghi trong chú thích: ${found.left_out.join(", ")}`), "warn") : "",
      code(found.yaml, "molar.yaml"), el("div", { className: "row" }, copy), waiting));
    look(found.servers ?? [], box, waiting, changed);
  } catch (err) {
    box.replaceChildren(note(words(err), "bad", { role: "alert" }));
  }
}

const lookAgain = 2000; // ms

async function look(names, box, waiting, changed) {
  const servers = (await api("/v1/servers").catch(() => ({ data: [] }))).data.filter((s) => names.includes(s.name));
  if (!box.contains(waiting)) return;
  if (!servers.length || servers.some((s) => ["starting", "backoff"].includes(s.state))) {
    watch = setTimeout(() => look(names, box, waiting, changed), lookAgain);
    return;
  }
  const done = await api("/v1/servers/reload", { method: "POST" }).catch(() => ({}));
  const tools = (await api("/v1/tools").catch(() => ({ data: [] }))).data;
  waiting.replaceWith(...servers.map((s) => brought(s, tools.filter((tool) => tool.server === s.name))), ask(done.offer));
  changed();
}

const classes = { reads: t("reads", "chỉ đọc"), "only adds": t("only adds", "chỉ thêm"), writes: t("writes", "có thể ghi") };

// brought says what a server brings, what each tool is taken for, and why.
function brought(s, tools) {
  return el("div", {}, el("h3", {}, s.name, " ", badge(s.state === "ready" ? t("ready", "sẵn sàng") : s.state, s.state === "ready" ? "good" : "warn")),
    s.reason ? note(reason(s.reason), "warn") : "",
    el("ul", { className: "brought" }, tools.map((tool) => el("li", {}, el("a", { href: `#tool-${tool.name}` }, tool.toolName || tool.name), " ",
      badge(classes[tool.class] ?? tool.class ?? "", tool.class === "writes" ? "warn" : ""), " ", el("span", { className: "quiet" }, reason(tool.class_why ?? ""))))));
}

const ask = (assistant) => el("p", { className: "row" }, el("button", { type: "button", className: "primary", on: { click: () => {
  if (assistant) keep("assistant", assistant);
  location.assign("/");
} } }, assistant ? t(`Ask ${assistant}`, `Hỏi ${assistant}`) : t("Go to the chat", "Đến trang trò chuyện")));
