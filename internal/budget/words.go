package budget

import (
	"fmt"
	"strings"
	"time"

	"molar/schemas"
)

// words are what people are told of budgets, in one language.
type words struct {
	// budget names a budget of a kind, in its period.
	budget func(kind, period string) string
	// moment is a time as people write it.
	moment func(time.Time) string
	// used and warned tell of a budget, and when it begins anew; held tells of a budget.
	used, warned, held string
}

// vietnamese is the code of the language.
const vietnamese = "vi"

func wordsOf(language string) words {
	if language == vietnamese {
		return words{
			budget: vietnameseBudget,
			moment: func(t time.Time) string { return t.Format("15:04 ngày 2 tháng 1") + " (giờ UTC)" },
			used:   "%s đã dùng hết; ngân sách mới bắt đầu lúc %s",
			warned: "đã dùng 80%% %s; ngân sách mới bắt đầu lúc %s",
			held:   "các câu hỏi đang được trả lời đã giữ phần còn lại của %s; hãy hỏi lại sau giây lát",
		}
	}
	return words{
		budget: englishBudget,
		moment: func(t time.Time) string { return t.Format("2 January 15:04 UTC") },
		used:   "%s is used up; it begins anew on %s",
		warned: "four fifths of %s are used; it begins anew on %s",
		held:   "running calls have reserved the rest of %s; ask again in a moment",
	}
}

func englishBudget(kind, period string) string {
	name := "this month's budget"
	if period == schemas.PerDay {
		name = "today's budget"
	}
	switch kind {
	case person, key, visitor:
		return name + " of yours"
	case all:
		return name
	case public:
		return name + " of all visitors"
	}
	return name + " of the group " + strings.TrimPrefix(kind, group)
}

func vietnameseBudget(kind, period string) string {
	name := "ngân sách tháng này"
	if period == schemas.PerDay {
		name = "ngân sách hôm nay"
	}
	switch kind {
	case person, key, visitor:
		return name + " của bạn"
	case all:
		return name
	case public:
		return name + " của tất cả khách"
	}
	return name + " của nhóm " + strings.TrimPrefix(kind, group)
}

// anew fills a sentence about a budget and the end of its period.
func (w words) anew(sentence string, b schemas.NamedBudget, ends time.Time) string {
	return fmt.Sprintf(sentence, w.budget(title(b.Name), b.Per), w.moment(ends.UTC()))
}
