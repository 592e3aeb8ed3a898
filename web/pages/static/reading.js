// The keyboard in the conversation: Page Up and Page Down go from message to message, and the Tab key
// reaches the buttons and links of one message only, the current one. The page loads this module with
// the first message.

import { $ } from "/static/app.js";

const log = $("log");
const controls = "a[href], button, summary, input, select, textarea, iframe, audio, [tabindex='0']";

let current = null; // the message with the focus, else the last one

const messages = () => [...log.querySelectorAll(".message:not([hidden])")];

// last returns the last message, without looking at all others.
function last() {
  let e = log.lastElementChild;
  while (e && (e.hidden || !e.matches(".message"))) e = e.matches(".batch") ? e.lastElementChild : e.previousElementSibling ?? e.closest(".batch")?.previousElementSibling;
  return e ?? null;
}

// setStops puts the controls of a message into the order of the Tab key, or takes them out of it.
function setStops(root, on) {
  for (const e of [root, ...root.querySelectorAll(on ? "[data-stop]" : controls)]) {
    if (on && e.dataset.stop !== undefined) {
      if (e.dataset.stop) e.setAttribute("tabindex", e.dataset.stop);
      else e.removeAttribute("tabindex");
      delete e.dataset.stop;
    } else if (!on && e !== log && e.matches(controls) && e.tabIndex >= 0) {
      e.dataset.stop = e.getAttribute("tabindex") ?? "";
      e.tabIndex = -1;
    }
  }
}

function makeCurrent(message) {
  if (message === current) return;
  if (current) setStops(current, false);
  current = message;
  if (current) setStops(current, true);
}

// arrange arranges what was added to the log; without the focus there, its last message is the current one.
function arrange(changes) {
  if (!current?.isConnected || current.hidden || !log.contains(document.activeElement)) makeCurrent(last());
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (node.nodeType !== Node.ELEMENT_NODE || !node.isConnected) continue;
      const inside = node.closest(".message");
      for (const part of inside ? [node] : node.matches(".batch") ? node.children : []) {
        if (part.closest(".message") !== current) setStops(part, false);
      }
    }
  }
}

// step moves the focus to the message before or after the current one; if the current one goes on beyond
// the view, it is scrolled first.
function step(event, by) {
  const all = messages();
  const from = log === event.target ? null : current;
  const at = from ? all.indexOf(from) + by : all.length - 1;
  const to = all[at];
  if (!to) return;
  event.preventDefault();
  const view = log.getBoundingClientRect();
  const box = from?.getBoundingClientRect();
  if (box && (by > 0 ? box.bottom > view.bottom + 1 : box.top < view.top - 1)) return log.scrollBy(0, by * 0.9 * log.clientHeight);
  to.tabIndex = -1; // so that it can have the focus
  to.focus({ preventScroll: true });
  to.scrollIntoView({ block: to.offsetHeight > log.clientHeight && by > 0 ? "start" : "nearest" });
}

log.addEventListener("focusin", ({ target }) => {
  const message = target.closest(".message");
  if (message) makeCurrent(message);
});
log.addEventListener("keydown", (event) => {
  const by = { PageUp: -1, PageDown: 1 }[event.key];
  if (by && !event.ctrlKey && !event.altKey && !event.metaKey && !event.target.matches("input, select, textarea")) step(event, by);
});
new MutationObserver(arrange).observe(log, { childList: true, subtree: true });
arrange([{ addedNodes: log.children }]);
