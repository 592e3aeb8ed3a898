package wire

import (
	"slices"
	"strings"
	"sync"

	"molar/schemas"
)

// maxPrinted bounds the calls of one printed answer.
const maxPrinted = 32

// A frame is a form in which models print calls if their server does not take them out of the
// text. The forms are those of the models' prompt templates, as the parsers of llama.cpp
// (common/chat.cpp), vLLM (vllm/tool_parsers) and SGLang list them. docs/reference/printed-calls.md
// shows each.
type frame struct {
	open string
	// closers end the frame. A loose frame may end with the answer instead.
	closers []string
	loose   bool
	// items read what may stand in the frame, each one or more calls.
	items []item
	// single is set if open begins the only item, which holds the end of the frame itself.
	single bool
}

// An item reads calls from the beginning of the text, see [cursor].
type item func(c *cursor)

// tagged returns the frames that no other text contains by chance. They may follow words. The tables
// are built once, since each request reads them; nobody changes them.
var tagged = sync.OnceValue(func() []frame {
	json, lists := []item{jsonCalls}, []item{jsonCalls, pythonCalls}
	function := tags{"<function=", "</function>", "<parameter=", "</parameter>"}.read
	invoke := tags{"<invoke name=", "</invoke>", "<parameter name=", "</parameter>"}.read
	dsml := tags{"<｜DSML｜invoke name=", "</｜DSML｜invoke>", "<｜DSML｜parameter name=", "</｜DSML｜parameter>"}.read
	step := tags{"<steptml:invoke name=", "</steptml:invoke>", "<steptml:parameter name=", "</steptml:parameter>"}.read
	kimi := around{"<|tool_call_begin|>", "", named{between: "<|tool_call_argument_begin|>"}.read, "<|tool_call_end|>"}.read
	deepseek := around{"<｜tool▁call▁begin｜>", "function<｜tool▁sep｜>", named{between: "<｜tool▁sep｜>", fenced: true}.read, "<｜tool▁call▁end｜>"}.read
	steps := around{"<｜tool_call_begin｜>", "function<｜tool_sep｜>", step, "<｜tool_call_end｜>"}.read
	mistral := named{before: "[CALL_ID]", between: "[ARGS]", bare: true}.read
	return []frame{
		// Hermes, Qwen, Granite 4, ERNIE; Qwen3-Coder, Step 3.5; GLM 4.5 and later.
		{open: "<tool_call>", closers: []string{"</tool_call>"}, items: []item{jsonCalls, function, pairs{"<", "</tool_call>"}.read, invoke}},
		{open: "<function=", closers: []string{"</function>"}, items: []item{function}, single: true}, // Llama 3, Qwen3-Coder
		{open: "<tool_calls>", closers: []string{"</tool_calls>"}, items: json},                       // Hunyuan, Jamba, MiniMax M1
		{open: "<tools>", closers: []string{"</tools>"}, items: json},                                 // Qwen2.5-Coder
		{open: "<function_call>", closers: []string{"</function_call>"}, loose: true, items: json},    // Granite 20B
		{open: "<functioncall>", closers: []string{"</functioncall>"}, loose: true, items: json},      // Glaive
		{open: "<TOOLCALL>", closers: []string{"</TOOLCALL>"}, items: json},                           // Nemotron
		{open: "<seed:tool_call>", closers: []string{"</seed:tool_call>"}, items: []item{function}},   // Seed-OSS
		{open: "<longcat_tool_call>", closers: []string{"</longcat_tool_call>"}, items: []item{jsonCalls, pairs{"<longcat_", "</longcat_tool_call>"}.read}},
		{open: "<minimax:tool_call>", closers: []string{"</minimax:tool_call>"}, items: []item{invoke}},               // MiniMax M2
		{open: "<function_calls>", closers: []string{"</function_calls>"}, items: []item{invoke, pythonCall}},         // Claude's form; OLMo 3
		{open: "<invoke name=", closers: []string{"</invoke>"}, items: []item{invoke}, single: true},                  // the same
		{open: "<｜DSML｜function_calls>", closers: []string{"</｜DSML｜function_calls>"}, items: []item{dsml}},           // DeepSeek V3.2
		{open: "<｜DSML｜tool_calls>", closers: []string{"</｜DSML｜tool_calls>"}, items: []item{dsml}},                   // DeepSeek V4
		{open: "<｜DSML｜invoke name=", closers: []string{"</｜DSML｜invoke>"}, items: []item{dsml}, single: true},        // the same
		{open: "<｜tool▁calls▁begin｜>", closers: []string{"<｜tool▁calls▁end｜>"}, loose: true, items: []item{deepseek}}, // DeepSeek V3, R1, V3.1
		{open: "<｜tool▁call▁begin｜>", closers: []string{"<｜tool▁call▁end｜>"}, items: []item{deepseek}, single: true},
		{open: "<｜tool_calls_begin｜>", closers: []string{"<｜tool_calls_end｜>"}, items: []item{steps}},                             // Step 3
		{open: "<|tool_calls_section_begin|>", closers: []string{"<|tool_calls_section_end|>"}, loose: true, items: []item{kimi}}, // Kimi K2
		{open: "<|tool_call_begin|>", closers: []string{"<|tool_call_end|>"}, items: []item{kimi}, single: true},
		{open: "[TOOL_CALLS]", closers: []string{"[/TOOL_CALLS]", "</s>"}, loose: true, items: []item{jsonCalls, mistral}}, // Mistral
		{open: "<|python_tag|>", closers: []string{"<|eom_id|>", "<|eot_id|>"}, loose: true, items: lists},                 // Llama 3
		{open: "<|python_start|>", closers: []string{"<|python_end|>"}, items: lists},                                      // Llama 4
		{open: "<|tool_call_start|>", closers: []string{"<|tool_call_end|>"}, items: lists},                                // LFM2
		{open: "<|tool_call|>", closers: []string{"<|/tool_call|>", "<|end_of_text|>"}, loose: true, items: json},          // Granite 3, Phi 4
		{open: "<|tool_call>", closers: []string{"<tool_call|>"}, items: []item{looseCall}},                                // Gemma 4
		{open: "<start_function_call>", closers: []string{"<end_function_call>"}, items: []item{looseCall}},                // FunctionGemma
		{open: "<|START_ACTION|>", closers: []string{"<|END_ACTION|>"}, items: json},                                       // Command R7B, A
		{open: "<|action_start|><|plugin|>", closers: []string{"<|action_end|>"}, items: json},                             // InternLM
		{open: "<|tools_prefix|>", closers: []string{"<|tools_suffix|>"}, items: []item{keyedCalls}},                       // Apertus
	}
})

