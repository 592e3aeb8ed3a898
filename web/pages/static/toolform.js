// A form made from a JSON schema, to try a tool by hand or to answer a server's question.

import { el, t } from "/static/app.js";

// choices returns the values of an enumeration, each with its title; it is empty for other schemas.
function choices(schema) {
  if (Array.isArray(schema.enum)) return schema.enum.map((value, i) => ({ value, title: schema.enumNames?.[i] }));
  const options = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(options) || !options.every((one) => one && typeof one === "object" && "const" in one)) return [];
  return options.map((one) => ({ value: one.const, title: one.title }));
}

// kind returns the kind of control for a property. A property without a simple control is entered
// as JSON.
function kind(schema) {
  if (choices(schema).length > 0) return "enum";
  const types = [schema.type].flat().filter((type) => type && type !== "null");
  if (types.length !== 1) return "json";
  return ["string", "number", "integer", "boolean"].includes(types[0]) ? types[0] : "json";
}

function control(schema, id) {
  const attributes = { id, "aria-describedby": `${id}-why ${id}-wrong` };
  switch (kind(schema)) {
    case "enum":
      return el("select", attributes, el("option", { value: "" }, ""),
        choices(schema).map(({ value: v, title }, i) => el("option", { value: String(i) }, title ?? (typeof v === "string" ? v : JSON.stringify(v)))));
    case "boolean":
      return el("select", attributes, el("option", { value: "" }, ""),
        el("option", { value: "true" }, t("yes", "có")), el("option", { value: "false" }, t("no", "không")));
    case "integer":
    case "number":
      return el("input", { ...attributes, inputMode: "decimal", autocomplete: "off" });
    case "string":
      return (schema.maxLength ?? 0) > 200
        ? el("textarea", { ...attributes, spellcheck: false })
        : el("input", { ...attributes, autocomplete: "off", spellcheck: false });
    default:
      return el("textarea", { ...attributes, spellcheck: false, placeholder: schema.type === "array" ? "[…]" : "{…}" });
  }
}

// start fills a control with the default of its property.
function start(input, schema) {
  if (schema.default === undefined || schema.default === null) return;
  switch (kind(schema)) {
    case "enum": {
      const at = choices(schema).findIndex(({ value: v }) => JSON.stringify(v) === JSON.stringify(schema.default));
      if (at >= 0) input.value = String(at);
      break;
    }
    case "json":
      input.value = JSON.stringify(schema.default, null, 2);
      break;
    default:
      input.value = String(schema.default);
  }
}

// value returns the value of a control; undefined means that it is empty.
function value(input, schema) {
  const text = input.value;
  if (text === "") return undefined;
  switch (kind(schema)) {
    case "enum":
      return choices(schema)[Number(text)].value;
    case "boolean":
      return text === "true";
    case "integer":
    case "number": {
      const n = Number(text.trim());
      if (!Number.isFinite(n) || text.trim() === "") throw new Error(t("Enter a number.", "Hãy nhập một số."));
      if (kind(schema) === "integer" && !Number.isInteger(n)) throw new Error(t("Enter a whole number.", "Hãy nhập một số nguyên."));
      return n;
    }
    case "string":
      return text;
    default:
      try {
        return JSON.parse(text);
      } catch (err) {
        throw new Error(t(`This is not JSON: ${err.message}`, `Đây không phải JSON: ${err.message}`));
      }
  }
}

// limits returns the bounds of a property as text.
function limits(schema) {
  const parts = [];
  for (const [key, words] of [["minimum", "≥"], ["exclusiveMinimum", ">"], ["maximum", "≤"], ["exclusiveMaximum", "<"]]) {
    if (typeof schema[key] === "number") parts.push(`${words} ${schema[key]}`);
  }
  if (schema.maxLength) parts.push(t(`at most ${schema.maxLength} characters`, `tối đa ${schema.maxLength} ký tự`));
  if (schema.format) parts.push(String(schema.format));
  if (schema.pattern) parts.push(String(schema.pattern));
  return parts.join(", ");
}

function field(name, schema, id, required, plain) {
  const input = control(schema, id);
  start(input, schema);
  if (required) input.setAttribute("aria-required", "true");
  const type = kind(schema) === "json" ? [schema.type].flat().filter(Boolean).join(" | ") || "JSON" : kind(schema);
  const wrong = el("p", { className: "wrong", id: `${id}-wrong`, role: "alert" });
  const itemValues = schema.items ? choices(schema.items).map(({ value: v }) => JSON.stringify(v)).join(", ") : "";
  const why = [schema.description, limits(schema), itemValues].filter(Boolean).join(" · ");
  const box = el("div", { className: "field" },
    el("label", { for: id }, schema.title ? `${schema.title} ` : "", plain ? schema.title ? "" : name : el("code", {}, name), required ? el("span", { className: "required" }, t(" (required)", " (bắt buộc)")) : "",
      plain ? "" : el("span", { className: "quiet" }, ` ${type}`)),
    input,
    el("p", { className: "why", id: `${id}-why` }, why), wrong);
  return { box, input, wrong, schema, name, required, plain };
}

// formFor returns the elements of a form for an input schema, and read, which returns the
// arguments, or null after it has shown what is wrong. none is the text of a form without fields.
// plain is for questions to people: property names and types are not shown.
export function formFor(schema, prefix, none = t("This tool takes no arguments.", "Công cụ này không cần tham số."), plain = false) {
  const properties = Object.entries(schema?.properties ?? {});
  const required = new Set(schema?.required ?? []);
  if (properties.length === 0) return whole(schema, prefix, none);
  properties.sort(([a], [b]) => required.has(b) - required.has(a));
  const fields = properties.map(([name, property], i) =>
    field(name, property && typeof property === "object" ? property : {}, `${prefix}-${i}`, required.has(name), plain));
  return { elements: fields.map((f) => f.box), read: () => readAll(fields) };
}

// whole returns a form for all arguments as one JSON object, for a schema that names none but
// allows some.
function whole(schema, prefix, none) {
  if (schema?.additionalProperties === false || !(schema?.additionalProperties || schema?.anyOf || schema?.oneOf || schema?.allOf || schema?.$ref)) {
    return { elements: [el("p", { className: "quiet" }, none)], read: () => ({}) };
  }
  const f = field(t("arguments", "tham số"), { type: "object", default: {} }, `${prefix}-all`, false);
  return {
    elements: [f.box],
    read: () => {
      const args = readAll([f]);
      return args && (Object.values(args)[0] ?? {});
    },
  };
}

const required = () => t("This is required.", "Mục này bắt buộc.");

function readAll(fields) {
  const args = {};
  let first = null;
  for (const f of fields) {
    f.wrong.textContent = "";
    f.input.removeAttribute("aria-invalid");
    try {
      const v = value(f.input, f.schema);
      // A required text may be empty as an argument of a tool, but not as a person's answer.
      if (f.required && f.plain && typeof v === "string" && v.trim() === "") throw new Error(required());
      if (v !== undefined) args[f.name] = v;
      else if (f.required && !f.plain && kind(f.schema) === "string") args[f.name] = "";
      else if (f.required) throw new Error(required());
    } catch (err) {
      f.wrong.textContent = err.message;
      f.input.setAttribute("aria-invalid", "true");
      first ??= f.input;
    }
  }
  first?.focus();
  return first ? null : args;
}
