package prompts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/agent/subject"
	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// An Asked is the question to a person about a call, in plain words. Each part is a sentence.
type Asked struct {
	// What would happen.
	What string `json:"what"`
	// Why it is asked: which text was read, and where it came from.
	Why string `json:"why"`
	// Where the call goes.
	Where string `json:"where"`
}

// An AskInput is a call to ask a person about.
type AskInput struct {
	Language string
	Tool     schemas.Tool
	// Arguments are a JSON object.
	Arguments string
	Reason    toolhandler.Reason
	// Quote marks what others wrote as a value; nil puts it between quotation marks where it could be
	// read as a part of the sentence.
	Quote func(value string) string
}

// Bounds of what a question shows of a value, in bytes, and of how many values and origins it names:
// the arguments stand below it.
const (
	maxPlace   = 160
	maxContent = 60
	maxValues  = 6
	maxListed  = 3
)

// Ask writes the question about a call.
func Ask(in AskInput) Asked {
	w := &asking{AskInput: in, askWords: askWordsOf(in.Language)}
	return Asked{What: sentence(w.what()), Why: sentence(w.why()), Where: sentence(w.where())}
}

type asking struct {
	AskInput
	askWords
}

// what returns the tool's verb and object with the values of the call: first where, then what.
func (w *asking) what() string {
	verb, object := toolhandler.VerbOf(w.Tool)
	said := w.verb(verb, object)
	values := toolhandler.ValuesOf(w.Tool, w.Arguments)
	slices.SortStableFunc(values, func(a, b toolhandler.Value) int { return rank(a) - rank(b) })
	contents := 0
	for _, v := range values {
		contents += rank(v)
	}
	for i, v := range values {
		if i == maxValues {
			return said + fmt.Sprintf(w.moreValues, len(values)-i)
		}
		value, label := w.texts(v), toolhandler.Words(v.Path[strings.LastIndexByte(v.Path, '.')+1:])
		switch {
		case value == "":
		case v.Use != toolhandler.Content && len(label) == 1 && slices.Contains(prepositions(), label[0]):
			said += " " + w.name(label) + " " + value
		case v.Use == toolhandler.Content && contents == 1:
			said += ", " + value
		case i == 0 && v.Use != toolhandler.Content && verb != "" && namesIt(label, object):
			said += " " + value
		default:
			said += ", " + w.name(label) + " " + value
		}
	}
	return said
}

func rank(v toolhandler.Value) int {
	if v.Use == toolhandler.Content {
		return 1
	}
	return 0
}

// verb returns what a tool does: from its name, if that begins with a known verb, else by its title.
func (w *asking) verb(verb string, object []string) string {
	if known := w.verbs[verb]; known != "" {
		return strings.TrimSpace(known + " " + w.name(object))
	}
	if verb != "" && w.names == nil { // it is in the person's language already
		return strings.Join(append([]string{verb}, object...), " ")
	}
	called := cmp.Or(w.Tool.Title, strings.Join(append(strings.Fields(verb), object...), " "), w.Tool.ToolName)
	return fmt.Sprintf(w.use, w.quoted(text.Clip(called, maxContent, "…"), true))
}

// prepositions are names of arguments that read as a part of the sentence.
func prepositions() []string {
	return []string{"to", "from", "at", "in", "on", "for", "with", "into", "by", "since", "until"}
}

// namesIt reports whether an argument names the object of a tool.
func namesIt(label, object []string) bool {
	if len(label) == 0 {
		return false
	}
	last := label[len(label)-1]
	naming := []string{"path", "file", "filename", "folder", "directory", "url", "uri", "address", "link", "name", "id", "ids", "key"}
	return slices.Contains(naming, last) || slices.ContainsFunc(object, func(word string) bool { return strings.TrimSuffix(word, "s") == strings.TrimSuffix(last, "s") })
}

