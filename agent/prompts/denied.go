package prompts

import (
	"fmt"
	"strings"

	"molar/agent/subject"
	"molar/internal/text"
	"molar/schemas"
	"molar/toolhandler"
)

// A DeniedCall is a call that was not made, as nobody is asked.
type DeniedCall struct {
	// Tool is the offered name.
	Tool   string
	Reason toolhandler.Reason
}

// deniedWords are the phrases of [Denied]: its beginning, and the reasons.
type deniedWords struct{ denied, confirm, destructive, unsure, flow, order, because, and string }

func deniedWordsOf(lang string) deniedWords {
	if lang == subject.Vietnamese {
		return deniedWords{
			denied:      "Không thực hiện, vì ở đây không hỏi được ai: ",
			confirm:     "lần nào cũng cần có người đồng ý",
			destructive: "dịch vụ cho biết nó có thể sửa hoặc xóa dữ liệu",
			unsure:      "nó đã được gửi trước khi máy dừng, và có thể đã xong",
			flow:        "nó có thể mang điều đã đọc trong %s đến nơi khác",
			order:       "trước đó đã đọc nội dung của %s, và có thể chính nội dung đó bảo làm việc này",
			because:     "%s, vì %s", and: ", và ",
		}
	}
	return deniedWords{
		denied:      "Not done, since nobody can be asked here: ",
		confirm:     "it needs a person's yes each time",
		destructive: "the service says that it can change or delete data",
		unsure:      "it was sent before the host stopped, and may have been done",
		flow:        "it may take something that was read in %s somewhere else",
		order:       "text of %s was read before, and that text may have told it to do this",
		because:     "%s, because %s", and: ", and ",
	}
}

// Denied returns the sentence that says which calls were not made, and why.
func Denied(lang string, calls []DeniedCall) string {
	w := deniedWordsOf(lang)
	var lines []string
	seen := make(map[string]bool)
	for _, c := range calls {
		if line := fmt.Sprintf(w.because, "`"+c.Tool+"`", w.reason(c.Reason)); !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	return w.denied + strings.Join(lines, "; ") + "."
}

func (w deniedWords) reason(r toolhandler.Reason) string {
	var all []string
	switch r.Rule {
	case toolhandler.RuleDestructive:
		all = append(all, w.destructive)
	case toolhandler.RuleUnsure:
		all = append(all, w.unsure)
	}
	if len(r.Flows) > 0 {
		all = append(all, fmt.Sprintf(w.flow, named(r.Flows)))
	}
	if len(r.Orders) > 0 {
		all = append(all, fmt.Sprintf(w.order, named(r.Orders)))
	}
	if len(all) == 0 {
		return w.confirm
	}
	return strings.Join(all, w.and)
}

// named lists origins as code: others may have chosen the name of a file.
func named(origins []schemas.Origin) string {
	names := make([]string, len(origins))
	for i, o := range origins {
		names[i] = "`" + strings.ReplaceAll(text.Shown(string(o)), "`", "'") + "`"
	}
	return strings.Join(names, ", ")
}
