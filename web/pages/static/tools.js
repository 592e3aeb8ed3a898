// The tools page: the servers, their tools as a model receives them, and the latest calls.

import { $, api, el, files, number, t, when } from "/static/app.js";
import { listGrants } from "/static/grants.js";
import { listKnowledge } from "/static/knowledge.js";
import { badge, code, duration, facts, fileState, fill, fold, frame, lookNow, note, offerBox, outcome, pretty, say, table, words } from "/static/pages.js";
import { reason } from "/static/reasons.js";
import { formFor } from "/static/toolform.js";

const states = {
  ready: ["good", t("ready", "sẵn sàng")],
  degraded: ["warn", t("degraded", "suy giảm")],
  starting: ["", t("starting", "đang khởi động")],
  stopping: ["", t("stopping", "đang dừng")],
  backoff: ["warn", t("waiting to retry", "chờ thử lại")],
  failed: ["bad", t("failed", "hỏng")],
  disabled: ["", t("disabled", "đã tắt")],
};

let tools = [];
let calls = [];
const openTools = new Set(); // the names of the tools whose details are open

// --- servers -----------------------------------------------------------------------------------

function latency(server) {
  const times = calls.filter((c) => c.server === server && c.status === "ok").map((c) => c.duration_ms).sort((a, b) => a - b);
  if (times.length === 0) return "";
  return t(`${duration(times[times.length >> 1])}, the median of ${times.length}`, `${duration(times[times.length >> 1])}, trung vị của ${times.length}`);
}

// serverCard shows a server: its state, and details that can be opened.
function serverCard(s) {
  const [kind, state] = states[s.state] ?? ["", s.state];
  return el("article", { className: "card server", id: `server-${s.name}`, tabIndex: -1 },
    el("header", {}, el("h3", {}, s.name), badge(state, kind), s.added ? badge(t("added here", "thêm từ trang")) : ""),
    s.reason ? note(reason(s.reason), s.state === "failed" ? "bad" : "warn") : "",
    s.pending?.length ? pendingTools(s) : "",
    s.alike?.length ? note(s.alike.map(reason).join("; "), "warn") : "",
    s.proposal ? proposed(s) : "",
    fold([t(s.tools === 1 ? "1 tool" : `${number(s.tools)} tools`, `${number(s.tools)} công cụ`), s.transport, latency(s.name)].filter(Boolean).join(" · "), facts([
      [t("Version", "Phiên bản"), [s.version, s.protocol && `MCP ${s.protocol}`].filter(Boolean).join(" · ")],
      [t("Started in", "Khởi động trong"), s.start_ms ? duration(s.start_ms) : ""],
      [t("Since", "Từ"), when(s.since)],
    ])),
    s.skipped?.length ? fold(t(`${s.skipped.length} left out`, `${s.skipped.length} bị bỏ qua`), el("ul", {}, s.skipped.map((text) => el("li", {}, text)))) : "",
    s.added ? removal(s) : "",
    s.stderr?.length ? fold(t("Standard error", "Luồng lỗi chuẩn"), code(s.stderr.join("\n"), t(`Standard error of ${s.name}`, `Luồng lỗi chuẩn của ${s.name}`))) : "");
}

