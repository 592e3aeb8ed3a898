package documents_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"molar/internal/documents"
)

func TestReader_CSV(t *testing.T) {
	for name, tt := range map[string]struct {
		data string
		want []string
	}{
		"commas":                    {"Name,Price\nScaling,300\n\"Filling, large\",500\n", []string{"2 > Name: Scaling; Price: 300", "3 > Name: Filling, large; Price: 500"}},
		"semicolons, and a mark":    {"\xEF\xBB\xBFName;Price\r\nScaling;3,5\r\n", []string{"2 > Name: Scaling; Price: 3,5"}},
		"tabs":                      {"Name\tTown\nAnn\tHue\n", []string{"2 > Name: Ann; Town: Hue"}},
		"the separator of Excel":    {"sep=|\nA,b|C\nx|y\n", []string{"2 > A,b: x; C: y"}},
		"a line end within a cell":  {"Name,Note\nAnn,\"one\ntwo\"\nBob,three\n", []string{"2 > Name: Ann; Note: one two", "3 > Name: Bob; Note: three"}},
		"a quote that is not ended": {"Name,Note\nAnn,5\" pipe\nBob,x\n", []string{`2 > Name: Ann; Note: 5" pipe`, "3 > Name: Bob; Note: x"}},
		"rows of other lengths":     {"A,B\n1\n1,2,3\n", []string{"2 > A: 1", "3 > A: 1; B: 2; 3"}},
		"without names":             {"1,2,3\n4,5,6\n", []string{"1 > 1; 2; 3", "2 > 4; 5; 6"}},
		"one column":                {"only\nwords\n", []string{"1 only", "2 words"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, read(t, "a.csv", []byte(tt.data))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A row that is too large, perhaps by a quote that is not ended, ends the table.
func TestReader_CSV_largeRow(t *testing.T) {
	large := strings.Repeat("word ", 1<<20)
	if d, err := reader(t, nil).Read(t.Context(), "a.csv", []byte(large)); err == nil || err.Error() != "its first row is over 4 MiB" {
		t.Errorf("alone: %d parts, error %v", len(d.Parts), err)
	}
	d, err := reader(t, nil).Read(t.Context(), "a.csv", []byte("Name,Note\nAnn,x\nBob,\""+large+"\nCid,y\n"))
	if diff := cmp.Diff([]string{"2 > Name: Ann; Note: x"}, lines(d)); diff != "" || err != nil || d.Left != "only its rows before one of over 4 MiB are read" {
		t.Errorf("left %q, error %v (-want +got):\n%s", d.Left, err, diff)
	}
}

func TestText(t *testing.T) {
	const text = "Nguyễn đặt hẹn ở phường 5, được giảm giá"
	wide := func(big bool) string {
		b := []byte("\xFF\xFE")
		if big {
			b = []byte("\xFE\xFF")
		}
		for _, u := range utf16.Encode([]rune(text)) {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		return string(b)
	}
	western, err := charmap.Windows1252.NewEncoder().String("Über 5 € für señor François, più caffè")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ data, want string }{
		"UTF-8":                 {text, text},
		"UTF-8 with a mark":     {"\xEF\xBB\xBF" + text, text},
		"UTF-8 that is damaged": {text + "\xFF", text + " "},
		"decomposed":            {norm.NFD.String(text), text},
		"UTF-16, little":        {wide(false), text},
		"UTF-16, big":           {wide(true), text},
		"Windows, Vietnamese":   {"gia\xEC \xF0\xFD\xF5\xF2c hoa\xCC", "giá được hoà"},
		"Windows, western":      {western, "Über 5 € für señor François, più caffè"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := documents.Text([]byte(tt.data))
			if err != nil || got != tt.want {
				t.Errorf("got %q, error %v, want %q", got, err, tt.want)
			}
		})
	}
	if _, err := documents.Text([]byte("MZ\x00\x01")); err == nil {
		t.Error("a program is read as a text")
	}
}
