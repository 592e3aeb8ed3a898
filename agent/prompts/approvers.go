package prompts

import (
	"fmt"
	"strings"

	"molar/agent/subject"
)

// WaitingFor returns the line of a notice that names the groups whose members decide about a call.
func WaitingFor(lang string, approvers []string) string {
	if lang == subject.Vietnamese {
		return "Đang chờ chấp thuận từ: " + listed(approvers, "hoặc") + ". Hãy đồng ý sau khi họ đã chấp thuận."
	}
	return "Waiting for the approval of: " + listed(approvers, "or") + ". Say yes after they have approved."
}

// StillWaiting returns the answer to a yes that came before that of the approvers.
func StillWaiting(lang string, approvers []string) string {
	if lang == subject.Vietnamese {
		return "Vẫn chưa có ai trong nhóm " + listed(approvers, "hoặc") + " chấp thuận, nên chưa thực hiện gì."
	}
	return "Nobody in " + listed(approvers, "or") + " has approved this yet, so nothing was done."
}

// RefusedBy returns the answer to a yes after an approver's no; name may be empty.
func RefusedBy(lang, tool, name string) string {
	if name != "" {
		name = " (" + quotedName(name) + ")"
	}
	if lang == subject.Vietnamese {
		return fmt.Sprintf("Không thực hiện %s: người có quyền chấp thuận%s đã từ chối.", quotedName(tool), name)
	}
	return fmt.Sprintf("%s was not done: an approver%s refused it.", quotedName(tool), name)
}

// quotedName returns a name as code, which no client makes clickable.
func quotedName(name string) string { return "`" + strings.ReplaceAll(name, "`", "'") + "`" }

// listed returns names of groups with a word before the last one.
func listed(names []string, or string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quotedName(name)
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:last], ", ") + " " + or + " " + quoted[last]
}
