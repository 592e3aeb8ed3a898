// The menu of the bar: which assistant answers, and which model. The page loads this module when the menu
// is opened first.

import { $, api, el, keep, settings, setupPath, t } from "/static/app.js";
import { moved } from "/static/frame.js";

const menu = $("assistants");
const assistant = $("model");
const many = 10; // models that are listed without a field to filter them

const item = (pressed, name, about, choose) => el("button", { type: "button", className: "plain", "aria-pressed": String(pressed), on: { click: () => {
  choose();
  menu.hidePopover();
} } }, el("strong", {}, name), about && el("small", {}, about));

const group = (id, title, ...parts) => el("div", { role: "group", "aria-labelledby": id }, el("h2", { id }, title), ...parts);

const settingsLink = (words) => el("a", { href: "/config" }, words);

// showChoices fills the menu. The models are for readers who operate the host; changed is called after a choice.
export async function showChoices(operates, changed) {
  const names = [...assistant.options].map((o) => item(o.selected, o.value, o.title, () => {
    assistant.value = o.value;
    assistant.dispatchEvent(new Event("change"));
    changed();
  }));
  const models = el("div", { "aria-live": "polite" });
  menu.replaceChildren(group("assistants-title", t("Assistant", "Trợ lý"), ...names), models);
  const [setup, providers] = await Promise.all([api(setupPath(assistant.value)).catch(() => ({})), operates ? api("/v1/providers").catch(() => null) : null]);
  if (providers) models.replaceWith(modelsOf(providers.data.filter((p) => p.ready && p.model), changed));
  else if (setup.model) models.append(el("p", { className: "by" }, t(`Answers come from ${setup.model} (${setup.provider}). `, `Trả lời bằng ${setup.model} (${setup.provider}). `), operates && settingsLink(t("Choose another model", "Chọn mô hình khác"))));
}

// modelsOf returns the choice of a model, or of the server's setting, which is sent with each question
// from this browser.
function modelsOf(providers, changed) {
  const chosen = settings();
  const choose = (choice) => () => {
    const { guardrail_model, ...rest } = settings();
    const same = guardrail_model && choice.provider === rest.provider;
    const all = { ...choice, ...same && { guardrail_model } }; // the model of another provider does not judge here
    keep("settings", Object.keys(all).length ? JSON.stringify(all) : null);
    changed();
  };
  const own = (p, name) => chosen.provider === p.name && (chosen.model ?? p.model) === name;
  const all = providers.flatMap((p) => [...new Set([p.model, ...p.models ?? []])].map((name) => item(own(p, name), name, p.name, choose({ provider: p.name, model: name }))));
  const list = el("div", { className: "models" }, all);
  const filter = all.length > many && el("input", { type: "search", placeholder: t("Filter", "Lọc"), spellcheck: false, "aria-label": t("Filter the models", "Lọc mô hình"), on: { input: () => {
    for (const button of all) button.hidden = !button.textContent.toLowerCase().includes(filter.value.trim().toLowerCase());
  } } });
  const server = item(!chosen.provider && !chosen.model, t("The server’s setting", "Theo máy chủ"), t("The server decides which model answers.", "Máy chủ quyết định mô hình nào trả lời."), choose({}));
  return group("models-title", t("Model", "Mô hình"), server, filter, list,
    el("p", { className: "by" }, settingsLink(t("Test connections and set more", "Thử kết nối và đặt thêm"))));
}

menu.addEventListener("keydown", (event) => {
  const items = [...menu.querySelectorAll("button:not([hidden]), input")];
  const to = event.target.matches("input") && !event.key.startsWith("Arrow") ? null : moved(event.key, items, event.target);
  if (!to) return;
  event.preventDefault();
  to.focus();
});
