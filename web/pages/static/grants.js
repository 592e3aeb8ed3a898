// The list of calls that a person has allowed permanently or in a conversation, and its buttons to
// take a permission back.

import { api, covers, el, t } from "/static/app.js";

const reach = (g) => (g.conversation_id ? t("in one conversation", "trong một cuộc trò chuyện") : t("always", "luôn luôn"));

// takeBack returns a button that takes a permission back. done is called with the text to show.
function takeBack(g, done) {
  const button = el("button", { type: "button", className: "small", "aria-label": t(`Take back: ${covers(g)}`, `Rút lại: ${covers(g)}`), on: { click: async () => {
    button.disabled = true;
    try {
      await api(`/v1/grants/${encodeURIComponent(g.id)}`, { method: "DELETE" });
      done(t(`${covers(g)} asks again.`, `${covers(g)} sẽ hỏi lại.`));
    } catch (err) {
      button.disabled = false;
      done(err.message);
    }
  } } }, t("Take back", "Rút lại"));
  return button;
}

// listGrants fills a box with all permissions that are in force.
export async function listGrants(box, say) {
  const { data } = await api("/v1/grants");
  box.replaceChildren(...data.map((g) => el("p", { className: "grant" }, `${covers(g)} (${reach(g)}) `,
    takeBack(g, (words) => { say(words); listGrants(box, say); }))));
  if (!data.length) box.append(el("p", { className: "note" }, t("Nothing is allowed beyond a single call.", "Chưa cho phép gì ngoài từng lần gọi.")));
}

// addTakeBack adds the button that takes a permission back to the text about a decision, which may
// have given several: one for each origin.
export async function addTakeBack(text, given) {
  const { data } = await api("/v1/grants");
  const same = (g) => g.tool === given.tool && (g.width ?? "") === (given.width ?? "") && covers({ ...g, from: "" }) === covers(given);
  for (const g of data.filter(same)) text.append(" ", takeBack(g, (words) => { text.textContent = words; }));
}
