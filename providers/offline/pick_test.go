package offline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers/offline"
	"molar/schemas"
)

// tool returns a tool with fields in the form "name! type description". The ! marks a required
// field; the type may be string, integer, number, boolean, strings, a format ("uuid", "date",
// "date-time", "email", "uri"), an enum ("a
// b
// c"), or a type with a default ("integer=10").
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

// tuningTools returns the tools of the invented servers that the scorer was tuned on.
func tuningTools() []schemas.ToolInfo {
	return []schemas.ToolInfo{
		tool("files", "read_file", "Read the complete contents of a file as text.", "path! string Path of the file", "head integer Return only the first N lines"),
		tool("files", "write_file", "Create a new file or overwrite an existing one.", "path! string Path of the file", "content! string Text to write"),
		tool("files", "list_directory", "List the files and folders of a directory.", "path! string Path of the directory"),
		tool("files", "move_file", "Move or rename a file or directory.", "source! string Current path", "destination! string New path"),
		tool("files", "search_files", "Search recursively for files whose name matches a pattern.", "path! string Directory to search in", "pattern! string Name pattern"),
		tool("files", "delete_file", "Delete a file.", "path! string Path of the file"),
		tool("tracker", "list_issues", "List issues of a repository.", "owner! string Repository owner", "repo! string Repository name", "state open|closed|all State of the issues", "perPage integer Results per page"),
		tool("tracker", "get_issue", "Get the details of one issue.", "owner! string Repository owner", "repo! string Repository name", "issue_number! integer Number of the issue"),
		tool("tracker", "create_issue", "Open a new issue in a repository.", "owner! string Repository owner", "repo! string Repository name", "title! string Title of the issue", "body string Text of the issue", "labels strings Labels"),
		tool("tracker", "search_code", "Search for code across repositories.", "query! string Search query", "language string Programming language"),
		tool("weather", "get_current_weather", "Current weather conditions for a city.", "city! string Name of the city", "units metric|imperial Units"),
		tool("weather", "get_forecast", "Weather forecast for the next days.", "city! string Name of the city", "days integer=3 Number of days"),
		tool("weather", "get_air_quality", "Air quality index of a city.", "city! string Name of the city"),
		tool("clan", "search_family", "Tìm gia đình theo tên hoặc địa chỉ. Search families by name.", "keyword! string Name or address to look for", "limit integer=10 Maximum number"),
		tool("clan", "get_family_details", "Lấy chi tiết một gia đình với các thành viên.", "familyId! uuid Id of the family"),
		tool("clan", "add_member", "Add a member to a family.", "familyId! uuid Id of the family", "name! string Full name of the member", "dob date Date of birth"),
		tool("clan", "find_relationship", "Find how two members are related.", "memberA! string First member", "memberB! string Second member"),
		tool("money", "convert_currency", "Convert an amount from one currency to another.", "amount! number Amount", "from! string Source currency code (ISO 4217)", "to! string Target currency code (ISO 4217)"),
		tool("money", "list_currencies", "List all supported currencies."),
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
	}
}

// question is a question with the tool that it should call and arguments that the call must have.
// If tool is empty, no tool may be called; if it begins with "?", a missing argument must be
// asked for, and args contains its name.
type question struct {
	text string
	tool string
	args map[string]any
}

type args = map[string]any

