package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"molar/internal/terminal"
	"molar/providers/chain"
	"molar/schemas"
)

// resumeShown is how many messages of a resumed conversation are shown.
const resumeShown = 4

// want returns the provider and the model that the next question requests.
func (s *session) want() chain.Want {
	want := chain.Want{Provider: s.f.Provider, Model: s.f.Model}
	if want.Provider == "" && want.Model == "" {
		as, _ := s.h.Config.Assistants.Get(s.assistant())
		want.Provider, want.Model = as.Provider, as.Model
	}
	return want
}

func (s *session) showConversation(ctx context.Context, _ string) error {
	if s.f.Conversation == "" {
		return errors.New("nothing has been said in this conversation yet")
	}
	messages, err := s.h.Stored(ctx, s.f.Conversation)
	if err != nil {
		return err
	}
	return s.show(messages, 0)
}

// show writes the last messages of a conversation, all for 0.
func (s *session) show(messages []schemas.StoredMessage, last int) error {
	if left := len(messages) - last; last > 0 && left > 0 {
		s.say("%s", terminal.Dim(fmt.Sprintf("… %d messages before; /history shows all", left)))
		messages = messages[left:]
	}
	for _, m := range messages {
		if m.Role == schemas.RoleUser {
			s.lines(displayText(m), terminal.Bold)
			continue
		}
		if err := errors.Join(s.md.Write(displayText(m)), s.md.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) resume(ctx context.Context, id string) error {
	if id == "" {
		return s.choose(ctx)
	}
	messages, err := s.h.Stored(ctx, id)
	if err != nil {
		return err
	}
	if err := s.show(messages, resumeShown); err != nil {
		return err
	}
	s.f.Conversation, s.f.Assistant, s.last = id, "", nil
	s.answering = assistantOf(messages)
	s.lines("assistant "+s.assistant(), terminal.Dim)
	return nil
}

// choose lists the newest conversations and lets the person choose one.
func (s *session) choose(ctx context.Context) error {
	list, err := s.h.Recent(ctx, RecentCount)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		s.say("there is no conversation yet")
		return nil
	}
	columns, _ := s.size()
	for i, c := range list {
		s.say("%s", terminal.Truncate(fmt.Sprintf("%3d  %s  %s  %s", i+1, c.UpdatedAt.Local().Format("2006-01-02 15:04"),
			cmp.Or(terminal.Clean(c.Assistant), "-"), terminal.Preview(c.Title)), columns-1))
	}
	for {
		line, err := s.readLine(ctx, "number, or Enter for a new one> ")
		if errors.Is(err, errBack) {
			return nil
		}
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			return nil
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(list) {
			return s.resume(ctx, list[n-1].ID)
		}
		s.say("choose a number from 1 to %d", len(list))
	}
}

// copy sends the last block of code of the last answer to the terminal's clipboard, or the whole answer if
// it has none.
func (s *session) copy(ctx context.Context, _ string) error {
	none := errors.New("there is no answer to copy yet")
	if s.f.Conversation == "" {
		return none
	}
	messages, err := s.h.Stored(ctx, s.f.Conversation)
	if err != nil {
		return err
	}
	if len(messages) == 0 || messages[len(messages)-1].Role == schemas.RoleUser {
		return none
	}
	text, what := messages[len(messages)-1].Content, "the answer"
	if code := terminal.LastCode(text); code != "" {
		text, what = code, "the last code"
	}
	if _, err := io.WriteString(s.editor, terminal.Copy(text)); err != nil {
		return err
	}
	s.say("%s", terminal.Dim("copied "+what+", if the terminal lets programs write its clipboard"))
	return nil
}

// save writes the conversation to a new file.
func (s *session) save(ctx context.Context, path string) (err error) {
	if path == "" {
		return errors.New("name the file: /save FILE")
	}
	if s.f.Conversation == "" {
		return errors.New("nothing has been said in this conversation yet")
	}
	messages, err := s.h.Stored(ctx, s.f.Conversation)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range messages {
		who := "You"
		if m.Role != schemas.RoleUser {
			who = "Answer"
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", who, strings.TrimPrefix(displayText(m), "> "))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists; choose another name", path)
	}
	if err != nil {
		return fmt.Errorf("save the conversation: %w", err)
	}
	_, err = f.WriteString(b.String())
	if err = errors.Join(err, f.Close()); err == nil {
		s.say("saved %d messages to %s", len(messages), terminal.Clean(path))
	}
	return err
}