// proposed shows what a server's tools do, as Molar takes them: a person corrects it and confirms it once.
function proposed(s) {
  const p = structuredClone(s.proposal);
  const tick = (label, on, change) => el("label", {}, el("input", { type: "checkbox", checked: on, on: { change: (e) => change(e.currentTarget.checked) } }), " ", label);
  const rows = p.tools.map((tool) => [el("code", {}, tool.tool),
    tick(t("only reads", "chỉ đọc"), tool.reads, (on) => { tool.reads = on; }),
    tick(t("only adds, and harms nobody", "chỉ thêm, không hại ai"), tool.adds, (on) => { tool.adds = on; }),
    tool.destroys ? tick(t("destroys nothing of value, whatever it announces", "không xóa mất gì đáng giá, dù tự báo là có"), tool.mild, (on) => { tool.mild = on; }) : "",
    el("label", {}, t("free text: ", "văn bản tự do: "), el("input", { type: "text", value: tool.content.join(", "), on: { change: (e) => {
      tool.content = e.currentTarget.value.split(",").map((path) => path.trim()).filter(Boolean);
    } } })),
    reason(tool.why ?? "")]);
  const result = el("div", { "aria-live": "polite" });
  return el("div", { className: "proposal" },
    note(t("Nobody has confirmed yet what these tools do. Until then a call of another server that may change something asks.",
      "Chưa ai xác nhận các công cụ này làm gì. Đến lúc đó, lệnh gọi có thể thay đổi gì của máy chủ khác sẽ phải hỏi."), "warn"),
    fold(t("What the tools do", "Các công cụ làm gì"), el("div", {},
      el("p", {}, tick(t("public: it fetches what the web shows to anybody", "công khai: lấy về những gì web cho ai cũng xem"), p.public, (on) => { p.public = on; })),
      el("p", {}, tick(t("closed: it reaches nobody outside", "khép kín: không liên lạc với ai bên ngoài"), p.closed, (on) => { p.closed = on; })),
      el("p", {}, tick(t("its credentials cannot write", "tài khoản của nó không thể ghi"), p.readonly, (on) => { p.readonly = on; })),
      el("ul", {}, rows.map((row) => el("li", {}, row.flatMap((cell) => [cell, " "])))))),
    el("button", { type: "button", className: "small", on: { click: async (event) => {
      const button = event.currentTarget;
      button.disabled = true;
      try {
        await api(`/v1/servers/${encodeURIComponent(s.name)}/approve`, { method: "POST", body: { marks: p } });
        say(t(`What the tools of ${s.name} do is confirmed.`, `Đã xác nhận các công cụ của ${s.name} làm gì.`));
        await refresh();
      } catch (err) {
        button.disabled = false;
        result.replaceChildren(note(words(err), "bad"));
      }
    } } }, t(`Confirm ${s.name}`, `Xác nhận ${s.name}`)), result);
}

// removal returns a button that removes a server that was added on this page.
function removal(s) {
  const result = el("div", { "aria-live": "polite" });
  return el("div", {}, el("button", { type: "button", className: "small", on: { click: async (event) => {
    event.currentTarget.disabled = true;
    try {
      await api(`/v1/servers/${encodeURIComponent(s.name)}`, { method: "DELETE" });
      say(t(`${s.name} is removed.`, `Đã gỡ ${s.name}.`));
      await refresh();
    } catch (err) {
      result.replaceChildren(note(words(err), "bad"));
    }
  } } }, t(`Remove ${s.name}`, `Gỡ ${s.name}`)), result);
}

// pendingTools asks for the approval of tools that are new or changed since the last approval.
function pendingTools(s) {
  const result = el("div", { "aria-live": "polite" });
  const approve = el("button", { type: "button", on: { click: async () => {
    approve.disabled = true;
    try {
      await api(`/v1/servers/${encodeURIComponent(s.name)}/approve`, { method: "POST", body: { digest: s.digest ?? "" } });
      say(t(`The tools of ${s.name} are approved.`, `Đã chấp thuận công cụ của ${s.name}.`));
      await refresh();
    } catch (err) {
      approve.disabled = false;
      result.replaceChildren(note(words(err), "bad"));
    }
  } } }, t("Approve them as they are now", "Chấp thuận như hiện tại"));
  return el("div", { className: "note warn" },
    el("p", {}, t(`New or changed, and withheld until you approve: ${s.pending.join(", ")}. Read what is new about each first.`, `Mới hoặc đã thay đổi, bị giữ lại đến khi bạn chấp thuận: ${s.pending.join(", ")}. Hãy đọc phần thay đổi của từng công cụ trước.`)),
    (s.changes ?? []).map((c) => fold(c.tool, code(c.diff.join("\n"), t(`What is new about ${c.tool}`, `Thay đổi của ${c.tool}`)))),
    approve, result);
}

function noServers() {
  return el("div", { className: "none" },
    el("p", {}, t("No server is attached yet. Paste the command, address or block that its page gives below, or run “molar init”, which finds those of other hosts.", "Chưa gắn máy chủ nào. Hãy dán lệnh, địa chỉ hoặc khối cấu hình của máy chủ vào ô bên dưới, hoặc chạy “molar init” để tìm máy chủ của các ứng dụng khác.")));
}

// --- tools ---------------------------------------------------------------------------------------

