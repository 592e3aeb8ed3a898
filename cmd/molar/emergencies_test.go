package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"molar/agent/subject"
	"molar/internal/cli"
	"molar/internal/testkit/models"
	"molar/internal/testkit/packs"
)

// An emergencyLine is a message of somebody in need, and the kind that it is of.
type emergencyLine struct {
	Text string `json:"text"`
	Lang string `json:"lang"`
	Kind string `json:"kind"`
	// Missed is set where code finds nothing, or another kind.
	Missed bool `json:"missed"`
}

// follows are the entries of the guide that follow the notices, in both languages; of the other kinds the
// notice is the whole answer.
func follows() map[string]map[string]string {
	return map[string]map[string]string{
		"airway":                    {"en": "Trouble breathing or swallowing", "vi": "Khó thở hoặc khó nuốt"},
		"allergic reaction":         {"en": "Allergic reactions to medicines and materials", "vi": "Dị ứng thuốc và vật liệu nha khoa"},
		"overdose":                  {"en": "Too much of a painkiller", "vi": "Uống quá nhiều thuốc giảm đau"},
		"poison":                    {"en": "Something poisonous swallowed", "vi": "Nuốt phải chất gây độc"},
		"bleeding":                  {"en": "Bleeding after an extraction", "vi": "Chảy máu sau nhổ răng"},
		"inhaled or swallowed part": {"en": "A crown, tooth or instrument swallowed or breathed in", "vi": "Nuốt hoặc hít phải mão, răng, dụng cụ"},
		"injury":                    {"en": "An injured jaw or face", "vi": "Chấn thương hàm mặt"},
		"knocked-out tooth":         {"en": "A knocked-out tooth", "vi": "Răng bị văng ra ngoài"},
		"injured tooth":             {"en": "Chipped, broken or cracked tooth", "vi": "Răng mẻ, vỡ hoặc nứt"},
		"numbing medicine":          {"en": "A numbing medicine, and grey or blue lips", "vi": "Thuốc tê và môi xám hay tím"},
		"button battery":            {"en": "A button battery swallowed, or in the nose or ear", "vi": "Nuốt pin cúc áo, hoặc pin kẹt trong mũi, tai"},
		"very ill child":            {"en": "A very ill child", "vi": "Trẻ bệnh nặng"},
		"swelling with fever":       {"en": "Abscess and swelling of the face", "vi": "Áp xe răng và sưng mặt"},
	}
}

// quoted returns the titles of the guide's entries that an answer without a model quotes or names.
func quoted(answer string) []string {
	var titles []string
	for paragraph := range strings.SplitSeq(answer, "\n\n") {
		if title, _, found := strings.Cut(paragraph, "): "); found && !strings.HasPrefix(title, "**") && strings.Contains(title, " (") {
			title, _, _ = strings.Cut(title, " (")
			titles = append(titles, title)
		}
		if strings.HasPrefix(paragraph, "Also found: ") || strings.HasPrefix(paragraph, "Cũng tìm thấy: ") {
			titles = append(titles, paragraph)
		}
	}
	return titles
}

// Below the notice of an emergency stands what its kind names and nothing else, whatever words the
// message shares with other entries of the guide.
func TestEmergencies_WhatFollowsTheNotice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is slow: it asks for each line of a file, one after the other")
	}
	host := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: offline}\n"), nil)
	dental := packs.Dental()
	n, right := 0, 0
	data, err := os.ReadFile("testdata/emergencies.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	err = subject.Lines("testdata/emergencies.jsonl", string(data), func(l emergencyLine) error {
		n++
		answer := host.answer(t, fmt.Sprintf("chat_%d", n), l.Text)
		notice, _, _ := strings.Cut(dental.Voice(l.Lang).Notices[l.Kind], "{number}")
		got, want := strings.Join(quoted(answer), "; "), follows()[l.Kind][l.Lang]
		switch ok := notice != "" && strings.Contains(answer, notice) && got == want; {
		case ok:
			right++
		case !l.Missed:
			t.Errorf("%q, %s: below the notice stands %q, want %q: %s", l.Text, l.Kind, got, want, answer)
		}
		if l.Missed && got == want {
			t.Errorf("%q is no longer missed", l.Text)
		}
		return nil
	})
	if err != nil || n < 60 {
		t.Fatalf("%d lines, %v", n, err)
	}
	t.Logf("%d of %d have the right notice and below it the right text", right, n)
}

