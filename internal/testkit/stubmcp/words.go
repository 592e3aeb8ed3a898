package stubmcp

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A vocabulary makes up tools.
type vocabulary struct {
	random       *rand.Rand
	verbs, nouns []string
}

func newVocabulary(seed uint64) vocabulary {
	return vocabulary{
		random: rand.New(rand.NewPCG(seed, 0)),
		verbs:  strings.Fields("get list create update delete search send copy move merge export import archive restore count"),
		nouns: strings.Fields("account alert branch build calendar card channel comment contact customer dashboard deployment device document event " +
			"folder group incident invoice issue job label machine message metric milestone note order page pipeline product project query " +
			"region release report role schedule secret segment server session snapshot survey table task team template ticket user volume webhook"),
	}
}

// sentence returns so many words.
func (v *vocabulary) sentence(words int) string {
	said := make([]string, words)
	for i := range said {
		said[i] = v.any(v.nouns)
		if i%4 == 0 {
			said[i] = v.any(v.verbs) + " the"
		}
	}
	return strings.Join(said, " ")
}

func (v *vocabulary) any(of []string) string { return of[v.random.IntN(len(of))] }

// appendTool adds a tool of about 1,500 bytes. n keeps its name from that of another one.
func (v *vocabulary) appendTool(list []byte, n int) []byte {
	list = fmt.Appendf(list, `{"name":"%s_%s_%s_%d","description":"%s","inputSchema":{"type":"object","properties":{`,
		v.any(v.verbs), v.any(v.nouns), v.any(v.nouns), n, v.sentence(50))
	for i := range 8 {
		list = fmt.Appendf(list, `"%s_%d":{"type":"string","description":"%s"},`, v.any(v.nouns), i, v.sentence(8))
	}
	return fmt.Appendf(list, `"owner":{"$ref":"#/$defs/owner"}},"required":["owner"],"$defs":{"owner":{"type":"string","description":"%s"}}}}`, v.sentence(8))
}
