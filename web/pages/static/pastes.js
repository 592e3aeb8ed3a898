// A question with pasted texts as the content of a message. The page loads this module when something
// long was put into the box at once.

// textParts returns a question as the content of a message: a text, or parts of which those are marked
// that were pasted. If one of these is not in the text as it was, all of it counts as pasted.
export function textParts(text, pastes) {
  let parts = [{ type: "text", text }];
  for (const paste of pastes.map((p) => p.trim())) {
    const at = parts.findIndex((p) => !p.molar && p.text.includes(paste));
    if (at < 0) return [{ type: "text", text, molar: { origin: "paste" } }];
    const from = parts[at].text.indexOf(paste);
    parts.splice(at, 1, { type: "text", text: parts[at].text.slice(0, from) }, { type: "text", text: paste, molar: { origin: "paste" } }, { type: "text", text: parts[at].text.slice(from + paste.length) });
  }
  return joinedPastes(parts.filter((p) => p.text));
}

// joinedPastes makes one part of pasted parts that follow each other.
const joinedPastes = (parts) => parts.reduce((all, p) => {
  const last = all.at(-1);
  if (last?.molar && p.molar) last.text += p.text;
  else all.push(p);
  return all;
}, []);
