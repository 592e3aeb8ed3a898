// Formulas drawn as MathML, which screen readers read. The page loads this module, the library and the
// style sheet with the first formula. What is not drawn keeps its source.

import temml from "/static/temml.js";
import { el, t } from "/static/app.js";

const longest = 4000; // characters of a formula that is drawn
const farthest = 100; // em or points by which a part is raised or lowered
const slice = 8; // milliseconds of drawing without a pause
const most = 500; // formulas that are kept

// defines finds a command that defines others: with one, a short formula could become a very long one.
const defines = /\\(?:[gex]?def|let|futurelet|global|long|(?:new|renew|provide)command)(?![a-zA-Z])/;
const chemistry = /\\(?:ce|pu)(?![a-zA-Z])/;

// The marks around formulas, and whether what is between them stands on its own line.
const marks = [["$$", "$$", true], ["\\[", "\\]", true], ["\\(", "\\)", false], ["$", "$", false]];

// read returns the TeX of a source. It is null while its end has not arrived; what has no marks, in a fence, ends
// with the answer. A percent sign behind a number is one, and begins no comment.
function read(source, ended, display) {
  const text = source.trim().replace(/(?<=[\d}])%/g, "\\%");
  const [begin, name] = /^\\begin(\{[a-zA-Z]+\*?\})/.exec(text) ?? [];
  const [, whole, point] = text.length > longest ? [text, text, ""] : /^(.*?)\s*([.,;:!?]*)$/s.exec(text);
  for (const [open, end, display] of marks) {
    if (!text.startsWith(open)) continue;
    if (whole.length < open.length + end.length || !whole.endsWith(end)) return ended ? { tex: "" } : null;
    const tex = whole.slice(open.length, -end.length).trimEnd();
    return { tex: /\\end\{\w+\*?\}$/.test(tex) ? tex : tex + point, display };
  }
  if (begin && whole.endsWith(`\\end${name}`) && whole.split(begin).length === whole.split(`\\end${name}`).length) return { tex: whole, display };
  return ended ? { tex: text, display: true } : null;
}

let chemical = null; // the promise of the commands for chemistry

async function addChemistry() {
  chemical ??= import("/static/mhchem.js").catch(() => null).then(() => { chemical.done = true; }); // without it, they are unknown
  await chemical;
}

const drawn = new Map(); // the latest formulas by source; null for one that cannot be drawn

function make({ tex, display }) {
  if (!tex.trim() || tex.length > longest || defines.test(tex)) return null;
  const box = el("span", { className: display ? "formula display" : "formula" });
  try {
    temml.render(tex, box, { displayMode: display, throwOnError: true, trust: false, maxSize: [10, 120], maxExpand: 1000 });
  } catch {
    return display ? null : make({ tex, display: true }); // as of an environment with numbers
  }
  const tooFar = ({ style }) => style.padding.split(" ").some((size) => parseFloat(size) > farthest);
  if ([...box.querySelectorAll("[style]")].some(tooFar)) return null;
  for (const e of box.querySelectorAll("[id], [href]")) { // of labels, which would be names of the page
    e.removeAttribute("id");
    e.removeAttribute("href");
  }
  for (const { style } of box.querySelectorAll("[style]")) if (style.color) style.color = `color-mix(in oklab, ${style.color} 55%, var(--ink, currentColor))`; // so that it can be read on light and dark
  return box;
}

// A formula that is wider than its line scrolls in its box, by keyboard too.
const widths = new ResizeObserver((entries) => {
  const wide = entries.map(({ target }) => target.scrollWidth > target.clientWidth + 1); // all before the first change
  for (const [at, { target }] of entries.entries()) {
    if (target.classList.contains("scrolls") === wide[at]) continue;
    target.classList.toggle("scrolls", wide[at]);
    if (wide[at]) {
      target.tabIndex = 0;
      target.setAttribute("role", "group");
      target.setAttribute("aria-label", t("Formula", "Công thức"));
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) target.removeAttribute(name);
    }
  }
});

// Only formulas that are near the view are measured: each that is costs time in every frame.
document.addEventListener("contentvisibilityautostatechange", ({ target, skipped }) => {
  for (const box of target.querySelectorAll(".formula")) if (skipped) widths.unobserve(box); else widths.observe(box);
}, true);

// draw replaces the source of a formula by the formula once all of it has arrived. failed is called if it cannot
// be drawn; ended means that no text follows.
export function draw(code, ended, failed) {
  const source = code.textContent;
  const formula = read(source, ended, code.parentElement.tagName === "PRE");
  if (!formula) return;
  if (chemistry.test(source) && !chemical?.done) {
    addChemistry().then(() => { if (code.isConnected) draw(code, ended, failed); });
    return;
  }
  if (!drawn.has(source)) {
    drawn.set(source, make(formula));
    if (drawn.size > most) drawn.delete(drawn.keys().next().value);
  }
  const box = drawn.get(source)?.cloneNode(true);
  if (!box) return failed(code);
  box.source = source.trim();
  (code.parentElement.tagName === "PRE" ? code.parentElement : code).replaceWith(box);
  if (box.ownerDocument === document) widths.observe(box);
}

// drawAll draws the formulas of a part of a page at once, and returns the look of formulas.
export async function drawAll(root) {
  const all = [...root.querySelectorAll("code.math, code.language-math")];
  if (all.some((code) => chemistry.test(code.textContent))) await addChemistry();
  for (const code of all) draw(code, true, () => null);
  return (await fetch("/static/math.css")).text();
}

// drawSoon draws formulas with pauses, in which the page can do other things.
export async function drawSoon(formulas, failed) {
  let began = performance.now();
  for (const { code, ended } of formulas) {
    if (!code.isConnected) continue;
    const prose = code.closest(".prose");
    draw(code, ended, failed);
    if (performance.now() - began < slice && code !== formulas.at(-1).code) continue;
    prose?.dispatchEvent(new Event("drawn", { bubbles: true }));
    await new Promise((next) => { setTimeout(next); });
    began = performance.now();
  }
}

await new Promise((next) => {
  document.head.append(el("link", { rel: "stylesheet", href: "/static/math.css", on: { load: next, error: next } }));
});
