package markdown

import "strings"

// A syntax describes the syntax of a language.
type syntax struct {
	// comments are the marks of a comment to the end of its line.
	comments []string
	// blocks are the comments and strings that may extend over several lines.
	blocks []block
	// quotes are the characters around a string of one line.
	quotes string
	// words are the keywords, with a space around each.
	words string
	// keys means that a word before a colon or an equals sign is a key; dashes that words may
	// contain dashes; folds that keywords may be in upper case; tags that names after < are
	// keywords.
	keys, dashes, folds, tags bool
}

type block struct {
	open, end string
	kind      Kind
}

func (s syntax) is(word string) bool { return strings.Contains(s.words, " "+word+" ") }

// The keywords of families of languages, including the names of built-in types.
const (
	common = " break case class const continue default do else enum false for if import new null return static super switch this throw true try catch finally while void int long short char bool boolean float double byte string "
	wordsC = common + "auto extern goto inline namespace nullptr operator private protected public register signed sizeof struct template typedef typename union unsigned using virtual volatile abstract extends final implements instanceof interface package throws var get set async await override sealed record val fun object when is in data companion lateinit let guard func protocol extension self nil init "
	wordsG = " break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var true false nil any error string bool byte rune int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 float32 float64 make len cap append new panic recover "
	wordsJ = common + "async await debugger delete export extends from function get in instanceof interface let of private protected public readonly set type typeof undefined var yield as implements namespace keyof never unknown any number "
	wordsP = " and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case self "
	wordsR = " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while str String Vec Option Result Some None Ok Err i8 i16 i32 i64 u8 u16 u32 u64 usize isize f32 f64 bool char "
	wordsS = " if then else elif fi for in do done while until case esac function return exit export local set unset shift source echo cd sudo true false "
	wordsQ = " select from where and or not null is in as join left right inner outer full on group by order having limit offset insert into values update set delete create table index view drop alter add column primary key foreign references unique default check union all distinct case when then else end with exists between like asc desc begin commit rollback integer text varchar boolean timestamp date count sum avg min max true false "
	wordsB = " alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require attr_accessor puts "
)

func syntaxOf(language string) syntax {
	comment := block{"/*", "*/", Comment}
	slashes := syntax{comments: []string{"//"}, blocks: []block{comment}, quotes: `"'`}
	hashes := syntax{comments: []string{"#"}, quotes: `"'`}
	s := syntax{}
	switch language {
	case "go", "golang":
		s, s.words = slashes, wordsG
		s.blocks = append(s.blocks, block{"`", "`", String})
	case "js", "javascript", "jsx", "mjs", "ts", "typescript", "tsx":
		s, s.words = slashes, wordsJ
		s.blocks = append(s.blocks, block{"`", "`", String})
	case "c", "h", "cpp", "c++", "cc", "hpp", "java", "cs", "csharp", "c#", "kotlin", "kt", "swift", "scala", "dart", "php", "proto", "zig":
		s, s.words = slashes, wordsC
	case "rust", "rs":
		s, s.words, s.quotes = slashes, wordsR, `"`
	case "py", "python", "python3":
		s, s.words = hashes, wordsP
		s.blocks = []block{{`"""`, `"""`, String}, {"'''", "'''", String}}
	case "rb", "ruby":
		s, s.words = hashes, wordsB
	case "sh", "bash", "shell", "zsh", "console", "dockerfile", "make", "makefile":
		s, s.words = hashes, wordsS
	case "yaml", "yml", "toml", "ini", "env", "properties":
		s, s.words, s.keys, s.dashes = hashes, " true false null yes no on off ", true, true
	case "json", "jsonc", "json5", "jsonl":
		s, s.words, s.keys = slashes, " true false null ", true
	case "css", "scss", "less":
		s, s.keys, s.dashes = syntax{blocks: []block{comment}, quotes: `"'`}, true, true
	case "html", "xml", "svg", "vue":
		s = syntax{blocks: []block{{"<!--", "-->", Comment}}, quotes: `"'`, tags: true, dashes: true}
	case "sql", "sqlite", "postgresql", "mysql":
		s = syntax{comments: []string{"--"}, blocks: []block{comment}, quotes: `"'`, words: wordsQ, folds: true}
	case "lua", "haskell", "hs":
		s = syntax{comments: []string{"--"}, quotes: `"`, words: common + "local function end then elseif repeat until not and or nil module where let in of data type instance deriving "}
	}
	return s
}