function toolCard(tool) {
  const id = `tool-${tool.name}`;
  const body = el("div", { className: "body", id: `${id}-body`, hidden: true });
  const open = el("button", { type: "button", className: "open", "aria-expanded": "false", "aria-controls": body.id },
    el("span", { className: "name" }, tool.toolName || tool.name), ...badges(tool),
    el("span", { className: "what" }, (tool.description ?? "").split("\n")[0]));
  const show = (on) => {
    open.setAttribute("aria-expanded", String(on));
    body.hidden = !on;
    if (on && !body.hasChildNodes()) body.append(...details(tool, id));
    if (on) openTools.add(tool.name);
    else openTools.delete(tool.name);
  };
  open.addEventListener("click", () => show(body.hidden));
  if (openTools.has(tool.name)) show(true);
  return el("article", { className: `card tool${tool.withheld ? " off" : ""}`, id },
    el("div", { className: "head" }, open, toggle(tool)), body);
}

function badges(tool) {
  const list = [];
  if (tool.withheld) list.push(badge(t("withheld", "bị giữ lại"), "warn"));
  if (tool.policy === "confirm") list.push(badge(t("asks first", "hỏi trước")));
  if (tool.policy === "deny") list.push(badge(t("denied", "bị cấm"), "bad"));
  if (tool.class) list.push(el("span", { className: `badge ${tool.class === "writes" ? "warn" : ""}`, title: reason(tool.class_why) }, { reads: t("reads", "chỉ đọc"), "only adds": t("only adds", "chỉ thêm"), writes: t("writes", "có thể ghi") }[tool.class] ?? tool.class));
  else if (tool.readOnly) list.push(badge(t("reads only", "chỉ đọc")));
  for (const r of tool.refused ?? []) list.push(badge(t(`refused by ${r.provider}`, `bị ${r.provider} từ chối`), "warn"));
  if (tool.lowered?.refused) list.push(badge(t("not for this provider", "không hợp nhà cung cấp này"), "warn"));
  return list.flatMap((b) => [b, " "]);
}

function toggle(tool) {
  const input = el("input", {
    type: "checkbox", role: "switch", checked: tool.enabled,
    "aria-label": t(`Offer ${tool.toolName || tool.name}`, `Cho dùng ${tool.toolName || tool.name}`),
  });
  input.addEventListener("change", async () => {
    input.disabled = true;
    try {
      const now = await api(`/v1/tools/${encodeURIComponent(tool.name)}`, { method: "PATCH", body: { enabled: input.checked } });
      say(now.enabled ? t(`${tool.name} is on.`, `${tool.name} đã bật.`) : t(`${tool.name} is off.`, `${tool.name} đã tắt.`));
      const fresh = { ...tool, ...now, withheld: now.withheld };
      tools = tools.map((other) => (other.name === tool.name ? fresh : other));
      const card = toolCard(fresh); // only this card is drawn again: the others may hold arguments that are being typed
      input.closest(".tool").replaceWith(card);
      card.querySelector('[role="switch"]').focus();
    } catch (err) {
      input.checked = tool.enabled;
      input.disabled = false;
      input.closest(".tool").append(note(words(err), "bad", { role: "alert" }));
    }
  });
  return el("span", { className: "switch" }, input);
}

function details(tool, id) {
  return [
    el("p", tool.description?.length > 2000 ? { className: "says long", tabIndex: 0 } : { className: "says" }, tool.description || t("The server gives no description.", "Máy chủ không mô tả công cụ này.")),
    tool.withheld ? note(t(`No model is offered it: ${tool.withheld}`, `Không mô hình nào được dùng: ${reason(tool.withheld)}`), "warn") : "",
    refusals(tool),
    facts([
      [t("Offered as", "Tên với mô hình"), el("code", {}, tool.name)],
      [t("Server", "Máy chủ"), tool.server],
      [t("Policy", "Chính sách"), tool.policy || t("the host’s own", "mặc định của máy chủ")],
    ]),
    el("div", { className: "columns" },
      el("div", {}, el("h4", {}, t("Try it", "Thử")), tryForm(tool, id)),
      el("div", {}, el("h4", {}, schemaTitle(tool)), ...schemaParts(tool))),
  ].filter(Boolean);
}

