package learn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molar/agent/subject"
	"molar/agent/subject/learn"
	"molar/topics"
)

// examples returns examples of a small topic, thirty of each label, and further questions that are
// not among them.
func examples() (t subject.Topic, asked []subject.Example) {
	in := []string{
		"When is my income tax return due?", "How do I get a tax refund?", "What can I deduct for my home office?", "Do I pay VAT on used books?",
		"Which tax class do we choose as a couple?", "My tax number got lost", "How much income tax is taken from 3,000 a month?", "Is child benefit taxed?",
		"Can a student deduct tuition fees?", "The tax office wants receipts from last year", "How do I declare income from renting?", "What is the penalty for a late return?",
		"Do I have to declare gifts?", "How do I register for VAT?", "Can I correct a tax return that I have sent?",
		"Khi nào phải quyết toán thuế thu nhập cá nhân?", "Làm sao để được hoàn thuế?", "Giảm trừ gia cảnh là bao nhiêu?", "Mã số thuế tra ở đâu?", "Bán hàng online có đóng thuế không?",
		"Hoá đơn ghi sai thuế suất thì sửa sao?", "Nộp thuế trễ bị phạt thế nào?", "Cho thuê nhà đóng thuế bao nhiêu?", "Thuế giá trị gia tăng 8 hay 10 phần trăm?", "Đăng ký người phụ thuộc cần giấy gì?",
		"hoan thue bao lau co tien", "Lương 20 triệu đóng bao nhiêu thuế?", "Kê khai thuế qua mạng bị lỗi", "Hộ kinh doanh nộp thuế khoán ra sao?", "Trúng số có bị trừ thuế không?",
	}
	out := []string{
		"Which bank has the best savings rate?", "How do I write an invoice in Word?", "How long is the notice period of a flat?", "What does an accountant earn?", "How do I ask for a raise?",
		"Which laptop is good for office work?", "Where do I renew my passport?", "How do I cook rice?", "Who won the match last night?", "What is the weather tomorrow?",
		"Write a poem about money", "Translate this sentence into French", "How do I fix a bicycle tube?", "My back hurts when I sit", "Book me a flight to Rome",
		"Lãi suất gửi tiết kiệm bao nhiêu?", "Làm hộ chiếu ở đâu?", "Cách nấu phở bò?", "Thủ tục ly hôn thế nào?", "Giá vàng hôm nay?",
		"Học kế toán ra làm gì?", "Mua laptop nào làm văn phòng?", "Viết giúp tôi bài thơ về tiền", "Đau lưng nên tập gì?", "Thời tiết ngày mai?",
		"xin viec o dau", "Vay mua nhà cần gì?", "Đặt vé máy bay đi Huế", "Phim nào hay?", "Sửa xe đạp ở đâu?",
	}
	no := false
	for _, text := range in {
		t.Examples = append(t.Examples, subject.Example{Text: text, InDomain: true})
	}
	for _, text := range out {
		t.Examples = append(t.Examples, subject.Example{Text: text, InDomain: no})
	}
	for _, text := range []string{
		"How do I deduct travel costs from income tax?", "Is VAT due on eggs?", "When does the tax office pay my refund?", "What income do I have to declare?",
		"Thuế thu nhập cá nhân tính thế nào?", "Bao lâu thì được hoàn thuế?", "nop thue online bi loi", "Người phụ thuộc đăng ký ở đâu?",
	} {
		asked = append(asked, subject.Example{Text: text, InDomain: true})
	}
	for _, text := range []string{
		"How do I cook noodles?", "Who won the race?", "Which phone is good?", "Book me a hotel in Rome", "Cách nấu bún bò?", "Mua nhà cần gì?", "Thời tiết hôm nay?", "Write a poem about the moon",
	} {
		asked = append(asked, subject.Example{Text: text})
	}
	t.Name, t.Voices = "tax", map[string]subject.Voice{"en": {Description: "taxes of people and small firms"}}
	return t, asked
}

