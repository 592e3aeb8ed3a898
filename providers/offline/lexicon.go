package offline

import (
	"strings"
	"sync"
)

// concepts is the bilingual word list. A line is
//
//	concept[/group]: English words and phrases | Vietnamese words and phrases
//
// and makes the words one key for the scorer. A concept with a group is a verb;
// the groups are read, make, change, end and do. The group = marks qualifiers, which
// never are a subject by themselves. A word may stand in several lines. The list is about everyday words, never about one tool set.
const concepts = `
search/read: search, find, look up, lookup, look for, locate, query, seek, discover | tìm, tìm kiếm, tra cứu, tra, kiếm, dò
list/read: list, show all, enumerate, browse, overview | liệt kê, danh sách, kê ra, tất cả
get/read: get, show, display, view, fetch, retrieve, give, tell, see | lấy, xem, hiển thị, cho xem, cho biết, cho tôi biết, hiện
read/read: read, open, contents | đọc, mở, nội dung
check/read: check, verify, lookup, whether, is there, are there | kiểm tra, xác minh, còn không, có không
count/read: count, how many, number of | đếm, bao nhiêu, số lượng, mấy
compare/read: compare, difference, versus | so sánh
track/read: track, trace, follow, where is | theo dõi, đang ở đâu
create/make: create, add, make, new, insert, register, open a new, log a, file a, start | tạo, thêm, lập, mở mới, đăng ký, tạo mới
write/make: write, save, jot, store | ghi, viết, lưu
book/make: book, reserve, schedule, arrange, set up, make an appointment, make a booking, make a reservation | đặt, đặt lịch, đặt chỗ, đặt hẹn, lên lịch, đặt phòng, giữ chỗ, xếp lịch
schedule/make: schedule, arrange, plan, set up | lên lịch, xếp lịch, sắp xếp
order/make: order, buy, purchase, checkout | đặt mua, mua, đặt hàng
send/make: send, post, deliver, notify | gửi, nhắn, thông báo
upload/make: upload, attach, publish, push | tải lên, đính kèm, đăng
comment/make: comment, reply, respond | bình luận, trả lời, nhận xét
borrow/make: borrow, check out, loan, lend | mượn, cho mượn
return/change: return, give back, bring back | trả, trả lại
renew/change: renew, extend, prolong | gia hạn
update/change: update, edit, change, modify, set, revise, correct, adjust, replace, patch, amend | cập nhật, sửa, thay đổi, chỉnh sửa, đổi, điều chỉnh, chỉnh, sửa lại
move/change: move, relocate, transfer | di chuyển, chuyển, dời
reschedule/change: reschedule, postpone, move | dời lịch, đổi lịch, hoãn, dời
rename/change: rename | đổi tên
assign/change: assign, give to | giao, phân công, gán
complete/change: complete, finish, mark as done, done, mark | hoàn thành, xong, đánh dấu
close/end: close, resolve, shut | đóng
open/change: reopen, open | mở lại
delete/end: delete, remove, erase, drop, discard, clear, get rid of, trash, destroy | xóa, bỏ, gỡ, hủy bỏ, loại bỏ, dọn
cancel/end: cancel, call off, abort, revoke | hủy, hủy bỏ, huỷ
convert/do: convert, conversion, exchange, change, into, how much is, worth | đổi, quy đổi, chuyển đổi, đổi ra, bằng bao nhiêu
translate/do: translate, translation | dịch, phiên dịch
calculate/do: calculate, compute, sum, add, plus, work out, add up | tính, tính toán, cộng
summarize/do: summarize, summary, sum up, digest | tóm tắt
run/do: run, execute, trigger, launch | chạy, thực thi, khởi chạy
stop/end: stop, halt, pause, kill, shut down | dừng, ngừng, tắt
restart/do: restart, reboot | khởi động lại
merge/change: merge, combine | gộp, hợp nhất
download/read: download | tải, tải về, tải xuống
play/do: play, listen | phát, nghe, bật
pay/make: pay, payment | thanh toán, trả tiền
share/make: share | chia sẻ
copy/make: copy, duplicate, clone | sao chép, chép
recommend/read: recommend, suggest, recommendation | gợi ý, đề xuất
unread/=: unread, not read | chưa đọc, chưa xem
history: history, log, changelog, past | lịch sử, nhật ký
weather: weather, forecast, rain, raining, snow, sunny, umbrella, climate, temperature, hot, cold, humid, humidity, wind, windy, storm | thời tiết, dự báo, mưa, nắng, nhiệt độ, nóng, lạnh, gió, bão, độ ẩm, tuyết
forecast: forecast | dự báo
future/=: forecast, tomorrow, next days, coming days, will it, this weekend, next week, outlook, upcoming | dự báo, ngày mai, mấy ngày tới, ngày tới, sắp tới, tuần tới
current/=: current, now, currently, right now, today, at the moment | hiện tại, bây giờ, hiện nay, lúc này, hôm nay, hiện giờ
alert: alert, warning, hazard | cảnh báo
air: air quality, air, aqi, pollution | chất lượng không khí, không khí, ô nhiễm
family: family, household, clan, genealogy | gia đình, dòng họ, gia phả, họ tộc, nhà
member: member, people | thành viên
person: person, individual, people, somebody | người, cá nhân, ai
relative: relative, relationship, related, kin, kinship | họ hàng, quan hệ, bà con, thân nhân
parent: parent, father, mother | cha mẹ, bố mẹ, cha, mẹ, bố, ba mẹ
child: child, children, kid, son, daughter, descendant | con, con cái, con cháu, hậu duệ
descendant: descendant, children, offspring | hậu duệ, con cháu, đời sau
ancestor: ancestor, forefather, lineage | tổ tiên, ông bà
spouse: spouse, wife, husband, married, marriage | vợ, chồng, vợ chồng, kết hôn
birth: birth, born, birthday, dob | sinh, ngày sinh, sinh nhật
details: details, detail, info, information, describe, profile, metadata | chi tiết, thông tin, hồ sơ, cụ thể
appointment: appointment, visit, consultation, booking | lịch khám, lịch hẹn, cuộc hẹn, hẹn, khám, buổi khám, đặt khám, khám bệnh
booking: booking, reservation, book, reserve | đặt chỗ, đặt phòng, đặt bàn, đặt vé, lượt đặt
slot: slot, availability, available, free, opening, vacancy | giờ trống, chỗ trống, lịch trống, còn trống, trống, khung giờ, rảnh, còn chỗ, còn phòng
doctor: doctor, dentist, physician, practitioner, specialist | bác sĩ, nha sĩ, y sĩ
patient: patient | bệnh nhân, người bệnh
clinic: clinic, hospital | phòng khám, bệnh viện
prescription: prescription, medication, medicine, drug | đơn thuốc, thuốc, toa thuốc
symptom: symptom | triệu chứng
calendar: calendar, agenda, schedule | lịch, thời gian biểu
event: event, meeting, appointment, calendar, agenda | sự kiện, cuộc họp, họp, lịch họp, buổi họp
attendee: attendee, invite, invitee, participant, guest | người tham dự, khách mời, mời
reminder: reminder, remind | nhắc nhở, nhắc, lời nhắc
task: task, todo, to do, to-do, chore, remind | việc cần làm, công việc, nhiệm vụ, việc, tác vụ
note: note, memo, jotting | ghi chú, ghi chép, sổ tay
tag: tag, label | nhãn, thẻ
file: file, document | tệp, tập tin, file, tài liệu
directory: directory, folder, dir | thư mục
tree: tree, hierarchy | cây
line: line | dòng
size: size, large, big | kích thước, dung lượng, kích cỡ
issue: issue, bug, ticket, defect | vấn đề, lỗi, phiếu, sự cố
repository: repository, repo | kho mã, kho mã nguồn, repo
pull: pull request, pr, pull, merge request | yêu cầu kéo, yêu cầu gộp, pull request
request: request | yêu cầu
commit: commit | commit, bản ghi thay đổi
branch: branch | nhánh
code: code, source | mã, mã nguồn
release: release, version | bản phát hành, phiên bản
comment: comment, remark | bình luận, nhận xét
user: user, account, member | người dùng, tài khoản
book: book, title, novel, volume | sách, cuốn sách, quyển sách, cuốn, quyển, truyện, tiểu thuyết
author: author, writer, written | tác giả, nhà văn
library: library, catalogue, catalog | thư viện, mục lục
catalog: catalog, catalogue | danh mục, mục lục
loan: loan, borrowed, borrow | mượn, khoản vay, lượt mượn, đang mượn
copy: copy, copies | bản, bản sao
hold: hold, reserve | giữ chỗ, đặt trước
due: due, deadline, overdue | hạn, hạn chót, quá hạn, đến hạn
overdue: overdue, late | quá hạn, trễ hạn
fine: fine, penalty, fee | tiền phạt, phạt
reader: reader, patron, borrower | độc giả, bạn đọc
currency: currency, currencies, money, dollar, euro, yen | tiền, tiền tệ, ngoại tệ, đô la, đô, yên, đồng
rate: rate, rates, exchange rate | tỷ giá, tỉ giá, tỷ lệ, tỉ lệ, lãi suất
price: price, cost, expensive, cheap, how much does, how much is | giá, giá tiền, giá bán, bao nhiêu tiền, chi phí
stock: stock, inventory, in stock, quantity, available, left, on hand | tồn kho, kho, còn hàng, hàng tồn, số lượng, còn lại
inventory: inventory, stock | tồn kho, hàng tồn, kho hàng
warehouse: warehouse, depot | kho, kho hàng, nhà kho
product: product, item, article, merchandise, sku | sản phẩm, hàng, mặt hàng, hàng hóa, món hàng, món
order: order, purchase | đơn hàng, đơn, đơn mua
customer: customer, client, buyer | khách hàng, khách
supplier: supplier, vendor | nhà cung cấp
invoice: invoice, bill, receipt | hóa đơn
payment: payment, transaction, paid | thanh toán, giao dịch
shipment: shipment, parcel, package, delivery, shipping | kiện hàng, bưu kiện, vận chuyển, lô hàng, giao hàng
store: store, shop | cửa hàng, tiệm
low: low, running out, shortage, short | sắp hết, thấp, gần hết
balance: balance | số dư
email: email, e-mail, mail, inbox, mailbox, message | thư, email, thư điện tử, hộp thư
message: message, sms, chat | tin nhắn, tin
contact: contact, phone, telephone, address book | liên hệ, danh bạ, số điện thoại, liên lạc
channel: channel | kênh
hotel: hotel, accommodation, hostel | khách sạn, chỗ ở
room: room | phòng
flight: flight, airplane, plane, fly | chuyến bay, máy bay, bay
train: train, railway | tàu, tàu hỏa, xe lửa
bus: bus, coach | xe buýt, xe khách
ticket: ticket | vé
route: route, direction, directions, itinerary, path, way | đường đi, tuyến đường, lộ trình, chỉ đường
distance: distance, far | khoảng cách, bao xa, cách
trip: trip, travel, journey | chuyến đi, du lịch
place: place, location, nearby, near | địa điểm, nơi, gần
city: city, town | thành phố
country: country, nation | quốc gia, nước
restaurant: restaurant, eatery, diner | nhà hàng, quán ăn
table: table | bàn, bảng
menu: menu | thực đơn
recipe: recipe, dish, cook, cooking, meal | công thức, món ăn, nấu, nấu ăn, món
ingredient: ingredient | nguyên liệu, thành phần
movie: movie, film, cinema | phim, điện ảnh
show: showtime, screening | suất chiếu
music: music, song, track, album | nhạc, bài hát, âm nhạc
artist: artist, singer, band | nghệ sĩ, ca sĩ
playlist: playlist | danh sách phát
news: news, headline, headlines | tin tức, tin, báo, thời sự
article: article, post, blog | bài viết, bài báo, bài
page: page | trang
web: web, internet, online, website | web, mạng, trang web
image: image, picture, photo | ảnh, hình, hình ảnh, bức ảnh
video: video, clip | video, phim
word: word, meaning, definition, define, mean | từ, nghĩa, định nghĩa, từ vựng
synonym: synonym | từ đồng nghĩa, đồng nghĩa
language: language | ngôn ngữ, tiếng
text: text | văn bản
time: time, hour, clock, o'clock, what time | giờ, thời gian, mấy giờ
date: date, day | ngày
timezone: timezone, time zone | múi giờ
holiday: holiday, vacation | ngày lễ, nghỉ lễ, kỳ nghỉ
student: student, pupil | học sinh, sinh viên
teacher: teacher, lecturer, instructor | giáo viên, giảng viên, thầy, cô giáo
course: course, class, lesson, subject | khóa học, lớp, lớp học, môn học, môn
grade: grade, score, mark, result | điểm, điểm số, kết quả
exam: exam, test, quiz | kỳ thi, bài thi, thi, kiểm tra
employee: employee, staff, worker, colleague | nhân viên
department: department, team | phòng ban, đội, nhóm, khoa
salary: salary, payroll, wage | lương, tiền lương
leave: leave, time off, day off, days off | nghỉ phép, ngày phép, nghỉ
project: project | dự án
job: job, vacancy, position | việc làm, tuyển dụng
company: company, business, firm | công ty, doanh nghiệp
report: report, statistics, stats | báo cáo, thống kê
total/=: total, overall | tổng, tổng cộng
status: status, state, progress, condition | trạng thái, tình trạng, tiến độ
name: name, called, named | tên
title: title, titled, heading, headline | tiêu đề, tựa đề, tên
address: address | địa chỉ
phone: phone, telephone, mobile | điện thoại, số điện thoại
vehicle: vehicle, car, automobile | xe, ô tô, xe hơi
house: house, home, apartment, property, flat | nhà, căn hộ, bất động sản
animal: animal, pet, dog, cat, species | động vật, thú cưng, chó, mèo, loài
plant: plant, tree, flower | cây, hoa, cây trồng
device: device, light, lamp, sensor | thiết bị, đèn, cảm biến
database: database, db, sql | cơ sở dữ liệu
record: record, row, entry | bản ghi, hồ sơ, mục
category: category, genre, type, kind | thể loại, danh mục, loại
review: review, rating, feedback | đánh giá, nhận xét
service: service | dịch vụ
server: server, host | máy chủ
container: container | thùng chứa, container
number: number | số
budget: budget, expense, spending | ngân sách, chi tiêu, khoản chi
share: share, stocks, equity, ticker | cổ phiếu, chứng khoán
sport: sport, match, game, football, soccer | thể thao, trận đấu, bóng đá, trận
team: team, club | đội, đội bóng, nhóm
population: population, inhabitants | dân số
capital: capital | thủ đô
exercise: exercise, workout, training | bài tập, tập luyện
health: health | sức khỏe
insurance: insurance | bảo hiểm
open/=: open, opened | đang mở, mở, còn mở
closed/=: closed | đã đóng, đóng
pending/=: pending, waiting | đang chờ, chờ
urgent/=: urgent, critical, high | khẩn cấp, khẩn, gấp, cao
unit: unit, metric | đơn vị
length: length, long, height, tall | chiều dài, dài, cao
weight: weight, heavy | cân nặng, nặng, khối lượng
`

