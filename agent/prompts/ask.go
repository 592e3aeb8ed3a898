package prompts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
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
	maxContent = 160
	maxValues  = 6
	maxListed  = 3
)

// Ask writes the question about a call.
func Ask(in AskInput) Asked {
	w := &asking{AskInput: in, askWords: askWordsOf(in.Language), explained: make(map[string]bool)}
	return Asked{What: sentence(w.what()), Why: sentence(w.why()), Where: sentence(w.where())}
}

type asking struct {
	AskInput
	askWords
	// explained are the signs that the question has explained.
	explained map[string]bool
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
			said += fmt.Sprintf(w.moreValues, len(values)-i)
			break
		}
		value, label := w.texts(v), toolhandler.Words(v.Path[strings.LastIndexByte(v.Path, '.')+1:])
		switch between := prepositionOf(verb, label); {
		case value == "":
		case v.Use == toolhandler.Content && contents == 1 && (replaces(verb) || verb == "append"):
			said += ", " + w.exactly + " " + value
		case v.Use != toolhandler.Content && i == 0 && verb != "" && namesIt(label, object):
			if between = prepositionOf(verb, nil); between != "" {
				said += " " + w.name([]string{between})
			}
			said += " " + value
			if replaces(verb) && !w.Tool.Rules.Adds {
				said += w.replaces
			}
		case v.Use != toolhandler.Content && between != "" && len(label) == 1:
			if between == "every" {
				value = w.name([]string{value})
			} else if _, isMoment := moment(v.Texts[0]); isMoment && between == "at" && w.names == nil {
				between = "on" // its date comes first
			}
			said += " " + w.name([]string{between}) + " " + value
		default:
			said += "; " + w.name(label) + ": " + value
		}
	}
	return said
}

// replaces reports whether a verb puts something in the place of what is there.
func replaces(verb string) bool {
	return slices.Contains([]string{"write", "save", "put", "upload", "upsert"}, verb)
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

// prepositionOf returns the word between a verb and an argument with a label, or between the verb and
// its object if there is no label; "" if none belongs there.
func prepositionOf(verb string, label []string) string {
	if len(label) == 0 {
		if slices.Contains([]string{"browse", "find", "list", "search"}, verb) {
			return "in"
		}
		return ""
	}
	switch label[0] {
	case "to", "from", "at", "in", "on", "for", "with", "into", "by", "since", "until", "every":
		return label[0]
	case "source":
		return "from"
	case "destination", "target":
		return "to"
	}
	return ""
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
	var all []string
	for i, one := range v.Texts {
		if i == maxListed {
			return strings.Join(all, ", ") + fmt.Sprintf(w.more, len(v.Texts)-i)
		}
		if one = strings.TrimSpace(one); one == "" && v.Use == toolhandler.Content {
			continue
		}
		all = append(all, w.text(one, v.Use == toolhandler.Content))
	}
	return strings.Join(all, ", ")
}

// text returns one value: the beginning of a long one, with how much more there is, a moment as people
// write it, and what an id stands for.
func (w *asking) text(one string, isContent bool) string {
	limit := maxPlace
	if isContent {
		limit = maxContent
	}
	at, isMoment := moment(one)
	switch {
	case isMoment && !isContent:
		return w.moment(at, len(one) > len(time.DateOnly))
	case one == "true" || one == "false":
		return map[string]string{"true": w.yes, "false": w.no}[one]
	}
	line := strings.Join(strings.FieldsFunc(one, func(r rune) bool { return r == '\n' || r == '\r' }), " ⏎ ")
	said := w.quoted(text.Clip(line, limit, "…"), isContent || line != one)
	if len(line) > limit {
		said += fmt.Sprintf(w.letters, utf8.RuneCountInString(line)-utf8.RuneCountInString(text.Clip(line, limit, "")))
	}
	switch {
	case strings.Contains(line, " ⏎ "):
		said += w.explain("⏎", w.newLine)
	case isContent:
	case one == "~" || strings.HasPrefix(one, "~/"):
		said += w.explain("~", w.home)
	case strings.Contains(one, "*") && !strings.Contains(one, " "):
		said += w.explain("*", w.pattern)
	}
	if about := w.Reason.Records[one]; len(about) > 0 && !isContent {
		about = slices.Clone(about)
		for i, a := range about {
			if at, ok := moment(a); ok {
				about[i] = w.moment(at, len(a) > len(time.DateOnly))
			}
		}
		said = w.quoted(text.Clip(strings.Join(about, "; "), maxPlace, "…"), true) + " (" + said + ")"
	}
	return said
}

// explain returns the meaning of a sign, once in a question.
func (w *asking) explain(sign, meaning string) string {
	if w.explained[sign] {
		return ""
	}
	w.explained[sign] = true
	return " (" + meaning + ")"
}

// moment reads a date, or a date and time, as programs write them.
func moment(s string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateTime, time.RFC3339} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// moment writes a date, or a date and time, for a person.
func (w *asking) moment(at time.Time, hasTime bool) string {
	hour := "15:04"
	if at.Second() != 0 {
		hour += ":05"
	}
	if zone, _ := at.Zone(); zone != "UTC" {
		hour += " (UTC-07:00)"
	}
	if w.names != nil {
		said := vietnameseDays()[at.Weekday()] + at.Format(", 02/01/2006")
		if hasTime {
			said = at.Format(hour) + " " + said
		}
		return said
	}
	said := at.Format("Monday 2 January 2006")
	if hasTime {
		said += " at " + at.Format(hour)
	}
	return said
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
	case toolhandler.RuleUnsure:
		all = append(all, w.unsure)
	case toolhandler.RuleDestructive:
		all = append(all, fmt.Sprintf(w.destructive, w.service(w.Tool.Server)))
	}
	if len(r.Orders) > 0 {
		all = append(all, fmt.Sprintf(w.order, w.origins(r.Orders)))
	}
	var others []schemas.Origin
	for _, o := range r.Flows {
		if o.Server() != w.Tool.Server {
			others = append(others, o)
		}
	}
	class, _ := toolhandler.Classify(w.Tool)
	carried, server, to := w.carried(), w.service(w.Tool.Server), w.recipients()
	if len(others) > 0 {
		all = append(all, fmt.Sprintf(w.flow, carried, w.origins(others), cmp.Or(to, server)))
	}
	switch inside := len(others) < len(r.Flows); {
	case inside && class == toolhandler.Reads:
		all = append(all, fmt.Sprintf(w.flowAgain, carried, server))
	case inside && to != "":
		all = append(all, fmt.Sprintf(w.flow, carried, server, to))
	case inside && len(r.Orders) == 0:
		all = append(all, fmt.Sprintf(w.flowInside, carried, server))
	}
	if len(all) == 0 {
		all = append(all, w.confirm)
	}
	said := w.because + strings.Join(all, w.also)
	if len(r.Orders)+len(r.Flows) > 0 {
		said += w.advice
	}
	return said
}

