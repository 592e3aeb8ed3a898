package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
	"molar/schemas"
)

// public is a file with an assistant for everybody, and more settings of it.
func public(more string) string {
	return "trusted_proxies: [127.0.0.1]\npublic:\n  assistant: dental\n  origins: [https://www.clinic.example]\n" + more
}

func TestPublic(t *testing.T) {
	cfg := mustLoad(t, `
trusted_proxies: [127.0.0.1]
public:
  assistant: dental
  origins: ["https://WWW.Clinic.example:443/", "http://localhost:8080", "https://xn--nhakhoa-example.vn:8443", "http://[::1]:80"]
  title: {vi: Hỏi phòng khám, en: Ask the clinic}
  notice: {vi: "Trợ lý tự động trả lời.", en: An assistant answers.}
  privacy: https://www.clinic.example/privacy#chat
  consent: true
  colour: "#0B6e4f"
  mark: pictures/mark.svg
  limits: {visitor: 10/h, address: 5/m, all: none}
  keep: 12h
`)
	want := config.Public{
		Assistant: "dental",
		Origins:   []string{"https://www.clinic.example", "http://localhost:8080", "https://xn--nhakhoa-example.vn:8443", "http://[::1]"},
		Title:     config.Texts{{Name: "vi", Value: "Hỏi phòng khám"}, {Name: "en", Value: "Ask the clinic"}},
		Notice:    config.Texts{{Name: "vi", Value: "Trợ lý tự động trả lời."}, {Name: "en", Value: "An assistant answers."}},
		Privacy:   "https://www.clinic.example/privacy#chat",
		Consent:   true,
		Colour:    "#0B6e4f",
		Mark:      filepath.Join(filepath.Dir(cfg.File), "pictures", "mark.svg"),
		Limits:    config.VisitorLimits{Visitor: schemas.Rate{Count: 10, Per: time.Hour}, Address: schemas.Rate{Count: 5, Per: time.Minute}},
		Keep:      12 * time.Hour,
	}
	if diff := cmp.Diff(want, cfg.Public); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if without := config.Default().Public; without.On() || without.Keep != 24*time.Hour || without.Limits.All.String() != "2000/d" {
		t.Errorf("without settings: %+v", without)
	}
}

// A limit is one value, in the environment and in the list of settings too.
func TestPublic_LimitOfTheEnvironment(t *testing.T) {
	cfg, err := load(t, public(""), "MOLAR_PUBLIC_LIMITS_VISITOR", "7/15m")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, s := range cfg.Settings() {
		shown[s.Key] = s.Value
	}
	if shown["public.limits.visitor"] != "7/15m" || shown["public.limits.all"] != "2000/d" || shown["public.keep"] != "24h0m0s" {
		t.Errorf("%q", shown)
	}
}

