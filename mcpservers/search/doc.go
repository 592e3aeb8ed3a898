// Package search is the bundled "tool-server": web search over DuckDuckGo's HTML
// page, and a dental guide in Vietnamese and English that needs no network.
//
// It owns the two tools, the guide and its index. It must not decide whether or when
// to search, and it knows neither the agent nor a model.
package search
