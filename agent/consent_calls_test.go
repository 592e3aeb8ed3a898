package agent_test

import (
	"testing"

	"molar/agent"
)

// A yes counts in the language that it was asked for in, and in no other.
func TestIsYes(t *testing.T) {
	const never, always, english, vietnamese = "never", "always", "where English was asked", "where Vietnamese was asked"
	for message, when := range map[string]string{
		"OK": always, "👍": always, "👍 ok": always, "ok, ok": always, "okay": always,
		"yes": english, "Yes!": english, "yes, please.": english, "go ahead": english, "I agree": english,
		"okay then": english, "Ok, do it then.": english, "y": english,
		"Đồng ý": vietnamese, "ĐỒNG Ý!": vietnamese, "đồng ý": vietnamese, "dong y": vietnamese, "Có.": vietnamese, "vâng": vietnamese, "vâng ạ": vietnamese, "ừ": vietnamese,
		"có chứ": vietnamese, "Được nhé": vietnamese, "Dạ, tôi đồng ý ạ.": vietnamese, "cu lam di": vietnamese, "ok em": vietnamese, "ok nhé": vietnamese,
		"co": vietnamese, "da": vietnamese, "vang a": vietnamese, "duoc nhe": vietnamese, "da vang": vietnamese,
		"": never, " .": never, "no": never, "không": never, "yes but not now": never, "yes, and delete the rest": never, "yesterday": never, "không đồng ý": never,
		"đồng ý thì sao?": never, "ok, what is it": never, "do it again with Bob": never, "có gì mới?": never, "ok?": never, "please": never, "then": never, "ạ": never,
		"yes 👎": never, "y/n": never, "yes (no)": never,
		"Um...": never, "uh": never, "u": never, "ừm": never, "cô": never, "đá": never, "cỏ": never, "đa": never, "Ú": never, "đông y": never, "Dong ý": never,
		"Được chứ": never, "duoc chu": never,
	} {
		for _, lang := range []string{"en", "vi", "other"} {
			want := when == always || when == vietnamese && lang == "vi" || when == english && lang != "vi"
			if got := agent.IsYes(message, lang); got != want {
				t.Errorf("%q, %s: %v", message, lang, got)
			}
		}
	}
}
