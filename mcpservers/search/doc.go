// Package search is the bundled "tool-server": web search over DuckDuckGo's HTML
// page, a dental guide in Vietnamese and English that needs no network, and Google
// Search where its builder passes a function for it.
//
// It owns the tools, the guide and its index. It must not decide whether or when to
// search, and it knows neither the agent nor a model.
package search
