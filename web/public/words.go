package public

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/turns"
	"molar/web/wire"
)

// A words is a text in the languages of the frame.
type words struct{ vi, en string }

func (w words) in(lang string) string {
	if lang == "vi" {
		return w.vi
	}
	return w.en
}

// inLanguage returns a text of the operator in a language, else in another one.
func inLanguage(texts map[string]string, lang string) string {
	text := cmp.Or(texts[lang], texts["en"], texts["vi"])
	if all := slices.Sorted(maps.Keys(texts)); text == "" && len(all) > 0 {
		text = texts[all[0]]
	}
	return text
}

// languageOf returns the language in which a request is answered: vi or en. named is the one that it
// names itself, else the address does, else the browser's settings.
func languageOf(r *http.Request, named string) string {
	wants := []string{named, r.URL.Query().Get("lang")}
	for tag := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		wants = append(wants, strings.TrimSpace(tag))
	}
	for _, want := range wants {
		want = strings.ToLower(want)
		for _, lang := range []string{"vi", "en"} {
			if want == lang || strings.HasPrefix(want, lang+"-") || strings.HasPrefix(want, lang+";") {
				return lang
			}
		}
	}
	return "en"
}

// A failure is an error for a visitor. Its message is that of its code.
type failure struct {
	Status int    `json:"-"`
	Code   string `json:"code"`
	// Message is a kind sentence in the visitor's language.
	Message string `json:"message"`
	Type    string `json:"type"`
	// Param is always null, as clients of OpenAI's error objects expect the field.
	Param *string `json:"param"`
	// Limit is the one that is reached: visitor, address or all; Until is when a question may be asked again.
	Limit string     `json:"limit,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Notice is what to do in the emergency that a refused question describes, HTML its HTML.
	Notice string `json:"notice,omitempty"`
	HTML   string `json:"html,omitempty"`
}

// messages returns what visitors are told, by code.
func messages() map[string]words {
	return map[string]words{
		"too_many_questions": {
			"Bạn đã hỏi khá nhiều trong thời gian ngắn. Hãy hỏi lại sau ít phút.",
			"You have asked many questions in a short time. Please ask again a little later.",
		},
		"too_many_requests": {"Có quá nhiều yêu cầu từ nơi bạn. Hãy thử lại sau ít phút.", "Too many requests come from where you are. Please try again a little later."},
		"budget_exceeded": {
			"Trợ lý tạm nghỉ vì đã trả lời đủ nhiều câu hỏi. Hãy hỏi lại sau.",
			"The assistant is taking a rest, because it has answered as many questions as it may. Please ask again later.",
		},
		"too_long":         {"Câu hỏi dài quá " + strconv.Itoa(MaxText) + " ký tự. Hãy rút ngắn lại.", "The question has more than " + strconv.Itoa(MaxText) + " characters. Please shorten it."},
		"consent_required": {"Hãy đọc và đồng ý với thông báo trước khi hỏi.", "Please read the notice and agree to it before you ask."},
		"no_visitor":       {"Phiên trò chuyện đã hết. Hãy mở lại khung trò chuyện.", "This chat has ended. Please open it again."},
		"busy":             {"Trợ lý đang trả lời câu trước. Hãy chờ hoặc dừng câu đó.", "The assistant is still answering the question before. Please wait, or stop it."},
		"stopped":          {"Câu trả lời đã dừng.", "The answer was stopped."},
		"unavailable":      {"Trợ lý chưa trả lời được lúc này. Hãy thử lại sau giây lát.", "The assistant can't answer at the moment. Please try again shortly."},
		"not_found":        {"Không có nội dung này.", "There is nothing here."},
		"invalid":          {"Không đọc được yêu cầu này.", "This request can't be read."},
		"empty":            {"Hãy viết câu hỏi của bạn.", "Please write your question."},
		"events_lost":      {"Không còn phần trước của câu trả lời. Hãy mở lại khung trò chuyện.", "The beginning of the answer is gone. Please open the chat again."},
		"desk_consent":     {"Hãy đồng ý gửi thông tin này cho nhân viên.", "Please agree that this is passed on to the staff."},
		"contact_invalid":  {"Thông tin liên hệ chưa hợp lệ. Hãy kiểm tra lại.", "The contact details are not valid. Please check them."},
		"contact_required": {"Ngoài giờ làm việc, hãy để lại số điện thoại hoặc email để được liên hệ.", "Nobody is at the desk now: please leave a phone number or an email, so that they can reach you."},
		"desk_unavailable": {"Chưa gửi được yêu cầu. Chưa có ai nhận được.", "The request could not be sent. Nobody has received it."},
	}
}

// warnings returns what visitors are told of an answer, by the code of the warning. Others are for operators.
func warnings() map[string]words {
	return map[string]words{
		"no_sources": {"Không tra cứu được tài liệu cho câu này, nên hãy kiểm tra lại câu trả lời.", "Nothing could be looked up for this answer, so please check it."},
		"no_answer":  {"Câu trả lời đã bị giữ lại hoặc bị cắt.", "The answer was withheld or cut."},
		"not_kept":   {"Không lưu được câu trả lời này.", "This answer could not be stored."},
	}
}

// denied is what visitors are told of an action that nobody may approve.
func denied() words {
	return words{"Trợ lý không được phép tự làm một việc trong yêu cầu này; hãy liên hệ nhân viên.", "The assistant may not do a part of this by itself; please contact the staff."}
}

// fail answers with a failure. Nothing may have been written before.
func (s *Surface) fail(c *gin.Context, f *failure) { s.failIn(c, f, languageOf(c.Request, "")) }

func (s *Surface) failIn(c *gin.Context, f *failure, lang string) {
	if f.Until != nil {
		seconds := math.Ceil(f.Until.Sub(s.Now()).Seconds())
		c.Header("Retry-After", strconv.Itoa(int(max(1, seconds))))
	}
	c.Abort()
	wire.WriteBody(c.Writer, f.Status, f.body(lang))
}

// body returns the failure as an OpenAI error object.
func (f *failure) body(lang string) []byte {
	b, err := json.Marshal(map[string]*failure{"error": f.told(lang)})
	if err != nil {
		panic(err) // strings cannot fail to marshal
	}
	return b
}

// told returns the failure with its message.
func (f *failure) told(lang string) *failure {
	full := *f
	full.Message, full.Type = messages()[f.Code].in(lang), wire.TypeInvalid
	switch {
	case f.Status == http.StatusTooManyRequests:
		full.Type = "rate_limit_error"
	case f.Status >= http.StatusInternalServerError:
		full.Type = wire.TypeServer
	}
	return &full
}

// failureOf returns what a visitor is told of an error; its text is for the log.
func failureOf(err error, now time.Time) *failure {
	e := wire.Failure(err)
	f := &failure{Status: http.StatusServiceUnavailable, Code: "unavailable"}
	switch {
	case errors.Is(err, turns.ErrStopped), e.Code == "stopped":
		f = &failure{Status: http.StatusConflict, Code: "stopped"}
	case e.Code == "conversation_busy":
		f = &failure{Status: http.StatusConflict, Code: "busy"}
	case e.Code == "budget_exceeded":
		f = &failure{Status: http.StatusTooManyRequests, Code: "budget_exceeded"}
	case e.Code == turns.ErrEventsLost.Code:
		f = &failure{Status: http.StatusGone, Code: e.Code}
	}
	if e.RetryAfter > 0 && f.Status == http.StatusTooManyRequests {
		until := now.Add(e.RetryAfter).UTC()
		f.Until = &until
	}
	return f
}

// read reads the body of a request, which must be strict JSON of known fields, and reports whether it
// could; else it has answered.
func (s *Surface) read(c *gin.Context, v any) bool {
	body, err := wire.ReadAll(c.Request)
	if err == nil {
		err = schemas.CheckJSON(body)
	}
	if err == nil {
		decode := json.NewDecoder(bytes.NewReader(body))
		decode.DisallowUnknownFields()
		err = decode.Decode(v)
	}
	if err == nil {
		return true
	}
	f := &failure{Status: http.StatusBadRequest, Code: "invalid"}
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Status == http.StatusRequestEntityTooLarge {
		f = &failure{Status: e.Status, Code: "too_long"}
	}
	s.fail(c, f)
	return false
}