// tuningQuestions returns the questions that the scorer was tuned on; they say little about other
// questions.
func tuningQuestions() []question {
	return []question{
		{"Read the file /etc/hosts", "files__read_file", args{"path": "/etc/hosts"}},
		{"doc file README.md", "files__read_file", args{"path": "README.md"}},
		{"What files are in the directory /var/log?", "files__list_directory", args{"path": "/var/log"}},
		{"Delete the file old.log", "files__delete_file", args{"path": "old.log"}},
		{"Create an issue", "?tracker__create_issue", args{"owner": nil, "repo": nil, "title": nil}},
		{"Search code for parseSchema", "tracker__search_code", args{"query": "parseSchema"}},
		{"What's the weather in Paris?", "weather__get_current_weather", args{"city": "Paris"}},
		{"What is the weather like in london right now?", "weather__get_current_weather", args{"city": "london"}},
		{"How is the air quality in Delhi?", "weather__get_air_quality", args{"city": "Delhi"}},
		{"How's the weather?", "?weather__get_current_weather", args{"city": nil}},
		{"Search for the family Nguyen", "clan__search_family", args{"keyword": "Nguyen"}},
		{"Tìm gia đình họ Trần ở Huế", "clan__search_family", nil},
		{"tim gia dinh ho Le", "clan__search_family", nil},
		{"Show the details of family 1a955fff-ce01-422f-8bb3-02ab14e8ec47", "clan__get_family_details", args{"familyId": "1a955fff-ce01-422f-8bb3-02ab14e8ec47"}},
		{"Xem chi tiết gia đình 1a955fff-ce01-422f-8bb3-02ab14e8ec47", "clan__get_family_details", args{"familyId": "1a955fff-ce01-422f-8bb3-02ab14e8ec47"}},
		{"chi tiet gia dinh 1a955fff-ce01-422f-8bb3-02ab14e8ec47", "clan__get_family_details", args{"familyId": "1a955fff-ce01-422f-8bb3-02ab14e8ec47"}},
		{"Cho tôi thông tin chi tiết của gia đình", "?clan__get_family_details", args{"familyId": nil}},
		{"Add member \"Nguyen Van B\" to family 1a955fff-ce01-422f-8bb3-02ab14e8ec47", "clan__add_member", args{"name": "Nguyen Van B", "familyId": "1a955fff-ce01-422f-8bb3-02ab14e8ec47"}},
		{"Which currencies are supported?", "money__list_currencies", nil},
		{"Find products: red running shoes", "shop__search_products", args{"query": "red running shoes"}},
		{"How many of SKU AB-1234 are in stock?", "shop__check_stock", args{"sku": "AB-1234"}},
		{"Set the stock of AB-1234 to 25", "shop__update_stock", args{"sku": "AB-1234", "quantity": 25.0}},
		{"Where is my order ORD-1001?", "shop__get_order", args{"order_id": "ORD-1001"}},
		{"Cancel order ORD-1001", "shop__cancel_order", args{"order_id": "ORD-1001"}},
		{"Which products are running low?", "shop__low_stock_report", nil},
		{"Create a note titled \"Shopping\" with content \"milk and eggs\"", "pad__create_note", args{"title": "Shopping", "content": "milk and eggs"}},
		{"Find my notes about the budget", "pad__search_notes", args{"query": "budget"}},
		{"Delete note N-17", "pad__delete_note", args{"note_id": "N-17"}},
		{"show all my notes", "pad__list_notes", nil},
		{"I want to book an appointment", "?clinic__book_appointment", args{"doctor_id": nil, "patient_name": nil, "date": nil, "time": nil}},
		{"Cancel my appointment A-778", "clinic__cancel_appointment", args{"appointment_id": "A-778"}},
		{"Show the record of patient P-100", "clinic__get_patient_record", args{"patient_id": "P-100"}},
		{"Are there any books about black holes?", "library__searchBooks", args{"query": "black holes"}},
		{"Who wrote the book with ISBN 9780140449136?", "library__getBook", args{"isbn": "9780140449136"}},
		{"Renew loan L-901", "library__renewLoan", args{"loanId": "L-901"}},
		{"Which books have I borrowed on card C-55?", "library__listLoans", args{"cardNumber": "C-55"}},
		{"Send an email to bob@example.com", "?mail__send_email", args{"subject": nil, "body": nil}},
		{"Any unread messages?", "mail__list_unread", nil},
		{"Open message M-12", "mail__read_message", args{"message_id": "M-12"}},
		{"Fetch https://example.com/docs", "web__fetch_page", args{"url": "https://example.com/docs"}},
		{"Define serendipity", "web__define_word", args{"word": "serendipity"}},
		{"What time is it in Tokyo?", "web__get_time", args{"timezone": "Tokyo"}},
		{"Calculate 12*7", "web__calculate", args{"expression": "12*7"}},
		{"Add a task: call the plumber", "tasks__add_task", args{"text": "call the plumber"}},
		{"Mark task 12 as done", "tasks__complete_task", args{"id": 12.0}},
		{"Show open tasks", "tasks__list_tasks", args{"status": "open"}},
		{"How tall is Mount Everest?", "", nil},
		{"Sing me a lullaby", "", nil},
		{"Kể tên các hành tinh", "", nil},
		{"What is a good name for a cat?", "", nil},
		{"Hello, how are you?", "", nil},
		{"Why do people dream?", "", nil},
		{"Write me a poem about the sea", "", nil},
		{"Tell me a joke", "", nil},
		{"Bạn là ai?", "", nil},
		{"Xin chào", "", nil},
		{"Who won the world cup in 1998?", "", nil},
		{"Why is the sky blue?", "", nil},
		{"Thủ đô của nước Pháp là gì?", "", nil},
		{"cam on ban nhieu", "", nil},
		{"Explain recursion to a child", "", nil},
		{"How do I treat a toothache?", "", nil},
	}
}

