// The prompts of servers behind a slash. The page loads this when the first slash is typed.

import { $, api, el, t } from "/static/app.js";

const input = $("question");
const choices = $("choices");
let prompts = null; // the list, or the promise of it

async function listPrompts() {
  try {
    return (await api("/v1/prompts")).data;
  } catch {
    prompts = null; // asked again at the next slash
    return [];
  }
}

// suggest shows the prompts that begin with what is typed. chosen is called with the text
// that one puts into the box.
export async function suggest(chosen) {
  const word = /^\/(\S*)$/.exec(input.value)?.[1];
  if (word === undefined) return close();
  prompts ??= listPrompts();
  const found = (await prompts).filter((p) => p.name.toLowerCase().startsWith(word.toLowerCase())).slice(0, 20);
  if (!found.length || !input.value.startsWith("/")) return close();
  choices.replaceChildren(...found.map((p, i) => el("li", { id: `choice-${i}`, role: "option", "aria-selected": "false", on: { mousedown: (event) => { event.preventDefault(); choose(p, chosen); } } },
    `/${p.name} `, (p.arguments ?? []).map((a) => (a.required ? `‹${a.name}› ` : `[${a.name}] `)),
    el("small", {}, [p.title || p.description, p.server].filter(Boolean).join(" · ")))));
  found.forEach((p, i) => { choices.children[i].choose = () => choose(p, chosen); });
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

function choose(prompt, chosen) {
  chosen(`/${prompt.name} `);
  close();
  const names = (prompt.arguments ?? []).map((a) => a.name).join(", ");
  $("hint").textContent = names ? t(`Now type: ${names}`, `Nhập tiếp: ${names}`) : "";
}

// takeKey takes a key for the open list, and says whether it did.
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