// Words that carry no subject in either language.
const (
	stopEnglish = `a an the of in on at to for from by with and or but is are was were be been am do does did
		have has had i you he she it we they me my mine your our us them his her their its this that these those
		there here please could would can will shall should may might must let want need like if then than so as
		not no yes any some s t m re ve ll d up out off about into over under between what which who whom whose
		when where why how hi hello hey thanks thank just also too very really much many more most every each all
		one ones something anything someone ok okay kindly per via using use whats give tell know help looking`
	stopVietnamese = `là của cho tôi mình bạn em anh chị với và hoặc hay thì mà ở tại trong ngoài trên dưới từ đến tới
		về bởi do một các những cái con chiếc này kia đó ấy nào gì sao nhé nha ạ à ơi hãy xin vui lòng giúp hộ
		dùm muốn được bị có không chưa đã đang sẽ vừa rồi cũng chỉ rất lắm quá nữa thêm vào ra lên xuống
		theo như nếu khi đi để bằng qua thế vậy đều mọi bao nhiêu đâu ai mấy tôi_cần tôi_muốn cho_tôi giúp_tôi
		cho_mình giúp_mình có_thể làm_ơn như_thế_nào thế_nào ra_sao được_không giùm hôm`
	// Folded stop words of a question typed without marks. Those that are also
	// syllables of names (can, da, con, anh) are left out.
	stopBare = `la cua cho toi minh ban voi va hoac thi ma o tai trong tren duoi tu den toi ve boi do mot cac nhung
		cai chiec nay kia do ay nao gi sao nhe nha oi hay xin vui long giup ho muon duoc bi co khong chua dang se
		roi cung chi rat lam nua vao ra len theo nhu neu khi di de the vay moi bao nhieu dau ai may toi_can
		toi_muon cho_toi giup_toi cho_minh giup_minh co_the lam_on nhu_the_nao the_nao ra_sao duoc_khong
		vui_long hom`
	// Words that tell bare Vietnamese from English; none of them is English.
	markersBare = `cua la cho toi nhung cac trong voi mot duoc khong nao gi bao nhieu va hien xem tim ngay nay hom
		giup muon ve ai theo moi xoa sua tao gui liet ke danh sach thoi tiet dat lich doc ghi chu tra cuu gia
		dinh nguoi sach thu muc tep chi kiem o tai vao cuoc hop hay tu den`
	markersEnglish = `the a an of is are what which who how please show find get list with and for my me in on at
		by from this that does do i to create delete add update search`
)

