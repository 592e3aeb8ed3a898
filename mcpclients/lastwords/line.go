package lastwords

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A kind says how much a line tells of a failure, the least first.
type kind int

const (
	noise    kind = iota // a frame, a source line, a brace, a version
	plain                // other words
	mild                 // words of failure in a warning or a note
	sentence             // words of failure
	named                // an error by its form: its name or the word before a colon, or its level
	fatal                // one that ended the program
)

// A line is one line, read.
type line struct {
	raw  string
	body string // without time and level
	kind kind
	// indented is set for a line below another, cause for one that is marked as the cause of another,
	// frame for a frame of a stack, link for a sentence between two tracebacks.
	indented, cause, frame, link bool
}

// A reader reads lines one after another.
type reader struct {
	patterns
	// source is how many lines of source may follow, as a location was just named; thrown is set after
	// the mark below the source, and trace in a traceback, up to its last line; caused is set after a mark
	// of a cause that stands alone.
	source                int
	thrown, trace, caused bool
}

// The patterns of lines.
type patterns struct {
	time, level, pid, gutter, cause         *regexp.Regexp
	name, label, begins, off, fatal, symbol *regexp.Regexp
	harmless, option, property              *regexp.Regexp
	location, frame, code, version, pair    *regexp.Regexp
}

func newPatterns() patterns {
	re := regexp.MustCompile
	return patterns{
		time: re(`^[\[(<]?(?:\d{4}[-/]\d\d[-/]\d\d[T ,]+)?\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?[\])>]?[\s|:,-]*`),
		// Capitals, or any letters in brackets: "Error: …" is the program's own text.
		level: re(`^(?:[\w./-]{1,40}[\s|:-]+|\[[^\]]{1,40}\]\s*)??(?:[\[(<|]\s*((?i:trace|debug|info|notice|warn|warning|err|error|severe|critical|fatal))\s*[\])>|]|(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERR|ERROR|SEVERE|CRITICAL|FATAL)(?:[\s:|\]-]|$))[\s:|-]*`),
		pid:   re(`^\[\d+\]\s*`),
		// Groups of exceptions and boxes are drawn with bars.
		gutter: re(`^\s*[|+│║┃]\s?`),
		cause:  re(`^\s*(?:\[(?:cause|errors?)\]|(?i:caused by)|(?i:cause)|--->|╰─▶|├─▶)(?::|\s|\b)\s*`),

		name:   re(`(?:^|[\s(\["'])(?:[\w$]+[.:\\])*[A-Z][\w$]*(?:Error|Exception|Panic|Fault|Failure)(?:Group|Event)?(?:\s*[\[(][^\])]{1,60}[\])])?:|(?:^|[\s(\[])Error \[\w+\]|^(?:\w+\.)*[A-Z]\w*(?:Error|Exception)$`),
		label:  re(`(?i)^(?:[^\s:]{1,40}: ?){0,2}[^:]{0,50}?(?:^|[^\pL\pN])(?:error|fatal|panic|exception|lỗi)(?: [\pL\pN'-]+){0,4}:(?:\s|$)`),
		begins: re(`^(?:[a-z][\w.-]{0,20} )?(?:(?i:error|fatal|lỗi)|ERR!)(?:[\s:!]|$)`),
		off:    re(`(?i):\s*(?:on|off|yes|no|true|false|enabled|disabled|none|null|0)\W*$`),
		fatal:  re(`(?i)^.{0,40}(?:^|[^\pL])(?:fatal|panic|panicked|uncaught|unhandled|exception in thread|unhandled\w+rejection)(?:[^\pL]|$)`),
		symbol: re(`^[×✖✗✘❌⨯⨉🚨🛑💥⛔]`),
		// None of them, a thing that is for them, or a word that happens to contain one.
		harmless: re(`\b(?:0|no|without|zero) (?:\w+ )?(?:errors?|failures?|exceptions?|fails?|failed)\b|(?:(?:uncaught|unhandled) ?)?(?:error|exception|rejection)s?[ ._-]?(?:handlers?|logs?|logger|rates?|reporting|tracking|monitoring)\b|default`),
		option:   re(`^\s*-{1,2}\w|(?i:^usage\b)`),
		property: re(`^\[?['"]?[\w$-]+['"]?\]?: (?:.*[,{\[]|'.*'|-?\d+|true|false|null|undefined)$`),

		location: re(`^(?:(?:file:|node:|webpack:|/|\\|[A-Za-z]:[\\/]|\.{1,2}[\\/]).*|[\w@.$-]+(?:[\\/][\w@.$-]+)*\.\w+):\d+(?::\d+)?$`),
		frame:    re(`^\s+at \S|^at .*[:(]|^\s*File "[^"]*", line \d+|^goroutine \d+|^\s+\S*\.\w+:\d+(?: \+0x\w+)?$|^[\w./*()-]+\((?:0x|\.\.\.|\{)[^)]*\)?\)$|^created by |^\s*\.\.\. \d+ (?:more|lines)|^\s+from \S+:\d+|^\s*\d+: +\w+(?:::|\.)`),
		code:     re(`^\s*>?\s*\d+ *[|│]|^\s*[|│](?: *[\^~-]+)?\s*$`),
		version:  re(`^[\w.@/-]+[ @]v?\d+(?:\.\d+)+\S*$`),
		pair:     re(`(?:^|\s)([\w.@]+)=("(?:[^"\\]|\\.)*"|\S*)`),
	}
}

