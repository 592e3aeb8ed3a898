package responses

import "molar/web/wire"

// Operations describes the routes of the Responses API.
func Operations() []wire.Operation {
	const tag, path, scope = "responses", "/v1/responses", "chat"
	const conversations, conversation = "/v1/conversations", "/v1/conversations/{id}"
	return []wire.Operation{
		{
			Method: "POST", Path: path, Tag: tag, Scope: scope,
			Summary: "Answer a question, as a response of Open Responses: whole, as a stream, or in the background",
			Request: Request{}, Needs: []string{"input"}, Answer: Response{}, Event: Event{},
			Query:  []wire.Parameter{{"Idempotency-Key", "repeats the finished response, or follows the running one, instead of starting a second one"}},
			Errors: []int{400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503, 504},
		},
		{
			Method: "GET", Path: path, Tag: tag, Scope: scope, Status: 101, Errors: []int{400, 401, 403, 426, 503},
			Summary: "Open a WebSocket: each message is the body of a POST with \"type\": \"response.create\", and its events come back",
		},
		{
			Method: "POST", Path: path + "/compact", Tag: tag, Scope: scope, Summary: "Compact a conversation into one item that replaces it",
			Request: CompactRequest{}, Needs: []string{"model"}, Answer: Compaction{}, Errors: []int{400, 401, 403, 413, 503},
		},
		{
			Method: "POST", Path: path + "/input_tokens", Tag: tag, Scope: scope, Summary: "Estimate the tokens of a request, without what the assistant adds",
			Request: TokensRequest{}, Answer: InputTokens{}, Errors: []int{400, 401, 403, 413, 503},
		},
		{
			Method: "GET", Path: path + "/{id}", Tag: tag, Scope: scope, Summary: "Read a response, whole or as a stream", Answer: Response{}, Event: Event{},
			Query:  []wire.Parameter{{"stream", "true: its events"}, {"starting_after", "the sequence_number of the last event that the client has received"}},
			Errors: []int{400, 404, 503},
		},
		{Method: "DELETE", Path: path + "/{id}", Tag: tag, Scope: scope, Summary: "Delete a response; its conversation stays", Answer: DeletedObject{}, Errors: []int{404, 503}},
		{Method: "POST", Path: path + "/{id}/cancel", Tag: tag, Scope: scope, Summary: "Stop a response", Answer: Response{}, Errors: []int{404, 503}},
		{
			Method: "GET", Path: path + "/{id}/input_items", Tag: tag, Scope: scope, Summary: "List the input items of a response", Answer: ItemList{},
			Query:  []wire.Parameter{{"limit", "1 to 100"}, {"order", "asc or desc"}, {"after", "the id of an item"}},
			Errors: []int{400, 404, 503},
		},
		{Method: "POST", Path: conversations, Tag: "conversations", Scope: scope, Summary: "Create a conversation, with items or empty", Request: ConversationRequest{}, Answer: ConversationHead{}, Errors: []int{400, 503}},
		{Method: "POST", Path: conversation, Tag: "conversations", Scope: scope, Summary: "Change the metadata of a conversation", Request: ConversationRequest{}, Answer: ConversationHead{}, Errors: []int{400, 404, 503}},
		{
			Method: "GET", Path: conversation + "/items", Tag: "conversations", Scope: scope, Summary: "List the items of the newest branch", Answer: ItemList{},
			Query:  []wire.Parameter{{"limit", "1 to 100"}, {"order", "asc or desc"}, {"after", "the id of an item"}},
			Errors: []int{400, 404, 503},
		},
		{
			Method: "POST", Path: conversation + "/items", Tag: "conversations", Scope: scope, Summary: "Add messages, and calls with their results, without a turn",
			Request: ItemsRequest{}, Needs: []string{"items"}, Answer: ItemList{}, Errors: []int{400, 404, 409, 503},
		},
		{Method: "DELETE", Path: conversation + "/items/{item}", Tag: "conversations", Scope: scope, Summary: "Delete an added item of the newest exchange", Answer: ConversationHead{}, Errors: []int{400, 404, 409, 503}},
		{Method: "GET", Path: conversation + "/items/{item}", Tag: "conversations", Scope: scope, Summary: "Read an item", Answer: map[string]any{}, Errors: []int{404, 503}},
	}
}
