// The frame of all pages for who is signed in: the bar with its drawer, the list of conversations, the
// links to other pages, the theme.

import { $, api, el, icon, keep, language, setUpTheme, setUpTips, showLinks, storedValue, t, translate, when } from "/static/app.js";

// tabs notifies the other tabs of changed conversations.
export const tabs = new BroadcastChannel("molar");

// hooks are functions of the conversation that a page shows; other pages have none. here returns its id,
// answers the answers that are being written, startNew begins a new one, and left is called when the one
// that is shown is deleted.
let hooks = { here: () => "", answers: () => [], startNew: () => location.assign("/#new"), left: () => null };

// setUpFrame translates a page and makes its frame work.
export function setUpFrame(functions = {}) {
  hooks = { ...hooks, ...functions };
  translate();
  setUpTheme();
  setUpTips();
  setUpSide();
  setUpList();
  tabs.addEventListener("message", () => loadList());
  for (const a of document.querySelectorAll(".side nav a")) {
    if (a.pathname === location.pathname) a.setAttribute("aria-current", "page");
  }
  showLinks();
}

// --- the drawer: the side on screens that have no room for it ----------------------------------------

// drawer opens or closes it.
export function drawer(open) {
  $("shell").classList.toggle("drawer", open);
  $("menu").setAttribute("aria-expanded", String(open));
  if (open) $("close").focus();
  else if ($("side").contains(document.activeElement)) $("menu").focus();
}

// leave moves the focus from the side to the page.
function leave() {
  drawer(false);
  ($("question") ?? $("main")).focus();
}

function setUpSide() {
  $("menu").addEventListener("click", () => drawer(true));
  $("close").addEventListener("click", () => drawer(false));
  document.querySelector(".stage").addEventListener("click", (event) => {
    if (!$("menu").contains(event.target)) drawer(false);
  });
  $("new").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    hooks.startNew();
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && takeShortcut(event.key.toLowerCase(), event.shiftKey)) event.preventDefault();
    else if (event.key === "Escape" && !event.defaultPrevented && $("shell").classList.contains("drawer") && !document.querySelector("dialog[open], .menu:popover-open")) {
      event.preventDefault();
      drawer(false);
    }
  });
}

// takeShortcut runs the command of a key with Ctrl, and reports whether there is one.
function takeShortcut(key, shift) {
  if (key === "k" && !shift) {
    drawer(true);
    $("search").focus();
  } else if (key === "o" && shift) {
    hooks.startNew();
  } else {
    return false;
  }
  return true;
}

// moved returns the item to which a key moves from another one: by an arrow, or to an end; null for
// another key.
export function moved(key, items, from) {
  const at = items.indexOf(from);
  const to = { ArrowDown: Math.min(at + 1, items.length - 1), ArrowUp: Math.max(at - 1, 0), Home: 0, End: items.length - 1 }[key];
  return to === undefined ? null : items[to];
}

// --- the list of conversations -----------------------------------------------------------------------

const page = 100; // conversations of a request

let listed = []; // the conversations, the last changed first
let next = ""; // where the older ones begin; "" if there are none
let words = ""; // the text that they were searched for
let drawn = ""; // the list as it is drawn, as JSON
let listRequests = 0; // counts the requests for the list, so that only the latest is drawn

const pathOf = (q, after = "") => `/v1/conversations?${new URLSearchParams({ limit: page, q, ...after && { after } })}`;

function setUpList() {
  if (matchMedia("(pointer: coarse)").matches) $("search").placeholder = t("Search", "Tìm kiếm"); // a touch screen has no Ctrl key
  let typing = 0;
  $("search").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(loadList, 200); });
  $("search").addEventListener("keydown", (event) => {
    const escape = event.key === "Escape";
    if (escape) event.stopPropagation(); // with a text in it, the browser empties the field
    if (event.key === "ArrowDown") stops().find((e) => e.tabIndex === 0)?.focus();
    else if (escape && !$("search").value) leave();
    else return;
    event.preventDefault();
  });
  $("whose").addEventListener("change", () => draw());
  $("list").addEventListener("click", (event) => {
    if (event.target.closest("a")) drawer(false);
  });
  $("list").addEventListener("focusin", ({ target }) => { if (target.matches(stop)) makeStop(target); });
  $("list").addEventListener("keydown", takeKey);
}

// loadList requests the newest conversations that match the search, shows them, and returns the number
// of conversations, or -1 when the request failed.
export async function loadList() {
  const mine = ++listRequests;
  const q = $("search").value.trim();
  try {
    const { data, next: more = "" } = await api(pathOf(q));
    if (mine !== listRequests) return listed.length;
    const older = q === words && more ? listed.slice(listed.findLastIndex((c) => data.some((d) => d.id === c.id)) + 1) : []; // those that were requested before
    listed = [...data, ...older];
    if (!older.length) next = more;
    words = q;
    draw();
    return listed.length + unsaved().length;
  } catch (err) {
    if (mine === listRequests) showFailure(err, loadList);
    return -1;
  }
}

