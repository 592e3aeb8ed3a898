package ollamatest

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// endToken ends every answer of the made models.
const endToken = "<|end|>"

// Kinds of token.
const (
	tokenNormal  = int32(1)
	tokenControl = int32(3)
)

// A vocab is the tokens of a model: single bytes and control tokens.
type vocab struct {
	text []string
	kind []int32
}

func newVocab(control ...string) *vocab {
	v := &vocab{text: slices.Clone(control)}
	for range control {
		v.kind = append(v.kind, tokenControl)
	}
	for _, r := range byteRunes() {
		v.text = append(v.text, string(r))
		v.kind = append(v.kind, tokenNormal)
	}
	return v
}

// byteRunes is GPT-2's mapping of bytes to printable runes.
func byteRunes() []rune {
	runes := make([]rune, 256)
	next := rune(256)
	for b := range runes {
		r := rune(b)
		if r < '!' || r > '~' && r < 0xA1 || r == 0xAD {
			r = next
			next++
		}
		runes[b] = r
	}
	return runes
}

// A shape is the size of a model of the llama architecture with one layer, whose
// feed-forward part is zero.
type shape struct {
	name              string
	embd, heads, head int
	context           uint32
	base              float32 // of the rotation of positions
}

// feed is the width of the feed-forward part: the least that the server takes.
const feed = 32

// weights are the numbers that are not zero or one.
type weights struct{ embd, out, q, k, v, o []float32 }

func (s shape) model(v *vocab, w weights) model {
	return model{meta: s.metadata(v), tensors: s.tensors(len(v.text), w)}
}

func (s shape) metadata(v *vocab) []entry {
	runes := byteRunes()
	end := uint32(slices.Index(v.text, endToken))
	return []entry{
		{"general.architecture", "llama"},
		{"general.name", s.name},
		{"general.file_type", uint32(0)},
		{"llama.context_length", s.context},
		{"llama.embedding_length", uint32(s.embd)},
		{"llama.block_count", uint32(1)},
		{"llama.feed_forward_length", uint32(feed)},
		{"llama.attention.head_count", uint32(s.heads)},
		{"llama.attention.head_count_kv", uint32(s.heads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-6)},
		{"llama.attention.key_length", uint32(s.head)},
		{"llama.attention.value_length", uint32(s.head)},
		{"llama.rope.dimension_count", uint32(s.head)},
		{"llama.rope.freq_base", s.base},
		{"llama.vocab_size", uint32(len(v.text))},
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "default"},
		{"tokenizer.ggml.tokens", v.text},
		{"tokenizer.ggml.token_type", v.kind},
		// One merge that gives no known token: the list must not be empty.
		{"tokenizer.ggml.merges", []string{fmt.Sprintf("%c %c", runes[0], runes[1])}},
		{"tokenizer.ggml.bos_token_id", end},
		{"tokenizer.ggml.eos_token_id", end},
		{"tokenizer.ggml.add_bos_token", false},
		{"tokenizer.ggml.add_eos_token", false},
	}
}

func (s shape) tensors(tokens int, w weights) []tensor {
	e, f, n, h := uint64(s.embd), uint64(feed), uint64(tokens), uint64(s.heads*s.head)
	ones := slices.Repeat([]float32{1}, s.embd)
	zeros := make([]float32, s.embd*feed)
	return []tensor{
		{"token_embd.weight", []uint64{e, n}, w.embd},
		{"output_norm.weight", []uint64{e}, ones},
		{"output.weight", []uint64{e, n}, w.out},
		{"blk.0.attn_norm.weight", []uint64{e}, ones},
		{"blk.0.attn_q.weight", []uint64{e, h}, w.q},
		{"blk.0.attn_k.weight", []uint64{e, h}, w.k},
		{"blk.0.attn_v.weight", []uint64{e, h}, w.v},
		{"blk.0.attn_output.weight", []uint64{h, e}, w.o},
		{"blk.0.ffn_norm.weight", []uint64{e}, ones},
		{"blk.0.ffn_gate.weight", []uint64{e, f}, zeros},
		{"blk.0.ffn_up.weight", []uint64{e, f}, zeros},
		{"blk.0.ffn_down.weight", []uint64{f, e}, zeros},
	}
}

// noise returns a model of random weights: it says anything that a grammar allows.
func noise() model {
	s := shape{name: "noise", embd: 64, heads: 2, head: 32, context: 32768, base: 10000}
	v := newVocab(endToken)
	r := rand.New(rand.NewPCG(1, 2)) // the same weights every time
	random := func(n int, deviation float64) []float32 {
		m := make([]float32, n)
		for i := range m {
			m[i] = float32(r.NormFloat64() * deviation)
		}
		return m
	}
	e := s.embd
	return s.model(v, weights{
		embd: random(e*len(v.text), 1), out: random(e*len(v.text), .25),
		q: random(e*e, .25), k: random(e*e, .25), v: random(e*e, .125), o: random(e*e, .125),
	})
}
