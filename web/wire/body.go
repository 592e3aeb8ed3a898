package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"

	"molar/internal/httpguard"
	"molar/schemas"
)

// ReadBody reads the body of r, which must be strict JSON, into v.
func ReadBody(r *http.Request, v any) error {
	body, err := ReadAll(r)
	if err != nil {
		return err
	}
	return DecodeBody(body, v)
}

// busyTime is the Retry-After of a request that is refused because too many large bodies are being
// read.
const busyTime = 5 * time.Second

// BodySetting is the setting that limits a body.
const BodySetting = "limits.body"

// TooLarge is the error for a request of more than limit bytes without its files.
func TooLarge(limit int64) *Error {
	return tooLarge(fmt.Sprintf("the request is larger than %d bytes without its files (%s)", limit, BodySetting))
}

func tooLarge(message string) *Error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Kind: TypeInvalid, Code: "request_too_large", Message: message}
}

// checkCharset refuses a body that says that it is not UTF-8, which would be misread.
func checkCharset(r *http.Request) error {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err == nil && charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return &Error{
			Status: http.StatusUnsupportedMediaType, Kind: TypeInvalid, Code: "unsupported_charset",
			Message: fmt.Sprintf("the body must be UTF-8, not %s", Clip(charset, 40)),
		}
	}
	return nil
}

// ReadAll reads the body of r, up to its limit.
func ReadAll(r *http.Request) ([]byte, error) {
	if err := checkCharset(r); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(httpguard.TooLarge(large.Limit, BodySetting))
	}
	if errors.Is(err, httpguard.ErrBusy) {
		return nil, &Error{
			Status: http.StatusServiceUnavailable, Kind: TypeServer, Code: "overloaded", RetryAfter: busyTime,
			Message: "too many large requests are in flight; send this one again in a moment",
		}
	}
	if err != nil {
		return nil, Invalid("", "the body broke off before its end")
	}
	return body, nil
}

// DecodeBody decodes a whole body, which must be strict JSON, into v.
func DecodeBody(body []byte, v any) error {
	if err := schemas.CheckJSON(body); err != nil {
		return Invalid("", "the body is %v", err)
	}
	return Decode(body, v, "")
}

// Decode decodes a value of a body that was already checked into v. at is the path of the value,
// for errors.
func Decode(value []byte, v any, at string) error {
	err := json.Unmarshal(value, v)
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return Invalid(at, "the body cannot be read: %v", err)
	}
	param := strings.Trim(at+"."+wrong.Field, ".")
	if param == "" {
		return Invalid("", "the body must be a JSON object")
	}
	number, ok := strings.CutPrefix(wrong.Value, "number ")
	if kind := wrong.Type.Kind(); ok && (kind == reflect.Float64 || kind == reflect.Float32) {
		return Invalid(param, "%s is out of range: %s", param, Clip(number, 40))
	}
	if ok {
		return Invalid(param, "%s must be written as an integer of at most 64 bits, not %s", param, Clip(number, 40))
	}
	return Invalid(param, "%s must not be a JSON %s", param, wrong.Value)
}
