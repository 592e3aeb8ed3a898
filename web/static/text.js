// The words of the page, in the languages that Molar answers in.

const texts = {
  en: {
    model: "Assistant",
    fresh: "New conversation",
    log: "Conversation",
    empty: "Ask a question to begin.",
    question: "Your question",
    placeholder: "Ask something…",
    send: "Send",
    stop: "Stop",
    you: "You",
    answer: "Answer",
    calling: (tool) => `Asking ${tool}…`,
    called: (tool, seconds) => `Asked ${tool} (${seconds} s)`,
    refused: (tool) => `${tool} could not help`,
    stopped: "Stopped.",
    unsaved: "This answer is not saved.",
    broken: "The answer broke off before its end. Please ask again.",
    unreachable: "The server cannot be reached. Is it still running?",
    failed: (message) => `That did not work: ${message}`,
    missing: "That conversation no longer exists. A new one has begun.",
  },
  vi: {
    model: "Trợ lý",
    fresh: "Cuộc trò chuyện mới",
    log: "Cuộc trò chuyện",
    empty: "Hãy đặt một câu hỏi để bắt đầu.",
    question: "Câu hỏi của bạn",
    placeholder: "Hỏi điều gì đó…",
    send: "Gửi",
    stop: "Dừng",
    you: "Bạn",
    answer: "Trả lời",
    calling: (tool) => `Đang hỏi ${tool}…`,
    called: (tool, seconds) => `Đã hỏi ${tool} (${seconds} giây)`,
    refused: (tool) => `${tool} không giúp được`,
    stopped: "Đã dừng.",
    unsaved: "Câu trả lời này chưa được lưu.",
    broken: "Câu trả lời bị ngắt giữa chừng. Vui lòng hỏi lại.",
    unreachable: "Không kết nối được với máy chủ. Máy chủ còn chạy không?",
    failed: (message) => `Không thực hiện được: ${message}`,
    missing: "Cuộc trò chuyện đó không còn nữa. Một cuộc trò chuyện mới đã bắt đầu.",
  },
};

export const language = (navigator.language || "en").toLowerCase().startsWith("vi") ? "vi" : "en";
export const text = texts[language];

// translate puts the words of the reader's language where the page marks them.
export function translate(root) {
  document.documentElement.lang = language;
  for (const el of root.querySelectorAll("[data-text]")) el.textContent = text[el.dataset.text];
  for (const el of root.querySelectorAll("[data-placeholder]")) el.placeholder = text[el.dataset.placeholder];
  for (const el of root.querySelectorAll("[data-label]")) el.setAttribute("aria-label", text[el.dataset.label]);
}
