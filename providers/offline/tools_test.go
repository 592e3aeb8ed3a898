package offline_test

import (
	"encoding/json"
	"strings"

	"molar/schemas"
)

// tool makes a tool from lines of its fields: "name! type description", where ! marks
// a required one, and the type may be string, integer, number, boolean, strings, a
// format ("uuid", "date", "date-time", "email", "uri"), an enum ("a|b|c"), or a type
// with a default ("integer=10").
func tool(server, name, description string, fields ...string) schemas.ToolInfo {
	properties := map[string]any{}
	required := []string{}
	for _, f := range fields {
		parts := append(strings.SplitN(f, " ", 3), "", "")
		key, must := strings.CutSuffix(parts[0], "!")
		if must {
			required = append(required, key)
		}
		kind, fallback, hasDefault := strings.Cut(parts[1], "=")
		p := map[string]any{"type": "string"}
		switch {
		case strings.Contains(kind, "|"):
			p["enum"] = strings.Split(kind, "|")
		case kind == "uuid" || kind == "date" || kind == "date-time" || kind == "email" || kind == "uri":
			p["format"] = kind
		case kind == "strings":
			p = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
		case kind != "":
			p["type"] = kind
		}
		if hasDefault {
			p["default"] = json.RawMessage(fallback)
		}
		if parts[2] != "" {
			p["description"] = parts[2]
		}
		properties[key] = p
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil {
		panic(err)
	}
	return schemas.ToolInfo{
		Name: server + "__" + strings.ReplaceAll(name, ".", "_"), Server: server, ToolName: name,
		Description: description, InputSchema: schema,
	}
}

// tuningTools are the made-up servers that the scorer was tuned on.
func tuningTools() []schemas.ToolInfo {
	return []schemas.ToolInfo{
		tool("files", "read_file", "Read the complete contents of a file as text.", "path! string Path of the file", "head integer Return only the first N lines"),
		tool("files", "write_file", "Create a new file or overwrite an existing one.", "path! string Path of the file", "content! string Text to write"),
		tool("files", "list_directory", "List the files and folders of a directory.", "path! string Path of the directory"),
		tool("files", "create_directory", "Create a directory if it does not exist.", "path! string Path of the directory"),
		tool("files", "move_file", "Move or rename a file or directory.", "source! string Current path", "destination! string New path"),
		tool("files", "search_files", "Search recursively for files whose name matches a pattern.", "path! string Directory to search in", "pattern! string Name pattern"),
		tool("files", "get_file_info", "Get metadata of a file: size, times, permissions.", "path! string Path of the file"),
		tool("files", "delete_file", "Delete a file.", "path! string Path of the file"),

		tool("tracker", "list_issues", "List issues of a repository.", "owner! string Repository owner", "repo! string Repository name", "state open|closed|all State of the issues", "perPage integer Results per page"),
		tool("tracker", "get_issue", "Get the details of one issue.", "owner! string Repository owner", "repo! string Repository name", "issue_number! integer Number of the issue"),
		tool("tracker", "create_issue", "Open a new issue in a repository.", "owner! string Repository owner", "repo! string Repository name", "title! string Title of the issue", "body string Text of the issue", "labels strings Labels"),
		tool("tracker", "add_issue_comment", "Add a comment to an issue.", "owner! string Repository owner", "repo! string Repository name", "issue_number! integer Number of the issue", "body! string Text of the comment"),
		tool("tracker", "search_code", "Search for code across repositories.", "query! string Search query", "language string Programming language"),
		tool("tracker", "list_commits", "List commits of a branch.", "owner! string Repository owner", "repo! string Repository name", "branch string Branch name"),
		tool("tracker", "create_pull_request", "Create a pull request.", "owner! string Repository owner", "repo! string Repository name", "title! string Title", "head! string Branch with the changes", "base! string Branch to merge into"),

		tool("weather", "get_current_weather", "Current weather conditions for a city.", "city! string Name of the city", "units metric|imperial Units"),
		tool("weather", "get_forecast", "Weather forecast for the next days.", "city! string Name of the city", "days integer=3 Number of days"),
		tool("weather", "get_air_quality", "Air quality index of a city.", "city! string Name of the city"),

		tool("agenda", "list_events", "List calendar events in a date range.", "start_date date First day", "end_date date Last day"),
		tool("agenda", "create_event", "Create a calendar event.", "title! string Title of the event", "start! date-time Start", "end date-time End", "attendees strings Email addresses"),
		tool("agenda", "delete_event", "Delete a calendar event by its id.", "event_id! string Id of the event"),
		tool("agenda", "find_free_time", "Find free time slots on a day.", "date! date Day to look at"),

		tool("clan", "search_family", "Tìm gia đình theo tên hoặc địa chỉ. Search families by name.", "keyword! string Name or address to look for", "limit integer=10 Maximum number"),
		tool("clan", "get_family_details", "Lấy chi tiết một gia đình với các thành viên.", "familyId! uuid Id of the family"),
		tool("clan", "add_member", "Add a member to a family.", "familyId! uuid Id of the family", "name! string Full name of the member", "dob date Date of birth"),
		tool("clan", "find_relationship", "Find how two members are related.", "memberA! string First member", "memberB! string Second member"),

		tool("money", "convert_currency", "Convert an amount from one currency to another.", "amount! number Amount", "from! string Source currency code (ISO 4217)", "to! string Target currency code (ISO 4217)"),
		tool("money", "list_currencies", "List all supported currencies."),
		tool("money", "get_historical_rate", "Exchange rate of a currency pair on a past date.", "base! string Base currency", "target! string Target currency", "date! date Day"),

		tool("shop", "search_products", "Search the product catalogue.", "query! string What to look for", "max_price number Highest price", "category string Category"),
		tool("shop", "check_stock", "Check how many units of a product are in stock.", "sku! string Stock keeping unit", "warehouse string Warehouse"),
		tool("shop", "update_stock", "Set the stock quantity of a product.", "sku! string Stock keeping unit", "quantity! integer New quantity"),
		tool("shop", "get_order", "Get an order by its number.", "order_id! string Order number such as ORD-1001"),
		tool("shop", "cancel_order", "Cancel an order that has not been shipped.", "order_id! string Order number", "reason string Why"),
		tool("shop", "low_stock_report", "Products that are running out of stock.", "threshold integer=5 Quantity below which a product is listed"),

		tool("pad", "create_note", "Create a note.", "title! string Title of the note", "content! string Text of the note", "tags strings Tags"),
		tool("pad", "search_notes", "Search notes by keyword.", "query! string Words to look for"),
		tool("pad", "delete_note", "Delete a note.", "note_id! string Id of the note"),
		tool("pad", "list_notes", "List all notes."),

		tool("clinic", "search_doctors", "Find doctors by specialty or name.", "specialty string Medical specialty", "name string Doctor's name"),
		tool("clinic", "book_appointment", "Book an appointment with a doctor for a patient.", "doctor_id! string Id of the doctor", "patient_name! string Full name of the patient", "date! date Day of the visit", "time! string Time such as 09:30"),
		tool("clinic", "cancel_appointment", "Cancel an appointment.", "appointment_id! string Id of the appointment"),
		tool("clinic", "list_available_slots", "List free appointment slots of a doctor on a day.", "doctor_id! string Id of the doctor", "date! date Day"),
		tool("clinic", "get_patient_record", "Get the medical record of a patient.", "patient_id! string Id of the patient"),

		tool("library", "searchBooks", "Search the library catalogue by title, author or subject.", "query! string Search words", "year integer Year of publication"),
		tool("library", "getBook", "Get a book by its ISBN.", "isbn! string ISBN-10 or ISBN-13"),
		tool("library", "reserveBook", "Put a hold on a book for a reader.", "isbn! string ISBN", "cardNumber! string Library card number"),
		tool("library", "renewLoan", "Extend the due date of a loan.", "loanId! string Loan id"),
		tool("library", "listLoans", "List the books that a reader has borrowed.", "cardNumber! string Library card number"),

		tool("mail", "send_email", "Send an e-mail message.", "to! email Recipient", "subject! string Subject line", "body! string Text of the message"),
		tool("mail", "search_messages", "Search the mailbox.", "query! string Words to look for", "folder inbox|sent|spam Folder to look in"),
		tool("mail", "read_message", "Read one message.", "message_id! string Id of the message"),
		tool("mail", "list_unread", "List unread messages in the inbox.", "limit integer=20 How many"),

		tool("web", "fetch_page", "Download a web page and return its text.", "url! uri Address of the page"),
		tool("web", "translate_text", "Translate text into another language.", "text! string Text to translate", "target_language! string Language to translate into"),
		tool("web", "define_word", "Look up the definition of a word.", "word! string The word"),
		tool("web", "get_time", "Get the current time in a time zone or city.", "timezone! string Time zone or city"),
		tool("web", "calculate", "Evaluate an arithmetic expression.", "expression! string Expression such as 2+2"),

		tool("tasks", "add_task", "Add a task to the to-do list.", "text! string What to do", "due date Due day", "priority low|normal|high=\"normal\" Priority"),
		tool("tasks", "complete_task", "Mark a task as done.", "id! integer Task id"),
		tool("tasks", "list_tasks", "List tasks.", "status open|done Status"),
		tool("tasks", "remove_task", "Remove a task.", "id! integer Task id"),
		tool("music", "search_songs", "Search songs by title or artist.", "query! string Search words"),
		tool("music", "play_song", "Play a song.", "song_id! string Song id"),
		tool("music", "create_playlist", "Create a playlist.", "name! string Name"),
		tool("music", "add_to_playlist", "Add a song to a playlist.", "playlist! string Name of the playlist", "song_id! string Song id"),
		tool("bank", "get_balance", "Balance of an account.", "account! string Account number"),
		tool("bank", "transfer_money", "Transfer money between accounts.", "from_account! string Source account", "to_account! string Target account", "amount! number Amount"),
		tool("bank", "list_transactions", "Transactions of an account in a period.", "account! string Account number", "from date First day", "to date Last day"),
		tool("bank", "exchange_rates", "Current exchange rates of a base currency.", "base! string Currency code"),
	}
}
