// Package canaries_test puts a secret into every place of the configuration and the environment
// that contains one, runs turns that succeed and fail over every surface of a whole host, and
// searches all output for the secrets.
package _test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == childArg {
		os.Exit(serveMCP(os.Args[2]))
	}
	os.Exit(m.Run())
}

// canary returns the secret of a place.
func canary(place string) string { return "canary-" + place + "-4f1d0c77ab5e9d2200c3" }

// secrets returns the secrets by place. Each is an environment variable that the configuration
// names, or that Molar reads itself.
func secrets() map[string]string {
	return map[string]string{
		"OPENAI_API_KEY": canary("openai"), "GEMINI_API_KEY": canary("gemini"), // keys of models
		"MODEL_HEADER": canary("model-header"), "SERVER_HEADER": canary("server-header"), "SERVER_QUERY": canary("server-query"),
		"SERVER_ENV": canary("server-env"), "CLIENT_SECRET": canary("oauth-secret"), "OWN_KEY": canary("own-api-key"),
		"OTEL_EXPORTER_OTLP_HEADERS": "x-key=" + canary("otlp"), "PGPASSWORD": canary("database"), "UNRELATED": canary("environment"),
	}
}

// keptSecrets returns the secrets that are in the file next to the configuration, and not in the
// environment. The configuration names one of them.
func keptSecrets() map[string]string {
	return map[string]string{"KEPT": canary("kept"), "NEVER_NAMED": canary("never-named")}
}

// wrongKey is an invalid key of a client.
var wrongKey = canary("wrong-key")

// values returns the texts to search for: the secrets, also as encoded in addresses and in
// base64.
func values(more ...string) map[string]string {
	all := map[string]string{"wrong key": wrongKey}
	for name, value := range secrets() {
		all[name] = strings.TrimPrefix(value, "x-key=")
	}
	maps.Copy(all, keptSecrets())
	for i, token := range more {
		all[fmt.Sprint("access token ", i)] = token
	}
	for name, value := range maps.Clone(all) {
		all[name+" in base64"] = base64.StdEncoding.EncodeToString([]byte(value))[:len(value)]
		all[name+" in an address"] = url.QueryEscape(value)
	}
	return all
}

// leaks returns the names of the secrets that a text contains.
func leaks(text string, values map[string]string) (found []string) {
	for name, value := range values {
		if strings.Contains(text, value) {
			found = append(found, name)
		}
	}
	return found
}

const marker = "marker-of-the-person-81723"

// No secret is in a log, a prompt, a trace, an error, a page, a result, the database, a tape or
// the environment of an unrelated server.
func TestSecretsStayInside(t *testing.T) {
	if testing.Short() {
		t.Skip("left out of short tests: it builds the program and runs it")
	}
	h := start(t)
	out := h.play(t)
	h.stop(t)
	maps.Copy(out, h.left(t))
	all := values(h.login.Secrets()...)
	for place, text := range out {
		own := all
		if place == "environment of home" {
			own = without(without(all, "SERVER_ENV"), "KEPT") // the server's own secrets
		}
		if found := leaks(text, own); len(found) > 0 {
			t.Errorf("%s holds %q", place, found)
		}
	}
	// The person's text must be there; otherwise the search proves nothing.
	for _, place := range []string{"log", "prompts", "trace", "database", "tape", "answer of Chat Completions", "conversation"} {
		if !strings.Contains(out[place], marker) {
			t.Errorf("%s (%d bytes) holds nothing of the turns; the terminal said: %s", place, len(out[place]), out["command tape written"])
		}
	}
	if given := out["environment of home"]; !strings.Contains(given, canary("server-env")) || !strings.Contains(given, canary("kept")) {
		t.Error("the server did not get its own variables")
	}
	if h.far.header() != "Bearer "+canary("server-header") || h.model.header() != canary("model-header") {
		t.Error("the headers were not sent at all")
	}
	if h.spans.Headers().Get("X-Key") != canary("otlp") || !strings.Contains(out["spans"], "far") {
		t.Errorf("the collector got %v, %d bytes", h.spans.Headers(), len(out["spans"]))
	}
}

func without(all map[string]string, name string) map[string]string {
	less := map[string]string{}
	for k, v := range all {
		if !strings.HasPrefix(k, name) {
			less[k] = v
		}
	}
	return less
}
