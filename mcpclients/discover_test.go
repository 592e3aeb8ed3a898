package mcpclients_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

func TestDiscovery_MalformedToolsCostThemselvesOnly(t *testing.T) {
	m := start(t, servers(bad("s", "-malformed", "-twice")))
	st := status(t, m)
	if st.State != schemas.StateReady {
		t.Fatalf("%+v", st)
	}
	for _, want := range []string{
		"number_description: ", "text_hint: ", "list_schema: its inputSchema is not an object",
		"key_twice: ", "a tool without a name", "a tool without a usable name", "echo: the server lists this name twice",
	} {
		if !slices.ContainsFunc(st.Skipped, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("skipped %q lacks %q", st.Skipped, want)
		}
	}
	if len(st.Skipped) != 7 {
		t.Errorf("skipped %q", st.Skipped)
	}
	for _, name := range []string{"s__echo", "s__fine_without_schema"} {
		if _, ok := m.Catalogue().Lookup(name); !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if tool, _ := m.Catalogue().Lookup("fine_without_schema"); string(tool.InputSchema) != `{"type":"object"}` {
		t.Errorf("schema %s", tool.InputSchema)
	}
}

func TestDiscovery_TooManyTools(t *testing.T) {
	m := start(t, servers(bad("s", "-tools=10000")))
	st := status(t, m)
	if st.Tools != mcpclients.MaxTools || len(m.Catalogue().Tools()) != mcpclients.MaxTools {
		t.Errorf("%d tools", st.Tools)
	}
	if len(st.Skipped) != 1 || !strings.Contains(st.Skipped[0], "8022 tools above the limit of 2000") {
		t.Errorf("skipped %q", st.Skipped)
	}
}

func TestDiscovery_ListChanged(t *testing.T) {
	m := start(t, servers(bad("s")))
	before := m.Catalogue()
	for range 3 {
		if _, err := m.Call(t.Context(), "s", "grow", nil); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the new tools are there", func() bool {
		_, ok := m.Catalogue().Lookup("s__grown_2")
		return ok
	})
	if _, ok := before.Lookup("s__grown_2"); ok {
		t.Error("an older snapshot has changed")
	}
}

func TestDiscovery_FiltersAndRules(t *testing.T) {
	server := bad("s")
	server.IncludeTools = []string{"e*", "fail", "slow"}
	server.ExcludeTools = []string{"env"}
	server.Rules = []transport.ToolRule{
		{Glob: "echo", ToolRules: schemas.ToolRules{ReadOnly: true, Timeout: time.Second}},
		{Glob: "*", ToolRules: schemas.ToolRules{Policy: schemas.PolicyConfirm}},
	}
	m := start(t, servers(server))
	var got []string
	for _, tool := range m.Catalogue().Tools() {
		got = append(got, fmt.Sprint(tool.Name, " ", tool.Rules.Policy, " ", tool.Rules.ReadOnly, " ", tool.Rules.Timeout))
	}
	want := []string{"s__echo auto true 1s", "s__fail confirm false 0s", "s__slow confirm false 0s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if _, err := m.Call(t.Context(), "s", "env", nil); err == nil || !strings.Contains(err.Error(), "excludeTools") {
		t.Errorf("call of an excluded tool: %v", err)
	}
}

func TestManager_AttachesInParallel(t *testing.T) {
	var list []transport.ServerConfig
	for i := range 10 {
		list = append(list, bad(fmt.Sprintf("s%d", i), "-wait=700ms"))
	}
	began := time.Now()
	m := start(t, servers(list...))
	took := time.Since(began)
	if len(m.Catalogue().Tools()) == 0 {
		t.Fatal("no tools")
	}
	for _, st := range m.Status() {
		if st.State != schemas.StateReady {
			t.Errorf("%s is %s: %s", st.Name, st.State, st.Reason)
		}
	}
	t.Logf("10 servers that wait 700 ms attached in %s", took)
	if took > 6*time.Second { // one after the other takes 7 s
		t.Errorf("attached only after %s", took)
	}
}
