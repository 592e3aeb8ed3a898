package web

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"molar/providers"
	"molar/web/wire"
)

// providerTestLimit is the time limit of the test of a provider. A local model may have to be
// loaded first.
const providerTestLimit = 60 * time.Second

// providerListLimit is the time limit for asking the providers for their models.
const providerListLimit = 6 * time.Second

// A ProviderTest is the result of one small call of a model.
type ProviderTest struct {
	Provider, Model string
	// Text is the start of the answer.
	Text string
	// First and Took are the times to the first output and to the end.
	First, Took time.Duration
	// Models are the models that the provider lists; nil if it was not asked.
	Models []string
	// Err is the error of a failed call, usually a [*providers.Error].
	Err error
}

// A providerTestObject is the result of a test. If the provider fails, the request still succeeds:
// ok is false, and error has the reason.
type providerTestObject struct {
	Object        string         `json:"object"`
	Provider      string         `json:"provider"`
	Model         string         `json:"model,omitempty"`
	OK            bool           `json:"ok"`
	Text          string         `json:"text,omitempty"`
	FirstOutputMS float64        `json:"first_output_ms,omitempty"`
	TookMS        float64        `json:"took_ms"`
	Models        []string       `json:"models,omitempty"`
	Error         *providerFault `json:"error,omitempty"`
}

type providerFault struct {
	// Code is a kind of provider failure, such as "auth", "model_not_found" or
	// "unavailable".
	Code    string `json:"code"`
	Message string `json:"message"`
}

// A Provider is the state of a provider.
type Provider struct {
	Name string
	// API is the service whose API it speaks, Setting the key of its block in the config, and
	// KeySetting the variable or the key that sets its key. They are empty for one without a model,
	// KeySetting also for one without a key.
	API, Setting, KeySetting string
	// Missing describes how to make it usable, if its key or address is missing.
	Missing string
	// HasKey reports whether requests carry a key.
	HasKey bool
	// Model and SmallModel are the models that would answer; empty if none would.
	Model, SmallModel string
	// Models are the models that its service lists; nil if it does not.
	Models []string
	// Err is the reason why it cannot answer, if neither key nor address is missing.
	Err error
}

// A providerObject is the current state of a provider.
type providerObject struct {
	Name string `json:"name"`
	// API is the service whose API it speaks, and Setting the key of its block in the config.
	API     string `json:"api,omitempty"`
	Setting string `json:"setting,omitempty"`
	// KeySetting is the variable, or the key in the config, that sets its key.
	KeySetting string `json:"key_setting,omitempty"`
	// Ready reports whether it would answer, with the models below.
	Ready      bool   `json:"ready"`
	Model      string `json:"model,omitempty"`
	SmallModel string `json:"small_model,omitempty"`
	// Models are the models of its service that this client may choose.
	Models []string `json:"models,omitempty"`
	// Key reports whether requests carry a key.
	Key bool `json:"key,omitempty"`
	// Missing describes how to make it usable.
	Missing string         `json:"missing,omitempty"`
	Error   *providerFault `json:"error,omitempty"`
}

// listProviders lists the providers, and whether each can answer now and with which models.
func (s *server) listProviders(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), providerListLimit)
	defer cancel()
	var all []providerObject
	for _, p := range s.Operations.Providers(ctx) {
		o := providerObject{Name: p.Name, API: p.API, Setting: p.Setting, KeySetting: p.KeySetting, Ready: p.Err == nil && p.Missing == "", Model: p.Model, SmallModel: p.SmallModel, Key: p.HasKey, Missing: p.Missing}
		for _, model := range p.Models {
			if s.mayChoose("", p.Name, model) {
				o.Models = append(o.Models, model)
			}
		}
		if p.Err != nil {
			o.Error = faultOf(p.Err)
		}
		all = append(all, o)
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

func faultOf(err error) *providerFault {
	code := string(providers.KindOf(err))
	if code == "" {
		code = wire.Failure(err).Code
	}
	return &providerFault{Code: code, Message: wire.Clip(err.Error(), wire.MaxMessage)}
}

// testBody is the body of POST /v1/providers/{name}/test.
type testBody struct {
	// Model is the provider's default when empty.
	Model string `json:"model,omitempty"`
}

// testProvider makes one small call and answers with its result.
func (s *server) testProvider(c *gin.Context) {
	var body testBody
	if c.Request.ContentLength != 0 {
		if err := wire.ReadBody(c.Request, &body); err != nil {
			wire.WriteError(c.Writer, wire.Failure(err))
			return
		}
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), providerTestLimit)
	defer cancel()
	test, err := s.Operations.TestProvider(ctx, c.Param("name"), body.Model)
	if err != nil {
		s.operationError(c, "test a provider", err)
		return
	}
	o := providerTestObject{
		Object: "provider.test", Provider: test.Provider, Model: test.Model, OK: test.Err == nil, Text: wire.Clip(test.Text, 200),
		FirstOutputMS: float64(test.First.Microseconds()) / 1000, TookMS: float64(test.Took.Microseconds()) / 1000, Models: test.Models,
	}
	if test.Err != nil {
		o.Error = faultOf(test.Err)
	}
	wire.WriteJSON(c.Writer, o)
}
