// What visitors do with all of their conversation: download it, and have it erased.

import { Problem, announce, button, el, forgotten, send, t } from "/embed/static/embed-chat.js";

// exports of this module have the names of the buttons.
async function download() {
  let whole;
  try {
    whole = await (await send("export")).blob();
  } catch (err) {
    if (err.code !== "no_visitor") throw err;
    throw new Problem(t("There is no conversation yet.", "Chưa có cuộc trò chuyện nào."));
  }
  const href = URL.createObjectURL(whole);
  el("a", { href, download: t("conversation.json", "cuoc-tro-chuyen.json") }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
  announce(t("The conversation is downloaded.", "Đã tải cuộc trò chuyện về."));
}
export { download as export };

// forget asks once, and has everything of the visitor erased.
export async function forget() {
  if (!await sure()) return;
  await send("conversation", { method: "DELETE" }).catch((err) => { if (err.code !== "no_visitor") throw err; });
  forgotten();
  announce(t("The conversation is erased.", "Đã xoá cuộc trò chuyện."));
}

const sure = () => new Promise((answer) => {
  const keep = button(t("Keep it", "Giữ lại"), () => dialog.close(""));
  keep.autofocus = true; // so that Enter erases nothing by mistake
  const dialog = el("dialog", { "aria-labelledby": "sure", close: () => {
    dialog.remove();
    answer(dialog.returnValue === "yes");
  } }, el("h2", { id: "sure" }, t("Forget the conversation?", "Quên cuộc trò chuyện?")),
  el("p", {}, t("Everything that you wrote here and all answers are erased. This cannot be undone.", "Mọi điều bạn đã viết ở đây và các câu trả lời sẽ bị xoá. Không thể hoàn tác.")),
  el("div", { className: "row" }, button(t("Forget it", "Quên"), () => dialog.close("yes"), "danger"), keep));
  document.body.append(dialog);
  dialog.showModal();
});
