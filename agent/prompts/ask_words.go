package prompts

import "molar/agent/subject"

// askWords are the words of questions in one language.
type askWords struct {
	// verbs and names translate words of tools' names; nil names are right as they are.
	verbs, names                                           map[string]string
	and, use, more, moreValues, yes, no                    string
	letters, newLine, replaces, home, pattern              string
	because, also, confirm, approvers, unsure, destructive string
	order, flow, flowInside, flowAgain, exactly            string
	advice, adviseApprover, or                             string
	values, date, fileName, search                         string
	server, file, web, client, paste                       string
	inside, closed, open, others                           string
	describes, does, sends, reads, back, host, repository  string
}

func askWordsOf(lang string) askWords {
	if lang == subject.Vietnamese {
		return askWords{
			verbs: vietnameseVerbs(), names: vietnameseNames(),
			and: " và ", use: "dùng công cụ %s", more: " và %d mục nữa", moreValues: "; và %d tham số nữa", yes: "có", no: "không",
			letters: " (còn %d ký tự nữa)", replaces: ", thay bản cũ nếu có", home: "~ là thư mục cá nhân", pattern: "* là phần chữ bất kỳ", newLine: "⏎ là xuống dòng", exactly: "với đúng nội dung sau:",
			because: "cần bạn xác nhận vì ", also: ". Ngoài ra, ", confirm: "người quản trị yêu cầu bạn đồng ý mỗi lần làm việc này",
			approvers:   "việc này mỗi lần đều phải được một người trong nhóm %s chấp thuận",
			unsure:      "yêu cầu này đã được gửi trước khi bị gián đoạn mà không có kết quả: có thể nó đã được thực hiện, và đồng ý nghĩa là gửi lại",
			destructive: "%s cho biết thao tác này có thể sửa hoặc xóa dữ liệu",
			order:       "trợ lý đã đọc nội dung từ %s: có thể chính nội dung đó, chứ không phải bạn, đã bảo trợ lý làm việc này",
			flow:        "%s có thể không do bạn đưa ra mà lấy từ những gì trợ lý đã đọc trong %s, và khi đó %s sẽ biết phần nội dung ấy",
			flowInside:  "%s có thể không do bạn đưa ra mà lấy từ những gì trợ lý đã đọc ở chỗ khác trong %s",
			flowAgain:   "có thể chính nội dung mà trợ lý đã đọc trong %s, chứ không phải bạn, đã bảo trợ lý đọc phần này",
			advice:      ". Chỉ cho phép nếu chính bạn đã yêu cầu việc này", adviseApprover: ". Chỉ chấp thuận nếu chính người hỏi đã yêu cầu việc này", or: " hoặc ",
			values: "các chi tiết ở trên", date: "ngày giờ ở trên", fileName: "tên tệp ở trên", search: "từ khóa ở trên",
			server: "dịch vụ %s", file: "tệp", web: "kết quả tìm trên mạng", client: "ứng dụng gửi câu hỏi này", paste: "đoạn bạn đã dán",
			inside: "(một địa chỉ nội bộ)", closed: "; chỉ ở trong dịch vụ đó", open: "; chưa rõ có ra khỏi dịch vụ đó hay không", others: "; chưa rõ còn ai khác nhận được không",
			describes: "%s mô tả thao tác này: %s", does: "thực hiện trong %s", sends: "gửi đến %s qua %s", reads: "yêu cầu gửi đến %s", back: "; trợ lý sẽ đọc được kết quả", host: "trang", repository: "kho mã",
		}
	}
	return askWords{
		verbs: map[string]string{"append": "add to", "look": "look at", "mark": "mark as"},
		and:   " and ", use: "use the tool %s", more: " and %d more", moreValues: "; and %d more arguments", yes: "yes", no: "no",
		letters: " (%d more characters)", replaces: ", replacing it if it exists", home: "~ is the home folder", pattern: "* stands for any text", newLine: "⏎ is a new line", exactly: "with exactly this text:",
		because: "asked because ", also: ". Also, ", confirm: "the administrator wants your approval each time this is done",
		approvers:   "a member of %s must approve this each time",
		unsure:      "this was sent before an interruption, and no result came back: it may have been done, and to allow it is to send it again",
		destructive: "%s says that this action can change or delete data",
		order:       "the assistant has read text from %s: that text, not you, may have told it to do this",
		flow:        "%s may come, not from you, but from what the assistant has read in %s, and %s would then learn that part of it",
		flowInside:  "%s may come, not from you, but from what the assistant has read elsewhere in %s",
		flowAgain:   "something that the assistant has read in %s, and not you, may have told it to read this",
		advice:      ". Allow it only if you asked for this", adviseApprover: ". Approve it only if the person who asks wants this", or: " or ",
		values: "what is written above", date: "the date above", fileName: "the file name above", search: "the search text above",
		server: "the service %s", file: "the file", web: "web search", client: "the app that sent your question", paste: "the text that you pasted",
		inside: "(an internal address)", closed: "; it stays in that service", open: "; it is not known whether it stays in that service", others: "; it is not known whether anybody else receives it",
		describes: "%s says of this action: %s", does: "done in %s", sends: "goes to %s through %s", reads: "the request goes to %s", back: "; the assistant gets to read the result", host: "site", repository: "repository",
	}
}