// name returns words of a name in the person's language, as far as they are known. In Vietnamese
// what a thing belongs to stands behind it.
func (w *asking) name(words []string) string {
	all, known := make([]string, len(words)), w.names != nil
	for i, word := range words {
		translated := cmp.Or(w.names[word], w.names[strings.TrimSuffix(word, "s")])
		all[i], known = cmp.Or(translated, word), known && translated != ""
	}
	if known {
		slices.Reverse(all)
	}
	return strings.Join(all, " ")
}

// texts returns the texts of a value; "" if there is nothing to say.
func (w *asking) texts(v toolhandler.Value) string {
	isContent := v.Use == toolhandler.Content
	var all []string
	for i, one := range v.Texts {
		if i == maxListed {
			return strings.Join(all, ", ") + fmt.Sprintf(w.more, len(v.Texts)-i)
		}
		if one = strings.TrimSpace(one); one == "" && isContent {
			continue
		}
		first, _, _ := strings.Cut(one, "\n")
		lines := strings.Count(one, "\n") + 1
		switch {
		case isContent && lines > 1:
			all = append(all, fmt.Sprintf(w.lines, lines))
		case isContent:
			all = append(all, w.quoted(text.Clip(one, maxContent, "…"), true))
		case lines > 1:
			all = append(all, w.quoted(text.Clip(first, maxPlace, "…"), true)+" ("+fmt.Sprintf(w.lines, lines)+")")
		case one == "true" || one == "false":
			all = append(all, map[string]string{"true": w.yes, "false": w.no}[one])
		default:
			all = append(all, w.quoted(text.Clip(one, maxPlace, "…"), false))
		}
	}
	return strings.Join(all, ", ")
}

// quoted returns a value as a part of a sentence.
func (w *asking) quoted(value string, always bool) string {
	value = text.Shown(value)
	if w.Quote != nil {
		return w.Quote(value)
	}
	if always || value == "" || strings.ContainsAny(value, " ,;\"“”") && !strings.Contains(value, "://") || strings.ContainsRune(value, ' ') {
		return "“" + strings.NewReplacer("“", `"`, "”", `"`).Replace(value) + "”"
	}
	return value
}

// why returns the reasons of the question.
func (w *asking) why() string {
	var all []string
	r := w.Reason
	switch r.Rule {
	case toolhandler.RuleConfirm:
		all = append(all, w.confirm)
	case toolhandler.RuleUnsure:
		all = append(all, w.unsure)
	case toolhandler.RuleDestructive:
		all = append(all, w.destructive)
	}
	if len(r.Orders) > 0 {
		all = append(all, fmt.Sprintf(w.order, w.origins(r.Orders)))
	}
	if len(r.Flows) > 0 {
		all = append(all, fmt.Sprintf(w.flow, w.origins(r.Flows)))
	}
	if len(all) == 0 {
		return w.confirm
	}
	return w.because + strings.Join(all, "; ")
}

func (w *asking) origins(from []schemas.Origin) string {
	var all []string
	for i, o := range from {
		if i == maxListed {
			return strings.Join(all, ", ") + fmt.Sprintf(w.more, len(from)-i)
		}
		all = append(all, w.origin(o))
	}
	last := max(0, len(all)-1)
	if last > 0 {
		all = append(all[:last-1], all[last-1]+w.and+all[last])
	}
	return strings.Join(all, ", ")
}

func (w *asking) origin(o schemas.Origin) string {
	switch {
	case o.FileName() != "":
		return w.file + " " + w.quoted(text.Clip(o.FileName(), maxPlace, "…"), false)
	case o.IsFile():
		return w.file
	case o == schemas.FromWeb:
		return w.web
	case o == schemas.FromClient:
		return w.client
	case o == schemas.FromPaste:
		return w.paste
	case o.IsInside():
		return w.server + " " + o.Server() + " " + w.inside
	}
	return w.server + " " + string(o)
}

