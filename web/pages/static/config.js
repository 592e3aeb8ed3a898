// The settings page: the models of this browser, tests of the connections, and the server's
// settings with their origins.

import { $, api, el, keep, settings, t } from "/static/app.js";
import { badge, duration, facts, fileState, fill, frame, lookNow, note, say, table, watchHost, words } from "/static/pages.js";
import { reason } from "/static/reasons.js";

const names = ["gemini", "openai", "anthropic", "ollama", "offline"];
const about = {
  gemini: t("Google’s Gemini", "Gemini của Google"),
  openai: t("OpenAI, or a server with its API", "OpenAI, hoặc máy chủ có cùng API"),
  anthropic: t("Anthropic’s Claude, or a server with its API", "Claude của Anthropic, hoặc máy chủ có cùng API"),
  ollama: t("A local Ollama", "Ollama trên máy này"),
  offline: t("No model: quotes tools and says so", "Không có mô hình: trích kết quả công cụ và nói rõ"),
};

// apiOf returns the service whose API a provider speaks; the name of a service is also that of its provider.
const apiOf = (name) => providers.find((p) => p.name === name)?.api ?? name;
const keySetting = (name) => providers.find((p) => p.name === name)?.key_setting;
const settingOf = (name) => providers.find((p) => p.name === name)?.setting ?? `llm.${name}`;

let config = null; // the server's settings, once they are loaded
let providers = []; // the providers with their state, once they are loaded
let activeProvider = ""; // the provider that would answer this browser

const valueOf = (key) => config?.data.find((s) => s.key === key) ?? { value: "" };

// --- the models of this browser ------------------------------------------------------------

const form = { provider: $("provider"), model: $("chat-model"), guardrail_model: $("guardrail-model") };

function offerProviders() {
  form.provider.append(
    el("option", { value: "" }, t("As the server decides", "Theo máy chủ")),
    ...names.map((name) => el("option", { value: name }, `${name} – ${about[name]}`)));
}

// offerEndpoints adds the endpoints of llm.providers to the choices.
function offerEndpoints() {
  form.provider.append(...providers.filter((p) => !names.includes(p.name))
    .map((p) => el("option", { value: p.name }, `${p.name} – ${about[p.api] ?? p.api}`)));
  form.provider.value = settings().provider ?? "";
}

function read() {
  const choices = {};
  for (const [name, input] of Object.entries(form)) {
    if (input.value.trim()) choices[name] = input.value.trim();
  }
  return choices;
}

function showChoices() {
  const choices = settings();
  for (const [name, input] of Object.entries(form)) input.value = choices[name] ?? "";
  hint();
}

// hint shows the models that the server uses for empty fields, and the settings that are sent.
function hint() {
  const provider = form.provider.value;
  const state = providers.find((p) => p.name === provider);
  form.model.placeholder = state?.model || t("the server’s", "của máy chủ");
  form.guardrail_model.placeholder = state?.small_model || t("the server’s", "của máy chủ");
  for (const input of [form.model, form.guardrail_model]) input.disabled = provider === "offline";
  const choices = settings();
  $("sent").textContent = Object.keys(choices).length === 0
    ? t("Questions from this browser follow the server’s settings.", "Câu hỏi từ trình duyệt này theo thiết lập của máy chủ.")
    : t("Each question carries: ", "Mỗi câu hỏi mang theo: ") + Object.entries(choices).map(([k, v]) => `${k} = ${v}`).join(", ");
}

function save(choices) {
  if (choices.provider === "offline") choices = { provider: "offline" };
  keep("settings", Object.keys(choices).length ? JSON.stringify(choices) : null);
  showChoices();
  lookNow();
  say(t("Saved in this browser.", "Đã lưu trong trình duyệt này."));
}

function offerModels(models) {
  $("model-names").replaceChildren(...models.map((m) => el("option", { value: m })));
}

// --- connections -----------------------------------------------------------------------------

// stateOf returns a badge with the state of a provider: no key, no answer, answering or ready.
function stateOf(p) {
  if (p.missing) return badge(t("no key", "chưa có khóa"), "warn");
  if (!p.ready) return badge(t("does not answer", "không trả lời"), "warn");
  return p.name === activeProvider ? badge(t("answers now", "đang trả lời"), "good") : badge(t("ready", "sẵn sàng"));
}

