package text_test

import (
	"strings"
	"testing"

	"molar/internal/text"
)

// What cannot be seen, hides others or looks like another character is written out; texts of people
// are not touched, whatever their language.
func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"":           "",
		"Hi Ann, 5%": "Hi Ann, 5%",
		"Nhờ phòng kế toán gửi giúp hoá đơn": "Nhờ phòng kế toán gửi giúp hoá đơn",
		"Nho\u031b\u0300":  "Nho\u031b\u0300", // the same letters in parts
		"Привет, мир":      "Привет, мир",
		"файл.txt":         "файл.txt",
		"iPhone用ケース 한글abc": "iPhone用ケース 한글abc",
		"हिन्दी में เชื่อที่": "हिन्दी में เชื่อที่",
		"12 m², 1º, ½, €, 👍":  "12 m², 1º, ½, €, 👍",
		"你好，世界：是？":            "你好，世界：是？",

		"a\u200bb":                             "a‹U+200B›b",
		"a\u00a0b\u3000c\u2003d":               "a‹U+00A0›b‹U+3000›c‹U+2003›d",
		"\u202eelpmaxe\u202c":                  "‹U+202E›elpmaxe‹U+202C›",
		"a\nb\tc\x00":                          "a‹U+000A›b‹U+0009›c‹U+0000›",
		"x\u3164y\uffa0z\u115f":                "x‹U+3164›y‹U+FFA0›z‹U+115F›",
		"a\u2800b":                             "a‹U+2800›b",
		"a\U000e0041\ufe0f\ue000\u2028":        "a‹U+E0041›‹U+FE0F›‹U+E000›‹U+2028›",
		"1\u0338 .\u0301 a\u20dd":              "1‹U+0338› .‹U+0301› a‹U+20DD›",
		"a" + strings.Repeat("\u0301", 6):      "a" + strings.Repeat("\u0301", 4) + "‹U+0301›‹U+0301›",
		"clin\u0456c.example":                  "clin‹U+0456›c.example",
		"p\u0430y\u200bpal":                    "p‹U+0430›y‹U+200B›pal",
		"\u0430dmin1\u043e":                    "‹U+0430›dmin1‹U+043E›",
		"пaпка":                                "п‹U+0061›пка",
		"l\u1d00g \ua4d1ay":                    "l\u1d00g ‹U+A4D1›ay", // a small capital is Latin
		"\uff41bc 𝐬end":                        "‹U+FF41›bc ‹U+1D42C›end",
		"evil\uff0fgood ok\uff0c":              "evil‹U+FF0F›good ok\uff0c",
		"to" + strings.Repeat(" ", 40) + "bcc": "to‹U+0020×40›bcc",
		"bad \xff":                             "bad \uFFFD",
	} {
		if got := text.Shown(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}

// JSON reads the same whoever wrote it, and keeps the escapes that it needs.
func TestShownJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":"H\u1ed3ng \ud83d\udc4d","a":1.0}`:               `{"b":"Hồng 👍","a":1.0}`,
		"{\n  \"a\": \"x\\ny\\t\\\"\\u0022\\u005c\\u000a\"\n}": `{ "a": "x\ny\t\"\u0022\u005c\u000a" }`,
		`{"a":"b\u200b\u00a0c\/d"}`:                            `{"a":"b‹U+200B›‹U+00A0›c/d"}`,
		`{"a":"clin\u0456c"}`:                                  `{"a":"clin‹U+0456›c"}`,
		`{"a":"\ud83d"}`:                                       `{"a":"\ud83d"}`,
		"{\"a\":\"\u00a0b  c\"}":                               `{"a":"‹U+00A0›b  c"}`,
		`{"a":"` + `\\u0041` + `"}`:                            `{"a":"\\u0041"}`,
		`{"a`:                                                  `{"a`,
		`{"a":"\`:                                              `{"a":"\`,
		`{"a":"\u12"}`:                                         `{"a":"\u12"}`,
	} {
		if got := text.ShownJSON(in); got != want {
			t.Errorf("%s: %s, not %s", in, got, want)
		}
	}
}