// maxRead bounds how many of the first lines are read, and of the last ones.
const maxRead = 200

// read reads lines.
func read(lines []string) []line {
	r := reader{patterns: newPatterns()}
	if middle := len(lines) - 2*maxRead; middle > 0 {
		lines = slices.Concat(lines[:maxRead], lines[maxRead+middle:])
	}
	var all []line
	for _, raw := range lines {
		if strings.TrimSpace(raw) != "" {
			all = append(all, r.read(raw))
		}
	}
	return all
}

func (r *reader) read(raw string) line {
	l := line{raw: raw, indented: strings.TrimLeft(raw, " \t") != raw}
	shape := r.gutter.ReplaceAllString(raw, "")
	l.body = strings.TrimLeft(strings.TrimRight(shape, " \t│║┃|╮┐┓╗─━═"), " \t│║┃|╭┌┏╔─━═")
	caused := r.caused
	r.caused = false
	switch {
	case r.inTrace(shape, &l), r.inSource(shape):
		return l
	}
	if at := r.cause.FindStringIndex(l.body); at != nil {
		l.cause, l.body = true, strings.Trim(l.body[at[1]:], "[] {")
		r.caused = l.body == ""
	}
	switch {
	case r.frame.MatchString(shape):
		l.frame = true
	case r.code.MatchString(raw), r.version.MatchString(l.body), !hasWord(l.body):
	case strings.HasSuffix(l.body, "another exception occurred:"), strings.HasSuffix(l.body, "direct cause of the following exception:"):
		l.link = true
	default:
		level := r.strip(&l)
		l.kind = r.judge(&l, level)
		l.cause = l.cause || caused && l.kind > noise
	}
	if l.kind > noise && r.thrown {
		l.kind, r.thrown = fatal, false
	}
	return l
}

// inTrace reports whether a line belongs to a traceback, whose last line names the error. That line
// begins where the traceback began: all others are indented.
func (r *reader) inTrace(shape string, l *line) bool {
	if trimmed := strings.TrimSpace(shape); strings.HasSuffix(trimmed, "Traceback (most recent call last):") ||
		strings.HasPrefix(trimmed, `File "`) && strings.Contains(trimmed, `", line `) {
		r.trace, l.frame = true, true
		return true
	}
	if !r.trace {
		return false
	}
	if l.frame = strings.TrimLeft(shape, " \t") != shape || !hasWord(shape); !l.frame {
		r.trace, l.kind = false, named
	}
	return true
}

