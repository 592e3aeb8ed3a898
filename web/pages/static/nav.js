// The links to other pages: each is shown only to people who may use its page. The server decides
// who may; this only hides what it would refuse.

import { api } from "/static/app.js";

let known = null; // the answer of GET /v1/me, requested once

// me returns who the reader is: id, name, person, scopes, groups and approver; null if the host does
// not say.
export function me() {
  known ??= api("/v1/me").catch(() => null);
  return known;
}

// allows reports whether the reader has one of the scopes that an element names in data-scope.
// "approver" is held by people who may approve calls of others, and "own" by those who have
// something of their own: people and keys.
export function allows(who, scopes) {
  const held = [...who.scopes ?? [], who.approver && "approver", who.id && "own"];
  return scopes.split(" ").some((scope) => held.includes(scope));
}

// showLinks shows the elements with data-scope that the reader may use, and hides the others. While
// the host does not say who the reader is, they stay as the page has them.
export async function showLinks(root = document) {
  const who = await me();
  if (!who) return;
  for (const e of root.querySelectorAll("[data-scope]")) e.hidden = !allows(who, e.dataset.scope);
}
