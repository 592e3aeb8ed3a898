package knowledge

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
)

// plainText returns files of a size, with words whose frequencies resemble those of a language.
func plainText(files, bytes int) fstest.MapFS {
	chance := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(chance, 1.1, 4, 60_000)
	folder := make(fstest.MapFS, files)
	for n := range files {
		var b strings.Builder
		fmt.Fprintf(&b, "# Page %d on %s\n", n, wordOf(zipf.Uint64()))
		for b.Len() < bytes/files {
			fmt.Fprintf(&b, "\n## %s %s\n\n", wordOf(zipf.Uint64()), wordOf(zipf.Uint64()))
			for range 12 {
				for range 14 {
					b.WriteString(wordOf(zipf.Uint64()))
					b.WriteByte(' ')
				}
				b.WriteString("\n")
			}
		}
		folder[fmt.Sprintf("d%d/p%d.md", n%100, n)] = &fstest.MapFile{Data: []byte(b.String())}
	}
	return folder
}

// wordOf writes a number as a word of some syllables.
func wordOf(n uint64) string {
	syllables := []string{"ba", "ke", "lo", "mi", "nu", "ra", "se", "to", "vi", "du", "fa", "ge", "ho", "pi", "ju", "za"}
	word := ""
	for n += 16; n > 0; n /= 16 {
		word += syllables[n%16]
	}
	return word
}

func filled(b *testing.B, files, bytes int) *index {
	b.Helper()
	ix := newIndex(newVocabulary(nil, nil))
	for name, file := range plainText(files, bytes) {
		_, passages := cut(name, string(file.Data))
		ix.put(name, passages)
	}
	return ix
}

// BenchmarkSearch searches 10,000 files of 50 MB.
func BenchmarkSearch(b *testing.B) {
	if testing.Short() {
		b.Skip("the folder takes some seconds")
	}
	ix := filled(b, 10_000, 50<<20)
	chance := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(chance, 1.1, 4, 60_000)
	b.ReportAllocs()
	for b.Loop() {
		var words []string
		for range 10 {
			words = append(words, wordOf(zipf.Uint64()))
		}
		ix.search(strings.Join(words, " "), "")
	}
	b.ReportMetric(float64(ix.size()), "passages")
}

func BenchmarkIndex(b *testing.B) {
	files := plainText(400, 2<<20)
	size := 0
	for _, file := range files {
		size += len(file.Data)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		ix := newIndex(newVocabulary(nil, nil))
		for name, file := range files {
			_, passages := cut(name, string(file.Data))
			ix.put(name, passages)
		}
	}
}
