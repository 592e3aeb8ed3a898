package offer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/agent/offer"
	"molar/schemas"
)

func tool(server, name, description string, parameters ...string) schemas.ToolInfo {
	properties := map[string]any{}
	for _, p := range parameters {
		properties[p] = map[string]string{"type": "string"}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		panic(err)
	}
	return schemas.ToolInfo{Name: server + "__" + name, Server: server, ToolName: name, Description: description, InputSchema: schema}
}

func tools() []schemas.ToolInfo {
	return []schemas.ToolInfo{
		tool("disk", "list_directory", "Entries of a directory.", "path"),
		tool("disk", "moveFile", "Moves or renames a file.", "source", "destination"),
		tool("disk", "write_file", "Creates a file, or overwrites one.", "path", "content"),
		tool("chat", "post_message", "Posts a message to a channel.", "channel", "text"),
		tool("chat", "list_channels", "Channels of the workspace."),
		tool("chat", "add_reaction", "Adds an emoji to a message.", "message_id", "emoji"),
		tool("web", "navigate", "Opens an address in the browser.", "url"),
		tool("web", "take_screenshot", "An image of the page."),
		tool("notes", "add_observations", "Adds facts on an entity to the knowledge graph.", "entity"),
		tool("desk", "broken", "No schema."),
	}
}

func TestOf(t *testing.T) {
	all := tools()
	all[len(all)-1].InputSchema = json.RawMessage(`{"properties":3}`)
	rank := offer.Of(all)
	for _, tc := range []struct{ question, want string }{
		{"What is in my Pictures folder?", "disk__list_directory"},
		{"Trong thư mục Ảnh có gì?", "disk__list_directory"},
		{"trong thu muc Anh co gi", "disk__list_directory"},
		{"Rename a.txt to b.txt", "disk__moveFile"},
		{"Đổi tên tệp a.txt thành b.txt", "disk__moveFile"},
		{"Tell #general that lunch is ready", "chat__post_message"},
		{"Nhắn vào kênh chung là cơm xong rồi", "chat__post_message"},
		{"Open https://example.com/a?b=c", "web__navigate"},
		{"Chụp màn hình trang này", "web__take_screenshot"},
		{"Remember that I drink tea", "notes__add_observations"},
		{"Hãy ghi nhớ là tôi uống trà", "notes__add_observations"},
		{"broken", "desk__broken"},
	} {
		if got := rank(tc.question)[0]; got.Name != tc.want || got.Score <= 0 {
			t.Errorf("%q: %+v, want %s", tc.question, got, tc.want)
		}
	}
}

// Digits and the names of servers distinguish tools that are alike in everything else.
func TestOf_digitsAndServers(t *testing.T) {
	var all []schemas.ToolInfo
	for s := range 9 {
		for n := range 70 {
			all = append(all, tool(fmt.Sprintf("s%d", s), fmt.Sprintf("thing_%d", n), "Does a thing."))
		}
	}
	if got := offer.Of(all)("do thing number 17 of s3")[0]; got.Name != "s3__thing_17" {
		t.Errorf("%+v", got)
	}
}

// A question that matches no tool leaves their order unchanged and scores nothing.
func TestOf_nothingToSay(t *testing.T) {
	rank := offer.Of(tools())
	for _, question := range []string{"", "what is the", "là gì vậy", "\xff\xfe", strings.Repeat("ừ ", 5000)} {
		for i, r := range rank(question) {
			if r.Score != 0 || r.Name != tools()[i].Name {
				t.Errorf("%.20q: %d is %+v", question, i, r)
			}
		}
	}
	if got := offer.Of(nil)("a file"); len(got) != 0 {
		t.Errorf("%v for no tools", got)
	}
}

// A Vietnamese phrase matches the English words of its line, and these match one another.
func TestOf_vietnameseStandsForEnglish(t *testing.T) {
	rank := offer.Of([]schemas.ToolInfo{tool("a", "elevation", ""), tool("a", "balance", ""), tool("a", "screenshot", "")})
	for question, want := range map[string]string{"độ cao": "a__elevation", "do cao cua nui nay la bao nhieu": "a__elevation", "số dư": "a__balance", "height": "a__elevation"} {
		if got := rank(question)[0]; got.Name != want || got.Score <= 0 {
			t.Errorf("%q: %+v", question, got)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	var all []schemas.ToolInfo
	for n := range 250 {
		all = append(all, tool(fmt.Sprintf("s%d", n%15), fmt.Sprintf("thing_%d", n), strings.Repeat("Does a thing with what it is given. ", 10), "path", "name"))
	}
	for b.Loop() {
		offer.Of(all)("do thing number 17 of s3")
	}
}

// What is kept of tools of earlier lists changes no ranking.
func TestRanking_KeepsNothingOld(t *testing.T) {
	of := offer.Ranking()
	random := rand.New(rand.NewPCG(1, 0))
	for range 50 {
		list := tools()
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:random.IntN(len(list)+1)]
		for i := range list {
			if random.IntN(3) == 0 {
				list[i].Description = list[random.IntN(len(list))].Description
			}
		}
		for _, question := range []string{"Rename a.txt to b.txt", "Nhắn vào kênh chung là cơm xong rồi", "Add an emoji to the message in the channel"} {
			if diff := cmp.Diff(offer.Of(list)(question), of(list)(question)); diff != "" {
				t.Fatalf("%q (-fresh +kept):\n%s", question, diff)
			}
		}
	}
}

// BenchmarkRanking_OneChanged is the work after one of 2,000 tools has changed, and of a question among them.
func BenchmarkRanking_OneChanged(b *testing.B) {
	var all []schemas.ToolInfo
	for n := range 2000 {
		all = append(all, tool(fmt.Sprintf("s%d", n%100), fmt.Sprintf("thing_%d", n), fmt.Sprintf("Does a thing with what it is given, in the way number %d. ", n%50), "path", "name"))
	}
	of := offer.Ranking()
	rank := of(all)
	b.Run("list", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			all[1000].Description = fmt.Sprint("Does something else, ", i)
			of(all)
		}
	})
	b.Run("question", func(b *testing.B) {
		for b.Loop() {
			rank("do thing number 17 of s3")
		}
	})
}
