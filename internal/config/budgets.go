package config

import (
	"slices"

	"molar/providers"
	"molar/schemas"
)

// Budgets bound what models may use. A budget that is not set has no limit.
type Budgets struct {
	All     schemas.Budget      `yaml:"all" jsonschema_description:"Everything together, the host's own calls included."`
	Person  schemas.Budget      `yaml:"person" jsonschema_description:"Each person who signed in."`
	Key     schemas.Budget      `yaml:"key" jsonschema_description:"Each API key."`
	Group   schemas.Budget      `yaml:"group" jsonschema_description:"Each group as a whole."`
	Visitor schemas.Budget      `yaml:"visitor" jsonschema_description:"Each visitor of public."`
	Public  schemas.Budget      `yaml:"public" jsonschema_description:"All visitors of public together."`
	Groups  Map[schemas.Budget] `yaml:"groups" jsonschema_description:"Budgets of single groups by name, in place of group."`
}

// budgets checks the budgets, and that what money bounds has a price.
func (c *checker) budgets() {
	set := c.cfg.Budgets
	named := map[string]schemas.Budget{"budgets.all": set.All, "budgets.person": set.Person, "budgets.key": set.Key, "budgets.group": set.Group, "budgets.visitor": set.Visitor, "budgets.public": set.Public}
	for _, e := range set.Groups {
		name := join("budgets.groups", e.Name)
		named[name] = e.Value
		if !slices.Contains(c.cfg.Groups.Names(), e.Name) {
			c.fault(name, "there is no group %q in groups", e.Name)
		}
		if e.Value == (schemas.Budget{}) {
			c.fault(name, "want tokens or money")
		}
	}
	c.unique("budgets.groups", set.Groups.Names())
	money := false
	for key, b := range named {
		if b == (schemas.Budget{}) {
			continue
		}
		c.enum(key+".per", b.Per, []string{schemas.PerDay, schemas.PerMonth})
		if b.Tokens < 0 || b.Money < 0 {
			c.fault(key, "tokens and money must not be negative")
		}
		if !b.IsSet() {
			c.fault(key, "want tokens or money")
		}
		money = money || b.Money > 0
	}
	if money {
		c.prices()
	}
}

// prices checks that every endpoint that may answer has prices.
func (c *checker) prices() {
	for _, name := range c.cfg.LLM.EndpointNames() {
		e, _ := c.cfg.LLM.Endpoint(name)
		if e.IsFree() || c.cfg.LLM.MissingKey(name) != "" || !c.mayAnswer(name) {
			continue
		}
		if !e.Price.IsSet() || e.SmallModel != "" && !e.PriceOf(e.SmallModel).IsSet() {
			c.fault(e.Setting+".price", "budgets count money, and the endpoint %q may answer: set price, and small_price for its small_model", name)
		}
	}
	for _, a := range c.cfg.Assistants {
		if model := a.Value.Model; model != "" && !c.hasPrice(a.Value.Provider, model) {
			c.fault(join("assistants", a.Name)+".model", "budgets count money, and %q has no price: name an endpoint with this model and its price in llm.providers", model)
		}
	}
}

// hasPrice reports whether what an assistant's model costs is known at its provider, or without one at
// any that may answer.
func (c *checker) hasPrice(provider, model string) bool {
	return slices.ContainsFunc(c.cfg.LLM.EndpointNames(), func(name string) bool {
		e, _ := c.cfg.LLM.Endpoint(name)
		at := name == provider || (provider == "" || provider == "auto") && c.cfg.LLM.MissingKey(name) == "" && c.mayAnswer(name)
		return at && (e.IsFree() || e.PriceOf(model).IsSet())
	}) || provider == providers.Offline
}

// mayAnswer reports whether an endpoint is in the order of the chain, or chosen by somebody.
func (c *checker) mayAnswer(name string) bool {
	order := c.cfg.LLM.Provider
	if len(order) == 0 || slices.Contains(order, "auto") || slices.Contains(order, name) || c.cfg.LLM.Small == name {
		return true
	}
	return slices.ContainsFunc(c.cfg.Assistants, func(e Entry[schemas.Assistant]) bool { return e.Value.Provider == name })
}
