package eval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval"
)

func TestMasker(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"e-mail", "write to an.nguyen@clinic.vn or to AN@x.org, not to an.nguyen@clinic.vn", "write to person1@example.org or to person2@example.org, not to person1@example.org"},
		{"phone", "call 0901 234 567 or +84 (90) 123-4567.", "call 0900 000 001 or +84 (00) 000-0002."},
		{"a number in JSON stays one", `{"card":4111111111111111,"n":12345678}`, `{"card":4100000000000001,"n":12345678}`},
		{"born", "Sinh ngày 02/03/1984, born on 1990-12-31; appointment 05/06/2026", "Sinh ngày 01/01/1970, born on 1970-01-01; appointment 05/06/2026"},
		{"name", "My name is Nguyễn Văn An, patient: Lê Thị Bình. Nguyễn Văn An asks.", "My name is Person A, patient: Person B. Person A asks."},
		{"ids are no numbers", "00000000-0000-4000-8000-000000000000 turn_1234567890 a1234567890", "00000000-0000-4000-8000-000000000000 turn_1234567890 a1234567890"},
		{"words", "the Tran family of Da Nang", "the masked1 family of masked2"},
		{"nothing", "What causes caries in children?", "What causes caries in children?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := eval.NewMasker([]string{"Tran", " Da Nang ", ""})
			m.Learn(tt.in)
			got := m.Text(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