// where returns the server of a call, and the hosts, folders and the repository that it names.
func (w *asking) where() string {
	said := w.goes + " " + w.server + " " + w.Tool.Server
	if w.Tool.Server == schemas.ToolServer {
		said = w.goes + " " + w.web
	}
	var seen []string
	folders := make(map[string]bool) // by all but the folder
	for _, d := range toolhandler.DestinationsOf(w.Tool, w.Arguments) {
		kind := map[schemas.Width]string{schemas.WidthHost: w.host, schemas.WidthFolder: w.folder, schemas.WidthRepository: w.repository}[d.Width]
		key := strings.TrimSuffix(d.ID, d.Name)
		if kind == "" || d.Width == schemas.WidthFolder && folders[key] || len(seen) == maxListed {
			continue
		}
		folders[key] = true
		if part := kind + " " + w.quoted(text.Clip(d.Name, maxPlace, "…"), false); !slices.Contains(seen, part) {
			seen = append(seen, part)
		}
	}
	said = strings.Join(append([]string{said}, seen...), ", ")
	if w.Tool.Rules.Marks.Closed {
		said += w.closed
	}
	return said
}

// sentence begins a text with a capital letter and ends it with a full stop.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if s = string(unicode.ToUpper(r)) + s[n:]; !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// askWords are the words of questions in one language.
type askWords struct {
	// verbs and names translate words of tools' names; nil names are right as they are.
	verbs, names                               map[string]string
	and, use, more, moreValues, lines, yes, no string
	because, confirm, unsure, destructive      string
	order, flow                                string
	server, file, web, client, paste           string
	inside, closed                             string
	goes, host, folder, repository             string
}

func askWordsOf(lang string) askWords {
	if lang == subject.Vietnamese {
		return askWords{
			verbs: vietnameseVerbs(), names: vietnameseNames(),
			and: " và ", use: "dùng công cụ %s", more: " và %d mục nữa", moreValues: ", và %d tham số nữa", lines: "%d dòng", yes: "có", no: "không",
			because: "hỏi vì ", confirm: "người quản trị muốn mỗi lần gọi công cụ này đều được đồng ý",
			unsure:      "lệnh đã được gửi trước khi Molar dừng mà không có kết quả: có thể nó đã xong, và đồng ý nghĩa là gửi lại",
			destructive: "chính công cụ báo rằng nó có thể sửa hoặc xóa những gì đang có",
			order:       "đã đọc nội dung từ %s, và chính nội dung đó có thể đã ra lệnh này", flow: "nội dung từ %s có thể bị chuyển đi nơi khác",
			server: "máy chủ", file: "tệp", web: "kết quả tìm trên mạng", client: "ứng dụng gửi câu hỏi này", paste: "đoạn bạn đã dán",
			inside: "(địa chỉ nội bộ)", closed: ", nơi không chuyển gì ra ngoài",
			goes: "gửi đến", host: "trang", folder: "thư mục", repository: "kho mã",
		}
	}
	return askWords{
		verbs: map[string]string{"append": "append to", "look": "look at"},
		and:   " and ", use: "use the tool %s", more: " and %d more", moreValues: ", and %d more arguments", lines: "%d lines", yes: "yes", no: "no",
		because: "asked because ", confirm: "the operator wants a yes to every call of this tool",
		unsure:      "it was sent before Molar stopped, and no result came: it may have been done, and to allow it is to send it again",
		destructive: "the tool says of itself that it can change or delete what is there",
		order:       "text from %s was read, and that text may have ordered this", flow: "text from %s may be taken somewhere else",
		server: "server", file: "file", web: "web search", client: "the app that sends this", paste: "what you pasted",
		inside: "(an address inside)", closed: ", which reaches nobody outside",
		goes: "goes to", host: "host", folder: "folder", repository: "repository",
	}
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
		"date": "ngày", "time": "giờ", "day": "ngày", "room": "phòng", "amount": "số tiền", "price": "giá", "source": "nguồn", "destination": "đích",
		"url": "địa chỉ", "address": "địa chỉ", "query": "nội dung tìm", "pattern": "mẫu", "every": "lặp lại mỗi", "newest": "mới nhất", "description": "mô tả",
		"repo": "kho mã", "repository": "kho mã", "owner": "chủ", "read": "đã đọc", "command": "lệnh",
	}
}
