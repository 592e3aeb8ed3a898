package web_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Somebody signs in with a key on the page, in both languages, and comes to where they wanted to go.
func TestPages_SignIn(t *testing.T) {
	for language, want := range map[string]string{"en": "Sign in", "vi": "Đăng nhập"} {
		t.Run(language, func(t *testing.T) {
			ts := signInHost(t)
			ctx := browser(t, language)
			picture := func(name string) chromedp.Action[chromedp.Void] { return shoot(t, name+"-"+language) }
			typed := func(key string) chromedp.Action[chromedp.Void] {
				return until(`!document.getElementById("with-key").hidden && (document.getElementById("key").value = ` + "`" + key + "`" + `, document.querySelector("#with-key button").click(), true)`)
			}
			err := chromedp.Do(ctx,
				chromedp.Navigate(ts.URL+"/turn?id=t1"),
				until(`location.pathname === "/login" && document.querySelector("h1").textContent === "`+want+`" && document.activeElement.id === "key"`), picture("login"),
				typed("wrong"),
				until(`location.search.includes("fault=invalid_api_key") && document.querySelector("[role=alert]").textContent.length > 20`), picture("wrong-key"),
				typed("ann"),
				until(`location.pathname === "/turn" && location.search === "?id=t1"`),
				chromedp.Navigate(ts.URL+"/config"), until(`document.querySelector("h1") && !document.getElementById("settings")`), picture("not-yours"),
			)
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