// inSource reports whether a line is a location, the source there, or the mark below the source.
func (r *reader) inSource(shape string) bool {
	if trimmed := strings.TrimSpace(shape); endsInDigit(trimmed) && r.location.MatchString(trimmed) {
		r.source = 6
		return true
	} else if r.source > 0 && trimmed != "" && strings.Trim(trimmed, "^~") == "" {
		r.source, r.thrown = 0, true
		return true
	}
	if r.source == 0 {
		return false
	}
	first := r.source == 6
	r.source--
	return first || strings.TrimLeft(shape, " \t") != shape && !r.frame.MatchString(shape)
}

// A level is how grave a program says that a line is.
type level int

const (
	unsaid level = iota
	low
	warned
	failed
	dead
)

// levelOf reads the name or the number of a level.
func levelOf(name string) level {
	switch strings.ToLower(strings.Trim(name, `" `)) {
	case "trace", "debug", "info", "information", "notice", "verbose", "10", "20", "30":
		return low
	case "warn", "warning", "40":
		return warned
	case "err", "error", "severe", "50":
		return failed
	case "critical", "fatal", "emerg", "emergency", "alert", "panic", "60":
		return dead
	}
	return unsaid
}

// strip takes time and level off a line, however they are written, and returns the level.
func (r *reader) strip(l *line) level {
	if strings.HasPrefix(l.body, "{") {
		if said, text, ok := fromJSON(l.body); ok {
			l.body = text
			return said
		}
	}
	if said, text, ok := r.fromPairs(l.body); ok {
		l.body = text
		return said
	}
	rest := r.pid.ReplaceAllString(l.body, "")
	rest = r.time.ReplaceAllString(rest, "")
	said := unsaid
	if m := r.level.FindStringSubmatch(rest); m != nil && len(m[0]) < len(rest) {
		said, rest = levelOf(cmp.Or(m[1], m[2])), rest[len(m[0]):]
		rest = r.time.ReplaceAllString(rest, "")
	}
	if rest != "" {
		l.body = rest
	}
	return said
}

// fromJSON reads a line of a structured log.
func fromJSON(body string) (level, string, bool) {
	var fields map[string]json.RawMessage
	for _, end := range []string{"", `"}`, `"}}`} { // a long one was cut, mostly in the stack
		if json.Unmarshal([]byte(body+end), &fields) == nil {
			break
		}
	}
	said := unsaid
	for _, key := range []string{"level", "severity", "levelname", "lvl", "log.level", "@l"} {
		said = max(said, levelOf(string(fields[key])))
	}
	text := first(fields, "msg", "message", "event", "@mt", "@m")
	cause := first(fields, "err", "error", "exception", "@x", "detail")
	if text == "" || cause == "" || strings.Contains(text, cause) {
		text = cmp.Or(text, cause)
	} else {
		text += ": " + cause
	}
	if text == "" {
		return unsaid, "", false
	}
	if cause != "" && said == unsaid {
		said = failed
	}
	text, _, _ = strings.Cut(text, "\n")
	return said, text, true
}

// first returns the first of the fields that holds a text, or an object with one.
func first(fields map[string]json.RawMessage, keys ...string) string {
	for _, key := range keys {
		var text string
		var object struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(fields[key], &text) == nil && text != "" {
			return text
		}
		if json.Unmarshal(fields[key], &object) == nil && object.Message != "" {
			return object.Message
		}
	}
	return ""
}

// fromPairs reads a line of a log of the form level=error msg="…".
func (r *reader) fromPairs(body string) (level, string, bool) {
	if !strings.Contains(body, "level=") && !strings.Contains(body, "lvl=") {
		return unsaid, "", false
	}
	fields := map[string]json.RawMessage{}
	for _, pair := range r.pair.FindAllStringSubmatch(body, -1) {
		value := pair[2]
		if !strings.HasPrefix(value, `"`) {
			quoted, _ := json.Marshal(value)
			value = string(quoted)
		}
		fields[strings.ToLower(pair[1])] = json.RawMessage(value)
	}
	text := first(fields, "msg", "message")
	if cause := first(fields, "err", "error"); cause != "" && !strings.Contains(text, cause) {
		text = strings.TrimPrefix(text+": "+cause, ": ")
	}
	said := levelOf(first(fields, "level", "lvl"))
	return said, text, said != unsaid && text != ""
}

