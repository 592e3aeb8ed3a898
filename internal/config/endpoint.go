package config

import (
	"cmp"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"molar/providers"
	"molar/schemas"
)

// Shared holds the keys that every endpoint has.
type Shared struct {
	// BaseURL of an Ollama has a scheme and no trailing slash after loading.
	BaseURL    string        `yaml:"base_url" jsonschema_description:"Address of the service; another one for a gateway or a server of your own."`
	Model      string        `yaml:"model" jsonschema_description:"Model that answers."`
	SmallModel string        `yaml:"small_model" jsonschema_description:"Model for the guardrail, language and summaries."`
	Timeout    time.Duration `yaml:"timeout" jsonschema_description:"Longest wait for the first output of a model call."`
	// Allow holds globs.
	Allow []string `yaml:"allow" jsonschema_description:"Globs over the models that clients with an API key may choose, in addition to model and small_model."`
	// Price and SmallPrice are those of Model and SmallModel; other models have none.
	Price      schemas.Price `yaml:"price" jsonschema_description:"What model costs. Without it, a call costs what the service reports, if it does."`
	SmallPrice schemas.Price `yaml:"small_price" jsonschema_description:"What small_model costs."`
	schemas.Tuning
}

// Hosted holds the keys of a service that wants a key.
type Hosted struct {
	Shared
	// Key is a reference in the file, never the key itself.
	Key schemas.Secret `yaml:"key" jsonschema_description:"Key that is sent to base_url only, as a reference to a variable, such as ${SERVICE_KEY}."`
	// Window zero means unknown.
	Window int `yaml:"window" jsonschema:"minimum=0" jsonschema_description:"Tokens that prompt and answer may have together; unknown when left out."`
}

// OpenAI holds the settings of OpenAI's models, or of another server with its API. Its endpoints in
// llm.providers name their wire as their api too.
type OpenAI struct {
	Hosted
	// API empty means auto.
	API string `yaml:"api" jsonschema:"enum=auto,enum=chat,enum=responses" jsonschema_description:"API that answers: responses, chat (Chat Completions), or auto, which is Responses for OpenAI itself and Chat Completions for other servers, until a model refuses it (default auto)."`
}

// Gemini holds the settings of Google's models, reached with a key or through Vertex AI.
type Gemini struct {
	Hosted
	GeminiKeys
}

// GeminiKeys are the keys that only Gemini has.
type GeminiKeys struct {
	// Project sends requests to Vertex AI, with application default credentials.
	Project  string `yaml:"project" jsonschema_description:"Google Cloud project: Vertex AI answers, with application default credentials, and no key is needed."`
	Location string `yaml:"location" jsonschema_description:"Location of Vertex AI, such as europe-west4 (default global)."`
	// Safety empty keeps the service's default threshold.
	Safety string `yaml:"safety" jsonschema:"enum=OFF,enum=BLOCK_NONE,enum=BLOCK_ONLY_HIGH,enum=BLOCK_MEDIUM_AND_ABOVE,enum=BLOCK_LOW_AND_ABOVE" jsonschema_description:"Lowest likelihood of harm at which an answer is blocked, in every category; the service's default when left out."`
}

// Ollama holds the settings of an Ollama server.
type Ollama struct {
	Shared
	OllamaKeys
}

// OllamaKeys are the keys that only Ollama has.
type OllamaKeys struct {
	// KeepAlive is a duration or a number of seconds; negative means for ever, empty means
	// Ollama's default.
	KeepAlive KeepAlive `yaml:"keep_alive" jsonschema_description:"How long Ollama keeps a model loaded, such as 5m, or seconds; -1 for ever."`
	// NumCtx zero means the window with which a model is loaded, or a larger one if a call
	// needs it.
	NumCtx    int `yaml:"num_ctx" jsonschema:"minimum=0" jsonschema_description:"Context window of every call, in tokens. When left out, a model keeps the window with which it is loaded, which grows when a prompt needs it."`
	MaxNumCtx int `yaml:"max_num_ctx" jsonschema:"minimum=0" jsonschema_description:"Largest context window that a call may make Ollama load; the model's own when left out."`
}

