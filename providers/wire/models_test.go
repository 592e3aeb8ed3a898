package wire_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"molar/providers"
)

// library is a service that has one model, and refuses calls to others.
type library struct{}

func (library) RoundTrip(req *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, ""
	switch path := req.URL.Path; {
	case req.Method == http.MethodGet && strings.HasSuffix(path, "/v1beta/models"):
		body = `{"models":[{"name":"models/swift-2-mini"}]}`
	case strings.HasSuffix(path, "/v1/models"):
		body = `{"data":[{"id":"swift-2-mini"}]}`
	case strings.HasSuffix(path, "/api/tags"):
		body = `{"models":[{"name":"swift-2-mini","model":"swift-2-mini"}]}`
	case strings.HasSuffix(path, "/api/show"):
		status, body = http.StatusNotFound, `{"error":"model not found"}`
	default:
		status, body = http.StatusNotFound, `{"error":{"code":404,"status":"NOT_FOUND","message":"no such model"}}`
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: req,
	}, nil
}

// down is a service that refuses everything.
type down struct{}

func (down) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// The error of a missing model names the nearest one, both in a call and in the check of the
// settings.
func TestMissingModel(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		p := w.on(t, library{})
		has := p.(lister)
		for model, want := range map[string]string{"swfit-2-mini": "did you mean swift-2-mini?", "wholly-other": ""} {
			req := providers.Request{Model: model, Messages: question().Messages}
			_, _, called := read(t, p, req)
			for _, err := range []error{called, has.Has(t.Context(), model)} {
				if providers.KindOf(err) != providers.KindModelNotFound || !strings.Contains(err.Error(), model) || !strings.Contains(err.Error(), want) || want == "" && strings.Contains(err.Error(), "did you mean") {
					t.Errorf("%s, %s: %v", w.name, model, err)
				}
			}
		}
		if err := has.Has(t.Context(), "swift-2-mini"); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		if err := w.on(t, down{}).(lister).Has(t.Context(), "m"); providers.KindOf(err) != providers.KindUnavailable {
			t.Errorf("%s, from a service that is down: %v", w.name, err)
		}
	}
}