func vietnameseDays() [7]string {
	return [7]string{"chủ nhật", "thứ hai", "thứ ba", "thứ tư", "thứ năm", "thứ sáu", "thứ bảy"}
}

// vietnameseVerbs translates the verbs that names of tools begin with.
func vietnameseVerbs() map[string]string {
	return map[string]string{
		"browse": "mở xem", "check": "kiểm tra", "compare": "so sánh", "count": "đếm", "describe": "mô tả", "explain": "giải thích", "fetch": "tải",
		"find": "tìm", "get": "lấy", "inspect": "xem xét", "list": "liệt kê", "look": "xem", "lookup": "tra cứu", "preview": "xem trước",
		"query": "truy vấn", "read": "đọc", "retrieve": "lấy", "search": "tìm", "show": "hiện", "summarize": "tóm tắt", "view": "xem",
		"accept": "chấp nhận", "add": "thêm", "append": "ghi thêm vào", "apply": "áp dụng", "approve": "phê duyệt", "archive": "lưu trữ", "assign": "giao",
		"book": "đặt", "buy": "mua", "cancel": "hủy", "change": "đổi", "charge": "thu tiền", "checkout": "thanh toán", "clear": "xóa hết", "close": "đóng",
		"commit": "commit", "create": "tạo", "delete": "xóa", "deploy": "triển khai", "destroy": "hủy bỏ", "disable": "tắt", "drop": "xóa", "edit": "sửa",
		"enable": "bật", "erase": "xóa", "execute": "thực thi", "forward": "chuyển tiếp", "insert": "chèn", "install": "cài đặt", "invite": "mời",
		"invoke": "gọi", "kill": "dừng", "mark": "đánh dấu", "merge": "gộp", "modify": "sửa", "move": "chuyển", "overwrite": "ghi đè", "patch": "vá",
		"pay": "thanh toán", "publish": "đăng", "purge": "xóa sạch", "push": "đẩy lên", "put": "đặt", "refund": "hoàn tiền", "register": "đăng ký",
		"reject": "từ chối", "remember": "ghi nhớ", "remove": "xóa", "rename": "đổi tên", "replace": "thay", "reply": "trả lời", "reserve": "đặt trước",
		"reset": "đặt lại", "restart": "khởi động lại", "revoke": "thu hồi", "run": "chạy", "save": "lưu", "schedule": "lên lịch", "send": "gửi",
		"set": "đặt", "stop": "dừng", "submit": "nộp", "subscribe": "đăng ký nhận", "sync": "đồng bộ", "transfer": "chuyển", "truncate": "cắt bỏ",
		"trigger": "kích hoạt", "uninstall": "gỡ", "unsubscribe": "hủy đăng ký", "update": "cập nhật", "upload": "tải lên", "upsert": "ghi", "wipe": "xóa sạch", "write": "ghi",
	}
}

// vietnameseNames translates common words of names of tools and arguments.
func vietnameseNames() map[string]string {
	return map[string]string{
		"file": "tệp", "folder": "thư mục", "directory": "thư mục", "path": "đường dẫn", "mail": "thư", "email": "thư", "message": "tin nhắn", "note": "ghi chú",
		"event": "sự kiện", "visit": "lịch hẹn", "appointment": "lịch hẹn", "meeting": "cuộc họp", "contact": "liên hệ", "attachment": "tệp đính kèm",
		"page": "trang", "table": "bảng", "row": "dòng", "image": "hình", "user": "người dùng", "order": "đơn hàng", "comment": "bình luận", "info": "thông tin",
		"to": "đến", "from": "từ", "at": "lúc", "in": "trong", "on": "vào", "for": "cho", "with": "với", "into": "vào", "by": "bởi", "since": "từ", "until": "đến",
		"subject": "tiêu đề", "title": "tiêu đề", "body": "nội dung", "content": "nội dung", "text": "nội dung", "name": "tên", "phone": "số điện thoại",
		"date": "ngày", "time": "giờ", "day": "ngày", "week": "tuần", "month": "tháng", "year": "năm", "hour": "giờ", "room": "phòng", "amount": "số tiền", "price": "giá", "source": "nguồn", "destination": "đích",
		"url": "địa chỉ", "address": "địa chỉ", "query": "từ khóa", "pattern": "mẫu", "every": "lặp lại mỗi", "newest": "mới nhất", "description": "mô tả",
		"repo": "kho mã", "repository": "kho mã", "owner": "chủ", "read": "đã đọc", "command": "lệnh", "record": "dữ liệu", "list": "danh sách", "task": "việc", "calendar": "lịch", "document": "tài liệu", "issue": "vấn đề", "label": "nhãn", "state": "trạng thái",
	}
}
