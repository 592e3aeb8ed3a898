package config

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"molar/schemas"
)

// Public configures the assistant that anybody on the web may ask, from a page of the operator's site.
type Public struct {
	// Assistant empty means that there is none.
	Assistant string        `yaml:"assistant" jsonschema_description:"Assistant that visitors ask; nothing is public without it."`
	Origins   []string      `yaml:"origins" jsonschema_description:"Origins of the web sites that may show the frame, such as https://www.clinic.example."`
	Title     Texts         `yaml:"title" jsonschema_description:"Title of the button and the frame, by language."`
	Notice    Texts         `yaml:"notice" jsonschema_description:"What visitors read before their first question, by language: who answers, and what is kept."`
	Privacy   string        `yaml:"privacy" jsonschema_description:"Address of the page on privacy to which the notice links."`
	Consent   bool          `yaml:"consent" jsonschema_description:"Whether a visitor has to agree to the notice before the first question (default false)."`
	Colour    string        `yaml:"colour" jsonschema_description:"Colour of the button and of what can be pressed, as #rrggbb; the text on it is black or white, whichever is easier to read."`
	Mark      string        `yaml:"mark" jsonschema_description:"SVG or PNG file with the mark of the site, relative to the file's folder; at most 64 KiB."`
	Limits    VisitorLimits `yaml:"limits" jsonschema_description:"How many questions visitors may ask, as a number in a time such as 20/h."`
	Keep      time.Duration `yaml:"keep" jsonschema_description:"How long a conversation of a visitor is kept after its last message: then it is erased with its traces and files (default 24h)."`
}

// defaultPublic returns the settings without an assistant for the public.
func defaultPublic() Public {
	return Public{
		Limits: VisitorLimits{
			Visitor: schemas.Rate{Count: 20, Per: time.Hour},
			Address: schemas.Rate{Count: 60, Per: time.Hour},
			All:     schemas.Rate{Count: 2000, Per: 24 * time.Hour},
		},
		Keep: 24 * time.Hour,
	}
}

// defaultHandover returns the settings with which nobody can be reached.
func defaultHandover() Handover { return Handover{Ask: []string{AskName, AskPhone}} }

// On reports whether there is an assistant for the public.
func (p Public) On() bool { return p.Assistant != "" }

// VisitorLimits are limits on the questions of visitors.
type VisitorLimits struct {
	Visitor schemas.Rate `yaml:"visitor" jsonschema_description:"Questions of one visitor (default 20/h; none for no limit)."`
	Address schemas.Rate `yaml:"address" jsonschema_description:"Questions from one address; of IPv6 addresses the first 64 bits count (default 60/h)."`
	All     schemas.Rate `yaml:"all" jsonschema_description:"Questions of all visitors together (default 2000/d)."`
}

// Handover configures how people reach somebody at the desk.
type Handover struct {
	// Webhook empty means that nobody can be reached.
	Webhook  schemas.Secret `yaml:"webhook" jsonschema_description:"Address of the desk's inbox, which gets a POST for each request and message, by the rules of Standard Webhooks, such as ${HANDOVER_WEBHOOK}."`
	Secret   schemas.Secret `yaml:"secret" jsonschema_description:"Secret that signs what is sent to webhook, such as ${HANDOVER_SECRET}: whsec_ and Base64, or any text of 24 bytes or more."`
	Hours    string         `yaml:"hours" jsonschema_description:"When somebody is at the desk, such as Mo-Fr 08:00-17:00; Sa 08:00-12:00. Always when left out."`
	Zone     string         `yaml:"zone" jsonschema_description:"Time zone of hours, such as Asia/Ho_Chi_Minh; required with hours."`
	Ask      []string       `yaml:"ask" jsonschema:"enum=name,enum=phone,enum=email" jsonschema_description:"What the form asks for: name, phone, email (default name and phone)."`
	Fallback Texts          `yaml:"fallback" jsonschema_description:"What to do when nobody could be reached, such as the number of the reception, by language."`
}

// What the form of a hand-over may ask for.
const (
	AskName  = "name"
	AskPhone = "phone"
	AskEmail = "email"
)

// On reports whether somebody can be reached.
func (h Handover) On() bool { return h.Webhook != "" }

// Key returns the key that signs what is sent to the webhook; nil if the secret cannot be read.
func (h Handover) Key() []byte { return webhookKey(h.Secret) }

// Opening returns when somebody is at the desk.
func (h Handover) Opening() (Hours, error) { return ParseHours(h.Hours, h.Zone) }

// maxMark is the size of the largest mark, in bytes.
const maxMark = 64 << 10

// ReadMark reads the mark of the site, and returns its media type; nothing if there is none. It fails if the
// file is not an SVG or PNG picture of at most 64 KiB. An SVG may hold a script: whoever serves it says
// that none runs.
func (p Public) ReadMark() (data []byte, mediaType string, err error) {
	if p.Mark == "" {
		return nil, "", nil
	}
	f, err := os.Open(p.Mark)
	if err != nil {
		return nil, "", fmt.Errorf("public.mark: %w", err)
	}
	defer f.Close()
	if data, err = io.ReadAll(io.LimitReader(f, maxMark+1)); err != nil {
		return nil, "", fmt.Errorf("public.mark: read %s: %w", p.Mark, err)
	}
	switch isSVG := bytes.Contains(data, []byte("<svg")); {
	case len(data) > maxMark:
		return nil, "", fmt.Errorf("public.mark: %s is larger than 64 KiB; take a smaller picture", p.Mark)
	case http.DetectContentType(data) == "image/png":
		return data, "image/png", nil
	case isSVG && strings.EqualFold(filepath.Ext(p.Mark), ".svg"):
		return data, "image/svg+xml", nil
	}
	return nil, "", fmt.Errorf("public.mark: %s is neither an SVG nor a PNG picture", p.Mark)
}

// completePublic writes origins as browsers send them, and resolves the path of the mark.
func (cfg *Config) completePublic() {
	p := &cfg.Public
	for i, origin := range p.Origins {
		origin = strings.ToLower(strings.TrimSuffix(origin, "/"))
		for scheme, port := range map[string]string{"https://": ":443", "http://": ":80"} {
			if strings.HasPrefix(origin, scheme) {
				origin = strings.TrimSuffix(origin, port)
			}
		}
		p.Origins[i] = origin
	}
	if origin := cfg.origins["public.mark"]; origin != commandLine && origin != EnvVariable("public.mark") {
		p.Mark = cfg.resolvePath(p.Mark, false)
	}
}
