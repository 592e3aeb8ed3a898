// Package search is the bundled "tool-server": web search over DuckDuckGo's HTML page, Google Search
// if a function for it is configured, and a search for each folder of documents that it is given:
// the guides of topics, and an operator's own.
//
// It owns the tools. It must not decide whether or when to search, and depends on neither the agent
// nor a model.
package search