// heldOutTools and heldOutQuestions were never used to tune the scorer, and must not be: they
// give the unbiased accuracy. Half of them need more than a comparison of words: another language
// than the tools', days, names of places.
func heldOutTools() []schemas.ToolInfo {
	return []schemas.ToolInfo{
		tool("stay", "search_hotels", "Search hotels in a city for the given dates.", "city! string City", "check_in date Arrival day", "check_out date Departure day", "guests integer=2 Number of guests", "max_price number Highest price per night"),
		tool("stay", "get_hotel_details", "Details of a hotel: rooms, address, facilities.", "hotel_id! string Id of the hotel, such as HT-20"),
		tool("stay", "book_room", "Book a room in a hotel.", "hotel_id! string Id of the hotel", "guest_name! string Name of the guest", "check_in! date Arrival day", "nights! integer Number of nights"),
		tool("stay", "cancel_booking", "Cancel a room booking.", "booking_id! string Booking id"),
		tool("stay", "list_reviews", "Guest reviews of a hotel.", "hotel_id! string Id of the hotel", "sort newest|best|worst=\"newest\" Order"),
		tool("school", "find_student", "Find students by name.", "name! string Name or part of it", "class string Class"),
		tool("school", "get_grades", "Grades of a student in a term.", "student_id! integer Number of the student", "term spring|autumn Term"),
		tool("school", "record_grade", "Record a grade for a student.", "student_id! integer Number of the student", "subject! string School subject", "grade! number Grade from 0 to 10"),
		tool("school", "list_courses", "List the courses that the school offers.", "level beginner|advanced Level"),
		tool("school", "enroll_student", "Enrol a student in a course.", "student_id! integer Number of the student", "course_code! string Code of the course, such as MATH-101"),
		tool("school", "get_timetable", "Timetable of a class for a week.", "class! string Class such as 10A1"),
		tool("parcels", "track_parcel", "Track a parcel by its tracking number.", "tracking_number! string Tracking number"),
		tool("parcels", "create_shipment", "Create a shipment and print its label.", "recipient! string Name of the recipient", "address! string Delivery address", "weight_kg! number Weight in kilograms"),
		tool("parcels", "quote_price", "Price of a delivery between two cities.", "origin! string City of departure", "destination! string City of arrival", "weight_kg! number Weight in kilograms"),
		tool("parcels", "find_pickup_points", "Pickup points near a place.", "location! string City or address", "radius_km number=5 Radius in kilometres"),
		tool("parcels", "delete_shipment", "Delete a shipment that was not handed over yet.", "shipment_id! string Id of the shipment"),
	}
}