// keyOf returns a text about a provider's key: whether one is sent, or which one is missing.
function keyOf(p) {
  const secret = p.key_setting;
  if (!secret) return "";
  if (p.missing) return t(`set ${secret}, then restart molar`, `đặt ${secret}, rồi khởi động lại molar`);
  return p.key ? t("one is sent", "có gửi khóa") : t("none is sent", "không gửi khóa");
}

function connection(p) {
  const { name } = p;
  const result = el("div", { className: "result", "aria-live": "polite" });
  const test = el("button", { type: "button", "aria-label": t(`Test ${name}`, `Thử ${name}`) }, t("Test", "Thử"));
  test.addEventListener("click", () => tryProvider(name, test, result));
  return el("article", { className: "card connection", id: `provider-${name}` },
    el("header", {}, el("h3", {}, name), stateOf(p)),
    el("p", { className: "quiet" }, about[apiOf(name)] ?? apiOf(name)),
    facts([
      [t("Address", "Địa chỉ"), valueOf(`${settingOf(name)}.base_url`).value],
      [t("Chat model", "Mô hình trả lời"), p.model],
      [t("Small model", "Mô hình nhỏ"), p.small_model],
      [t("Key", "Khóa"), keyOf(p)],
      [t("Why not", "Vì sao"), p.error && reason(p.error.message)],
    ]),
    el("div", { className: "row" }, test), result);
}

// showAnswering shows which model answers this browser, and marks its card.
function showAnswering({ provider = "", model = "", why = "" }) {
  const words = provider === "offline" ? t("No model answers now: Molar quotes what its tools find.", "Hiện không có mô hình trả lời: Molar trích kết quả của công cụ.")
    : provider ? t(`Now answering: ${model} (${provider})`, `Đang trả lời: ${model} (${provider})`)
      : t(`Nothing can answer now: ${why}`, `Hiện không gì trả lời được: ${reason(why)}`);
  if ($("answers").textContent !== words) $("answers").textContent = words;
  if (activeProvider === provider) return;
  activeProvider = provider;
  for (const p of providers) $(`provider-${p.name}`)?.querySelector(".badge")?.replaceWith(stateOf(p));
}

async function tryProvider(name, button, result) {
  button.disabled = true;
  result.replaceChildren(note(t("Asking… a local model may have to be loaded first.", "Đang hỏi… mô hình trên máy có thể phải nạp trước.")));
  try {
    const choices = read();
    const body = choices.provider === name && choices.model ? { model: choices.model } : {};
    const test = await api(`/v1/providers/${name}/test`, { method: "POST", body });
    result.replaceChildren(...outcome(name, test));
  } catch (err) {
    result.replaceChildren(note(words(err), "bad"));
  } finally {
    button.disabled = false;
    button.focus({ preventScroll: true });
  }
}

// remedy is what to do when a test fails, by the code of the error.
const remedy = {
  auth: (name) => t(`The key was refused. Check ${keySetting(name) ?? "it"} and restart molar.`, `Khóa bị từ chối. Hãy kiểm tra ${keySetting(name) ?? "khóa"} rồi khởi động lại molar.`),
  model_not_found: (name) => (apiOf(name) === "ollama"
    ? t("The model is not installed. Fetch it with “ollama pull”, or choose one below.", "Mô hình chưa được cài. Hãy tải bằng “ollama pull”, hoặc chọn một mô hình bên dưới.")
    : t("The service has no such model. Choose one below.", "Dịch vụ không có mô hình này. Hãy chọn một mô hình bên dưới.")),
  unavailable: (name) => (apiOf(name) === "ollama"
    ? t(`Ollama does not answer. Start it with “ollama serve”, and check ${settingOf(name)}.base_url.`, `Ollama không trả lời. Hãy chạy “ollama serve” và kiểm tra ${settingOf(name)}.base_url.`)
    : t("The service does not answer. Check the network and the address.", "Dịch vụ không trả lời. Hãy kiểm tra mạng và địa chỉ.")),
  rate_limit: () => t("The service wants fewer questions. Wait a minute and test again.", "Dịch vụ yêu cầu ít câu hỏi hơn. Hãy chờ một phút rồi thử lại."),
};

