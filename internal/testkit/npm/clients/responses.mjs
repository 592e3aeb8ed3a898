// What every client of the Responses API is asked to do, beside what it alone can.
export const cases = ["whole", "stream", "hosted", "approval", "refusal", "clientTool", "continuation", "abort", "retry", "retryStream"];