func heldOutQuestions() []question {
	return []question{
		{"Find me a hotel in Lisbon from 2026-05-01 to 2026-05-04", "stay__search_hotels", args{"city": "Lisbon"}},
		{"Tìm khách sạn ở Đà Lạt", "stay__search_hotels", args{"city": "Đà Lạt"}},
		{"tim khach san o nha trang", "stay__search_hotels", args{"city": "nha trang"}},
		{"Which hotels are there in Vienna?", "stay__search_hotels", args{"city": "Vienna"}},
		{"Tell me more about hotel HT-20", "stay__get_hotel_details", args{"hotel_id": "HT-20"}},
		{"Cho tôi thông tin chi tiết về khách sạn HT-77", "stay__get_hotel_details", args{"hotel_id": "HT-77"}},
		{"chi tiet khach san HT-5", "stay__get_hotel_details", args{"hotel_id": "HT-5"}},
		{"Book a room at HT-20 for \"Mai Anh\" from 2026-06-10, 3 nights", "stay__book_room", args{"hotel_id": "HT-20", "guest_name": "Mai Anh", "check_in": "2026-06-10", "nights": 3.0}},
		{"Đặt phòng khách sạn HT-20 cho khách \"Trần Bình\" ngày 10/06/2026, 2 đêm", "stay__book_room", args{"hotel_id": "HT-20", "guest_name": "Trần Bình", "check_in": "2026-06-10"}},
		{"I'd like to book a room", "?stay__book_room", args{"hotel_id": nil, "guest_name": nil}},
		{"Please cancel booking BK-3001", "stay__cancel_booking", args{"booking_id": "BK-3001"}},
		{"Hủy đặt phòng BK-3001 giúp tôi", "stay__cancel_booking", args{"booking_id": "BK-3001"}},
		{"What do guests say about HT-20? Show the reviews.", "stay__list_reviews", args{"hotel_id": "HT-20"}},
		{"Xem đánh giá của khách sạn HT-20", "stay__list_reviews", args{"hotel_id": "HT-20"}},
		{"Find the student Pham Thu Ha", "school__find_student", args{"name": "Pham Thu Ha"}},
		{"Tìm học sinh tên là Lê Minh", "school__find_student", args{"name": "Lê Minh"}},
		{"tim sinh vien Nguyen Van Nam", "school__find_student", args{"name": "Nguyen Van Nam"}},
		{"Show the grades of student 1042", "school__get_grades", args{"student_id": 1042.0}},
		{"Điểm của học sinh 1042 là bao nhiêu?", "school__get_grades", args{"student_id": 1042.0}},
		{"xem diem cua hoc sinh 88", "school__get_grades", args{"student_id": 88.0}},
		{"Record grade 8.5 in physics for student 1042", "school__record_grade", args{"student_id": 1042.0, "grade": 8.5}},
		{"What courses are offered?", "school__list_courses", nil},
		{"Liệt kê các khóa học nâng cao", "school__list_courses", nil},
		{"Enroll student 77 in MATH-101", "school__enroll_student", args{"student_id": 77.0, "course_code": "MATH-101"}},
		{"Đăng ký học sinh 77 vào khóa học MATH-101", "school__enroll_student", args{"student_id": 77.0, "course_code": "MATH-101"}},
		{"Show me the timetable of class 10A1", "school__get_timetable", args{"class": "10A1"}},
		{"Xem điểm học sinh", "?school__get_grades", args{"student_id": nil}},
		{"Where is my parcel VN123456789?", "parcels__track_parcel", args{"tracking_number": "VN123456789"}},
		{"Theo dõi kiện hàng VN123456789", "parcels__track_parcel", args{"tracking_number": "VN123456789"}},
		{"theo doi buu kien VN555", "parcels__track_parcel", args{"tracking_number": "VN555"}},
		{"Track my package", "?parcels__track_parcel", args{"tracking_number": nil}},
		{"How much does it cost to send 2.5 kg from Hanoi to Berlin?", "parcels__quote_price", args{"origin": "Hanoi", "destination": "Berlin", "weight_kg": 2.5}},
		{"Giá gửi 3 kg từ Huế đến Hải Phòng", "parcels__quote_price", args{"origin": "Huế", "destination": "Hải Phòng", "weight_kg": 3.0}},
		{"Are there pickup points near Brno?", "parcels__find_pickup_points", args{"location": "Brno"}},
		{"Delete shipment SH-12", "parcels__delete_shipment", args{"shipment_id": "SH-12"}},
		{"Xóa lô hàng SH-12", "parcels__delete_shipment", args{"shipment_id": "SH-12"}},
		{"Who painted the Mona Lisa?", "", nil},
		{"Hôm nay bạn khỏe không?", "", nil},
		{"Write a haiku about autumn", "", nil},
		{"Tại sao lá cây có màu xanh?", "", nil},
	}
}

// fault returns what is wrong with an outcome, or "".
func fault(q question, o outcome) string {
	want, asks := strings.CutPrefix(q.tool, "?")
	switch {
	case o.err != nil:
		return o.err.Error()
	case q.tool == "" && len(o.calls) > 0:
		return fmt.Sprintf("called %s %s", o.calls[0].Function.Name, o.calls[0].Function.Arguments)
	case q.tool == "":
		return ""
	case asks && len(o.calls) > 0:
		return "called " + o.calls[0].Function.Name + " instead of asking"
	case asks:
		if !strings.Contains(o.text, want) {
			return "asked for another tool: " + o.text
		}
		for name := range q.args {
			if !strings.Contains(o.text, `"`+name+`"`) {
				return "did not ask for " + name + ": " + o.text
			}
		}
		return ""
	case len(o.calls) != 1:
		return fmt.Sprintf("%d calls: %s", len(o.calls), o.text)
	case o.calls[0].Function.Name != want:
		return "called " + o.calls[0].Function.Name
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(o.calls[0].Function.Arguments), &got); err != nil {
		return err.Error()
	}
	for name, value := range q.args {
		if diff := cmp.Diff(value, got[name]); diff != "" {
			return fmt.Sprintf("argument %s is %v, not %v", name, got[name], value)
		}
	}
	return ""
}

// measure returns the number of questions with the right outcome, and logs the others.
func measure(t *testing.T, questions []question, tools []schemas.ToolInfo) int {
	t.Helper()
	right := 0
	for _, q := range questions {
		o := run(t, ask(q.text, tools))
		if f := fault(q, o); f != "" {
			t.Logf("%q wants %q: %s\n\t%s", q.text, q.tool, f, o.note)
			continue
		}
		right++
	}
	t.Logf("%d of %d right (%.1f %%)", right, len(questions), 100*float64(right)/float64(len(questions)))
	return right
}

// The right tool is called, its missing argument is asked for, or no tool is called.
func TestAccuracy(t *testing.T) {
	if questions := tuningQuestions(); measure(t, questions, tuningTools())*100 < 90*len(questions) {
		t.Error("tuning set: want 90 %")
	}
	if right := measure(t, heldOutQuestions(), heldOutTools()); right < 20 {
		t.Errorf("held-out set: %d right, want 20", right)
	}
}

// TestStream_neverCallsBelowThreshold tries random words of both languages and random values on
// the tools.
func TestStream_neverCallsBelowThreshold(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it ranks all tools for 150 texts, one after the other")
	}
	var pool []string
	for _, q := range slices.Concat(tuningQuestions(), heldOutQuestions()) {
		pool = append(pool, strings.Fields(q.text)...)
	}
	random := rand.New(rand.NewPCG(7, 11))
	tools := slices.Concat(tuningTools()[:20], heldOutTools())
	schema := map[string]schemas.ToolInfo{}
	for _, tl := range tools {
		schema[tl.Name] = tl
	}
	for range 150 {
		var parts []string
		for range 1 + random.IntN(9) {
			parts = append(parts, pool[random.IntN(len(pool))])
		}
		text := strings.Join(parts, " ")
		scores := map[string]float64{}
		for _, s := range offline.Rank(tools, text) {
			scores[s.Tool] = s.Score
		}
		for _, c := range run(t, ask(text, tools)).calls {
			if scores[c.Function.Name] < offline.Threshold {
				t.Errorf("%q called %s with score %.2f", text, c.Function.Name, scores[c.Function.Name])
			}
			if err := fits(schema[c.Function.Name].InputSchema, []byte(c.Function.Arguments)); err != nil {
				t.Errorf("%q called %s with %s: %v", text, c.Function.Name, c.Function.Arguments, err)
			}
		}
	}
}

// fits checks arguments against the types and required fields of a schema.
func fits(schema, arguments []byte) error {
	var s struct {
		Properties map[string]struct {
			Type string   `json:"type"`
			Enum []string `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	var got map[string]any
	if err := errors.Join(json.Unmarshal(schema, &s), schemas.Decode(arguments, &got)); err != nil {
		return err
	}
	for _, name := range s.Required {
		if _, ok := got[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for name, v := range got {
		p, ok := s.Properties[name]
		if !ok {
			return fmt.Errorf("%s is not in the schema", name)
		}
		text, isText := v.(string)
		number, isNumber := v.(float64)
		_, isList := v.([]any)
		_, isBool := v.(bool)
		ok = map[string]bool{
			"string": isText, "number": isNumber, "integer": isNumber && number == float64(int64(number)), "array": isList, "boolean": isBool,
		}[p.Type]
		if !ok || len(p.Enum) > 0 && !slices.Contains(p.Enum, text) {
			return fmt.Errorf("%s is %v", name, v)
		}
	}
	return nil
}

// fill returns the arguments of the call of a tool that records widgets; nil if it is not called.
func fill(t *testing.T, text, schema string, fields ...string) (args, outcome) {
	t.Helper()
	info := tool("lab", "record_widget", "Record a widget.", fields...)
	if schema != "" {
		info.InputSchema = json.RawMessage(schema)
	}
	o := run(t, ask(text, []schemas.ToolInfo{info}))
	if o.err != nil {
		t.Fatal(o.err)
	}
	var got args
	for _, c := range o.calls {
		if err := json.Unmarshal([]byte(c.Function.Arguments), &got); err != nil {
			t.Errorf("arguments %q: %v", c.Function.Arguments, err)
		}
	}
	return got, o
}

func TestFill(t *testing.T) {
	for text, tt := range map[string]struct {
		fields string // separated by "; "
		want   args
	}{
		`record widget title "Blue" author "Ann"`:     {"title! string; author! string", args{"title": "Blue", "author": "Ann"}},
		"record widget W-22":                          {"id! string", args{"id": "W-22"}},
		"record widget ./docs/a.md":                   {"path! string", args{"path": "./docs/a.md"}},
		"please record the widget about tall trees":   {"topic! string", args{"topic": "tall trees"}},
		"record widget 1,250,000":                     {"amount! number", args{"amount": 1250000.0}},
		"record widget 2.75":                          {"amount! number", args{"amount": 2.75}},
		"record widget for lan@example.vn":            {"email! string", args{"email": "lan@example.vn"}},
		"record widget https://example.com/a?b=c.":    {"url! string", args{"url": "https://example.com/a?b=c"}},
		"record widget on 2026-04-01":                 {"day! date", args{"day": "2026-04-01"}},
		"record widget with high urgency":             {"level! low|high", args{"level": "high"}},
		"record widget called Blue":                   {"name! string", args{"name": "Blue"}},
		"record widget “Blue sky”":                    {"title! string", args{"title": "Blue sky"}},
		"record widget «Blue sky»":                    {"title! string", args{"title": "Blue sky"}},
		"record widget 'Blue sky'":                    {"title! string", args{"title": "Blue sky"}},
		"record widget 7":                             {"amount! number; limit integer=10; mode! string=\"fast\"", args{"amount": 7.0, "mode": "fast"}},
		"record widget 7 with limit 3":                {"amount! number; limit integer=10", args{"amount": 7.0, "limit": 3.0}},
		"record widget with a height of 7, width: 3.": {"height! number; width! number", args{"height": 7.0, "width": 3.0}},
		"record widget " + idA + " as low":            {"id! uuid; level low|high", args{"id": idA, "level": "low"}},
	} {
		got, o := fill(t, text, "", strings.Split(tt.fields, "; ")...)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s%s\n%s", text, diff, o.text, o.note)
		}
	}
}

func TestFill_schemaForms(t *testing.T) {
	for name, tt := range map[string]struct {
		schema, text string
		want         args
	}{
		"a reference":     {`{"type":"object","required":["key"],"properties":{"key":{"$ref":"#/$defs/key"}},"$defs":{"key":{"type":"string","format":"uuid"}}}`, idA, args{"key": idA}},
		"alternatives":    {`{"type":"object","required":["n"],"properties":{"n":{"anyOf":[{"type":"null"},{"type":"integer"}]}}}`, "12", args{"n": 12.0}},
		"a list of types": {`{"type":"object","required":["n"],"properties":{"n":{"type":["null","integer"]}}}`, "12", args{"n": 12.0}},
		"limits":          {`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":10,"maximum":20}}}`, "5, then 15", args{"n": 15.0}},
		"optional values": {`{"type":"object","properties":{"kind":{"const":"gadget"},"size":{"enum":["big"],"default":"big"}}}`, "", args{}},
		"a constant":      {`{"type":"object","required":["kind"],"properties":{"kind":{"const":"gadget"}}}`, "", args{"kind": "gadget"}},
		"no properties":   {`{"type":"object"}`, "", args{}},
		"no schema":       {` `, "", args{}},
	} {
		got, o := fill(t, "record widget "+tt.text, tt.schema)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s%s\n%s", name, diff, o.text, o.note)
		}
	}
}