// loadOlder adds the next conversations to the list.
async function loadOlder() {
  const mine = ++listRequests;
  try {
    const { data, next: more = "" } = await api(pathOf(words, next));
    if (mine !== listRequests) return;
    listed = [...listed, ...data.filter((d) => !listed.some((c) => c.id === d.id))];
    next = more;
    draw();
  } catch (err) {
    if (mine === listRequests) showFailure(err, loadOlder);
  }
}

// showFailure shows above the list why a request failed; the list loaded before stays usable.
function showFailure(err, again) {
  clearFailure();
  const problem = el("div", { className: "problem" }, el("p", { className: "note bad", role: "alert", title: err.detail }, err.advice ?? err.message),
    again && el("button", { type: "button", className: "small", on: { click: again } }, t("Try again", "Thử lại")));
  if (drawn) $("list").prepend(problem);
  else $("list").replaceChildren(problem);
}

const clearFailure = () => $("list").querySelector(".problem")?.remove();

// unsaved returns the conversations that are not in the list yet because their first answer is still
// being written.
function unsaved() {
  if ($("search").value) return [];
  return hooks.answers().filter((a) => a.conversation && !listed.some((c) => c.id === a.conversation))
    .map((a) => ({ id: a.conversation, title: a.content.slice(0, 60), updated_at: new Date().toISOString(), unsaved: true }));
}

// draw shows the list, unless it is shown already: then it keeps its scroll position and focus.
function draw() {
  clearFailure();
  offerAssistants();
  const whose = $("whose").value;
  const all = [...unsaved(), ...listed].filter((c) => !whose || c.assistant === whose);
  const now = JSON.stringify([all.map((c) => [c.id, c.title, c.unsaved, c.running, c.snippet, c.assistant, dayOf(c), isPinned(c.id)]), next, words, several()]);
  if (now !== drawn) replace(all);
  drawn = now;
  markHere();
}

function replace(all) {
  const list = $("list");
  const before = stops().indexOf(document.activeElement); // the row with the focus, or its successor, keeps it
  const focused = document.activeElement.dataset?.id;
  const titles = Map.groupBy(all, (c) => c.title);
  const groups = Map.groupBy(all, dayOf);
  const empty = words ? t("Nothing found.", "Không tìm thấy.") : t("Your conversations will appear here.", "Các cuộc trò chuyện sẽ hiện ở đây.");
  list.replaceChildren(
    ...[...groups].sort(([a], [b]) => (b === pinned) - (a === pinned)).flatMap(([day, some]) => [day && el("h2", {}, day), el("ul", { className: "items" }, some.map((c) => row(c, titles.get(c.title).length > 1)))]).filter(Boolean),
    ...all.length ? [] : [el("p", { className: "note" }, empty)],
    ...next ? [olderButton()] : []);
  makeStop(list.querySelector(`a[data-id="${CSS.escape(focused ?? hooks.here())}"]`) ?? stops()[Math.max(before, 0)] ?? stops().at(-1));
  if (before >= 0) stops().find((e) => e.tabIndex === 0)?.focus();
}

// row returns a conversation as a row. twin means that another one has its title: then its time is shown.
function row(c, twin) {
  const time = isDated(c) && when(c.updated_at);
  const about = [several() && c.assistant, twin && time].filter(Boolean).join(" · ");
  return el("li", { "data-running": c.running ? "" : null },
    el("a", { href: `${location.origin}/#${encodeURIComponent(c.id)}`, tabIndex: -1, title: [c.title, c.assistant, time].filter(Boolean).join(" · "), "data-id": c.id },
      isPinned(c.id) && icon("pin"), el("span", {}, c.title || t("Untitled", "Chưa đặt tên")), c.snippet && el("small", {}, plain(c.snippet)), about && el("small", {}, about)),
    !c.unsaved && el("button", { type: "button", className: "plain square", tabIndex: -1, "aria-haspopup": "true", "aria-label": t(`More on ${c.title}`, `Thêm về ${c.title}`), on: { click: (event) => openMenu(c, event.currentTarget) } }, icon("more")));
}