// judge returns how much a line tells.
func (r *reader) judge(l *line, said level) kind {
	body := l.body
	lower := strings.ToLower(body)
	isOption := r.option.MatchString(body)
	fails, form := r.fails(lower)
	fails = fails && !r.off.MatchString(body)
	switch {
	case said == low || said == warned || isOption || strings.Contains(lower, "warn") || strings.Contains(lower, "deprecat"):
		if fails && !isOption {
			return mild
		}
		return plain
	case l.indented && r.property.MatchString(body):
		if fails && strings.HasPrefix(body, `"`) { // JSON, which may be all that it says
			return sentence
		}
		return noise
	case l.cause:
		return sentence
	case said == dead:
		return fatal
	case form && (fails || said == failed) && r.fatal.MatchString(body):
		return fatal
	case said == failed, r.symbol.MatchString(body):
		return named
	case form && (r.name.MatchString(body) || fails && (r.label.MatchString(body) || r.begins.MatchString(body))):
		return named
	case fails:
		return sentence
	}
	return plain
}

// fails reports whether a line in small letters has words of failure, and whether one of them may give
// it the form of an error.
func (r *reader) fails(lower string) (fails, form bool) {
	for _, word := range []string{
		"error", "exception", "fatal", "panic", "fault", "failure", "err!", "uncaught", "unhandled", "lỗi", "错误", "失败", "无法", "缺少", "未找到", "异常", "エラー", "失敗",
		"econn", "etimedout", "enotfound", "enoent", "eacces", "eaddr",
	} {
		form = form || strings.Contains(lower, word)
	}
	fails = form
	if !fails {
		var words strings.Builder // with one space around each
		for word := range strings.FieldsFuncSeq(lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			words.WriteString(" " + word)
		}
		words.WriteString(" ")
		for _, phrase := range failures() {
			fails = fails || strings.Contains(words.String(), " "+phrase)
		}
	}
	if fails {
		if rest := r.harmless.ReplaceAllString(lower, " "); rest != lower {
			return r.fails(rest)
		}
	}
	return fails, form
}

// failures returns how words and phrases of failure begin. What ends in a space is a whole word.
func failures() []string {
	return []string{
		"fail", "cannot ", "can not ", "can t ", "could not ", "couldn t ", "unable ", "does not exist", "doesn t exist", "no such ", "missing ",
		"not found", "not set", "not exist", "not defined", "not installed", "not allowed", "not permitted", "not supported", "not configured",
		"not provided", "not available", "not recognized", "not authorized", "not running", "not specified", "not implemented", "not a function",
		"requires ", "required ", "must ", "mandatory ", "invalid ", "illegal ", "malformed ", "refused ", "denied ", "rejected ", "forbidden ",
		"unauthorized ", "unauthorised ", "unknown ", "unrecogni", "unbound ", "no module ",
		"unsupported ", "undefined ", "unexpected ", "unresolved ", "timed out ", "timeout ",
		"crash", "abort", "killed ", "out of memory ", "expired ", "incorrect ", "wrong ", "bad ", "incompatible ", "corrupt", "already in use ",
		"too many ", "no space ", "is a directory ", "not a directory ", "read only file system ", "reset by peer ", "broken pipe ", "no route ", "unreachable ", "temporarily unavailable ", "quota exceeded ",
		"please set ", "please provide ", "please specify ", "please install ", "please configure ", "please run ",
		"không ", "thiếu ", "thất bại ", "từ chối ", "chưa ", "sai ", "hỏng ",
		"erreur", "impossible ", "introuvable", "fehler", "fehlgeschlagen ", "nicht gefunden ", "falló ", "no se pudo ", "no se encontró ", "ошибка", "не удалось ",
	}
}

// hasWord reports whether a text has two letters in a row.
func hasWord(s string) bool {
	before := false
	for _, r := range s {
		is := unicode.IsLetter(r)
		if is && before {
			return true
		}
		before = is
	}
	return false
}

// endsInDigit reports whether the last byte of a text is a digit.
func endsInDigit(s string) bool { return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }
