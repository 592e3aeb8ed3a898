package offline_test

// A question with the tool that it should call and arguments that the call must
// have. An empty tool means that nothing may be called; "?" before the tool that a
// missing argument must be asked for: args then holds its name.
type question struct {
	text string
	tool string
	args map[string]any
}

type args = map[string]any

// tuningQuestions were used to tune the scorer; they prove little about others.
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

		{"Delete event EV-220", "agenda__delete_event", args{"event_id": "EV-220"}},

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
		{"Find songs by Adele", "music__search_songs", args{"query": "Adele"}},
		{"Play song S-99", "music__play_song", args{"song_id": "S-99"}},
		{"Create a playlist called Summer", "music__create_playlist", args{"name": "Summer"}},
		{"Put song S-99 on the playlist Summer", "music__add_to_playlist", args{"playlist": "Summer", "song_id": "S-99"}},
		{"What's my balance on account 100200300?", "bank__get_balance", args{"account": "100200300"}},
		{"What are the exchange rates for EUR?", "bank__exchange_rates", args{"base": "EUR"}},
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
