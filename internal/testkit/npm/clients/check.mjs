// What every client is asked to do. A client gives functions; each case prints one
// line of JSON, {case, ok, note}, which the Go test collects.
export const url = process.env.MOLAR_URL;

export const cases = ["whole", "stream", "usage", "serverTool", "clientTool", "mixedTools", "typedError", "faultAfterTool", "faultAfterToolStream", "abort"];

export function equal(got, want, what) {
  if (got !== want) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

export async function fails(run, matches, what) {
  let answer;
  try {
    answer = await run();
  } catch (err) {
    const text = `${err?.name} ${err?.status ?? err?.statusCode ?? ""} ${err?.code ?? ""} ${err?.message} ${err?.responseBody ?? ""} ${JSON.stringify(err?.error ?? "")} ${err?.lastError?.message ?? ""} ${err?.cause?.message ?? ""}`;
    if (!matches.test(text)) throw new Error(`${what}: failed as ${text}`);
    return;
  }
  throw new Error(`${what}: did not fail but gave ${JSON.stringify(answer)}`);
}

export async function check(client, names = cases) {
  for (const name of names) {
    let ok = true, note = "";
    try {
      note = (await client[name]()) ?? "";
    } catch (err) {
      ok = false;
      note = String(err?.stack ?? err);
    }
    console.log(JSON.stringify({ case: name, ok, note }));
  }
}

// The schema that answers must match, and the host's error when they do not.
export const answer = { type: "object", properties: { n: { type: "number" } }, required: ["n"], additionalProperties: false };
export const mismatch = /model_schema_mismatch|does not match the schema/;

export const weather = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
