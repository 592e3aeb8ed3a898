// The warnings about the host, in the bar: each once, with what to do about it. The page loads this module
// when the first one comes.

import { $, allows, api, el, me, number, t } from "/static/app.js";
import { announce } from "/static/view.js";

let shown = new Map(); // the warnings, by what each is about

// titles name in few words what a warning is about.
const titles = {
  server_missing: ({ server }) => t(`${server} is missing`, `thiếu ${server}`),
  store_down: () => t("nothing is saved now", "hiện không lưu được"),
  model_replaced: () => t("another model answers", "mô hình khác trả lời"),
  budget_low: () => t("the budget runs low", "ngân sách sắp hết"),
  no_room: () => t("a tool is left out", "có công cụ bị bỏ"),
};
const titleOf = (w) => titles[w.code]?.(w) ?? t("a warning", "có cảnh báo");

// show shows the warnings in the bar: these alone, or in addition to those shown before if more is true.
export async function show(now, more) {
  const news = [...now].filter(([key]) => !shown.has(key)).map(([, w]) => titleOf(w));
  shown = new Map(more ? [...shown, ...now] : now);
  const button = $("missing");
  button.hidden = !shown.size;
  if (!shown.size) return $("missing-why").hidePopover();
  const all = [...shown.values()];
  button.lastElementChild.textContent = all.length === 1 ? titleOf(all[0])
    : all.every((w) => w.code === "server_missing") ? t(`${number(all.length)} servers are missing`, `thiếu ${number(all.length)} máy chủ`)
      : t(`${number(all.length)} warnings`, `${number(all.length)} cảnh báo`);
  if (news.length) announce(t(`Warning: ${news.join(", ")}.`, `Cảnh báo: ${news.join(", ")}.`));
  const who = await me();
  $("missing-why").replaceChildren(...[...shown.values()].map((w) => el("p", {}, w.words)), !who || allows(who, "admin") ? remedies() : el("p", { className: "quiet" }, t("Tell whoever runs this Molar.", "Hãy báo cho người quản lý Molar này.")));
}

// remedies returns what an operator can do about the warnings.
function remedies() {
  const servers = [...shown.values()].filter((w) => w.server);
  const said = el("p", { className: "quiet", role: "status" });
  const again = servers.length > 0 && el("button", { type: "button", className: "primary", on: { click: async () => {
    again.disabled = true;
    said.textContent = t("Trying…", "Đang thử…");
    await api("/v1/servers/reload", { method: "POST" }).then(() => settled(servers.map((w) => w.server), said), (err) => { said.textContent = err.message; });
    again.disabled = false;
  } } }, t("Try again", "Thử lại"));
  return el("div", {}, el("div", { className: "row" }, again,
    servers.length > 0 && el("a", { className: "button", href: `/tools#server-${encodeURIComponent(servers[0].server)}` }, t("See the servers", "Xem các máy chủ")),
    servers.length < shown.size && el("a", { className: "button", href: "/config" }, t("Open the settings", "Mở cài đặt"))), said);
}

const lookAgain = 1000, patience = 15; // ms, looks

// settled waits until none of these servers is starting, takes the warnings about those that are there now
// away, and says how it went.
async function settled(names, said) {
  for (let i = 0; i < patience; i++) {
    await new Promise((next) => { setTimeout(next, lookAgain); });
    const all = (await api("/v1/servers").catch(() => ({ data: [] }))).data.filter((s) => names.includes(s.name));
    const there = all.filter((s) => ["ready", "degraded"].includes(s.state)).map((s) => s.name);
    if (there.length === names.length) {
      announce(t(`${there.join(", ")}: back.`, `${there.join(", ")}: đã trở lại.`));
      return show(new Map([...shown].filter(([, w]) => !there.includes(w.server))), false);
    }
    if (all.every((s) => !["starting", "backoff"].includes(s.state)) && i > 2) break;
  }
  said.textContent = t("Still missing.", "Vẫn chưa được.");
}
