// Renders the texts on standard input, a JSON array, as clients do, each several times.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";

const from = createRequire(process.argv[2] + "/");
const load = async (name) => import(pathToFileURL(from.resolve(name)));
const { marked } = await load("marked");
const MarkdownIt = (await load("markdown-it")).default;
const rich = new MarkdownIt({ html: true, linkify: true, breaks: true });
const strict = new MarkdownIt("commonmark");
const renderers = [
  (text) => marked.parse(text, { async: false }),
  (text) => marked.parse(text, { async: false, breaks: true }),
  (text) => rich.render(text),
  (text) => strict.render(text),
];
const texts = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(texts.map((text) => renderers.map((render) => render(text)))));