// What is said later in the talk is answered for itself.
func TestEmergencies_LaterInTheTalk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is slow: it plays many conversations, one after the other")
	}
	host := serveHost(t, writeFile(t, "molar.yaml", "llm: {provider: offline}\n"), nil)
	const (
		pieceVI, pieceEN = "không nhét vào ổ răng", "never goes into the socket"
		backVI, backEN   = "đặt lại vào ổ răng ngay", "put it back into its socket now"
		holdsVI, holdsEN = "vẫn đúng", "still holds"
		harmVI, harmEN   = "hỏng gan", "damage the liver"
		illVI, illEN     = "Trẻ mềm nhũn, li bì khó đánh thức", "A child who is floppy, very hard to wake"
		thinEN           = "With a blood thinner or a bleeding disorder"
	)
	type said struct{ message, want, absent string }
	for name, talk := range map[string][]said{
		"a piece, in Vietnamese": {
			{"con trai em 8 tuổi té gãy răng cửa", pieceVI, backVI},
			{"mảnh răng còn giữ trong khăn giấy", pieceVI, backVI},
			{"giờ làm gì với nó ạ", "", backVI},
			{"mẩu răng đó dán lại được không", "", backVI},
		},
		"a piece, in English": {
			{"I tripped and broke my front tooth in half", pieceEN, backEN},
			{"the piece of tooth is in a tissue", pieceEN, backEN},
			{"what do I do with it", "", backEN},
			{"I put the broken bit in milk", "", backEN},
		},
		"a lost tooth that was a piece": {
			{"I fell and my tooth came out, it is in my hand", backEN, ""}, {"sorry, it is only a piece of the tooth", pieceEN, backEN},
		},
		"a whole tooth stays one": {
			{"fell off my bike and broke a tooth", pieceEN, backEN}, {"the whole tooth came out with the root", backEN, ""},
		},
		"a new sign": {
			{"my 8 month old has a fever of 39, is she teething?", "", illEN}, {"she is also very sleepy and not drinking", illEN, holdsEN},
		},
		"a new sign, in Vietnamese": {
			{"bé nhà em 8 tháng sốt 39 độ có phải mọc răng không", "", illVI}, {"bé li bì, bỏ bú nữa", illVI, holdsVI},
		},
		"signs told bit by bit": {
			{"my toddler has a fever while teething", "", illEN},
			{"what helps against teething pain?", "", illEN},
			{"and when will the next tooth come?", "", illEN},
			{"there was no wet nappy since this morning", illEN, holdsEN},
		},
		"signs told bit by bit, in Vietnamese": {
			{"bé nhà em mọc răng bị sốt", "", illVI}, {"mọc răng thì ăn gì cho đỡ đau?", "", illVI}, {"từ sáng tới giờ bé không tè", illVI, holdsVI},
		},
		"a blood thinner named first": {
			{"I take warfarin and had a tooth out this morning, what may I eat?", "", thinEN}, {"the socket is still oozing blood", thinEN, ""},
		},
		"two more pills": {
			{"em uống 4 viên panadol rồi mà vẫn đau", "", "không muốn sống"}, {"em uống thêm 2 viên nữa được không", "không uống thêm viên nào nữa", "không muốn sống"},
		},
		"two more pills, in English": {
			{"I have had 4 painkillers and my tooth still hurts", "", "living"}, {"may I take two more?", "takes no more before", "living"},
		},
		"behind a cry for help": {
			{"đau răng quá em không muốn sống nữa", "Bạn rất quan trọng", harmVI}, {"em nói đùa thôi", "", harmVI}, {"giờ cái răng phải làm sao", "", backVI},
		},
		"behind a cry for help, in English": {
			{"this toothache makes me want to die", "You matter", harmEN},
			{"I was joking", "", harmEN},
			{"what do I do about the tooth now", "", backEN},
			{"and which painkiller is best for toothache?", "Painkillers", harmEN},
		},
	} {
		for i, s := range talk {
			answer := host.answer(t, "chat_"+strings.ReplaceAll(strings.ReplaceAll(name, " ", "_"), ",", ""), s.message)
			if !strings.Contains(answer, s.want) || s.absent != "" && strings.Contains(answer, s.absent) {
				t.Errorf("%s, message %d %q: want %q and not %q: %s", name, i+1, s.message, s.want, s.absent, answer)
			}
		}
	}
}

