// Package responses holds the types of OpenAI's Responses API, as Open Responses specifies it
// (https://www.openresponses.org/specification). The surface that serves the API and the adapter
// that calls a service over it use the same types.
package responses
