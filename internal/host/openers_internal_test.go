package host

import (
	"log/slog"
	"net/http"
	"testing"

	"molar/internal/config"
	"molar/providers"
	"molar/schemas"
)

// Each service with models has a block of settings and an opener, whose adapter has its name.
func TestOpeners(t *testing.T) {
	t.Parallel()
	for _, name := range providers.WithModels() {
		cfg := config.Default()
		cfg.LLM.Keys = map[string]schemas.Secret{name: "AIza-a-key-for-tests"}
		e, ok := cfg.LLM.Endpoint(name)
		if !ok {
			t.Errorf("%s has no block of settings below llm", name)
		}
		open := openers()[name]
		if open == nil {
			t.Errorf("%s has no opener", name)
			continue
		}
		c, err := open(opening{cfg, e, http.DefaultClient, nil, slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Errorf("open %s: %v", name, err)
		} else if c.Provider.Name() != name {
			t.Errorf("the opener of %s opens %s", name, c.Provider.Name())
		}
	}
	if len(openers()) != len(providers.WithModels()) {
		t.Errorf("%d openers for %d services", len(openers()), len(providers.WithModels()))
	}
}
