(() => {
  'use strict';
  const all = (s) => [...document.querySelectorAll(s)];
  const find = document.getElementById('find'), none = document.getElementById('none'), count = document.getElementById('count');
  const cases = all('details.case').map((c) => ({ c, text: c.textContent.toLowerCase(), tags: c.dataset.tags.split(' ') }));
  const want = { status: '', tag: '' };
  const show = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const { c, text, tags } of cases) {
      const hit = (!want.status || c.dataset.status === want.status) && (!want.tag || tags.includes(want.tag)) && words.every((w) => text.includes(w));
      c.hidden = !hit;
      n += hit;
    }
    none.hidden = n > 0;
    count.textContent = n === cases.length ? '' : n + ' shown';
  };
  for (const b of all('button[data-key]')) {
    b.addEventListener('click', () => {
      const { key, value } = b.dataset;
      want[key] = want[key] === value ? '' : value;
      all(`button[data-key="${key}"]`).forEach((o) => o.setAttribute('aria-pressed', String(want[key] === o.dataset.value && want[key] !== '')));
      show();
    });
  }
  find.addEventListener('input', show);
  document.getElementById('fold').addEventListener('click', () => {
    const open = !cases.some(({ c }) => !c.hidden && c.open);
    cases.forEach(({ c }) => { if (!c.hidden) c.open = open; });
  });
  document.getElementById('theme').addEventListener('click', () => {
    const root = document.documentElement, dark = matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = (root.dataset.theme || (dark ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
  });
  document.addEventListener('keydown', (e) => {
    if (e.key === '/' && document.activeElement !== find) { e.preventDefault(); find.focus(); }
    if (e.key === 'Escape' && document.activeElement === find) { find.value = ''; show(); find.blur(); }
  });
  const jump = () => { const c = document.getElementById(decodeURIComponent(location.hash.slice(1))); if (c) { c.open = true; c.scrollIntoView(); } };
  addEventListener('hashchange', jump);
  jump();
})();
