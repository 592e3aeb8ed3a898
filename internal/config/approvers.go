package config

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"molar/schemas"
)

// Approvals configures what happens with calls that need the approval of somebody else.
type Approvals struct {
	// Webhook empty means that nothing is sent.
	Webhook schemas.Secret `yaml:"webhook" jsonschema_description:"Address that gets a POST when a call waits for its approvers, and when one has decided, by the rules of Standard Webhooks, such as ${APPROVALS_WEBHOOK}."`
	Secret  schemas.Secret `yaml:"secret" jsonschema_description:"Secret that signs what is sent to webhook, such as ${APPROVALS_SECRET}: whsec_ and Base64, or any text of 24 bytes or more."`
}

// minWebhookKey is the least length of a key by Standard Webhooks, in bytes.
const minWebhookKey = 24

// Key returns the key that signs what is sent to the webhook; nil if the secret cannot be read.
func (a Approvals) Key() []byte { return webhookKey(a.Secret) }

// webhookKey returns the key that signs by Standard Webhooks; nil if the secret cannot be read.
func webhookKey(secret schemas.Secret) []byte {
	encoded, standard := strings.CutPrefix(secret.Reveal(), "whsec_")
	if !standard {
		return []byte(encoded)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	return key
}

// approvers checks who decides about the calls of a rule.
func (c *checker) approvers(key string, rule ToolRule) {
	if len(rule.Approvers) == 0 {
		return
	}
	if rule.Policy != "" && rule.Policy != schemas.PolicyConfirm {
		c.fault(key+".approvers", "applies only with policy confirm, which it implies")
	}
	groups := c.cfg.Groups.Names()
	for i, name := range rule.Approvers {
		if !slices.Contains(groups, name) {
			c.fault(index(key+".approvers", i), "is not in groups%s", didYouMean(name, groups))
		}
	}
	c.uniqueList(key+".approvers", rule.Approvers)
}

// webhook checks the address and the secret of a section's webhook. plain allows http off this machine.
func (c *checker) webhook(section string, address, secret schemas.Secret, plain bool) {
	if (address == "") != (secret == "") {
		c.fault(section, "want both webhook and secret, or neither")
		return
	}
	if address == "" {
		return
	}
	u, err := url.Parse(address.Reveal())
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Contains(u.Host, " "),
		u.Scheme == "http" && !plain && !isLocalName(u.Host):
		c.fault(section+".webhook", "want an address that begins with https://")
	}
	if len(webhookKey(secret)) < minWebhookKey {
		c.fault(section+".secret", "want whsec_ and Base64, or a text of %d bytes or more", minWebhookKey)
	}
}
