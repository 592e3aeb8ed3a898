// Package search is the bundled "tool-server": web search over DuckDuckGo's HTML page, a dental
// guide in Vietnamese and English that needs no network, and Google Search if a function for it
// is configured.
//
// It owns the tools, the guide and its index. It must not decide whether or when to search, and
// depends on neither the agent nor a model.
package search