// refusals shows the services that refused a tool, with a button that offers the tool to them
// again.
function refusals(tool) {
  if (!tool.refused?.length) return "";
  const result = el("div", { "aria-live": "polite" });
  const again = el("button", { type: "button", className: "small", on: { click: async () => {
    again.disabled = true;
    try {
      await api(`/v1/tools/${encodeURIComponent(tool.name)}/refusals`, { method: "DELETE" });
      say(t(`${tool.name} is offered again.`, `Đã đưa ${tool.name} trở lại.`));
      await loadTools();
    } catch (err) {
      again.disabled = false;
      result.replaceChildren(note(words(err), "bad"));
    }
  } } }, t("Offer it again now", "Đưa lại ngay"));
  return el("div", { className: "note warn" },
    tool.refused.map((r) => el("p", {}, t("The service of ", "Dịch vụ của "), r.provider,
      t(" refused it; it stays out until ", " đã từ chối công cụ này, nên nó không được đưa ra cho đến "), when(r.until), t(", or until it changes: ", ", hoặc đến khi công cụ thay đổi: "), r.reason)),
    again, result);
}

const schemaTitle = (tool) => (tool.lowered
  ? t(`Schema as ${tool.lowered.provider} sees it`, `Lược đồ như ${tool.lowered.provider} thấy`)
  : t("Schema as the server gave it", "Lược đồ như máy chủ đưa"));

function schemaParts(tool) {
  const low = tool.lowered;
  if (low?.refused) return [note(t(`It cannot be offered to ${low.provider}: ${low.refused}`, `Không thể dùng với ${low.provider}: ${low.refused}`), "warn")];
  const parts = [code(pretty(low?.schema ?? tool.inputSchema ?? {}), schemaTitle(tool))];
  if (low?.hint) parts.push(note(t(`Added to the description: ${low.hint}`, `Thêm vào mô tả: ${low.hint}`)));
  if (low?.notes?.length) parts.push(fold(t("What was changed", "Những gì đã đổi"), el("ul", {}, low.notes.map((n) => el("li", {}, n)))));
  return parts;
}

function tryForm(tool, id) {
  const result = el("div", { className: "result", "aria-live": "polite" });
  const { elements, read } = formFor(tool.inputSchema, id);
  const run = el("button", { className: "primary", type: "submit", disabled: Boolean(tool.withheld) }, t("Call it", "Gọi"));
  const form = el("form", { className: "try", noValidate: true }, ...elements,
    tool.readOnly ? "" : el("p", { className: "why" }, t("This is a real call: the tool may change something.", "Đây là lời gọi thật: công cụ có thể thay đổi dữ liệu.")),
    el("div", { className: "row" }, run), result);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const args = read();
    if (!args) return;
    run.disabled = true;
    result.replaceChildren(note(t("Calling…", "Đang gọi…")));
    try {
      const out = await api(`/v1/tools/${encodeURIComponent(tool.name)}/call`, { method: "POST", body: { arguments: args } });
      result.replaceChildren(
        el("div", { className: "row" }, badge(...outcome(out.status)), el("span", { className: "quiet" }, duration(out.duration_ms))),
        code(pretty(out.result.output), t("Result", "Kết quả")), ...files(out.result));
    } catch (err) {
      result.replaceChildren(note(words(err), "bad"));
    } finally {
      run.disabled = false;
      loadCalls();
    }
  });
  return form;
}

function showTools() {
  const filter = $("find").value.trim().toLowerCase();
  const matches = tools.filter((tool) => `${tool.name} ${tool.description ?? ""}`.toLowerCase().includes(filter));
  if (matches.length === 0) {
    return [el("p", { className: "none" }, tools.length
      ? t("No tool fits the filter.", "Không có công cụ nào khớp.")
      : t("There are no tools: attach a server that has some.", "Chưa có công cụ: hãy gắn một máy chủ có công cụ."))];
  }
  const groups = Map.groupBy(matches, (tool) => tool.server || t("built in", "có sẵn"));
  return [...groups].flatMap(([server, list]) => [el("h3", { className: "group" }, server), ...list.map(toolCard)]);
}

// --- calls ---------------------------------------------------------------------------------------

