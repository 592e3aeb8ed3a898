package consent_test

import (
	"testing"

	"molar/agent/consent"
)

func TestIsYes(t *testing.T) {
	for message, want := range map[string]bool{
		"yes": true, "Yes!": true, "yes, please.": true, "OK": true, "go ahead": true, "Đồng ý": true, "dong y": true, "Có.": true, "vâng": true, "ừ": true,
		"👍": true, "Được nhé": true, "I agree": true,
		"": false, "no": false, "không": false, "yes but not now": false, "yes, and delete the rest": false, "yesterday": false, "không đồng ý": false,
		"đồng ý thì sao?": false, "ok, what is it": false, "do it again with Bob": false, "có gì mới?": false,
	} {
		if got := consent.IsYes(message); got != want {
			t.Errorf("%q: %v", message, got)
		}
	}
}