// negatives returns n further messages of other subjects.
func negatives(t *testing.T, n int) []subject.Example {
	t.Helper()
	lines, err := learn.ReadFiles(topics.General(), "others.jsonl")
	if err != nil || len(lines) < n {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	var out []subject.Example
	for _, l := range lines[:n] {
		out = append(out, l.Example())
	}
	return out
}

func judged(t *testing.T, topic subject.Topic, asked []subject.Example) (in, out int) {
	t.Helper()
	weights, err := learn.Guard(topic, topics.General())
	if err != nil {
		t.Fatal(err)
	}
	topic.Weights = weights
	g, err := subject.NewGuard(subject.GuardConfig{Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range asked {
		switch v := g.Quick(e.Text); {
		case v.Pass != e.InDomain:
			t.Logf("%d examples: %q passes %v, %.2f", len(topic.Examples), e.Text, v.Pass, v.Score)
		case e.InDomain:
			in++
		default:
			out++
		}
	}
	return in, out
}

// Thirty examples of each label help, and a thousand more of other subjects never drown them.
func TestGuard_ClassesAreBalanced(t *testing.T) {
	topic, asked := examples()
	own := topic.Examples
	for _, more := range []int{0, 300, 1000} {
		topic.Examples = slices.Concat(own, negatives(t, more))
		in, out := judged(t, topic, asked)
		t.Logf("%d more: %d of 8 admitted, %d of 8 refused", more, in, out)
		if in < 7 || out < 7 {
			t.Errorf("%d more: %d of 8 admitted, %d of 8 refused", more, in, out)
		}
	}
}

// What sixty examples do not prove, code is not sure of.
func TestGuard_FewExamplesProveNothing(t *testing.T) {
	topic, asked := examples()
	weights, err := learn.Guard(topic, topics.General())
	if err != nil {
		t.Fatal(err)
	}
	topic.Weights = weights
	g, err := subject.NewGuard(subject.GuardConfig{Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range asked {
		if v := g.Quick(e.Text); v.Sure {
			t.Errorf("%q: code is sure: %+v", e.Text, v)
		}
	}
}

// pack writes a pack with the lines of the small topic.
func pack(t *testing.T, extra string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tax")
	topic, asked := examples()
	var lines strings.Builder
	for i, e := range append(topic.Examples, asked...) {
		lang, _ := subject.Detect(e.Text, "")
		data, err := json.Marshal(map[string]any{"text": e.Text, "lang": lang, "in_domain": e.InDomain, "group": fmt.Sprint(i % 7), "kind": "plain"})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(data, '\n'))
	}
	lines.WriteString(extra)
	for name, content := range map[string]string{
		"topic.txt": "# languages\nen\n\n# names\nincome tax, VAT\n", "en.txt": "# description\ntaxes of people\n\n# notice raid\nStay calm.\n",
		"emergencies.txt": "Kinds.\n\n# kind raid\nraided\n\n# sign raided\nthe police search my office\n",
		"lines/a.jsonl":   lines.String(), "lines/own.txt": "By hand.\n\n# in\nmay I deduct my dog\n\n# out\nmay I bring my dog\n",
	} {
		put(t, dir, name, content)
	}
	return dir
}

// put writes a file below a folder.
func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A pack is learned, its tables can be read, and its card is what was measured.
func TestTrain(t *testing.T) {
	dir := pack(t, `{"text":"they search my office right now","lang":"en","emergency":"raid"}
{"text":"can they search my office","lang":"en","emergency":""}
`)
	got, err := learn.Train(t.Context(), learn.Config{Dir: dir, General: topics.General(), Date: "2026-11-28"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Topic != "tax" || got.Messages.N != 78+got.General || got.Lines["in plain"] != 38 || got.Emergencies == nil || got.Emergencies.Emergencies != 1 {
		t.Errorf("got %+v", got)
	}
	if got.Thresholds.In != nil || got.Thresholds.Named != nil { // what every topic learns can prove a refusal
		t.Errorf("78 lines prove %+v", got.Thresholds)
	}
	files := os.DirFS(dir)
	var card learn.Card
	data, err := fs.ReadFile(files, subject.CardFile)
	if err != nil || json.Unmarshal(data, &card) != nil || card.Date != "2026-11-28" {
		t.Fatalf("%v: %s", err, data)
	}
	if sum, err := subject.Sum(files); err != nil || sum != card.Sum {
		t.Errorf("sum %s of the pack, %s on the card: %v", sum, card.Sum, err)
	}
	topic, err := subject.ReadPack(files, "tax")
	if err != nil || topic.Weights == "" || topic.Emergencies.Weights == "" {
		t.Fatalf("the pack has no tables: %v", err)
	}
	g, err := subject.NewGuard(subject.GuardConfig{Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := learn.ReadLines(files)
	if err != nil {
		t.Fatal(err)
	}
	measured, err := learn.Measure(t.Context(), g, lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m := measured.Messages; m.N != 78 || m.Accuracy < 0.95 || measured.Measured != learn.Given {
		t.Errorf("measured on what it has learned: %+v", m)
	}
}

func TestReadLines_NamesWhatIsWrong(t *testing.T) {
	for extra, want := range map[string]string{
		`{"text":"x"}`:                                  "has no label",
		`{"text":"","in_domain":true}`:                  `"text" is missing`,
		`{"text":"x","in_domain":true,"weight":-1}`:     `"weight"`,
		`{"text":"x","in_domain":true,"colour":"blue"}`: "colour",
	} {
		if _, err := learn.ReadLines(os.DirFS(pack(t, extra))); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "lines/a.jsonl:77") {
			t.Errorf("%s: %v", extra, err)
		}
	}
	dir := pack(t, `{"text":"x","emergency":"flood"}`)
	if _, err := learn.Train(t.Context(), learn.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), `"flood"`) {
		t.Errorf("an unknown kind: %v", err)
	}
}

// A language with a tenth of a few lines is learned, and one that a line does not name is guessed.
func TestTrain_LanguagesOfFewLines(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "topic.txt", "# languages\nvi, en\n\n# names\nthuế, tax\n")
	put(t, dir, "vi.txt", "# description\nthuế\n")
	put(t, dir, "en.txt", "# description\ntaxes\n")
	var lines strings.Builder
	for i := range 22 {
		fmt.Fprintf(&lines, "{\"text\": \"Thuế thu nhập %d tính thế nào?\", \"in_domain\": true}\n{\"text\": \"Nấu phở bò %d bát thế nào?\", \"in_domain\": false}\n", i, i)
	}
	for i := range 12 {
		fmt.Fprintf(&lines, "{\"text\": \"How much tax do I pay on %d dollars?\", \"in_domain\": true}\n{\"text\": \"How long do I boil %d eggs?\", \"in_domain\": false}\n", i, i)
	}
	put(t, dir, "lines/few.jsonl", lines.String())
	card, err := learn.Train(t.Context(), learn.Config{Dir: dir})
	if err != nil || !slices.Equal(card.Languages, []string{"vi", "en"}) {
		t.Errorf("languages %q, error %v", card.Languages, err)
	}
}

// A pack may be a stranger's: its lines are files of its own, and of some size.
func TestReadHeld_followsNoLink(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "held/a.jsonl", "{\"text\": \"x\", \"in_domain\": true}\n")
	outside := filepath.Join(t.TempDir(), "b.jsonl")
	if err := os.WriteFile(outside, []byte("{\"text\": \"secret\", \"in_domain\": true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if lines, err := learn.ReadHeld(os.DirFS(dir)); err != nil || len(lines) != 1 {
		t.Fatalf("%d lines, error %v", len(lines), err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "held", "b.jsonl")); err != nil {
		t.Skip("no links can be made here:", err)
	}
	if lines, err := learn.ReadHeld(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%d lines, error %v", len(lines), err)
	}
	if err := os.Remove(filepath.Join(dir, "held", "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	large, err := os.Create(filepath.Join(dir, "held", "c.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(large.Truncate(65<<20), large.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := learn.ReadHeld(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("error %v", err)
	}
}
