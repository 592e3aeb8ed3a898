package setup_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/setup"
)

const registryAnswer = `{"servers": [
	{"server": {"name": "io.github.ann/weather-mcp", "description": "Forecasts\u001b[31m for\ncities", "version": "1.2.0", "packages": [
		{"registryType": "npm", "identifier": "@ann/weather-mcp", "version": "1.2.0", "transport": {"type": "stdio"},
			"runtimeArguments": [{"type": "named", "name": "-y"}], "packageArguments": [{"type": "named", "name": "--city", "isRequired": true, "valueHint": "city name"}, {"type": "positional", "value": "it's"}],
			"environmentVariables": [{"name": "WEATHER_KEY", "description": "your key", "isRequired": true, "isSecret": true}, {"name": "UNITS", "isRequired": true, "default": "metric"}, {"name": "LEVEL"}, {"name": "A B", "isRequired": true}]},
		{"registryType": "oci", "identifier": "docker.io/ann/weather", "version": "1.2.0", "environmentVariables": [{"name": "WEATHER_KEY", "isSecret": true}]},
		{"registryType": "npm", "identifier": "--upload=x", "version": "1"},
		{"registryType": "pypi", "identifier": "a; rm -rf x", "version": "1"},
		{"registryType": "pypi", "identifier": "weather", "version": "1 --index-url=x"},
		{"registryType": "npm", "identifier": "web", "transport": {"type": "streamable-http"}},
		{"registryType": "mcpb", "identifier": "https://example.com/x.mcpb"}],
		"remotes": [{"type": "sse", "url": "https://{tenant}.example.com/sse", "headers": [{"name": "X-Key", "isSecret": true, "isRequired": true}, {"name": "Authorization", "value": "Bearer {token}"}]},
			{"type": "streamable-http", "url": "javascript:alert(1)"}, {"type": "streamable-http", "url": "https://example.com/$(x)"}]},
		"_meta": {"io.modelcontextprotocol.registry/official": {"isLatest": true, "status": "active"}}},
	{"server": {"name": "io.github.ann/weather-mcp", "version": "1.1.0"}, "_meta": {"io.modelcontextprotocol.registry/official": {"isLatest": false}}},
	{"server": {"name": "gone/weather"}, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}},
	{"server": {"name": "com.example/city-weather", "description": "of one city", "packages": [{"registryType": "pypi", "identifier": "city-weather", "version": "0.1"}]}}
], "metadata": {"count": 4}}`

// What a registry says becomes lines that are safe to show and to copy, best first.
func TestRegistry_Find(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery)
		_, _ = w.Write([]byte(registryAnswer))
	}))
	defer server.Close()
	found, err := setup.Registry{URL: server.URL + "/base/"}.Find(t.Context(), []string{"One", "weather"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	want := []setup.Found{
		{Name: "com.example/city-weather", Description: "of one city", Ways: []setup.Way{
			{How: "PyPI package, run by uvx", Add: "molar servers add city-weather -- uvx city-weather@0.1"},
		}},
		{Name: "io.github.ann/weather-mcp", Version: "1.2.0", Description: "Forecasts for cities", Ways: []setup.Way{
			{
				How:   "npm package, run by npx",
				Add:   `molar servers add weather --env WEATHER_KEY --env UNITS=metric -- npx -y @ann/weather-mcp@1.2.0 --city CITY_NAME 'it'\''s'`,
				Needs: []string{"WEATHER_KEY (required, secret): your key", "UNITS (required)", "LEVEL (optional)"},
			},
			{
				How: "container, run by docker", Add: "molar servers add weather --env WEATHER_KEY -- docker run -i --rm -e WEATHER_KEY docker.io/ann/weather:1.2.0",
				Needs: []string{"WEATHER_KEY (optional, secret)"},
			},
			{
				How:   "remote server",
				Add:   `molar servers add weather 'https://${WEATHER_TENANT}.example.com/sse' --type sse --header 'X-Key: ${WEATHER_X_KEY}' --header 'Authorization: Bearer ${WEATHER_TOKEN}'`,
				Needs: []string{"X-Key (required, secret)", "Authorization (optional)"},
			},
			{How: "remote server", Add: "molar servers add weather 'https://example.com/$(x)'"},
		}},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/base/v0.1/servers?limit=50&search=one&version=latest", "/base/v0.1/servers?limit=50&search=weather&version=latest"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// An entry that cannot be read costs no other one, as anybody can publish one.
func TestRegistry_Find_OddEntries(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"servers": [{"server": {"name": 1}}, 2, {"server": {"name": "a/odd", "packages": [{"packageArguments": [{"value": 5}]}]}}, {"server": {}}, {"server": {"name": "a/good"}}]}`))
	}))
	defer server.Close()
	found, err := setup.Registry{URL: server.URL}.Find(t.Context(), []string{"x"}, 5)
	if want := []setup.Found{{Name: "a/good", Ways: []setup.Way{}}}; err != nil || !cmp.Equal(want, found) {
		t.Errorf("%v, error %v", found, err)
	}
	for _, most := range []int{0, -1} {
		if _, err := (setup.Registry{URL: server.URL}).Find(t.Context(), []string{"x"}, most); err == nil || !strings.Contains(err.Error(), "at least 1") {
			t.Errorf("%d servers: %v", most, err)
		}
	}
}

// A registry that answers with anything else is refused in a sentence.
func TestRegistry_Find_Refused(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"a page":     {http.StatusOK, "<html>", "is http"},
		"no service": {http.StatusNotFound, "{}", "answered HTTP 404"},
		"too much":   {http.StatusOK, `{"servers": [], "x": "` + strings.Repeat("x", 9<<20) + `"}`, "larger than 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			if _, err := (setup.Registry{URL: server.URL}).Find(t.Context(), []string{"x"}, 5); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	for _, address := range []string{"", "file:///etc/passwd", "registry.example.com"} {
		if _, err := (setup.Registry{URL: address}).Find(t.Context(), []string{"x"}, 5); err == nil || !strings.Contains(err.Error(), "begins with http") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// A registry that cannot be reached is told in a line that names it and what to look at.
func TestRegistry_Unreachable(t *testing.T) {
	t.Parallel()
	_, err := setup.Registry{URL: "http://127.0.0.1:1"}.Find(t.Context(), []string{"x"}, 5)
	if err == nil || !strings.Contains(err.Error(), "the registry 127.0.0.1:1 cannot be reached: dial tcp") || !strings.Contains(err.Error(), "look at the network, or name another one with --registry") {
		t.Errorf("got %v", err)
	}
}
