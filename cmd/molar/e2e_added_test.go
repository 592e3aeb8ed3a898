package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/httpguard"
	"molar/internal/testkit/models"
)

const adminKey = "an-admin-key-of-forty-characters-at-least"

// request sends a request with a key.
func (s *served) request(t *testing.T, key, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// A remote server that the operator adds by its address is attached at once, survives a restart
// and a reload, is listed separately, and disappears when it is removed. Without keys no one can
// add a server, and a command is never accepted.
func TestAddedServers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	remote := serveAlone(t, writeFile(t, "mcp.yaml", "memory: {store: "+filepath.Join(folder, "memory.db")+"}\n"), "127.0.0.1:0")
	address := `{"name":"notes","url":"` + remote.url + `/mcp/tool-server","headers":{"X-Token":"s3cret-header"}}`
	open := serveHost(t, writeFile(t, "open.yaml", "memory: {store: "+filepath.Join(folder, "open.db")+"}\n"), nil)
	if status, body := open.request(t, "", http.MethodPost, "/v1/servers", address); status != http.StatusForbidden || !strings.Contains(body, "admin_key_required") {
		t.Errorf("without keys: %d %s", status, body)
	}

	config := writeFile(t, "molar.yaml", "memory: {store: "+filepath.Join(folder, "host.db")+"}\nmcpServers: {taken: {url: \""+remote.url+"/mcp/tool-server\"}}\n"+
		"api_keys: [{name: op, hash: \""+httpguard.HashOf(adminKey).String()+"\", scopes: [chat, admin]}, {name: guest, hash: \""+httpguard.HashOf(adminKey+"-guest").String()+"\", scopes: [chat]}]\n")
	s := serveHost(t, config, nil)
	refused := func(key, body string, status int, says string) {
		t.Helper()
		if got, answer := s.request(t, key, http.MethodPost, "/v1/servers", body); got != status || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %s", body, got, answer)
		}
	}
	refused(adminKey+"-guest", address, http.StatusForbidden, "scope")
	refused(adminKey, `{"name":"x","command":"sh"}`, http.StatusBadRequest, "a command is never taken")
	refused(adminKey, `{"url":"file:///etc/passwd"}`, http.StatusBadRequest, "must be an address")
	refused(adminKey, `{"url":"https://a:b@example.org/"}`, http.StatusBadRequest, "without a password")
	refused(adminKey, `{"name":"memory-server","url":"https://example.org/"}`, http.StatusConflict, "already")
	refused(adminKey, `{"name":"x","type":"stdio","url":"https://example.org/"}`, http.StatusBadRequest, "type")
	refused(adminKey, `{"name":"taken","url":"https://example.org/"}`, http.StatusConflict, "already")
	if status, body := s.request(t, adminKey, http.MethodPost, "/v1/servers", address); status != http.StatusOK || !strings.Contains(body, `"name":"notes"`) {
		t.Fatalf("%d %s", status, body)
	}
	listed := func(want bool) {
		t.Helper()
		var body string
		eventually(t, "the server is listed, or not", func() bool {
			_, body = s.request(t, adminKey, http.MethodGet, "/v1/servers", "")
			return strings.Contains(body, `"added":true`) == want && (!want || strings.Contains(body, `"name":"notes","state":"ready"`))
		})
		if strings.Contains(body, "s3cret-header") {
			t.Errorf("a header is shown: %s", body)
		}
	}
	listed(true)
	_, tools := s.request(t, adminKey, http.MethodGet, "/v1/tools?lint=true", "")
	if !strings.Contains(tools, `"name":"notes__duckduckgo_search"`) || !strings.Contains(tools, `"use":"destination"`) {
		t.Errorf("tools: %s", tools)
	}
	if status, body := s.request(t, adminKey, http.MethodPost, "/v1/servers/reload", ""); status != http.StatusOK {
		t.Errorf("reload: %d %s", status, body)
	}
	listed(true)
	s.stop()
	s = serveHost(t, config, nil)
	listed(true)
	if status, _ := s.request(t, adminKey, http.MethodDelete, "/v1/servers/taken", ""); status != http.StatusConflict {
		t.Errorf("one of the file: %d", status)
	}
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		if status, body := s.request(t, adminKey, http.MethodDelete, "/v1/servers/notes", ""); status != want {
			t.Errorf("remove: %d %s, want %d", status, body, want)
		}
	}
	listed(false)
	s.stop()
	s = serveHost(t, config, nil)
	listed(false)
}

// A server that is added, or removed, at one replica is so at the others, without a restart.
func TestReplicas_AddedServers(t *testing.T) {
	t.Parallel()
	remote := serveAlone(t, writeFile(t, "mcp.yaml", "memory: {store: "+filepath.Join(t.TempDir(), "memory.db")+"}\n"), "127.0.0.1:0")
	hosts := replicas(t, startModel(t, models.Config{}), 2,
		plainAssistant+"api_keys: [{name: op, hash: \""+httpguard.HashOf(adminKey).String()+"\", scopes: [admin]}]\n")
	attached := func(at *served, want bool) {
		t.Helper()
		eventually(t, "the other replica has the server, or has it no more", func() bool {
			_, body := at.request(t, adminKey, http.MethodGet, "/v1/servers", "")
			return strings.Contains(body, `"name":"notes","state":"ready"`) == want && strings.Contains(body, `"added":true`) == want
		})
	}
	address := `{"name":"notes","url":"` + remote.url + `/mcp/tool-server"}`
	if status, body := hosts[0].request(t, adminKey, http.MethodPost, "/v1/servers", address); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	attached(hosts[1], true)
	if status, body := hosts[1].request(t, adminKey, http.MethodDelete, "/v1/servers/notes", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	attached(hosts[0], false)
}