// plain removes the signs of Markdown from a part of a text.
const plain = (text) => text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/(\*\*|__|~~|`+)/g, "").replace(/(^|…|\s)(#{1,6}|>|[-*+]|\|[\s|:-]*)(?=\s)/g, "$1").replace(/\s+/g, " ");

// olderButton loads the older conversations when it comes into view, or is pressed.
function olderButton() {
  const button = el("button", { type: "button", className: "plain small older", tabIndex: -1, on: { click: loadOlder } }, t("Show older ones", "Xem các cuộc cũ hơn"));
  new IntersectionObserver(([entry], seen) => {
    if (!entry.isIntersecting || !button.isConnected) return;
    seen.disconnect();
    loadOlder();
  }, { root: $("list") }).observe(button);
  return button;
}

// --- days and assistants ------------------------------------------------------------------------------

const pinned = t("Pinned", "Đã ghim");
const isDated = (c) => new Date(c.updated_at).getFullYear() > 1970;

// dayOf returns the heading under which a conversation stands, by the reader's own clock.
function dayOf(c) {
  if (isPinned(c.id)) return pinned;
  if (!isDated(c)) return "";
  const time = new Date(c.updated_at);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(time).setHours(0, 0, 0, 0)) / 86_400_000);
  if (days <= 0) return t("Today", "Hôm nay");
  if (days === 1) return t("Yesterday", "Hôm qua");
  if (days <= 7) return t("Previous 7 days", "7 ngày trước");
  if (days <= 30) return t("Previous 30 days", "30 ngày trước");
  return time.toLocaleDateString(language, { month: "long", year: "numeric" });
}

const assistants = () => [...new Set(listed.map((c) => c.assistant).filter(Boolean))].sort();
const several = () => assistants().length > 1;

// offerAssistants offers the assistants of the conversations to choose from, if there are several.
function offerAssistants() {
  const chosen = $("whose").value;
  const all = assistants();
  $("whose").replaceChildren(el("option", { value: "" }, t("All assistants", "Mọi trợ lý")), ...all.map((name) => el("option", { value: name }, name)));
  $("whose").value = all.includes(chosen) ? chosen : "";
  $("whose").hidden = all.length < 2;
}

// --- the keyboard: the list is one stop of the Tab key ---------------------------------------------------

const stop = "a, .older";
const stops = () => [...$("list").querySelectorAll(stop)];

// makeStop makes a row the one that the Tab key reaches.
function makeStop(to) {
  for (const e of stops()) e.tabIndex = e === to ? 0 : -1;
}

let typed = { text: "", at: 0 }; // the first letters of the row that is looked for

function takeKey(event) {
  const from = event.target;
  if (!from.matches(stop) || event.ctrlKey || event.metaKey || event.altKey) return;
  const to = moved(event.key, stops(), from);
  const menu = event.key === "Delete" || event.key === "ContextMenu" || event.key === "F10" && event.shiftKey;
  if (to) {
    to.focus();
  } else if (menu) {
    const c = listed.find(({ id }) => id === from.dataset.id);
    if (c) openMenu(c, from);
  } else if (event.key === "Escape") {
    leave();
  } else if (event.key.length === 1 && event.key !== " ") {
    typed = { text: (event.timeStamp - typed.at < 700 ? typed.text : "") + event.key.toLowerCase(), at: event.timeStamp };
    const all = stops();
    const at = all.indexOf(from) + (typed.text.length === 1 ? 1 : 0);
    [...all.slice(at), ...all.slice(0, at)].find((e) => e.querySelector("span:not(.dot)")?.textContent.toLowerCase().startsWith(typed.text))?.focus();
  } else {
    return;
  }
  event.preventDefault();
}

// markHere marks the conversation that is shown, and the conversations with a running answer.
export function markHere() {
  const here = hooks.here();
  const waiting = new Set(hooks.answers().map((a) => a.conversation));
  if ($("question")) document.title = "Molar";
  for (const a of $("list").querySelectorAll("a")) {
    const { id } = a.dataset;
    a.parentElement.toggleAttribute("data-here", id === here);
    if (id === here) document.title = `${a.querySelector("span:not(.dot)")?.textContent ?? ""} · Molar`;
    if (!waiting.has(id) && !("running" in a.parentElement.dataset)) a.querySelector(".dot")?.remove();
    else if (!a.querySelector(".dot")) a.prepend(el("span", { className: "dot", role: "img", "aria-label": t("being answered", "đang trả lời") }));
    if (id === here) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  if (!$("list").contains(document.activeElement)) makeStop($("list").querySelector("a[aria-current]") ?? stops()[0]);
}

// --- pins, stored in this browser --------------------------------------------------------------------

const pins = () => storedValue("pins").split("\n").filter(Boolean);
const isPinned = (id) => pins().includes(id);

// openMenu opens the menu of a conversation; from is the element that gets the focus back.
async function openMenu(c, from) {
  const { menu } = await import("/static/manage.js");
  menu(c, from, {
    pinned: isPinned,
    pin: (id) => {
      keep("pins", (isPinned(id) ? pins().filter((p) => p !== id) : [id, ...pins()]).join("\n"));
      tabs.postMessage({ changed: "" });
      loadList();
    },
    removed: (id) => {
      if (id === hooks.here()) hooks.left();
      keep("pins", pins().filter((p) => p !== id).join("\n"));
      listed = listed.filter((other) => other.id !== id);
    },
    changed: () => { tabs.postMessage({ changed: "" }); return loadList(); },
    failed: (err) => showFailure(err),
  });
}
