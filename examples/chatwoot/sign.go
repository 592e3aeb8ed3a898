package chatwoot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxAge is how old a signed request may be, or how far ahead: a copied one is worth nothing later.
const maxAge = 5 * time.Minute

// webhookKey returns the key that a secret of Standard Webhooks stands for.
func webhookKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, "whsec_")
	if !ok {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("chatwoot: want Base64 after whsec_ in MolarSecret")
	}
	return key, nil
}

// fromMolar reports whether Molar signed a request, by the rules of Standard Webhooks.
func fromMolar(key []byte, h http.Header, body []byte, now time.Time) bool {
	id, at := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	want := "v1," + base64.StdEncoding.EncodeToString(mac(key, id+"."+at+".", body))
	ok := false
	for given := range strings.FieldsSeq(h.Get("Webhook-Signature")) {
		ok = hmac.Equal([]byte(given), []byte(want)) || ok
	}
	return ok && fresh(at, now)
}

// fromChatwoot reports whether Chatwoot's agent bot signed a request.
func fromChatwoot(secret string, h http.Header, body []byte, now time.Time) bool {
	at := h.Get("X-Chatwoot-Timestamp")
	want := "sha256=" + hex.EncodeToString(mac([]byte(secret), at+".", body))
	return hmac.Equal([]byte(h.Get("X-Chatwoot-Signature")), []byte(want)) && fresh(at, now)
}

func mac(key []byte, before string, body []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(before))
	m.Write(body)
	return m.Sum(nil)
}

func fresh(at string, now time.Time) bool {
	seconds, err := strconv.ParseInt(at, 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= maxAge
}
