package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/internal/session"
)

func TestFind(t *testing.T) {
	t.Parallel()
	const teeth = "tooth://{jaw}/{number}/image"
	for _, tt := range []struct {
		template, typed string
		want            *session.Place // nil where it does not fit
	}{
		{teeth, "", &session.Place{Done: "tooth://"}},
		{teeth, "too", &session.Place{Done: "tooth://"}},
		{teeth, "file://", nil},
		{teeth, "tooth://", &session.Place{Done: "tooth://", Variable: "jaw", Rest: "/"}},
		{teeth, "tooth://up", &session.Place{Done: "tooth://", Variable: "jaw", Value: "up", Rest: "/"}},
		{teeth, "tooth://upper%20left/", &session.Place{Done: "tooth://upper%20left/", Variable: "number", Rest: "/image", Others: map[string]string{"jaw": "upper left"}}},
		{teeth, "tooth://upper/3/image", &session.Place{Done: "tooth://upper/3/image", Others: map[string]string{"jaw": "upper", "number": "3"}}},
		{teeth, "tooth://upper/3/image/x", nil},
		{"file:///{+path}", "file:///a/b", &session.Place{Done: "file:///", Variable: "path", Value: "a/b"}},
		{"q://{?words}", "q://", nil},
		{"q://{words", "q://", nil},
		{"plain://one", "plain://", &session.Place{Done: "plain://one"}},
	} {
		got, ok := session.Find(tt.template, tt.typed)
		if ok != (tt.want != nil) {
			t.Errorf("%s, %q: %+v, %v", tt.template, tt.typed, got, ok)
			continue
		}
		if tt.want != nil {
			if diff := cmp.Diff(*tt.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(session.Place{})); diff != "" {
				t.Errorf("%s, %q (-want +got):\n%s", tt.template, tt.typed, diff)
			}
		}
	}
}

// A value is written so that it stays one word, and one part of the address.
func TestPlace_With(t *testing.T) {
	t.Parallel()
	for tpl, want := range map[string]string{"a://{x}/b": "a://răng%20hàm%2F8/b", "a://{+x}/b": "a://răng%20hàm/8/b"} {
		p, _ := session.Find(tpl, "a://")
		if got := p.With("răng hàm/8"); got != want {
			t.Errorf("%s: %s, want %s", tpl, got, want)
		}
	}
}