// Who speaks of self-harm reads the notice and nothing else, on every surface: no model is asked and no tool
// is called in that turn. What is asked next is answered by the model again.
func TestEmergencies_SelfHarmAsksNoModel(t *testing.T) {
	t.Parallel()
	const message = "this toothache won't end and I want to kill myself"
	model := startModel(t, models.Config{Tokens: 3})
	config := writeFile(t, "molar.yaml", "llm: {provider: ollama}\n")
	host := serveHost(t, config, model)
	notice, _, _ := strings.Cut(packs.Dental().Voice("en").Notices["self-harm"], "{number}")
	tools := `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}],"tool_choice":"required"`
	user := `"messages":[{"role":"user","content":` + quote(message) + `}]`
	for name, post := range map[string]struct{ path, body string }{
		"chat":                 {"/v1/chat/completions", `{"model":"dental",` + user + `}`},
		"chat, streamed":       {"/v1/chat/completions", `{"model":"dental","stream":true,` + user + `}`},
		"chat, JSON":           {"/v1/chat/completions", `{"model":"dental","response_format":{"type":"json_object"},` + user + `}`},
		"chat, client's tools": {"/v1/chat/completions", `{"model":"dental",` + tools + `,` + user + `}`},
		"responses":            {"/v1/responses", `{"model":"dental","input":` + quote(message) + `}`},
		"responses, streamed":  {"/v1/responses", `{"model":"dental","stream":true,"input":` + quote(message) + `}`},
	} {
		status, body := host.do(t, http.MethodPost, post.path, post.body)
		if said := strings.ReplaceAll(body, `\"`, `"`); status != http.StatusOK || !strings.Contains(said, "You matter, and you do not have to bear this alone.") {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if strings.Contains(body, "tok") && strings.Contains(body, "tok3") || strings.Contains(body, "dental_guide_search") {
			t.Errorf("%s: more than the notice: %s", name, body)
		}
	}
	a := host.stream(t, "dental", "chat_kept", message)
	if !strings.HasPrefix(a.text, notice) || !strings.HasSuffix(a.text, "get this help together.") || !a.closed || a.finish != "stop" || !a.molar.Saved || a.molar.ModelCalls != 0 {
		t.Errorf("%+v", a)
	}
	var stdout, stderr bytes.Buffer
	code := execute(t.Context(), []string{"chat", "--config", config, "--assistant", "dental", message}, lookup(homeEnv(t, model)), strings.NewReader(""), &stdout, &stderr)
	if code != cli.OK || !strings.Contains(stdout.String(), "You matter") {
		t.Errorf("in the terminal: %d %q %q", code, &stdout, &stderr)
	}
	if calls := asked(model); len(calls) > 0 {
		t.Errorf("the model was asked %d times: %s", len(calls), calls[0].Body)
	}
	var kept conversation
	host.get(t, "/v1/conversations/chat_kept", &kept)
	if len(kept.Messages) != 2 || !strings.HasPrefix(kept.Messages[1].Content, notice) {
		t.Errorf("kept %+v", kept.Messages)
	}
	if a := host.ask(t, "dental", "chat_kept", "What helps against toothache until I see a dentist?"); !strings.Contains(a.text, "tok") {
		t.Errorf("the next question: %q", a.text)
	}
	if len(asked(model)) == 0 {
		t.Error("the model is not counted")
	}
}

func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}