// whole returns the frames that other text contains too: they count only if the answer is nothing
// else.
var whole = sync.OnceValue(func() []frame {
	json := []item{jsonCalls}
	fence := []string{"```"}
	return []frame{
		{open: "```json\n", closers: fence, items: json},
		{open: "```tool_call\n", closers: fence, items: json},
		{open: "```tool_calls\n", closers: fence, items: json},
		{open: "```tool_code\n", closers: fence, items: []item{pythonCalls, pythonCall}}, // Gemma 3
		{open: "```\n", closers: fence, items: json},
		{open: "functools", loose: true, items: json}, // Phi 4 mini
	}
})

// read reads the whole frame, which begins the text.
func (f frame) read(c *cursor) {
	if f.single {
		c.choose(f.items...)
		return
	}
	c.must(f.open)
	for c.state == reading && len(c.calls) <= maxPrinted {
		c.trim(blanks + ";")
		if len(c.calls) > 0 && f.ended(c) {
			return
		}
		c.choose(f.items...)
	}
	c.fail(wrong)
}

// ended reports whether a frame with calls ends here, and takes its end.
func (f frame) ended(c *cursor) bool {
	if slices.ContainsFunc(f.closers, c.next) {
		return true
	}
	if !f.loose || c.state != reading {
		return false
	}
	if c.text == "" {
		return c.last
	}
	more := *c
	more.choose(f.items...)
	return more.state == wrong || c.last && more.state == short && !more.sure // words follow
}

// ReadPrinted parses a whole answer as printed calls; it returns nil if any of it is something
// else. set gives the types of arguments that are written as text; without it they are strings,
// unless they are JSON of another kind.
func ReadPrinted(text string, set ToolSet) []schemas.FunctionCall {
	c := &cursor{text: strings.ReplaceAll(text, "\r\n", "\n"), set: set, last: true}
	all := slices.Concat(tagged(), whole())
	for c.trim(blanks); c.text != ""; c.trim(blanks) {
		read := func(c *cursor) { c.choose(jsonCalls, pythonCalls) }
		for _, f := range all {
			if strings.HasPrefix(c.text, f.open) {
				read = f.read
				break
			}
		}
		if read(c); c.state != reading || len(c.calls) > maxPrinted {
			return nil
		}
	}
	return c.calls
}
