package oauthserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// fault records a rule that the client broke, and refuses the request. s.mu is held.
func (s *Server) fault(w http.ResponseWriter, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.faults = append(s.faults, text)
	write(w, http.StatusBadRequest, map[string]string{"error": "invalid_request", "error_description": text})
}

// name returns a new unique text, which tests can search for in a client's output.
func (s *Server) name(kind string) string {
	s.serial++
	return fmt.Sprintf("canary-%s-%d", kind, s.serial)
}

func (s *Server) register(w http.ResponseWriter, r *http.Request, is Behaviour) {
	var asked struct {
		Redirects   []string `json:"redirect_uris"`
		Application string   `json:"application_type"`
		Grants      []string `json:"grant_types"`
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || len(asked.Redirects) != 1 || asked.Application != "native" || !slices.Contains(asked.Grants, "refresh_token") {
		s.fault(w, "registration: %v %+v", err, asked)
		return
	}
	s.serial++
	id := fmt.Sprintf("client-%d", s.serial) // not a secret
	made := client{redirects: asked.Redirects}
	answer := map[string]any{"client_id": id, "token_endpoint_auth_method": "none", "redirect_uris": asked.Redirects}
	if is.Secret {
		made.secret = s.name("secret")
		answer["client_secret"], answer["token_endpoint_auth_method"] = made.secret, "client_secret_basic"
	}
	s.clients[id] = made
	s.counts.Registered++
	write(w, http.StatusCreated, answer)
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request, is Behaviour) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, known := s.clients[q.Get("client_id")]
	switch {
	case !known:
		s.fault(w, "unknown client")
	case !slices.Contains(c.redirects, q.Get("redirect_uri")):
		s.fault(w, "redirect %q is not registered", q.Get("redirect_uri"))
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		s.fault(w, "no code with PKCE S256")
	case len(q.Get("state")) < 22:
		s.fault(w, "the state can be guessed")
	case q.Get("resource") != s.MCP():
		s.fault(w, "resource %q", q.Get("resource"))
	default:
		s.sendBack(w, r, is, q)
	}
}

func (s *Server) sendBack(w http.ResponseWriter, r *http.Request, is Behaviour, q url.Values) {
	back := url.Values{"state": {q.Get("state")}, "iss": {s.IssuerURL()}}
	if is.State != "" {
		back.Set("state", is.State)
	}
	switch is.RedirectIssuer {
	case "":
	case "-":
		back.Del("iss")
	default:
		back.Set("iss", is.RedirectIssuer)
	}
	if is.Denies {
		back.Set("error", "access_denied")
		back.Set("error_description", "the person said no\x1b[31m")
	} else {
		name := s.name("code")
		s.codes[name] = code{
			client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"),
			resource: q.Get("resource"), scopes: strings.Fields(q.Get("scope")),
		}
		back.Set("code", name)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request, is Behaviour) {
	if r.PostFormValue("grant_type") == "refresh_token" && is.OnRenewal != nil {
		is.OnRenewal()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	if basic { // RFC 6749, 2.3.1
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if !s.isClient(id, secret, r) {
		write(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	if r.PostFormValue("resource") != s.MCP() {
		s.fault(w, "token request for resource %q", r.PostFormValue("resource"))
		return
	}
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		s.exchange(w, r, is, id)
	case "refresh_token":
		s.renew(w, r, is)
	case "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer":
		s.giveAlone(w, r, is)
	default:
		s.fault(w, "grant type %q", r.PostFormValue("grant_type"))
	}
}

func (s *Server) exchange(w http.ResponseWriter, r *http.Request, is Behaviour, id string) {
	name := r.PostFormValue("code")
	c, known := s.codes[name]
	delete(s.codes, name) // valid for one use
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || c.client != id || c.redirect != r.PostFormValue("redirect_uri") || c.resource != r.PostFormValue("resource") ||
		c.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		why := "the code is not good"
		if is.Echo {
			why += ": " + r.Form.Encode() + name
		}
		write(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": why})
		return
	}
	s.counts.Codes++
	s.give(w, is, c.scopes)
}

func (s *Server) renew(w http.ResponseWriter, r *http.Request, is Behaviour) {
	s.counts.Renewals++
	old := r.PostFormValue("refresh_token")
	if status, err := strconv.Atoi(is.RenewalFault); err == nil {
		w.WriteHeader(status)
		return
	}
	spent, known := s.refresh[old]
	if spent {
		s.faults = append(s.faults, "a refresh token was used twice")
		clear(s.refresh) // a reused refresh token counts as stolen
		clear(s.access)
	}
	if !known || spent || is.RenewalFault != "" {
		fault := "invalid_grant"
		if is.RenewalFault != "" {
			fault = is.RenewalFault
		}
		why := ""
		if is.Echo {
			why = "no: " + old
		}
		write(w, http.StatusBadRequest, map[string]string{"error": fault, "error_description": why})
		return
	}
	s.refresh[old] = true
	s.give(w, is, nil)
}

// give answers with new tokens. s.mu is held.
func (s *Server) give(w http.ResponseWriter, is Behaviour, scopes []string) {
	if scopes == nil {
		scopes = []string{"read"}
	}
	access, refresh := s.name("access"), s.name("refresh")
	s.access[access], s.refresh[refresh] = scopes, false
	answer := map[string]any{"access_token": access, "token_type": "bearer", "refresh_token": refresh, "scope": strings.Join(scopes, " ")}
	if is.Life > 0 {
		answer["expires_in"] = int(is.Life.Seconds())
		s.ends[access] = s.now().Add(is.Life)
	}
	write(w, http.StatusOK, answer)
}
