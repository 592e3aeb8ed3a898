package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"molar/web"
)

func TestSetup(t *testing.T) {
	tests := map[string]struct {
		change func(*web.Config)
		path   string
		want   string
	}{
		"nothing known": {func(*web.Config) {}, "/v1/setup", `{"object":"setup","servers":1}`},
		"no prompts":    {func(*web.Config) {}, "/v1/prompts", `{"object":"list","data":[]}`},
		"a provider": {
			func(c *web.Config) { *c = newChatHost().config(t) }, "/v1/setup",
			`{"object":"setup","provider":"ollama","model":"qwen2.5:7b-instruct","why":"it answers","servers":1}`,
		},
		"where the file is": {func(c *web.Config) {
			c.Hints.File = func() web.ConfigFile { return web.ConfigFile{Path: "/home/ann/molar.yaml"} }
		}, "/v1/setup", `"file":"/home/ann/molar.yaml"}`},
		"what is wrong with it, and what it leads to": {
			func(c *web.Config) {
				c.Hints.File = func() web.ConfigFile {
					return web.ConfigFile{Path: "/m.yaml", Faults: []string{"/m.yaml:3: no"}, NeedsRestart: []string{"listen"}, Offer: "general"}
				}
			}, "/v1/setup", `"file":"/m.yaml","faults":["/m.yaml:3: no"],"needs_restart":["listen"],"offer":"general"}`,
		},
		"what a question asks for": {
			func(c *web.Config) {
				c.Hints.Provider = func(_ context.Context, q web.Selection) (name, model, why string, err error) {
					return q.Provider, q.Assistant + "-" + q.Model, "", nil
				}
			}, "/v1/setup?assistant=a&provider=p&model=m", `"provider":"p","model":"a-m"`,
		},
		"prompts": {func(c *web.Config) { *c = newChatHost().config(t) }, "/v1/prompts", `"name":"record","server":"sdi"`},
		"no provider": {func(c *web.Config) {
			c.Hints.Provider = func(context.Context, web.Selection) (name, model, why string, err error) {
				return "", "", "", errors.New("secret detail")
			}
		}, "/v1/setup", `{"object":"setup","why":"something went wrong inside the server; see its log for the cause","servers":1}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, play(nil))
			tt.change(&cfg)
			w := serve(build(t, cfg), request(http.MethodGet, tt.path, ""))
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}
