// The button on the page of a site, and the frame that it opens. They are in a shadow tree beside the body, so
// that neither page nor frame changes the look of the other.
(() => {
  const { titles, colour, on } = "[[settings]]";
  const script = document.currentScript;
  const page = document.documentElement;
  const spoken = /^(vi|en)/i.exec(page.lang)?.[0].toLowerCase() ?? titles[0][0];
  const title = (titles.find(([language]) => language === spoken) ?? titles[0])[1];
  const vi = spoken === "vi";
  const full = matchMedia("(max-width: 480px), (max-height: 500px)"); // a phone, or a page that is zoomed

  const el = (name, props = {}, ...children) => {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(props)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  };

  const draw = (d) => {
    const at = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(at, "svg");
    const path = document.createElementNS(at, "path");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", d);
    svg.append(path);
    return svg;
  };

  const news = el("i", { hidden: "" }, vi ? "Có tin mới" : "New message");
  const said = el("b", { role: "status" }); // the dot, in words
  const button = el("button", { type: "button", id: "open", "aria-expanded": "false", "aria-controls": "panel" }, draw("M5 5h14a2 2 0 012 2v8a2 2 0 01-2 2h-7l-5 4v-4H5a2 2 0 01-2-2V7a2 2 0 012-2z"), el("span", {}, title), news);
  const shut = el("button", { type: "button", "aria-label": vi ? "Đóng" : "Close" }, draw("M6 6l12 12M18 6L6 18")); // until the frame shows its own
  const panel = el("dialog", { id: "panel", "aria-label": title }, shut);
  const host = el("molar-chat");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
:host { all: initial !important; color-scheme: inherit !important; position: fixed !important; z-index: 2147483647 !important; }
[hidden] { display: none !important; }
button { all: unset; box-sizing: border-box; display: flex; align-items: center; gap: 10px; min-width: 44px; height: 44px; padding: 0 10px; color: ${on}; background: ${colour}; cursor: pointer; font: 600 16px/1.25 system-ui, sans-serif; }
button:focus-visible { outline: 3px solid #fff; box-shadow: 0 0 0 6px #000; }
#open { position: fixed; right: max(20px, env(safe-area-inset-right)); bottom: calc(20px + env(safe-area-inset-bottom)); height: 56px; padding: 0 20px 0 16px; max-width: calc(100vw - 40px); border: 1px solid #ffffff59; border-radius: 28px; }
#open:not(:focus-visible) { box-shadow: 0 2px 12px #0005; }
span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
svg { flex: none; width: 24px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
i { position: absolute; top: -2px; right: 4px; width: 14px; height: 14px; border: 2px solid #fff; border-radius: 50%; background: #c3232f; color: #0000; font-size: 1px; overflow: hidden; }
dialog { position: fixed; inset: auto max(20px, env(safe-area-inset-right)) calc(88px + env(safe-area-inset-bottom)) auto; box-sizing: border-box; width: 400px; height: min(660px, 100vh - 108px); max-width: none; max-height: none; margin: 0; padding: 0; border: 1px solid #0003; border-radius: 16px; overflow: hidden; background: Canvas; box-shadow: 0 8px 40px #0004; }
dialog > button { position: absolute; top: 6px; right: 6px; border-radius: 10px; }
b { position: fixed; clip-path: inset(50%); }
iframe { display: block; width: 100%; height: 100%; border: 0; }
@media (max-width: 480px), (max-height: 500px) {
  #open { padding: 0 15px; }
  span { position: absolute; width: 1px; clip-path: inset(50%); }
  dialog { inset: 0; width: 100%; height: 100%; border: 0; border-radius: 0; padding: env(safe-area-inset-top) env(safe-area-inset-right) env(safe-area-inset-bottom) env(safe-area-inset-left); }
}
@media (prefers-reduced-motion: no-preference) { dialog[open] { animation: come 0.16s ease-out; } @keyframes come { from { opacity: 0; transform: translateY(8px); } } }
@media print { button, dialog { display: none !important; } }`);
  root.adoptedStyleSheets = [sheet];
  root.append(button, panel, said);

  let frame;
  const origin = new URL(script.src).origin;
  const tell = (what) => frame.contentWindow.postMessage(`molar:${what}`, origin);

  // fit keeps a full frame in the part of the page that the keyboard of a phone leaves, but not while the
  // page is zoomed by two fingers.
  const view = visualViewport;
  const fit = () => {
    const part = full.matches && Math.abs(view.scale - 1) < 0.01;
    panel.style.height = part ? `${view.height}px` : "";
    panel.style.top = part ? `${view.offsetTop}px` : "";
  };

  // show opens the frame; one that fills the page is modal, since what is behind it can't be seen.
  const show = () => {
    if (full.matches) panel.showModal();
    else panel.show();
    fit();
    frame.focus();
  };

  const open = () => {
    if (!frame) {
      const scheme = getComputedStyle(page).colorScheme; // the frame is light or dark as the page is
      const theme = /light/.test(scheme) === /dark/.test(scheme) && scheme !== "normal" ? "" : /dark/.test(scheme) ? "#dark" : "#light";
      frame = el("iframe", { title, src: new URL(`/embed?lang=${spoken}${theme}`, origin) });
      panel.append(frame);
    } else tell("open");
    show();
    button.setAttribute("aria-expanded", "true");
    news.hidden = true;
    said.textContent = "";
  };

  panel.addEventListener("close", () => {
    if (!frame || panel.dataset.moves) return;
    tell("closed");
    button.setAttribute("aria-expanded", "false");
    button.focus();
  });
  panel.addEventListener("cancel", (event) => event.target === panel || event.preventDefault());
  button.addEventListener("click", () => (panel.open ? panel.close() : open()));
  shut.addEventListener("click", () => panel.close());
  root.addEventListener("keydown", ({ key }) => { if (key === "Escape" && panel.open) panel.close(); });
  full.addEventListener("change", () => {
    if (!panel.open) return;
    panel.dataset.moves = "1";
    panel.close();
    show();
    setTimeout(() => delete panel.dataset.moves);
  });
  view.addEventListener("resize", fit);
  view.addEventListener("scroll", fit);
  addEventListener("message", ({ data, source, origin: from }) => {
    if (!frame || source !== frame.contentWindow || from !== origin) return;
    if (data === "molar:ready") shut.hidden = true;
    if (data === "molar:close") panel.close();
    if (data === "molar:news" && !panel.open) {
      news.hidden = false;
      said.textContent = `${title}: ${news.textContent}`;
    }
  });

  const start = () => page.append(host);
  if (document.querySelector("molar-chat")) return;
  if (document.body) start();
  else addEventListener("DOMContentLoaded", start);
})();
