package agent_test

import (
	"testing"

	"molar/agent"
)

func TestIsYes(t *testing.T) {
	const never, always, vietnamese = "never", "always", "where Vietnamese was asked"
	for message, when := range map[string]string{
		"yes": always, "Yes!": always, "yes, please.": always, "OK": always, "go ahead": always, "I agree": always, "👍": always, "👍 ok": always, "ok, ok": always,
		"okay then": always, "Ok, do it then.": always, "y": always,
		"Đồng ý": always, "ĐỒNG Ý!": always, "đồng ý": always, "dong y": always, "Có.": always, "vâng": always, "vâng ạ": always, "ừ": always,
		"có chứ": always, "Được nhé": always, "Dạ, tôi đồng ý ạ.": always, "cu lam di": always, "ok em": always,
		"co": vietnamese, "da": vietnamese, "vang a": vietnamese, "duoc nhe": vietnamese, "da vang": vietnamese,
		"": never, " .": never, "no": never, "không": never, "yes but not now": never, "yes, and delete the rest": never, "yesterday": never, "không đồng ý": never,
		"đồng ý thì sao?": never, "ok, what is it": never, "do it again with Bob": never, "có gì mới?": never, "ok?": never, "please": never, "then": never, "ạ": never,
		"yes 👎": never, "y/n": never, "yes (no)": never,
		"Um...": never, "uh": never, "u": never, "ừm": never, "cô": never, "đá": never, "cỏ": never, "đa": never, "Ú": never, "đông y": never, "Dong ý": never,
		"Được chứ": never, "duoc chu": never,
	} {
		for _, lang := range []string{"en", "vi", "other"} {
			want := when == always || when == vietnamese && lang == "vi"
			if got := agent.IsYes(message, lang); got != want {
				t.Errorf("%q, %s: %v", message, lang, got)
			}
		}
	}
}
