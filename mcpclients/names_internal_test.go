package mcpclients

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas"
)

func TestOfferNames(t *testing.T) {
	long := strings.Repeat("long", 20)
	tools := []schemas.Tool{
		named("a", "b__c"), named("a", "x.y"), named("a", "x_y"), named("a__b", "c"),
		named("máy chủ", "tìm"), named("s", long), named("9", "nine"), named("ok", "fine-name"),
	}
	offerNames(tools, labelsOf(tools))
	got := map[string]string{}
	for _, tool := range tools {
		got[tool.Server+"/"+tool.ToolName] = regexp.MustCompile(`_[0-9a-f]{8}$`).ReplaceAllString(tool.Name, "_HASH")
	}
	want := map[string]string{
		"a/b__c": "a__b__c_HASH", "a__b/c": "a__b__c_HASH", // neither has precedence
		"a/x.y": "a__x_y_HASH", "a/x_y": "a__x_y",
		"máy chủ/tìm": "m_y_ch___t_m", "s/" + long: "s__" + long[:52] + "_HASH",
		"9/nine": "_9__nine", "ok/fine-name": "ok__fine-name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Run("a hash does not depend on the neighbours", func(t *testing.T) {
		alone := []schemas.Tool{named("s", long)}
		offerNames(alone, labelsOf(alone))
		if alone[0].Name != tools[5].Name {
			t.Errorf("%s and %s", alone[0].Name, tools[5].Name)
		}
	})
	t.Run("a tool that took the hashed name", func(t *testing.T) {
		squatter := hashedName("a__x_y", "a", "x.y", 0)
		tools := []schemas.Tool{named("a", strings.TrimPrefix(squatter, "a__")), named("a", "x.y"), named("a", "x_y")}
		offerNames(tools, labelsOf(tools))
		if tools[0].Name != squatter || tools[1].Name == squatter {
			t.Errorf("%s %s", tools[0].Name, tools[1].Name)
		}
	})
}

func labelsOf(tools []schemas.Tool) []*label {
	labels := make([]*label, len(tools))
	for i, t := range tools {
		l := newLabel(t.Server, t.ToolName)
		labels[i] = &l
	}
	return labels
}

func named(server, tool string) schemas.Tool {
	return schemas.Tool{ToolInfo: schemas.ToolInfo{Server: server, ToolName: tool}}
}

func FuzzOfferNames(f *testing.F) {
	f.Add("a", "b__c", "a__b", "c")
	f.Add("", "", "é", "\xff")
	f.Add("1", "x.y", "1", "x_y")
	form := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		if s1 == s2 && t1 == t2 {
			return
		}
		c := NewCatalogue([]schemas.Tool{named(s1, t1), named(s2, t2)})
		for _, tool := range c.Tools() {
			if !form.MatchString(tool.Name) {
				t.Errorf("name %q", tool.Name)
			}
			if found, ok := c.Lookup(tool.Name); !ok || found.Server != tool.Server || found.ToolName != tool.ToolName {
				t.Errorf("%q does not lead back", tool.Name)
			}
		}
	})
}
