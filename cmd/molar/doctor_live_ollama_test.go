package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"molar/internal/cli"
	"molar/internal/testkit/ollamatest"
)

// pupil returns the script of a made model that answers the checks of doctor --live.
func pupil() string {
	var b strings.Builder
	b.WriteString("{{ $say = `YES` }}{{ if gt (len $q) 1500 }}{{ $say = `83417` }}{{ end }}")
	answer := func(question, turn, text string) {
		fmt.Fprintf(&b, "{{ if and (eq $q %q) (eq $turn %q) }}{{ $say = %q }}{{ end }}", question, turn, text)
	}
	call := func(name, arguments string) string {
		return `<tool_call>{"name":"office__` + name + `","arguments":` + arguments + `}</tool_call>`
	}
	hanoi, hue := call("get_weather", `{"city":"Hanoi"}`), call("get_weather", `{"city":"Huế"}`)
	answer("What is the weather in Hanoi now?", "", hanoi)
	answer("Book the blue meeting room for 14 people, with a projector. The contact is Lan, phone 0905 123 456.", "",
		call("book_room", `{"room":"blue","people":14,"projector":true,"contact":{"name":"Lan","phone":"0905 123 456"}}`))
	answer("Show me the record of Nguyễn Thị Phượng, id 7f3c90d2-4e81-4b6a-9d25-c08e61b7a4f3.", "",
		call("get_person", `{"id":"7f3c90d2-4e81-4b6a-9d25-c08e61b7a4f3","name":"Nguyễn Thị Phượng"}`))
	answer("What is the weather in Hanoi and in Huế now?", "", hanoi+hue)
	answer("What is the weather in Hanoi and in Huế now?", "att", "Light rain in both.")
	answer("What is 7 plus 5?", "", "12")
	answer("Remove appointment number 4417.", "", call("delete_appointment", `{"id":"4417"}`))
	answer("Send a message for me, please.", "", "To whom, and what should it say?")
	answer("How many degrees does it have in Hanoi now?", "", hanoi)
	answer("How many degrees does it have in Hanoi now?", "at", "It has 23.7 degrees.")
	answer("What is the balance of the customer Trần Văn Bảo?", "", call("find_customer", `{"name":"Trần Văn Bảo"}`))
	answer("What is the balance of the customer Trần Văn Bảo?", "at", call("get_balance", `{"customer_id":"C-58213"}`))
	answer("What is the balance of the customer Trần Văn Bảo?", "atat", "It is 7,316.45 EUR.")
	answer("Where is order 90-114?", "", call("get_order", `{"number":"90-114"}`))
	answer("Where is order 90-114?", "at", call("get_order", `{"number":"90-114"}`))
	answer("Where is order 90-114?", "atat", "It waits in hall 19.")
	answer("What do my notes say about Zephyr 9?", "", call("search_notes", `{"query":"Zephyr 9"}`))
	answer("What do my notes say about Zephyr 9?", "at", "Your notes say nothing about it.")
	answer("What is the weather in Hanoi, in Huế, in Đà Nẵng and in Cần Thơ?", "", hanoi+hue)
	answer("Lan is 34 years old, lives in Đà Nẵng, and likes chess and tea. Give this as JSON.", "",
		`{"name":"Lan","age":34,"home":{"city":"Đà Nẵng"},"likes":["chess","tea"]}`)
	answer("Tại sao bầu trời có màu xanh? Trả lời trong hai câu.", "", "Bầu trời có màu xanh vì không khí tán xạ ánh sáng xanh nhiều hơn.")
	answer("Why is the sky blue? Answer in two sentences.", "", "The sky is blue because the air scatters blue light more than red.")
	answer("Warum ist der Himmel blau? Antworte in zwei Sätzen.", "", "Der Himmel ist blau, weil die Luft das blaue Licht stärker streut.")
	answer("Write the numbers from one to eighty in English words, with commas between them, and nothing else.", "",
		strings.Repeat("seventy, ", 40)+"eighty")
	return b.String()
}

// A made model on a real Ollama is what the checks say.
func TestDoctorLive_Ollama(t *testing.T) {
	long(t, "a real model answers a hundred times")
	t.Parallel()
	model := ollamatest.Start(t)
	model.Model(t, "right", pupil())
	file := writeFile(t, "molar.yaml", "llm: {provider: ollama, ollama: {model: right, small_model: right}}\n")
	env := map[string]string{"HOME": t.TempDir(), "OLLAMA_BASE_URL": model.URL}
	var stdout, stderr bytes.Buffer
	code := execute(t.Context(), []string{"doctor", "--live", "--max-prompt", "2048", "--config", file}, lookup(env), strings.NewReader(""), &stdout, &stderr)
	t.Logf("%s\n%s", &stdout, &stderr)
	if code != cli.OK {
		t.Errorf("code %d", code)
	}
	for _, line := range []string{
		"ok       calls a tool", "ok       two calls at once", "ok       two steps", "ok       stops", "ok       calls as text", "ok       keeps a schema",
		"skipped  picture", "ok       long prompts", "- fine for tools\n",
	} {
		if !strings.Contains(stdout.String(), line) {
			t.Errorf("%q is missing", line)
		}
	}
}
