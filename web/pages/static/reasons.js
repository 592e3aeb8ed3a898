// The host's own sentences about servers and turns, in Vietnamese. Names of servers and tools and
// the errors of programs in them stay unchanged, and so does every sentence that is not listed
// here.

import { language } from "/static/app.js";

const sentences = [
  // Why a tool was called, offered or withheld.
  ["the model called it, and the client runs it", "mô hình đã gọi, và ứng dụng khách sẽ chạy nó"],
  ["offered, and the model did not call it", "đã đưa cho mô hình, nhưng mô hình không gọi"],
  ["(the model called it in round .+) and (\\d+)", "$1 và $2"],
  ["the model called it in round (.+)", "mô hình đã gọi ở vòng $1"],
  ["the model called it", "mô hình đã gọi"],
  ["code-driven: it is in the assistant's search list", "mã tự gọi: nó nằm trong danh sách tìm kiếm của trợ lý"],
  ["the question's own words found nothing sure, so the small model worded it anew", "lời của câu hỏi chưa tìm được gì chắc chắn, nên mô hình nhỏ đã hỏi lại bằng lời khác"],
  ["the client brought a tool of the same name", "ứng dụng khách có công cụ trùng tên"],
  ["the assistant's tools do not include it", "nó không thuộc các công cụ của trợ lý"],
  ["its policy is deny", "chính sách cấm dùng nó"],
  ["it was sent before the host stopped, and no result came: it may have been done already", "nó đã được gửi trước khi máy chủ dừng và chưa có kết quả, nên có thể đã được thực hiện"],
  ["its policy is confirm", "chính sách yêu cầu hỏi trước"],
  ["it announces itself as destructive", "nó tự khai là có thể phá hủy dữ liệu"],
  ["results of server (.+?) were read before, and the tool writes", "đã đọc kết quả của máy chủ $1, và công cụ có thể thay đổi dữ liệu"],
  ["results of server (.+?) were read before, and the tool only adds", "đã đọc kết quả của máy chủ $1, và công cụ có thể thêm dữ liệu"],
  ["its name says (\"\\w+\")", "tên của nó có $1"],
  ["the config marks it readOnly", "tệp cấu hình đánh dấu nó chỉ đọc"],
  ["it announces itself as read-only", "nó tự khai là chỉ đọc"],
  ["it announces that it destroys nothing", "nó tự khai là không phá hủy gì"],
  ["it has no annotations, and its name has no verb that reads or adds", "nó không khai gì, và tên không có động từ đọc hay thêm"],
  ["its annotations do not say that it only reads or adds", "nó không khai là chỉ đọc hay chỉ thêm"],
  ["it is switched off", "nó đã bị tắt"],
  ["its definition changed since the server's tools were approved", "định nghĩa của nó đã đổi từ khi công cụ của máy chủ được chấp thuận"],
  ["its definition changed since it was approved", "định nghĩa của nó đã đổi từ khi được chấp thuận"],
  ["read it, then run: molar servers approve (\\S+)", "hãy đọc lại, rồi chạy: molar servers approve $1"],
  ["not offered to (\\S+): the service refused it, and it stays out until ([\\d: -]+) or until it changes", "không đưa cho $1: dịch vụ đã từ chối công cụ này, nên phải đợi đến $2 hoặc đến khi công cụ thay đổi"],
  ["(\\S+) is not offered it: the service refused it, and it stays out until ([\\d: -]+) or until it changes", "$1 không được dùng nó: dịch vụ đã từ chối công cụ này, nên phải đợi đến $2 hoặc đến khi công cụ thay đổi"],
  ["the client's tool (\\S+) is (?=không đưa cho)", "công cụ $1 của ứng dụng khách: "],
  ["only (\\d+) tools are offered, and (\\d+) fit the question better \\(score (.+?)\\)", "chỉ đưa $1 công cụ, và $2 công cụ khác hợp câu hỏi hơn (điểm $3)"],
  ['server "(.+?)" is (starting|backoff|failed|disabled|stopping|degraded)', 'máy chủ "$1" chưa dùng được ($2)'],
  ["the limit of tool calls of this turn is reached", "đã hết số lần gọi công cụ của lượt này"],
  ["the time for tools of this turn is used up", "đã hết thời gian dành cho công cụ của lượt này"],
  // States of servers.
  ["the server is being started again", "máy chủ đang được khởi động lại"],
  ["the server is being started", "máy chủ đang được khởi động"],
  ["tools changed since they were approved", "công cụ đã thay đổi từ khi được chấp thuận"],
  ["disabled in the config: remove (\\S+) to use it", "bị tắt trong cấu hình: hãy bỏ $1 để dùng"],
  ['(?:the program|command) "(.+?)" (?:is )?not found[:;] install it,? or correct (?:the command in )?(\\S+)', 'không tìm thấy chương trình "$1": hãy cài đặt, hoặc sửa $2'],
  ["(\\S+) was not answered within (\\S+)", "$1 không được trả lời trong $2"],
  ["initialize was refused with error (-?\\d+)", "initialize bị từ chối với lỗi $1"],
  ["the server did not answer a ping within (\\S+): it is asked once more, then started again", "máy chủ không trả lời ping trong $1: sẽ hỏi lại một lần, rồi khởi động lại"],
  ["reading the changed tool list went wrong, the old one is kept", "không đọc được danh sách công cụ mới, vẫn dùng danh sách cũ"],
  ["trying again in (\\S+)$", "sẽ thử lại sau $1"],
  ["start the server or correct (\\S+), the host keeps trying", "hãy chạy máy chủ đó hoặc sửa $1, Molar sẽ tiếp tục thử"],
  ["repair the server or correct (\\S+)", "hãy sửa máy chủ đó hoặc $1"],
  ["connection refused", "kết nối bị từ chối"],
  // The config file.
  ["not readable as YAML(?=:)", "không đọc được theo YAML"],
  ['mapping key "(.+?)" already defined at \\[(\\d+):\\d+\\]', 'khóa "$1" đã có ở dòng $2'],
  ['unknown key "(.+?)"', 'khóa lạ "$1"'],
  ['did you mean "(.+?)"\\?', 'có phải "$1"?'],
  ["want a mapping \\(key: value\\), got (.+)", "cần các cặp khóa: giá trị, nhưng là $1"],
  ["want either command or url, not both", "cần command hoặc url, không phải cả hai"],
  ["want either command or url", "cần command hoặc url"],
  ["environment variable (\\S+) is not set; set it, or write (\\S+)", "biến môi trường $1 chưa được đặt; hãy đặt, hoặc viết $2"],
  ["no such config file: (.+); bring it back, or restart the host to run without it", "không còn tệp cấu hình $1; hãy khôi phục, hoặc khởi động lại molar để chạy không có tệp"],
  ["(\\S+) holds nothing; write it again, or restart the host to run with the built-in settings", "$1 trống rỗng; hãy ghi lại, hoặc khởi động lại molar để dùng thiết lập sẵn có"],
  // The pasted text of a server to attach.
  ["nothing was pasted: paste the JSON of another host, the command that starts a server, or its address", "chưa dán gì: hãy dán JSON của ứng dụng khác, lệnh chạy máy chủ, hoặc địa chỉ của nó"],
  ["these are several lines: paste one command, the JSON of another host, or one address", "có nhiều dòng: hãy dán một lệnh, JSON của ứng dụng khác, hoặc một địa chỉ"],
  ['there is no program "(.+?)" on this machine: install it, or paste the JSON of another host, or an address that begins with (\\S+) or (\\S+)', 'máy này không có chương trình "$1": hãy cài đặt, hoặc dán JSON của ứng dụng khác, hoặc một địa chỉ bắt đầu bằng $2 hay $3'],
  ["an address begins with (\\S+) or (\\S+), not with (\\S+)", "địa chỉ phải bắt đầu bằng $1 hoặc $2, không phải $3"],
  ["this is neither the JSON of another host's servers, nor a command, nor an address: read the text", "đây không phải JSON máy chủ của ứng dụng khác, lệnh hay địa chỉ"],
  ["line (\\d+): it is not valid JSON", "dòng $1: không đọc được theo JSON"],
  // The guardrail.
  ["phrases for the topic (\\d+), against (\\d+)", "cụm từ thuộc chủ đề: $1, ngoài chủ đề: $2"],
  ["phrases of the topic", "có cụm từ thuộc chủ đề"],
  ["phrases of another subject", "có cụm từ thuộc chủ đề khác"],
  ["clearly of the topic", "rõ ràng thuộc chủ đề"],
  ["clearly of another subject", "rõ ràng thuộc chủ đề khác"],
  ["unclear, even after the last exchange", "chưa rõ, kể cả khi xét lượt trước"],
  ["follow-up of the last exchange", "hỏi tiếp lượt trước"],
  ["unclear(?=:)", "chưa rõ"],
  ["greeting, thanks or help", "chào hỏi, cảm ơn hoặc nhờ giúp"],
  ["sign of injection", "có dấu hiệu chèn lệnh"],
  ["no words to judge", "không có từ nào để xét"],
  ["too long for code to be sure", "quá dài để mã tự quyết định"],
  ["better guess without a judge", "phỏng đoán khi không có mô hình xét"],
  ["the judge decided the same before", "mô hình xét đã quyết định như vậy trước đây"],
  ["the judge decided", "mô hình xét đã quyết định"],
  ["the judge answered neither YES nor NO", "mô hình xét không trả lời YES hay NO"],
  ["the judge did not answer in time", "mô hình xét không trả lời kịp"],
  ["the judge cannot be reached", "không kết nối được với mô hình xét"],
  ["policy is open", "chính sách cho qua"],
  ["policy is closed", "chính sách từ chối"],
  ['"(.+?)" can only belong to the topic', '"$1" chỉ có thể thuộc chủ đề'],
  // The turn.
  ["tools are missing(?=:)", "thiếu công cụ"],
  ["the model's service withheld the whole answer, so nothing is saved; ask in another way", "dịch vụ mô hình giữ lại toàn bộ câu trả lời nên không lưu gì; hãy hỏi cách khác"],
  ["the answer was cut before its first word, so nothing is saved; allow more tokens", "câu trả lời bị ngắt trước từ đầu tiên nên không lưu gì; hãy cho phép nhiều token hơn"],
  ["the conversation could not be read, so this turn runs without memory and is not saved", "không đọc được cuộc trò chuyện, nên lượt này không có bộ nhớ và không được lưu"],
  ["the conversation could not be opened, so this turn is not saved", "không mở được cuộc trò chuyện, nên lượt này không được lưu"],
  ["nothing could be looked up, so this answer has no sources", "không tra cứu được gì, nên câu trả lời này không có nguồn"],
  ["it describes an emergency", "mô tả một tình trạng khẩn cấp"],
  ["(\\S+) answers instead(?=:)", "$1 trả lời thay"],
  ["llm\\.provider lists it first, and it answers", "llm.provider ghi nó đầu tiên, và nó trả lời"],
  ["it answers and has the configured model", "nó trả lời và có mô hình đã cấu hình"],
  ["^stateless$", "không lưu"],
  ["^none$", "không có"],
  ["^read$", "đã đọc"],
  ["^unreachable(?=:)", "không kết nối được"],
];

let patterns = null;

// reason translates a sentence of the host to the reader's language.
export function reason(text) {
  if (language !== "vi" || !text) return text;
  patterns ??= sentences.map(([en, vi]) => [new RegExp(en, "g"), vi]);
  return patterns.reduce((sentence, [en, vi]) => sentence.replace(en, vi), text);
}
