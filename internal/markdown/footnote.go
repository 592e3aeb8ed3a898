package markdown

import (
	"regexp"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A FootnoteMark is a reference to a footnote. While the text is still arriving, the footnote may
// be missing, and a complete block may hold one of the two alone; goldmark's own extension needs both in one text.
type FootnoteMark struct {
	ast.BaseInline
	Label string
}

// kindFootnoteMark is the kind of [FootnoteMark].
var kindFootnoteMark = ast.NewNodeKind("FootnoteMark")

// Kind implements [ast.Node].
func (*FootnoteMark) Kind() ast.NodeKind { return kindFootnoteMark }

// Dump implements [ast.Node].
func (f *FootnoteMark) Dump(source []byte, level int) {
	ast.DumpHelper(f, source, level, map[string]string{"Label": f.Label}, nil)
}

// A Footnote is a footnote, at its place in the text.
type Footnote struct {
	ast.BaseBlock
	Label string
}

// kindFootnote is the kind of [Footnote].
var kindFootnote = ast.NewNodeKind("Footnote")

// Kind implements [ast.Node].
func (*Footnote) Kind() ast.NodeKind { return kindFootnote }

// Dump implements [ast.Node].
func (f *Footnote) Dump(source []byte, level int) {
	ast.DumpHelper(f, source, level, map[string]string{"Label": f.Label}, nil)
}

// footnoteMark matches a label in its brackets. Models use single words as labels.
var footnoteMark = regexp.MustCompile(`^\[\^([\p{L}\p{N}_-]{1,32})\]`)

type footnoteInline struct{}

func (footnoteInline) Trigger() []byte { return []byte{'['} }

func (footnoteInline) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	found := footnoteMark.FindSubmatch(line)
	if found == nil {
		return nil
	}
	block.Advance(len(found[0]))
	return &FootnoteMark{Label: string(found[1])}
}

type footnoteBlock struct{}

func (footnoteBlock) Trigger() []byte { return []byte{'['} }

func (footnoteBlock) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	found := footnoteMark.FindSubmatch(line[at:])
	if found == nil {
		return nil, parser.NoChildren
	}
	after := at + len(found[0])
	if after >= len(line) || line[after] != ':' {
		return nil, parser.NoChildren
	}
	reader.Advance(after + 1)
	return &Footnote{Label: string(found[1])}, parser.HasChildren
}

func (footnoteBlock) Continue(_ ast.Node, reader text.Reader, _ parser.Context) parser.State {
	line, _ := reader.PeekLine()
	if util.IsBlank(line) {
		return parser.Continue | parser.HasChildren
	}
	at, padding := util.IndentPosition(line, reader.LineOffset(), 4)
	if at < 0 {
		return parser.Close
	}
	reader.AdvanceAndSetPadding(at, padding)
	return parser.Continue | parser.HasChildren
}

func (footnoteBlock) Close(ast.Node, text.Reader, parser.Context) {}

func (footnoteBlock) CanInterruptParagraph() bool { return true }

func (footnoteBlock) CanAcceptIndentedLine() bool { return false }