func TestPublic_Faults(t *testing.T) {
	const plain = "public: {assistant: dental, origins: [https://a.example]}\n"
	tests := map[string]struct{ file, fault string }{
		"it works":                      {public(""), ""},
		"with a certificate":            {plain + "tls: {cert: c.pem, key: k.pem}", ""},
		"in the clear":                  {plain, ":1: public: requires tls, or the proxy"},
		"public_url is no encryption":   {plain + "public_url: https://a.example", "public: requires tls"},
		"no assistant":                  {"public: {origins: [https://a.example]}", "public.assistant: nothing is public without it"},
		"an unknown assistant":          {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dentl, origins: [https://a.example]}", `no assistant is called "dentl", did you mean "dental"?`},
		"no origin":                     {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental}", "public.origins: want the origin of the web site"},
		"a page":                        {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental, origins: [https://a.example/chat]}", "public.origins[0]: want https:// and the host"},
		"an origin in the clear":        {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental, origins: [http://a.example]}", "public.origins[0]: want https://"},
		"all origins":                   {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental, origins: ['*']}", "public.origins[0]: want https://"},
		"all hosts":                     {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental, origins: ['https://*.a.example']}", "public.origins[0]: want https://"},
		"two origins in one":            {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental, origins: ['https://a.example; script-src *']}", "public.origins[0]: want https://"},
		"no ASCII":                      {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental, origins: ['https://nhakhoa-đẹp.example']}", "xn--"},
		"a user":                        {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental, origins: ['https://me@a.example']}", "public.origins[0]: want https://"},
		"twice":                         {"trusted_proxies: [127.0.0.1]\npublic: {assistant: dental, origins: ['https://a.example', 'https://A.example/']}", "is listed twice"},
		"consent to nothing":            {public("  consent: true"), "public.consent: requires notice"},
		"an empty title":                {public("  title: {vi: ' '}"), "public.title.vi: want a text"},
		"no language":                   {public("  notice: {Vietnamese: x}"), "want the code of a language"},
		"a script":                      {public("  privacy: 'javascript:alert(1)'"), "public.privacy: want an address"},
		"a colour by name":              {public("  colour: teal"), "public.colour: want a colour"},
		"more than a colour":            {public("  colour: '#ffffff;}'"), "public.colour: want a colour"},
		"a mark of another kind":        {public("  mark: mark.gif"), "public.mark: want an SVG or PNG file"},
		"kept for nothing":              {public("  keep: 0s"), "public.keep: want a minute or more"},
		"a limit without a time":        {public("  limits: {visitor: 20}"), `public.limits.visitor: want a number in a time such as "20/h"`},
		"a limit of nothing":            {public("  limits: {all: 0/d}"), "public.limits.all: want a number in a time"},
		"a list for a limit":            {public("  limits: {all: [1]}"), "public.limits.all: want a number in a time such as"},
		"memory somewhere else":         {public("") + "memory: {url: http://127.0.0.1:8001}", "public: cannot be combined with memory.url"},
		"a budget of each visitor":      {public("") + "budgets: {visitor: {per: day, tokens: 5000}, public: {per: month, tokens: 900000}}", ""},
		"a budget of visitors per hour": {public("") + "budgets: {visitor: {per: hour, tokens: 5000}}", "budgets.visitor.per: want day or month"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantFault(t, tt.file, tt.fault) })
	}
}

// wantFault loads a file, and compares its fault; "" for none.
func wantFault(t *testing.T, file, fault string, env ...string) {
	t.Helper()
	_, err := load(t, file, env...)
	if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
		t.Errorf("%v, want %q", err, fault)
	}
}

// What the file itself shows to write must be allowed to visitors in words.
func TestPublic_ToolsThatWrite(t *testing.T) {
	const file = `
trusted_proxies: [127.0.0.1]
assistants:
  staff: {tools: ["*"]}
  web: {tools: TOOLS}
public: {assistant: web, origins: [https://a.example]}
mcpServers:
  clinic: {command: clinic, tools: {"RULE"}}
  notes: {command: notes, disabled: true, tools: {"*": {adds: true}}}
`
	tests := map[string]struct{ tools, rule, fault string }{
		"a tool that adds":            {`["clinic__*"]`, `book": {adds: true}, "x`, "mcpServers.clinic.tools.book: visitors of public could write with it"},
		"all tools add":               {`["clinic__*"]`, `*": {adds: true}, "x`, "policy: allow"},
		"allowed":                     {`["clinic__*"]`, `book": {adds: true, policy: allow}, "x`, ""},
		"denied":                      {`["clinic__*"]`, `book": {adds: true, policy: deny}, "x`, ""},
		"a person is asked":           {`["clinic__*"]`, `book": {adds: true, policy: confirm}, "x`, ""},
		"auto":                        {`["clinic__*"]`, `book": {adds: true, policy: auto}, "x`, "could write"},
		"it overrides an annotation":  {`["clinic__*"]`, `book": {destructive: false}, "x`, "could write"},
		"a reader":                    {`["clinic__*"]`, `book": {readOnly: true, destructive: false}, "x`, ""},
		"not the assistant's":         {`["clinic__get_*"]`, `book": {adds: true}, "x`, ""},
		"excluded":                    {`["clinic__*", "!*__book"]`, `book": {adds: true}, "x`, ""},
		"by its own name":             {`["book*"]`, `book_?": {adds: true}, "x`, "could write"},
		"an earlier rule is in force": {`["clinic__*"]`, `b*": {readOnly: true}, "book": {adds: true}, "x`, ""},
		"without tools":               {`[]`, `book": {adds: true}, "x`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wantFault(t, strings.NewReplacer("TOOLS", tt.tools, `"RULE"`, `"`+tt.rule+`": {readOnly: true}`).Replace(file), tt.fault)
		})
	}
}

func TestPublic_ReadMark(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 50)
	for name, tt := range map[string]struct{ file, text, mediaType, fault string }{
		"svg":            {"m.svg", `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`, "image/svg+xml", ""},
		"png":            {"m.png", png, "image/png", ""},
		"another format": {"m.png", "GIF89a", "", "neither an SVG nor a PNG"},
		"a page":         {"m.svg", "<html>", "", "neither an SVG nor a PNG"},
		"a page as png":  {"m.png", "<svg>", "", "neither an SVG nor a PNG"},
		"the largest":    {"m.png", png + strings.Repeat("x", 64<<10-len(png)), "image/png", ""},
		"too large":      {"m.png", png + strings.Repeat("x", 64<<10-len(png)+1), "", "larger than 64 KiB"},
		"missing":        {"", "", "", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			p := config.Public{Mark: filepath.Join(t.TempDir(), "missing.svg")}
			if tt.file != "" {
				p.Mark = filepath.Join(t.TempDir(), tt.file)
				if err := os.WriteFile(p.Mark, []byte(tt.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			data, mediaType, err := p.ReadMark()
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) || len(data) > 0 {
					t.Errorf("%v, want %q", err, tt.fault)
				}
				return
			}
			if err != nil || string(data) != tt.text || mediaType != tt.mediaType {
				t.Errorf("%s, %v", mediaType, err)
			}
		})
	}
	if data, _, err := (config.Public{}).ReadMark(); data != nil || err != nil {
		t.Errorf("without a mark: %q, %v", data, err)
	}
}

func TestHandover(t *testing.T) {
	const both = "handover: {webhook: https://desk.example/hook, secret: a secret of more than 24 bytes"
	tests := map[string]struct{ file, fault string }{
		"it works":             {public("") + both + ", hours: 'Mo-Fr 08:00-17:00; Sa 08:00-12:00', zone: Asia/Ho_Chi_Minh, ask: [name, phone, email], fallback: {vi: 'Gọi 1900 0000', en: Call 1900 0000}}", ""},
		"asks nothing":         {public("") + both + ", ask: []}", ""},
		"on this machine":      {public("") + "handover: {webhook: 'http://127.0.0.1:9000/hook', secret: a secret of more than 24 bytes}", ""},
		"not encrypted":        {public("") + "handover: {webhook: 'http://desk.example/hook', secret: a secret of more than 24 bytes}", "handover.webhook: want an address that begins with https://"},
		"no secret":            {public("") + "handover: {webhook: https://desk.example/hook}", "handover: want both webhook and secret"},
		"a short secret":       {public("") + "handover: {webhook: https://desk.example/hook, secret: short}", "handover.secret: want whsec_ and Base64"},
		"no webhook":           {public("") + "handover: {fallback: {vi: x}}", "handover.webhook: nobody can be reached without it"},
		"nothing is public":    {both + "}", "handover: applies only with public"},
		"hours without a zone": {public("") + both + ", hours: 'Mo-Fr 08:00-17:00'}", "handover.hours: there is no time zone"},
		"a zone without hours": {public("") + both + ", zone: Asia/Ho_Chi_Minh}", "handover.zone: applies only with hours"},
		"unreadable hours":     {public("") + both + ", hours: weekdays, zone: Asia/Ho_Chi_Minh}", "handover.hours: "},
		"asks for more":        {public("") + both + ", ask: [name, password]}", "handover.ask[1]: want name, phone or email"},
		"asks twice":           {public("") + both + ", ask: [name, name]}", "is listed twice"},
		"an empty text":        {public("") + both + ", fallback: {vi: ''}}", "handover.fallback.vi: want a text"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { wantFault(t, tt.file, tt.fault) })
	}
	cfg := mustLoad(t, public("")+both+"}")
	hours, err := cfg.Handover.Opening()
	if err != nil || !hours.Open(time.Now()) || string(cfg.Handover.Key()) != "a secret of more than 24 bytes" || !cmp.Equal(cfg.Handover.Ask, []string{"name", "phone"}) {
		t.Errorf("%+v, %v", cfg.Handover.Ask, err)
	}
}
