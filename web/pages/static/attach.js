// The form that attaches a server: the pasted text is converted to a text for molar.yaml; when that
// file is saved, the page shows the server's tools. The tools page loads this module when the first
// block is sent.

import { $, api, el, t } from "/static/app.js";
import { askButton, badge, code, fileState, lookNow, note, words } from "/static/pages.js";
import { reason } from "/static/reasons.js";

let watch = 0;

// placeText returns a sentence about where in the config file the text belongs.
const placeText = ({ file, place, line }) => ({
  new: () => t(`Save this as ${file}.`, `Hãy lưu phần này thành ${file}.`),
  end: () => t(`Add this to the end of ${file}, and save it.`, `Hãy thêm phần này vào cuối ${file} rồi lưu.`),
  below: () => t(`Put this into ${file}, right below line ${line} with “mcpServers:”, and save it.`, `Hãy chèn phần này vào ${file}, ngay dưới dòng ${line} có “mcpServers:”, rồi lưu.`),
  instead: () => t(`Put this in the place of line ${line} of ${file} with “mcpServers”, and save it.`, `Hãy thay dòng ${line} có “mcpServers” trong ${file} bằng phần này rồi lưu.`),
  inside: () => t(`Put this into ${file}, right behind the “{” of mcpServers in line ${line}, and save it.`, `Hãy chèn phần này vào ${file}, ngay sau dấu “{” của mcpServers ở dòng ${line}, rồi lưu.`),
})[place]();

// attach shows the text for molar.yaml, and waits for its servers. changed is called when they have
// started or failed.
export async function attach(text, changed) {
  clearTimeout(watch);
  const box = $("attaching");
  try {
    const result = await api("/v1/servers/import", { method: "POST", body: { text } });
    const servers = result.servers ?? [];
    const waiting = el("div", {}, note(t("The page waits for it: the file is watched.", "Trang đang chờ: tệp được theo dõi.")), fileState());
    const copy = el("button", { type: "button", on: { click: async () => {
      await navigator.clipboard.writeText(result.yaml).catch(() => null);
      copy.textContent = t("Copied", "Đã sao chép");
    } } }, t("Copy", "Sao chép"));
    box.replaceChildren(el("div", {},
      result.variables?.length ? note(t(`Secrets stay out of the file. Put a line NAME=VALUE into ${result.variables_file} for each of: ${result.variables.join(", ")}`, `Bí mật không nằm trong tệp. Hãy ghi một dòng TÊN=GIÁ_TRỊ vào ${result.variables_file} cho mỗi biến: ${result.variables.join(", ")}`), "warn") : "",
      result.left_out?.length ? note(t(`Left out, with the reason in a comment: ${result.left_out.join(", ")}`, `Bị bỏ qua, lý do ghi trong chú thích: ${result.left_out.join(", ")}`), "warn") : "",
      servers.length > 0 && el("p", { className: "placed" }, placeText(result)),
      code(result.yaml, "molar.yaml"), el("div", { className: "row" }, copy, /^https?:\/\/\S+$/.test(text.trim()) && addNow(text.trim(), box, changed)), servers.length > 0 && waiting));
    if (servers.length) look(servers, box, waiting, changed);
  } catch (err) {
    box.replaceChildren(note(words(err), "bad", { role: "alert" }));
  }
}

// addNow returns a button that attaches a server by its address without the config file; the host
// stores it. A host without keys refuses.
function addNow(url, box, changed) {
  const button = el("button", { type: "button", on: { click: async () => {
    button.disabled = true;
    box.querySelector(".problem")?.remove();
    try {
      const { name } = await api("/v1/servers", { method: "POST", body: { url } });
      const waiting = el("p", { className: "note" }, t(`${name} is being attached…`, `Đang gắn ${name}…`));
      box.replaceChildren(el("div", {}, waiting));
      look([name], box, waiting, changed);
    } catch (err) {
      button.disabled = false;
      box.firstChild.append(note(words(err), "bad problem", { role: "alert" }));
    }
  } } }, t("Attach it now, without the file", "Gắn ngay, không cần tệp"));
  return button;
}

const lookAgain = 2000; // ms

// look polls the servers with these names until each has started or failed, then shows them.
async function look(names, box, waiting, changed) {
  const servers = (await api("/v1/servers").catch(() => ({ data: [] }))).data.filter((s) => names.includes(s.name));
  if (!box.contains(waiting)) return;
  if (!servers.length || servers.some((s) => ["starting", "backoff"].includes(s.state))) {
    watch = setTimeout(() => look(names, box, waiting, changed), lookAgain);
    return;
  }
  const { offer } = await lookNow();
  const tools = (await api("/v1/tools?lint=true").catch(() => ({ data: [] }))).data;
  waiting.replaceWith(...servers.map((s) => serverSummary(s, tools.filter((tool) => tool.server === s.name))), el("p", { className: "row" }, askButton(offer)));
  changed();
}

const classes = { reads: t("reads", "chỉ đọc"), "only adds": t("only adds", "chỉ thêm"), writes: t("writes", "có thể ghi") };

// serverSummary lists the tools of a server, each with its class and the reason for it.
function serverSummary(s, tools) {
  return el("div", {}, el("h3", {}, s.name, " ", badge(s.state === "ready" ? t("ready", "sẵn sàng") : s.state, s.state === "ready" ? "good" : "warn")),
    s.reason ? note(reason(s.reason), "warn") : "",
    el("ul", { className: "brought" }, tools.map((tool) => el("li", {}, el("a", { href: `#tool-${tool.name}` }, tool.toolName || tool.name), " ",
      badge(classes[tool.class] ?? tool.class ?? "", tool.class === "writes" ? "warn" : ""), " ", el("span", { className: "quiet" }, reason(tool.class_why ?? "")), " ",
      el("a", { className: "try", href: `#tool-${tool.name}`, "aria-label": t(`Try ${tool.toolName || tool.name}`, `Thử ${tool.toolName || tool.name}`) }, t("Try it", "Thử")), remarks(tool.lint)))));
}

// remarks shows what the lint of a tool found, or nothing.
function remarks(lint) {
  const texts = [
    ...(lint?.sends ?? []).map((name) => t(`Text can leave by the argument ${name}.`, `Văn bản có thể rời đi qua tham số ${name}.`)),
    ...(lint?.notes ?? []).map(reason),
  ];
  return texts.length ? el("details", {}, el("summary", {}, t(texts.length === 1 ? "1 remark" : `${texts.length} remarks`, `${texts.length} lưu ý`)), el("ul", {}, texts.map((text) => el("li", {}, text)))) : null;
}