// If a question lacks a value, the answer asks for it, by name.
func TestFill_neverInvents(t *testing.T) {
	for _, tt := range []struct{ text, field, kind string }{
		{"", "amount", "number"},
		{"", "day", "date"},
		{"2026-02-31", "day", "date"},
		{"2026-04-01", "at", "date-time"},
		{"1.5", "count", "integer"},
		{"abc", "id", "uuid"},
		{strings.ReplaceAll(idA, "-", ""), "id", "uuid"},
		{"", "email", "email"},
		{"", "level", "low|high"},
		{"", "name", "string"},
		{"of my old one", "id", "string"},
		{"true", "done", "boolean"},
	} {
		got, o := fill(t, "record widget "+tt.text, "", tt.field+"! "+tt.kind)
		if got != nil || !strings.Contains(o.text, fmt.Sprintf("%q", tt.field)) {
			t.Errorf("%q with a %s: %v, text %q", tt.text, tt.kind, got, o.text)
		}
	}
	// It does not guess which of two fields a value belongs to either.
	if got, _ := fill(t, "record widget 7", "", "width! number", "height! number=3"); got != nil {
		t.Errorf("guessed %v", got)
	}
}

func FuzzFill(f *testing.F) {
	for _, tl := range tuningTools()[:12] {
		f.Add("Read \"the\" file /etc/hosts tomorrow at 9h, 3 triệu USD, "+idA, string(tl.InputSchema))
	}
	f.Add("đặt lịch cho A và B", `{"properties":{"a":true,"b":{"$ref":"#/$defs/b"}},"required":["a","b"],"$defs":{"b":{"$ref":"#/$defs/b"}}}`)
	f.Add("x 1", `{"type":"object","properties":{"":{"type":"array"}},"required":[""]}`)
	f.Add("\xff\xfe 1e999 -0 9999999999999999999999", `{"properties":{"n":{"type":"integer"}},"required":["n"]}`)
	f.Fuzz(func(t *testing.T, text, schema string) { fill(t, "record widget "+text, schema) })
}

func TestRank_isStable(t *testing.T) {
	tools := tuningTools()
	first := offline.Rank(tools, "Show the details of family "+idA)
	if len(first) != len(tools) || first[0].Tool != "clan__get_family_details" || first[0].Score < offline.Threshold {
		t.Fatalf("got %+v", first[:2])
	}
	for range 5 {
		if diff := cmp.Diff(first, offline.Rank(tools, "Show the details of family "+idA)); diff != "" {
			t.Fatal(diff)
		}
	}
	var same []schemas.ToolInfo
	for _, name := range []string{"c", "a", "b"} {
		info := tools[0]
		info.Name = name
		same = append(same, info)
	}
	if s := offline.Rank(same, "Read a file"); s[0].Tool+s[1].Tool+s[2].Tool != "cab" {
		t.Errorf("equal scores change the order: %+v", s)
	}
	if got := offline.Rank(nil, "anything"); len(got) != 0 {
		t.Errorf("got %v for no tools", got)
	}
}

func BenchmarkRank(b *testing.B) {
	tools := slices.Concat(tuningTools(), heldOutTools(), tuningTools())
	for b.Loop() {
		offline.Rank(tools, "Show the forecast of the next 5 days for Paris")
	}
}
