package config

import (
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
	// Keep zero means a day.
	Keep time.Duration `yaml:"keep" jsonschema_description:"How long a conversation of a visitor is kept after its last message: then it is erased with its traces and files (default 24h)."`
}

// On reports whether there is an assistant for the public.
func (p Public) On() bool { return p.Assistant != "" }

// VisitorLimits are limits on the questions of visitors.
type VisitorLimits struct {
	Visitor schemas.Rate `yaml:"visitor" jsonschema_description:"Questions of one visitor (default 20/h)."`
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
