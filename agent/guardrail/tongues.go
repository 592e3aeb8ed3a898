package guardrail

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The classifier has learned Vietnamese and English. Of other languages code knows a few
// words only: enough to see that a message may be of the topic and is the judge's, never
// enough to decide.

// dentalAbroad name the dental topic in Spanish, Portuguese, Italian, French, German,
// Dutch, the Nordic languages, Polish, Turkish, Indonesian, Tagalog, Russian, Ukrainian,
// Greek, Chinese, Japanese, Korean, Thai, Khmer, Lao, Hindi, Arabic, Persian and Hebrew.
const dentalAbroad = `
muela*, diente*, encia*, dentista*, limpieza dental, implante dental, blanqueamiento dental, empaste*, ortodonci*, odontolog*, dentadura*, mal aliento, dolor de boca
dente, dentes, gengiva*, carie, caries dental, cárie*, siso, dentário*, obturação, clareamento, mau hálito
denti, gengive, dentiera*, otturazione*, alito cattivo
mal de dent, mal aux dents, une dent, ma dent, mes dents, la dent, les dents, des dents, deux dents, aux dents, dent de, dentaire*, dentiste*, gencive*, plombage*, détartrage*, dentier*, orthodontie, orthodontiste, dentifrice*, mauvaise haleine, dévitalis*
zahn*, zähn*, zaehn*, weisheitszahn*, backenzahn*, milchzahn*, schneidezahn*, wurzelbehandlung*, kieferorthop*, mundgeruch, karies, aphthe*
tand, tanden, tandarts*, tandvlees*, tandpijn*, kiespijn, verstandskies*, tannlege*, tannpin*, tandlæge*, tandläkare*, tandkött*, tandvärk*
ząb, zęb*, dziąsł*, dentyst*, stomatolog*, próchnic*
diş, dişi, dişim*, dişler*, dişimi, dişime, dişçi*, diş hekim*, diş eti, diş ağrı*
sakit gigi, gigi saya, gigi anak, gigi bungsu, gigi berlubang, gigi palsu, dokter gigi, cabut gigi, tambal gigi, kawat gigi, karang gigi, gusi, behel
ngipin, gilagid
зуб*, дёсн*, десн*, стоматолог*, дантист*, кариес*, карієс*, пломб*, брекет*, δόντι*, οδοντ*, ούλα
牙, 齿, 齒, 齦, 龈, 口臭, 口腔, 歯, 親知らず, 치과, 치아, 치통, 이빨, 잇몸, 사랑니, 임플란트, 충치, 양치, 어금니, 이가 아, 이가 시
ฟัน, เหงือก, ធ្មេញ, ແຂ້ວ, दांत, दाँत, दंत, मसूड़, أسنان, اسنان, ضرس, اللثة, دندان, שיניים, חניכיים`

// abroadAgainst turn a message that names the topic in another language into something
// else: teeth of animals, texts to write, orders.
const abroadAgainst = `
perro*, gato*, caballo*, tiburon*, tiburón*, cachorro*, cane, cani, gatto, chien*, chat, chats, cheval, requin*, hund*, katze*, pferd*, hond, kat, anjing, kucing, собак*, кошк*, кот, кота, акул*
poema*, poème*, gedicht*, стих*, chiste*, blague*, witz*, código*, receta*, recette*, rezept*, рецепт*
狗, 猫, 貓, 犬, 鲨, 鯊, 诗, 詩, 代码, 程式, 강아지, 고양이, หมา, แมว, كلب, كلاب, قط`

// abroadOrders tell the machinery to drop its rules.
const abroadOrders = `
ignora*, ignorá, olvida, olvídate, oublie*, ignorez, ignoriere*, vergiss, abaikan, lupakan, игнорир*, проигнорир*, забудь*
忽略, 无视, 無視, 忽視, 忘记, 忘れて, 무시, 잊어, تجاهل, ละเว้น, เพิกเฉย`

// otherGrammar are words that carry a sentence of another language written in Latin
// letters, and mean nothing in English or in Vietnamese typed without marks.
const otherGrammar = `
que, qué, el, los, las, una, del, para, por, como, cómo, cuánto, cuanto, cuando, dónde, tengo, puedo, cuesta, está, esta, muy, desde, hace, quién, cuál, hijo, hija, duele, pero
je, mon, mes, les, une, est, dans, pour, combien, comment, quoi, avec, depuis, j'ai, c'est, où, quel, quelle, faire, très, mais, qui, suis, peut
ich, mein, meine, meinen, der, das, ist, nicht, und, wie, wird, habe, eine, einen, beim, für, mir, auf, kann, wann, warum
meu, minha, não, uma, fazer, está, estou, dói, mio, mia, miei, il, perché, della, quanto, sono, cosa
saya, yang, bagaimana, harus, untuk, berapa, tidak, apa, sudah, ang, mga, ako, paano
ik, mijn, een, hoe, niet, wat, jest, jak, mnie, się, czy, bir, nasıl, için, benim, och, jag, har, hur, inte, jeg, ikke`

// abroad holds the words of other languages.
type abroad struct {
	topic, against, orders wordsAbroad
	grammar                *lexicon
}

// wordsAbroad are words to look for: whole or as beginnings in writing with spaces,
// anywhere in writing without.
type wordsAbroad struct {
	words  *lexicon
	inside []string
}

func newAbroad(topic []string) abroad {
	a := abroad{
		topic: splitScripts(topic), against: splitScripts(list(abroadAgainst)), orders: splitScripts(list(abroadOrders)),
		grammar: newLexicon(false),
	}
	a.grammar.add(tierNone, list(otherGrammar)...)
	return a
}

func splitScripts(phrases []string) wordsAbroad {
	m := wordsAbroad{words: newLexicon(true)}
	for _, p := range phrases {
		if r, _ := utf8.DecodeRuneInString(p); isAlphabet(r) {
			m.words.add(tierNone, p)
			continue
		}
		m.inside = append(m.inside, p)
	}
	return m
}

// isAlphabet knows the letters of scripts that put spaces between words and endings
// behind them.
func isAlphabet(r rune) bool { return unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek) }

// isUnspaced knows the letters of the other scripts.
func isUnspaced(r rune) bool { return r >= 0x590 && unicode.IsLetter(r) && !isAlphabet(r) }

func (m wordsAbroad) within(text string, words []word) bool {
	return m.words.within(words) || strings.ContainsFunc(text, isUnspaced) &&
		slices.ContainsFunc(m.inside, func(s string) bool { return strings.Contains(text, s) })
}

// readAbroad sees whether the message is in another language, and whether it names the
// topic there.
func (g *Guard) readAbroad(r *reading) {
	grammar := 0
	for i := range r.words {
		if g.abroad.grammar.longest(r.words[i:]) != nil {
			grammar++
		}
	}
	names := g.abroad.topic.within(r.text, r.words)
	r.other = r.alien || names || grammar >= 2 && grammar*6 >= len(r.words)
	if !r.other {
		return
	}
	r.abroad = names && !g.abroad.against.within(r.text, r.words)
	if r.marker == "" && g.abroad.orders.within(r.text, r.words) {
		r.marker = "order in another language"
	}
}
