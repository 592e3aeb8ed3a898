// The list of the prompts that the selected assistant may use, which a slash opens. The page loads this module when the first
// slash is typed.

import { $, api, el, t } from "/static/app.js";

const input = $("question");
const choices = $("choices");
const prompts = new Map(); // the promise of the list, by assistant

async function listPrompts(assistant) {
  try {
    return (await api(`/v1/prompts?assistant=${encodeURIComponent(assistant)}`)).data;
  } catch {
    prompts.delete(assistant); // requested again at the next slash
    return [];
  }
}

// suggest shows the prompts whose names begin with the typed text. insert is called with the text
// of the chosen one for the box.
export async function suggest(insert) {
  const word = /^\/(\S*)$/.exec(input.value)?.[1];
  if (word === undefined) return close();
  const assistant = $("model").value;
  if (!prompts.has(assistant)) prompts.set(assistant, listPrompts(assistant));
  const matches = (await prompts.get(assistant)).filter((p) => p.name.toLowerCase().startsWith(word.toLowerCase())).slice(0, 20);
  if (!matches.length || !input.value.startsWith("/")) return close();
  choices.replaceChildren(...matches.map((p, i) => el("li", { id: `choice-${i}`, role: "option", "aria-selected": "false", on: { mousedown: (event) => { event.preventDefault(); choose(p, insert); } } },
    `/${p.name} `, (p.arguments ?? []).map((a) => (a.required ? `‹${a.name}› ` : `[${a.name}] `)),
    el("small", {}, [p.title || p.description, p.server].filter(Boolean).join(" · ")))));
  matches.forEach((p, i) => { choices.children[i].choose = () => choose(p, insert); });
  choices.hidden = false;
  mark(0);
}

export function close() {
  choices.hidden = true;
  input.removeAttribute("aria-activedescendant");
}

function mark(i) {
  [...choices.children].forEach((c, k) => c.setAttribute("aria-selected", String(k === i)));
  input.setAttribute("aria-activedescendant", `choice-${i}`);
  choices.children[i].scrollIntoView({ block: "nearest" });
}

function choose(prompt, insert) {
  insert(`/${prompt.name} `);
  close();
  const names = (prompt.arguments ?? []).map((a) => a.name).join(", ");
  $("hint").textContent = names ? t(`Now type: ${names}`, `Nhập tiếp: ${names}`) : "";
}

// takeKey handles a key while the list is open, and reports whether it did.
export function takeKey(key) {
  const all = [...choices.children];
  const now = all.findIndex((c) => c.getAttribute("aria-selected") === "true");
  switch (key) {
    case "ArrowDown": mark((now + 1) % all.length); return true;
    case "ArrowUp": mark((now + all.length - 1) % all.length); return true;
    case "Tab": case "Enter": all[now].choose(); return true;
    case "Escape": close(); return true;
  }
  return false;
}