// A concept is a key that stands for many words.
type concept struct {
	key   string
	group string // of a verb; empty for a noun
}

// A lexicon is the parsed word list. It is built once and only read.
type lexicon struct {
	english map[string][]concept // words as they stand, joined by a blank
	stems   map[string][]concept // the same, stemmed
	marked  map[string][]concept // Vietnamese, marks in canonical order
	bare    map[string][]concept // Vietnamese without marks
	groups  map[string]string    // verb key to its group

	stopEnglish, stopMarked, stopBare map[string]bool
	markersBare, markersEnglish       map[string]bool
}

var words = sync.OnceValue(parseLexicon)

func parseLexicon() *lexicon {
	l := &lexicon{
		english: map[string][]concept{}, stems: map[string][]concept{}, marked: map[string][]concept{}, bare: map[string][]concept{},
		groups:      map[string]string{},
		stopEnglish: set(stopEnglish, strings.ToLower), stopMarked: set(stopVietnamese, canonical),
		stopBare: set(stopBare, fold), markersBare: set(markersBare, fold), markersEnglish: set(markersEnglish, fold),
	}
	for line := range strings.Lines(concepts) {
		head, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		key, group, verb := strings.Cut(head, "/")
		c := concept{key: "~" + key, group: group}
		switch {
		case group == "=":
			c.key = "=" + key
		case verb:
			c.key = "!" + key // a verb and a noun of one name differ: book a room, read a book
			l.groups[c.key] = group
		}
		english, vietnamese, _ := strings.Cut(rest, "|")
		for phrase := range strings.SplitSeq(english, ",") {
			add(l.english, strings.Join(strings.Fields(strings.ReplaceAll(phrase, "-", " ")), " "), c)
			add(l.stems, stemPhrase(phrase), c)
		}
		for phrase := range strings.SplitSeq(vietnamese, ",") {
			add(l.marked, canonical(strings.TrimSpace(phrase)), c)
			add(l.bare, fold(strings.TrimSpace(phrase)), c)
		}
	}
	return l
}

func add(table map[string][]concept, phrase string, c concept) {
	if phrase != "" {
		table[phrase] = append(table[phrase], c)
	}
}

func set(list string, form func(string) string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[strings.ReplaceAll(form(w), "_", " ")] = true
	}
	return m
}