// carried names what a flow may carry by what the values of the call are.
func (w *asking) carried() string {
	kinds := make(map[string]bool)
	for _, v := range toolhandler.ValuesOf(w.Tool, w.Arguments) {
		label := toolhandler.Words(v.Path)
		last := strings.Join(label[max(0, len(label)-1):], "")
		switch _, isMoment := moment(v.Texts[0]); {
		case isMoment:
			kinds[w.date] = true
		case slices.Contains([]string{"path", "file", "filename", "folder", "directory"}, last):
			kinds[w.fileName] = true
		case slices.Contains([]string{"query", "q", "pattern", "search", "term", "terms", "keywords"}, last):
			return w.search
		default:
			return w.values
		}
	}
	for kind := range kinds {
		if len(kinds) == 1 {
			return kind
		}
	}
	return w.values
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
		return w.service(o.Server()) + " " + w.inside
	}
	return w.service(string(o))
}

// service names a server as people know it: what does a part of the work.
func (w *asking) service(server string) string {
	if server == schemas.ToolServer {
		return w.web
	}
	return fmt.Sprintf(w.server, w.quoted(server, true))
}

// where returns which server does it, whether that reaches others, and the hosts and the repository
// that the call names.
func (w *asking) where() string {
	class, _ := toolhandler.Classify(w.Tool)
	said := fmt.Sprintf(w.does, w.service(w.Tool.Server))
	if class == toolhandler.Reads {
		said = fmt.Sprintf(w.reads, w.service(w.Tool.Server))
	} else if to := w.recipients(); to != "" {
		said = fmt.Sprintf(w.sends, to, w.service(w.Tool.Server))
	}
	var seen []string
	for _, d := range toolhandler.DestinationsOf(w.Tool, w.Arguments) {
		kind := map[schemas.Width]string{schemas.WidthHost: w.host, schemas.WidthRepository: w.repository}[d.Width]
		isShown := d.Width == schemas.WidthHost && strings.Contains(w.Arguments, "@"+d.Name+`"`) // in the address of a mail
		if part := kind + " " + w.quoted(text.Clip(d.Name, maxPlace, "…"), false); kind != "" && !isShown && len(seen) < maxListed && !slices.Contains(seen, part) {
			seen = append(seen, part)
		}
	}
	said = strings.Join(append([]string{said}, seen...), ", ")
	switch {
	case w.Tool.Rules.Marks.Closed:
		said += w.closed
	case w.Tool.Server != schemas.ToolServer:
		said += w.open
	}
	if class == toolhandler.Reads {
		said += w.back
	}
	return said
}

// recipients returns those whom a call that sends something names.
func (w *asking) recipients() string {
	verb, _ := toolhandler.VerbOf(w.Tool)
	var all []string
	for _, v := range toolhandler.ValuesOf(w.Tool, w.Arguments) {
		label := toolhandler.Words(v.Path)
		if v.Use != toolhandler.Content && len(label) > 0 && slices.Contains([]string{"forward", "invite", "publish", "reply", "send", "submit"}, verb) &&
			slices.Contains([]string{"to", "cc", "bcc", "recipient", "recipients", "channel"}, label[len(label)-1]) {
			all = append(all, w.texts(v))
		}
	}
	return strings.Join(all, ", ")
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
	verbs, names                                        map[string]string
	and, use, more, moreValues, yes, no                 string
	letters, newLine, replaces, home, pattern           string
	because, also, confirm, unsure, destructive         string
	order, flow, flowInside, flowAgain, advice, exactly string
	values, date, fileName, search                      string
	server, file, web, client, paste                    string
	inside, closed, open                                string
	does, sends, reads, back, host, repository          string
}

func askWordsOf(lang string) askWords {
	if lang == subject.Vietnamese {
		return askWords{
			verbs: vietnameseVerbs(), names: vietnameseNames(),
			and: " và ", use: "dùng công cụ %s", more: " và %d mục nữa", moreValues: "; và %d tham số nữa", yes: "có", no: "không",
			letters: " (còn %d ký tự nữa)", replaces: ", thay bản cũ nếu có", home: "~ là thư mục cá nhân", pattern: "* là phần chữ bất kỳ", newLine: "⏎ là xuống dòng", exactly: "với đúng nội dung sau:",
			because: "cần hỏi bạn vì ", also: ". Ngoài ra, ", confirm: "người quản trị yêu cầu bạn đồng ý mỗi lần làm việc này",
			unsure:      "yêu cầu này đã được gửi trước khi bị gián đoạn mà không có kết quả: có thể nó đã được thực hiện, và đồng ý nghĩa là gửi lại",
			destructive: "%s cho biết thao tác này có thể sửa hoặc xóa dữ liệu",
			order:       "trợ lý đã đọc nội dung từ %s: có thể chính nội dung đó, chứ không phải bạn, đã bảo trợ lý làm việc này",
			flow:        "%s có thể không do bạn đưa ra mà lấy từ những gì trợ lý đã đọc trong %s, và khi đó một phần nội dung ấy sẽ được chuyển sang %s",
			flowInside:  "%s có thể không do bạn đưa ra mà lấy từ những gì trợ lý đã đọc ở chỗ khác trong %s",
			flowAgain:   "%s có thể không do bạn đưa ra mà lấy từ những gì trợ lý đã đọc trong %s, và sẽ quyết định trợ lý đọc gì tiếp theo",
			advice:      ". Nếu bạn không yêu cầu thì hãy từ chối",
			values:      "các chi tiết ở trên", date: "ngày giờ ở trên", fileName: "tên tệp ở trên", search: "từ khóa ở trên",
			server: "dịch vụ %s", file: "tệp", web: "kết quả tìm trên mạng", client: "ứng dụng gửi câu hỏi này", paste: "đoạn bạn đã dán",
			inside: "(một địa chỉ nội bộ)", closed: "; dịch vụ này không gửi hay báo cho ai khác", open: "; chưa rõ dịch vụ này có gửi hay báo cho ai khác không",
			does: "thực hiện trong %s", sends: "gửi đến %s qua %s", reads: "yêu cầu gửi đến %s", back: "; trợ lý sẽ đọc được kết quả", host: "trang", repository: "kho mã",
		}
	}
	return askWords{
		verbs: map[string]string{"append": "add to", "look": "look at", "mark": "mark as"},
		and:   " and ", use: "use the tool %s", more: " and %d more", moreValues: "; and %d more arguments", yes: "yes", no: "no",
		letters: " (%d more characters)", replaces: ", replacing it if it exists", home: "~ is the home folder", pattern: "* stands for any text", newLine: "⏎ is a new line", exactly: "with exactly this text:",
		because: "asked because ", also: ". Also, ", confirm: "the administrator wants your approval each time this is done",
		unsure:      "this was sent before an interruption, and no result came back: it may have been done, and to allow it is to send it again",
		destructive: "%s says that this action can change or delete data",
		order:       "the assistant has read text from %s: that text, not you, may have told it to do this",
		flow:        "%s may come, not from you, but from what the assistant has read in %s, and some of that would then reach %s",
		flowInside:  "%s may come, not from you, but from what the assistant has read elsewhere in %s",
		flowAgain:   "%s may come, not from you, but from what the assistant has read in %s, and would decide what it reads next",
		advice:      ". If you did not ask for it, refuse",
		values:      "what is written above", date: "the date above", fileName: "the file name above", search: "the search text above",
		server: "the service %s", file: "the file", web: "web search", client: "the app that sent your question", paste: "the text that you pasted",
		inside: "(an internal address)", closed: "; nobody else is told or gets to see it", open: "; it is not known whether that service tells anybody else",
		does: "done in %s", sends: "goes to %s through %s", reads: "the request goes to %s", back: "; the assistant gets to read the result", host: "site", repository: "repository",
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
