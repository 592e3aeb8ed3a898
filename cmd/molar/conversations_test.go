package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"molar/internal/testkit"
)

// The golden file holds conversations with the dental assistant as they are answered where no model
// does: a change of an answer shows in its diff.
func TestConversations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is slow: it plays all conversations, one after the other")
	}
	script, err := os.ReadFile("testdata/conversations.txt")
	if err != nil {
		t.Fatal(err)
	}
	host := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: offline}\n"), nil)
	var page strings.Builder
	page.WriteString("# Conversations\n\nMade by playing `conversations.txt` without a model: what patients read where no model answers, " +
		"in full. With one, the same refusals and notices stand, and the model words the rest from what was found.\n")
	for n, played := range strings.Split(strings.TrimSpace(string(script)), "\n\n") {
		title, messages, _ := strings.Cut(strings.TrimPrefix(played, "# "), "\n")
		fmt.Fprintf(&page, "\n## %s\n", title)
		for message := range strings.Lines(messages) {
			message = strings.TrimSpace(message)
			answer := host.answer(t, fmt.Sprintf("chat_%d", n), message)
			fmt.Fprintf(&page, "\n**%s**\n\n> %s\n", message, strings.ReplaceAll(strings.ReplaceAll(answer, "\n", "\n> "), "> \n", ">\n"))
		}
	}
	testkit.Same(t, "testdata/conversations.golden.md", page.String())
}

// answer sends a message in a conversation with the dental assistant, and returns the answer.
func (s *served) answer(t *testing.T, chat, message string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "dental", "chat_id": chat, "messages": []map[string]string{{"role": "user", "content": message}}})
	if err != nil {
		t.Fatal(err)
	}
	status, text := s.do(t, http.MethodPost, "/v1/chat/completions", string(body))
	var reply struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(text), &reply); err != nil || status != http.StatusOK || len(reply.Choices) != 1 {
		t.Fatalf("%q: %d %s", message, status, text)
	}
	return reply.Choices[0].Message.Content
}
