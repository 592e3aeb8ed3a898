// Package catalogue holds what the servers offer: it reads their lists of tools, names the
// tools for models, and applies the config and what people decided: switches and pins.
package catalogue
