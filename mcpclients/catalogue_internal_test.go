package mcpclients

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/mcpclients/transport"
	"molar/schemas"
)

// unstarted returns a manager whose servers are never attached: the test fills their shelves.
func unstarted(tb testing.TB, servers ...string) *Manager {
	tb.Helper()
	var cfg Config
	for _, name := range servers {
		cfg.Servers = append(cfg.Servers, transport.ServerConfig{Name: name, Command: "none"})
	}
	m, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = m.Close() })
	return m
}

// After any sequence of servers that come, change, go and are switched, the catalogues are those that
// the same tools make at once.
func TestManager_CataloguesAreThoseOfAllTools(t *testing.T) {
	names := []string{"a", "a__b", "mail", "mаil", "s", schemas.MemoryServer} // one is not ASCII throughout
	own := []string{"b__c", "c", "x.y", "x_y", "send_mail", "send-mail", "mailsend", strings.Repeat("long", 20), schemas.Instructions}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		m := unstarted(t, names...)
		known, lost := map[string][]schemas.ToolInfo{}, map[string]bool{}
		for step := range 60 {
			name := names[random.IntN(len(names))]
			shelf := m.servers.Load().byName[name].Shelf()
			switch random.IntN(8) {
			case 0:
				shelf.Leave()
				lost[name] = true
			case 1:
				shelf.Clear()
				delete(known, name)
			case 2:
				shelf.Put(known[name]) // the same once more
				lost[name] = false
			case 3:
				shelf.Judge()
			default:
				var list []schemas.ToolInfo
				for _, i := range random.Perm(len(own))[:random.IntN(len(own))] {
					list = append(list, schemas.ToolInfo{
						Server: name, ToolName: own[i], Description: fmt.Sprint(random.IntN(2)),
						InputSchema: []byte(`{"type":"object","$defs":{"a":{"type":"string"}}}`),
					})
				}
				shelf.Put(list)
				known[name], lost[name] = list, false
			}
			var all, here []schemas.Tool
			for _, name := range names {
				for _, info := range known[name] {
					if info.ToolName != schemas.Instructions {
						cfg := transport.ServerConfig{}
						all = append(all, schemas.Tool{ToolInfo: info, Rules: cfg.Judge(info.ToolName, nil, cfg.Confirm(nil))})
					}
				}
			}
			want := NewCatalogue(all)
			for _, tool := range want.Tools() {
				if !lost[tool.Server] {
					here = append(here, tool)
				}
			}
			if diff := cmp.Diff(want.Tools(), m.Known().Tools(), nilIsEmpty()); diff != "" {
				t.Fatalf("seed %d, step %d: (-want +got):\n%s", seed, step, diff)
			}
			if diff := cmp.Diff(here, m.Catalogue().Tools(), nilIsEmpty()); diff != "" {
				t.Fatalf("seed %d, step %d: attached (-want +got):\n%s", seed, step, diff)
			}
			for _, name := range names {
				if diff := cmp.Diff(want.Alike(name), m.Known().Alike(name)); diff != "" {
					t.Fatalf("seed %d, step %d: alike (-want +got):\n%s", seed, step, diff)
				}
			}
			for _, tool := range own {
				_, unique := newCatalogue(here).Lookup(tool)
				if _, found := m.Catalogue().Lookup(tool); found != unique {
					t.Fatalf("seed %d, step %d: %s is found: %v", seed, step, tool, found)
				}
			}
		}
	}
}

func nilIsEmpty() cmp.Option {
	return cmp.Transformer("list", func(tools []schemas.Tool) []schemas.Tool { return slices.Concat([]schemas.Tool{}, tools) })
}

// hundred fills a manager of 100 servers with 20 tools each.
func hundred(tb testing.TB) (m *Manager, list func(server, round int) []schemas.ToolInfo) {
	tb.Helper()
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("vendor%02d", i)
	}
	m = unstarted(tb, names...)
	list = func(server, round int) []schemas.ToolInfo {
		tools := make([]schemas.ToolInfo, 20)
		for i := range tools {
			var properties strings.Builder
			for p := range 8 {
				fmt.Fprintf(&properties, `"property_%d":{"type":"string","description":"what the property %d is for"},`, p, p)
			}
			tools[i] = schemas.ToolInfo{
				Server: names[server], ToolName: fmt.Sprintf("get_%d_of_%d", i, server), Description: fmt.Sprint("Gets what it names. ", round),
				InputSchema: []byte(`{"type":"object","properties":{` + properties.String() + `"last":{"$ref":"#/$defs/used"}},"$defs":{"used":{},"unused":{}}}`),
			}
		}
		return tools
	}
	for i := range names {
		m.servers.Load().byName[names[i]].Shelf().Put(list(i, 0))
	}
	return m, list
}

// BenchmarkPublish is the work for one of 100 servers with 2,000 tools that changes all of its tools,
// that lists the same again, and that goes and comes back.
func BenchmarkPublish(b *testing.B) {
	m, list := hundred(b)
	shelf := m.servers.Load().byName["vendor50"].Shelf()
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		for round := 1; b.Loop(); round++ {
			shelf.Put(list(50, round))
		}
	})
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			shelf.Put(list(50, 0))
		}
	})
	b.Run("back", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			shelf.Leave()
			shelf.Put(list(50, 0))
		}
	})
}
