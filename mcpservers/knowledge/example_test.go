package knowledge_test

import (
	"strings"
	"testing"

	"molar/internal/text"
	"molar/mcpservers/knowledge"
)

// asked are questions over the notes of the gardening example, in other words than theirs,
// with the passage that answers.
func asked() map[string]string {
	return map[string]string{
		"Why are the bottom leaves of my tomato plants going yellow?": "Yellow leaves on tomatoes",
		"my tomatoes have a black spot at the end":                    "Tomatoes",
		"how far apart do I plant potatoes":                           "Potatoes",
		"snails eat all my lettuce":                                   "snails",
		"when should roses be pruned":                                 "Roses",
		"greenfly or aphids on rose buds, what can I spray":           "Aphids",
		"how often do I water an orchid":                              "Orchids",
		"how to make hydrangea flowers blue":                          "Hydrangeas",
		"my compost smells bad":                                       "compost heap",
		"best time of day for watering":                               "Watering",
		"protect pots from frost":                                     "Frost",
		"chanh nhà em bị vàng lá hết rồi":                             "Cây chanh",
		"hoa hồng có rệp xịt gì":                                      "Hoa hồng",
		"lan trong nhà tưới sao":                                      "Lan",
		"sắp có bão phải chằng cây thế nào":                           "bão",
		"ủ rác bếp làm phân bị bốc mùi":                               "Ủ phân",
		"khi nào thì thay chậu cho cây":                               "Thay chậu",
		"bón phân nhiều quá cháy rễ":                                  "Bón phân",
		"sâu xanh ăn rau cải":                                         "rau cải",
		"trồng hành lá trong chậu":                                    "Hành lá",
		"quả cà chua bị nứt":                                          "Cà chua",
	}
}

func TestGardeningNotes(t *testing.T) {
	f, err := knowledge.Open(knowledge.Config{Name: "garden_notes", Files: knowledge.Dir("../../examples/gardening/notes")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	found, bare := 0, 0
	for question, title := range asked() {
		if top3(t, f, question, title) {
			found++
		} else {
			t.Logf("%q: %q is not among the first three", question, title)
		}
		if top3(t, f, text.Fold(question), title) {
			bare++
		}
	}
	t.Logf("%d of %d questions, %d without marks", found, len(asked()), bare)
	if found < len(asked())-1 || bare < len(asked())-3 {
		t.Errorf("%d of %d questions bring their passage, %d without marks", found, len(asked()), bare)
	}
	answered := 0
	for _, question := range []string{
		"What is the capital of France?", "giá vàng hôm nay", "how do I fix a flat bicycle tyre", "ai vô địch bóng đá năm ngoái", "write me a python script",
		"thời tiết Hà Nội ngày mai", "recommend a film for tonight", "cách nấu phở bò",
	} {
		if got := first(t, f, question); got.Title != "" {
			answered++
			t.Logf("%q brings %q (%.2f)", question, got.Title, got.Score)
		}
	}
	if answered > 1 { // gold and yellow are one word
		t.Errorf("%d of 8 questions about other things are answered", answered)
	}
}

func top3(t *testing.T, f *knowledge.Folder, question, title string) bool {
	t.Helper()
	results, err := f.Search(t.Context(), question, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if strings.Contains(r.Title, title) {
			return true
		}
	}
	return false
}