function outcome(name, test) {
  const parts = [];
  if (test.ok) {
    const times = test.first_output_ms
      ? t(`first word after ${duration(test.first_output_ms)}, whole after ${duration(test.took_ms)}`, `từ đầu tiên sau ${duration(test.first_output_ms)}, xong sau ${duration(test.took_ms)}`)
      : duration(test.took_ms);
    parts.push(note(`✓ ${test.model ? `${test.model}: ` : ""}${times}`, "good"));
  } else {
    const advice = remedy[test.error.code]?.(name) ?? t("That did not work.", "Không thực hiện được.");
    parts.push(note(`${advice}\n${test.error.message}`, "bad"));
  }
  if (test.models?.length) {
    offerModels(test.models);
    parts.push(
      el("p", { className: "quiet" }, t("Models there; choose one to use it in this browser:", "Các mô hình ở đó; chọn một để dùng trong trình duyệt này:")),
      el("ul", { className: "chips" }, test.models.map((m) => el("li", {}, el("button", { type: "button", on: { click: () => use(name, m) } }, m)))));
  }
  return parts;
}

function use(provider, model) {
  form.provider.value = provider;
  form.model.value = model;
  hint();
  form.model.focus();
}

// --- the server's settings --------------------------------------------------------------------

function origin(setting) {
  if (!setting.origin) return el("span", { className: "quiet" }, t("default", "mặc định"));
  const short = config.file && setting.origin.startsWith(config.file)
    ? setting.origin.slice(setting.origin.lastIndexOf("/") + 1)
    : setting.origin;
  return el("code", { title: setting.origin }, short);
}

function showSettings() {
  const filter = $("find").value.trim().toLowerCase();
  const matches = config.data.filter((s) => (s.origin || $("all").checked || filter) &&
    `${s.key} ${s.value} ${s.origin ?? ""}`.toLowerCase().includes(filter));
  if (matches.length === 0) {
    $("settings").replaceChildren(el("p", { className: "none" }, filter
      ? t("No setting fits the filter.", "Không có thiết lập nào khớp.")
      : t("Everything is at its default. “molar config init” writes a commented file to start from.", "Mọi thứ đang ở mặc định. “molar config init” tạo một tệp có chú thích để bắt đầu.")));
    return;
  }
  $("settings").replaceChildren(table(t("Settings", "Thiết lập"),
    [t("Key", "Khóa"), t("Value", "Giá trị"), t("Set in", "Đặt ở")],
    matches.map((s) => [el("code", {}, s.key), s.secret ? t("set, not shown", "đã đặt, không hiển thị") : s.value || "–", origin(s)])));
}

async function load() {
  config = await api("/v1/config");
  $("file").textContent = config.file
    ? t(`The config file is ${config.file}. Servers in it are taken over when it is saved; all else needs a restart. Secrets are never shown.`, `Tệp cấu hình là ${config.file}. Máy chủ trong tệp được cập nhật khi lưu; những thứ khác cần khởi động lại. Bí mật không bao giờ được hiển thị.`)
    : t("There is no config file: the built-in settings are in force. “molar init” asks a few questions and writes one.", "Không có tệp cấu hình: đang dùng thiết lập sẵn có. “molar init” hỏi vài câu rồi tạo một tệp.");
  return config;
}

offerProviders();
frame(t("Settings", "Cài đặt"));
fileState($("file-state"));
watchHost(showAnswering);
showChoices();
form.provider.addEventListener("change", hint);
addEventListener("storage", ({ key }) => { if (key === "molar.settings") showChoices(); }); // chosen in the bar of the chat, in another tab
$("models").addEventListener("submit", (event) => {
  event.preventDefault();
  save(read());
});
$("reset").addEventListener("click", () => save({}));
$("find").addEventListener("input", () => config && showSettings());
$("all").addEventListener("change", () => config && showSettings());
await fill($("connections"), async () => {
  await load();
  showSettings();
  ({ data: providers } = await api("/v1/providers"));
}, () => {
  offerEndpoints();
  hint();
  return providers.map(connection);
});