function showCalls() {
  if (calls.length === 0) {
    return el("p", { className: "none" }, t("No tool was called since molar started.", "Chưa có công cụ nào được gọi từ khi molar khởi động."));
  }
  const longest = Math.max(...calls.map((c) => c.duration_ms), 1);
  return table(t("Recent calls", "Các lần gọi gần đây"),
    [t("When", "Lúc"), t("Server", "Máy chủ"), t("Tool", "Công cụ"), t("Outcome", "Kết quả"), t("Took", "Mất"), t("Turn", "Lượt")],
    calls.map((c) => {
      const bar = el("span", { className: "measure" });
      bar.style.setProperty("--of", String((100 * c.duration_ms) / longest));
      return [
        when(c.at), c.server, el("code", {}, c.tool),
        el("div", {}, badge(...outcome(c.status)), c.error ? fold(t("why", "vì sao"), el("p", {}, reason(c.error))) : ""),
        el("div", {}, duration(c.duration_ms), bar),
        c.turn_id ? el("a", { href: `/turn?id=${encodeURIComponent(c.turn_id)}` }, t("trace", "dấu vết")) : t("by hand", "gọi tay"),
      ];
    }));
}

// --- loading -------------------------------------------------------------------------------------

const loadCalls = () => fill($("calls"), async () => { calls = (await api("/v1/calls?limit=50")).data; }, showCalls);

const loadTools = () => fill($("tools"), async () => {
  const provider = $("provider").value;
  tools = (await api(`/v1/tools${provider ? `?provider=${provider}` : ""}`)).data;
}, showTools);

const moving = new Set(["starting", "stopping", "backoff"]);
let again = 0;
let lastStates = ""; // the states of the servers that were shown last

const loadServers = () => fill($("servers"), async () => (await api("/v1/servers")).data, (servers) => {
  clearTimeout(again);
  // The page polls servers that are starting, stopping or retrying.
  if (servers.some((s) => moving.has(s.state))) again = setTimeout(loadServers, 3000);
  const now = servers.map((s) => `${s.name} ${s.state} ${s.tools} ${s.list_digest ?? ""}`).join("\n");
  if (lastStates && lastStates !== now) loadTools();
  lastStates = now;
  return servers.length ? servers.map(serverCard) : noServers();
});

async function refresh() {
  await loadCalls(); // the servers show the median of the calls
  listGrants($("grants"), say).catch((err) => $("grants").replaceChildren(note(words(err), "warn")));
  await Promise.all([loadServers(), loadTools(), listKnowledge($("knowledge"))]);
}

async function reload() {
  $("reload").disabled = true;
  try {
    const report = await api("/v1/servers/reload", { method: "POST" });
    const changed = [...(report.added ?? []), ...(report.removed ?? []), ...(report.restarted ?? []), ...(report.updated ?? [])];
    const more = report.needs_restart?.length
      ? t(` These need a restart of molar: ${report.needs_restart.join(", ")}.`, ` Những mục này cần khởi động lại molar: ${report.needs_restart.join(", ")}.`) : "";
    const text = (changed.length ? t(`Taken over: ${changed.join(", ")}.`, `Đã cập nhật: ${changed.join(", ")}.`) : t("No server changed.", "Không có máy chủ nào thay đổi.")) + more;
    $("reloaded").replaceChildren(note(text, "", { role: "status" }));
    await Promise.all([lookNow(), refresh()]);
  } catch (err) {
    $("reloaded").replaceChildren(note(words(err), "bad", { role: "alert" }));
  } finally {
    $("reload").disabled = false;
  }
}

frame(t("Tools", "Công cụ"));
offerBox($("offer"));
fileState($("file-state"));
$("attach").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { attach } = await import("/static/attach.js");
  await attach($("pasted").value, refresh);
});
// followLink shows what the page's address names: a tool, which it opens, or a server.
function followLink() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const open = named?.querySelector(".open");
  if (open?.getAttribute("aria-expanded") === "false") open.click();
  (open ?? named)?.focus();
}
addEventListener("hashchange", followLink);
$("refresh").addEventListener("click", refresh);
$("reload").addEventListener("click", reload);
$("find").addEventListener("input", () => $("tools").replaceChildren(...showTools()));
$("provider").addEventListener("change", loadTools);
await refresh();
if (location.hash) followLink();
