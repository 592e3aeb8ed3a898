package offer_test

import (
	"testing"

	"molar/agent/offer"
	"molar/schemas"
)

func TestGlobs(t *testing.T) {
	get := schemas.ToolInfo{Name: "family__get", ToolName: "get", Server: "family"}
	for _, tt := range []struct {
		globs      offer.Globs
		call, need bool
	}{
		{nil, false, false},
		{offer.Globs{"*"}, true, true},
		{offer.Globs{"family__*"}, true, true},
		{offer.Globs{"get"}, true, true}, // the tool's own name, without its server's
		{offer.Globs{"bank__*"}, false, false},
		{offer.Globs{"*", "!get"}, false, true},
		{offer.Globs{"*", "!family__*"}, false, false},
		{offer.Globs{"!bank__*", "*"}, true, true},
	} {
		if got := tt.globs.MayCall(get); got != tt.call {
			t.Errorf("%q may call: %v", tt.globs, got)
		}
		if got := tt.globs.MayNeed("family"); got != tt.need {
			t.Errorf("%q may need: %v", tt.globs, got)
		}
	}
	if (offer.Globs{"*"}).MayNeed(schemas.MemoryServer) {
		t.Error("the memory server lists no tools")
	}
	if err := (offer.Globs{"ok", "![", "b["}).Check(); err == nil {
		t.Error("globs that cannot be read passed")
	}
}
