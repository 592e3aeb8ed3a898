// What a person allowed beyond one call: shown, and taken back.

import { api, el, t } from "/static/app.js";

const reach = (g) => (g.conversation_id ? t("in one conversation", "trong một cuộc trò chuyện") : t("always", "luôn luôn"));

// takeBack is a button that lets what was allowed ask again; done gets what to say of it.
export function takeBack(g, done) {
  const button = el("button", { type: "button", className: "small", "aria-label": t(`Take back: ${g.subject}`, `Rút lại: ${g.subject}`), on: { click: async () => {
    button.disabled = true;
    try {
      await api(`/v1/grants/${encodeURIComponent(g.id)}`, { method: "DELETE" });
      done(t(`${g.subject} asks again.`, `${g.subject} sẽ hỏi lại.`));
    } catch (err) {
      button.disabled = false;
      done(err.message);
    }
  } } }, t("Take back", "Rút lại"));
  return button;
}

// listGrants fills a box with all that stands.
export async function listGrants(box, say) {
  const { data } = await api("/v1/grants");
  box.replaceChildren(...data.map((g) => el("p", { className: "grant" }, `${g.subject} (${reach(g)}) `,
    takeBack(g, (words) => { say(words); listGrants(box, say); }))));
  if (!data.length) box.append(el("p", { className: "note" }, t("Nothing is allowed beyond a single call.", "Chưa cho phép gì ngoài từng lần gọi.")));
}

// given adds to what was said of a decision how it is taken back.
export async function given(said, subject) {
  const { data } = await api("/v1/grants");
  const g = data.find((one) => one.subject === subject);
  if (g) said.append(" ", takeBack(g, (words) => { said.textContent = words; }));
}
