package toolhandler

import "molar/schemas"

// ForVisitors returns why visitors of a public page are not offered a tool, in English; "" for a tool that
// they may call. Nobody answers for what a visitor has done and nobody is asked, so they get what reads, and
// beyond it what the operator's config allows in words.
func ForVisitors(tool schemas.Tool) string {
	switch tool.Rules.Policy {
	case schemas.PolicyAllow:
		return ""
	case schemas.PolicyConfirm:
		return onlyRead + "its policy is confirm"
	}
	if class, why := Classify(tool); class != Reads {
		return onlyRead + why
	}
	return ""
}

// onlyRead begins why a visitor may not call a tool.
const onlyRead = "visitors may only read: "