// An Endpoint is an address at which models answer: a block of a service, such as llm.gemini, or one
// of llm.providers. It has the keys of all services; those that its service does not have are a
// fault.
type Endpoint struct {
	API string `yaml:"api" jsonschema_description:"What it speaks."`
	Hosted
	GeminiKeys
	OllamaKeys

	// Name is its name in llm.provider, and Setting the key of its block, such as
	// "llm.providers.fast". Service is the service whose API it speaks. [LLM.Endpoint] sets the three.
	Name    string            `yaml:"-"`
	Setting string            `yaml:"-"`
	Service providers.Service `yaml:"-"`
}

// IsBuiltIn reports whether the endpoint is the block of a service.
func (e Endpoint) IsBuiltIn() bool { return e.Name == e.Service.Name }

// KeySetting returns what sets the endpoint's key: the environment variable of its service, or the key
// in the config. It is empty for a service without keys.
func (e Endpoint) KeySetting() string {
	switch {
	case len(e.Service.Keys) == 0:
		return ""
	case e.IsBuiltIn() && e.Key == "" && e.AtHome():
		return e.Service.Keys[0]
	}
	return e.Setting + ".key"
}

// AtHome reports whether the address is that of the service itself, so that a key is needed there. It
// is always true for a service that has no server of its own elsewhere.
func (e Endpoint) AtHome() bool {
	if e.Service.KeyHost == "" {
		return true
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == e.Service.KeyHost || strings.HasSuffix(host, "."+e.Service.KeyHost)
}

// IsFree reports whether calls cost nothing: the endpoint runs on the operator's own machine, and has no
// price.
func (e Endpoint) IsFree() bool {
	return len(e.Service.Keys) == 0 && !e.Price.IsSet() && !e.SmallPrice.IsSet()
}

// PriceOf returns the price of a model; it is not set for a model without a price.
func (e Endpoint) PriceOf(model string) schemas.Price {
	switch {
	case model == e.Model && e.Price.IsSet():
		return e.Price
	case model == e.SmallModel:
		return e.SmallPrice
	}
	return schemas.Price{}
}

const keyProviders = "llm.providers"

// endpointName matches the names in llm.providers.
const endpointName = `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`

// Endpoint returns the endpoint with a name; ok is false if there is none, or if it has no models.
func (l LLM) Endpoint(name string) (e Endpoint, ok bool) {
	if e, ok = l.Providers.Get(name); ok {
		e.Name, e.Setting = name, join(keyProviders, name)
		e.Service, _ = serviceOf(e.API)
		return e, true
	}
	block, ok := l.block(name)
	if !ok {
		return Endpoint{}, false
	}
	to := reflect.ValueOf(&e).Elem()
	known, all := fieldsOf(block.Type()), fieldsOf(to.Type())
	for key, at := range known.Index {
		to.FieldByIndex(all.Index[key]).Set(block.FieldByIndex(at))
	}
	e.Name, e.Setting, e.API = name, join("llm", name), cmp.Or(e.API, name)
	e.Service, _ = providers.Find(name)
	return e, true
}

// EndpointNames returns the names of all endpoints: the services with models in the order of auto,
// then llm.providers in the order of the file.
func (l LLM) EndpointNames() []string { return append(providers.WithModels(), l.Providers.Names()...) }

// Names returns the valid values of llm.provider.
func (l LLM) Names() []string { return append(ProviderNames(), l.Providers.Names()...) }

// Choices returns the names of everything that can answer: all endpoints, and the provider without a
// model.
func (l LLM) Choices() []string { return append(l.EndpointNames(), providers.Offline) }

// ServiceOf returns the service of an endpoint, or of the provider without a model.
func (l LLM) ServiceOf(name string) (s providers.Service, ok bool) {
	if e, ok := l.Endpoint(name); ok {
		return e.Service, true
	}
	return providers.Find(name)
}

// block returns the block of a service below llm; ok is false if the service has no models.
func (l LLM) block(service string) (block reflect.Value, ok bool) {
	v := reflect.ValueOf(l)
	at, ok := fieldsOf(v.Type()).Index[service]
	if _, found := providers.Find(service); !ok || !found {
		return reflect.Value{}, false
	}
	return v.FieldByIndex(at), true
}

// SetEndpoint sets the models and the address of an endpoint, as far as they are not empty. An endpoint
// that does not exist is added, if service is the name of its service.
func (l *LLM) SetEndpoint(name, service, model, small, address string) {
	if _, builtIn := l.block(name); !builtIn {
		l.Providers = slices.Clone(l.Providers) // the settings may be a copy
		at := slices.Index(l.Providers.Names(), name)
		if at < 0 {
			if s, ok := providers.Find(service); !ok || !s.HasModels() {
				return
			}
			at = len(l.Providers)
			l.Providers = append(l.Providers, Entry[Endpoint]{Name: name, Value: Endpoint{API: service}})
			l.Providers[at].Value.Timeout = defaultTimeout
		}
		set(reflect.ValueOf(&l.Providers[at].Value).Elem(), model, small, address)
		return
	}
	v := reflect.ValueOf(l).Elem()
	set(v.FieldByIndex(fieldsOf(v.Type()).Index[name]), model, small, address)
}

// SetKey sets the key of an endpoint that has none of its own.
func (l *LLM) SetKey(name string, key schemas.Secret) {
	at := slices.Index(l.Providers.Names(), name)
	switch {
	case at < 0:
		l.Keys[name] = key
	case l.Providers[at].Value.Key == "":
		l.Providers = slices.Clone(l.Providers) // the settings may be a copy
		l.Providers[at].Value.Key = key
	}
}

func set(block reflect.Value, model, small, address string) {
	known := fieldsOf(block.Type())
	for key, text := range map[string]string{"model": model, "small_model": small, "base_url": address} {
		if text != "" {
			block.FieldByIndex(known.Index[key]).SetString(text)
		}
	}
}

// serviceOf returns the service that speaks an API: the value of a key api in llm.providers.
func serviceOf(api string) (providers.Service, bool) {
	for _, s := range providers.Services() {
		if s.HasModels() && (s.Name == api || slices.Contains(s.Forms, api)) {
			return s, true
		}
	}
	return providers.Service{}, false
}

// apis returns the valid values of a key api in llm.providers.
func apis() []string {
	var all []string
	for _, s := range providers.Services() {
		if s.HasModels() {
			all = append(append(all, s.Name), s.Forms...)
		}
	}
	return all
}

// endpointKeys returns the keys that an endpoint of a service may have in llm.providers: those of the
// service's block, and api.
func endpointKeys(service string) []string {
	block, ok := LLM{}.block(service)
	if !ok {
		return nil
	}
	return slices.Compact(slices.Sorted(maps.Keys(withAPI(fieldsOf(block.Type()).Index))))
}

func withAPI(keys map[string][]int) map[string][]int {
	keys["api"] = nil
	return keys
}

// completeEndpoints fills in what the endpoints of llm.providers leave out, and completes the addresses
// of Ollama.
func (cfg *Config) completeEndpoints() (bad faults) {
	for i := range cfg.LLM.Providers {
		e := &cfg.LLM.Providers[i].Value
		s, _ := serviceOf(e.API)
		e.BaseURL = cmp.Or(e.BaseURL, s.BaseURL)
		e.SmallModel = cmp.Or(e.SmallModel, e.Model, s.SmallModel)
		e.Model = cmp.Or(e.Model, s.Model)
		e.Timeout = cmp.Or(e.Timeout, defaultTimeout)
	}
	for _, name := range cfg.LLM.EndpointNames() {
		e, _ := cfg.LLM.Endpoint(name)
		if e.Service.Name != providers.Ollama {
			continue
		}
		key := e.Setting + ".base_url"
		if base, err := ollamaURL(e.BaseURL); err != nil {
			bad.Add(cfg.originOf(key), key, "%v", err)
		} else {
			cfg.LLM.SetEndpoint(name, "", "", "", base)
		}
	}
	return bad
}

// endpointSchema adds to the schema of an endpoint which keys the value of api allows.
func endpointSchema(s *jsonschema.Schema) {
	api, _ := s.Properties.Get("api")
	api.Enum = toAny(apis())
	s.Required = []string{"api"}
	for _, service := range providers.Services() {
		if !service.HasModels() {
			continue
		}
		of := jsonschema.NewProperties()
		of.Set("api", &jsonschema.Schema{Enum: toAny(append([]string{service.Name}, service.Forms...))})
		s.AllOf = append(s.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: of, Required: []string{"api"}},
			Then: &jsonschema.Schema{PropertyNames: &jsonschema.Schema{Enum: toAny(endpointKeys(service.Name))}},
		})
	}
}
