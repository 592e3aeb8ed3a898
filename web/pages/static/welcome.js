// The first run: the steps while no model or no server is attached, and the offer of the assistant that
// may call the tools of attached servers. The page loads this module when there is one of these.

import { $, el, keep, storedValue, t } from "/static/app.js";

const model = $("model");
const input = $("question");

// showOffer offers the assistant that may call the tools of the attached servers, while another one
// is selected and the reader has not declined the offer. take is called with its name if it is taken.
export function showOffer(name, take) {
  const open = [...model.options].some((o) => o.value === name) && model.value !== name && storedValue("declined") !== name;
  const box = $("offer");
  const now = open ? `${model.value} ${name}` : "";
  if (box.dataset.state === now) return;
  box.dataset.state = now;
  box.replaceChildren(...open ? [
    el("p", {}, t(`Servers are attached. The assistant ${model.value} may not call their tools; ${name} may.`, `Đã gắn máy chủ. Trợ lý ${model.value} không gọi được công cụ của chúng; ${name} thì được.`)),
    el("div", { className: "row" },
      el("button", { type: "button", className: "primary", on: { click: () => take(name) } }, t(`Ask ${name}`, `Hỏi ${name}`)),
      el("button", { type: "button", className: "plain", on: { click: () => {
        keep("declined", name);
        showOffer(name, take);
        input.focus();
      } } }, t(`Stay with ${model.value}`, `Giữ ${model.value}`))),
  ] : []);
  box.hidden = !open;
}

const step = (title, text, code) => el("li", { className: "card" }, el("strong", {}, title), el("p", {}, ...text),
  code && el("pre", { className: "code", tabIndex: 0 }, code));

const lookAgain = 4000; // ms
let looking = 0; // the timer

// showSteps shows three steps for a reader who operates the host while no model or no server is attached,
// and calls look until both are.
export function showSteps(setup, operates, look) {
  const bare = !setup.provider || setup.provider === "offline";
  const state = operates && (bare || setup.servers === 0) ? `${bare} ${setup.model} ${setup.servers}` : "";
  if (state !== ($("steps")?.dataset.state ?? "")) draw(setup, bare, state);
  clearTimeout(looking);
  if (state) looking = setTimeout(() => { if (!document.hidden && !$("welcome").hidden) look(); }, lookAgain);
}

function draw(setup, bare, state) {
  $("steps")?.remove();
  $("welcome").classList.toggle("first", state !== "");
  $("about").textContent = model.selectedOptions[0]?.title ?? "";
  if (bare) $("about").textContent = t("No model is attached yet: Molar can only quote what its tools find.", "Chưa có mô hình nào: Molar chỉ trích dẫn được kết quả của công cụ.");
  if (!state) return;
  const link = (href, words) => el("a", { href }, words);
  $("welcome").append(el("ol", { className: "steps", id: "steps", "data-state": state },
    bare ? step(t("Attach a model", "Gắn một mô hình"),
      t(["Run “molar init” in a terminal: it finds out what this machine has, and asks which model should answer. Or fetch one with Ollama, or start Molar with a key. The ", link("/config", "settings page"), " tests it."],
        ["Hãy chạy “molar init” trong cửa sổ dòng lệnh: lệnh này xem máy có gì và hỏi nên dùng mô hình nào. Hoặc tải một mô hình bằng Ollama, hoặc chạy Molar với khóa. ", link("/config", "Trang cài đặt"), " giúp thử kết nối."]),
      "molar init\n# or: ollama pull qwen2.5:7b-instruct\n# or: GEMINI_API_KEY=… molar serve")
      : step(t("A model answers", "Đã có mô hình trả lời"), [`${setup.model} (${setup.provider})`]),
    setup.servers === 0 ? step(t("Attach a server", "Gắn một máy chủ công cụ"),
      t(["Its tools let the assistant look things up and act. Paste its command, its address, or the block that you have for another program, into the form ", link("/tools#attach-title", "Attach a server"), ". Or let “molar init” find the servers of Claude Desktop, Cursor, VS Code and Gemini CLI."],
        ["Công cụ của nó giúp trợ lý tra cứu và hành động. Hãy dán lệnh, địa chỉ, hoặc khối cấu hình bạn đang dùng ở chương trình khác vào mẫu ", link("/tools#attach-title", "Gắn máy chủ"), ". Hoặc để “molar init” tìm máy chủ của Claude Desktop, Cursor, VS Code và Gemini CLI."]))
      : step(t("A server is attached", "Đã gắn máy chủ"), [link("/tools", t("See its tools", "Xem công cụ của nó"))]),
    step(t("Ask", "Đặt câu hỏi"),
      t(["Ask below. Each answer shows the calls it made, and says why."], ["Hãy hỏi ở bên dưới. Mỗi câu trả lời cho thấy các lời gọi công cụ và lý do."]))));
}
