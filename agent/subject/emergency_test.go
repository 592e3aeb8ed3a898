package subject_test

import (
	"slices"
	"strings"
	"testing"

	"molar/agent/subject"
	"molar/internal/testkit/packs"
	"molar/internal/text"
)

// The kinds of the dental topic.
const (
	airway     string = "airway"
	bleeding   string = "bleeding"
	injury     string = "injury"
	knockedOut string = "knocked-out tooth"
	infection  string = "swelling with fever"
)

func dentalDetector() *subject.Detector { return subject.NewDetector(packs.Dental()) }

// emergencies returns messages of people who need help at once, by the kind that must be detected.
func emergencies() map[string][]string {
	return map[string][]string{
		infection: {
			"Má em sưng to và sốt 39 độ từ tối qua",
			"Con tôi sưng mặt, sốt cao, đau răng không ngủ được",
			"mat toi sung vu va sot cao",
			"em bi sung ma kem sot 38.5 do, phai lam sao",
			"Nhổ răng khôn hôm qua giờ sưng nhiều, người sốt ớn lạnh",
			"Bé nhà mình bị áp xe răng, mặt phù lên và đang sốt",
			"sưng nướu, nóng sốt, hạch cổ to",
			"Tôi bị sưng hàm và sốt hai ngày nay rồi bác sĩ ơi",
			"Răng sâu làm mặt bé sưng húp, bé sốt 40 độ",
			"my face is swollen and I have a fever", "temperature 39.4 and my cheek is swollen",
			"Swelling in my cheek with a high temperature since last night",
			"I have a tooth abscess, my jaw is swollen and I'm feverish",
			"My son's cheek is puffy and his temperature is 39",
			"swollen gum, chills and 38.9 degrees. what do i do",
			"there is a swelling under my jaw and my temp is 38.7",
			"My daughter has a fever of 102 and a swollen jaw",
			"Tooth pain. Face swelled up overnight. Fever too.",
			"mặt bị sưng, k ăn được, sốt 38 độ 5",
			"Sưng đau răng số 8 kèm sốt, em nên làm gì ạ?",
		},
		airway: {
			"Tôi bị sưng hàm và khó thở",
			"em kho tho qua bac si oi, ham sung to",
			"Sau khi tiêm thuốc tê em thấy khó thở",
			"Con em sưng cổ, không thở được",
			"Mẹ tôi sưng dưới hàm, nuốt không được, chảy nước dãi",
			"khó nuốt và sưng họng sau khi nhổ răng khôn",
			"sung ham kho nuot nuoc bot",
			"Em không nuốt nổi nước miếng, hàm dưới sưng cứng",
			"mặt em sưng lan xuống cổ rồi",
			"Áp xe răng, sưng lan lên mắt, mắt híp lại",
			"I can't breathe properly, my jaw is swollen",
			"I'm having trouble breathing after the extraction",
			"floor of my mouth is hard and raised and my tongue is pushed up", "dưới lưỡi sưng cứng, lưỡi bị đẩy lên khó nói",
			"nuốt nước miếng không nổi", "mặt em sưng to quá, sốt 39 độ, nuốt nước bọt cũng khó",
			"My throat is closing and my tongue is swollen",
			"It is hard to swallow and my neck is swollen",
			"difficulty swallowing since my wisdom tooth got infected",
			"Swelling is spreading to my neck and eye",
			"he cannot swallow his own saliva, tooth infection",
			"I am short of breath after taking the antibiotic from the dentist",
			"my husband is choking after dental surgery help",
			"Breathing is getting difficult, the floor of my mouth is swollen",
			"ba tôi bị sưng hàm, thở không ra hơi",
			"thở khó quá, sưng hết cả cổ",
			"Bố em sưng hàm 3 ngày, giờ thở khò khè",
		},
		"overdose": {
			"I took 20 paracetamol today because of my toothache", "em lỡ uống 15 viên paracetamol từ tối qua vì đau răng quá",
			"em uong 15 vien panadol roi co sao khong", "I overdosed on painkillers last night, my tooth hurt so much",
		},
		"self-harm": {
			"đau răng quá em không muốn sống nữa", "tooth pain so bad I want to kill myself", "dau rang qua chi muon chet cho xong",
		},
		"poison": {
			"my toddler ate a whole tube of fluoride toothpaste", "he drank half a bottle of mouthwash",
			"bé nhà em nuốt gần hết tuýp kem đánh răng", "con em uống nhầm nước súc miệng nguyên chai",
		},
		"inhaled or swallowed part": {
			"my crown came off and I think I inhaled it, I'm wheezing", "em lỡ nuốt cái mão răng, giờ ho sặc",
			"I accidentally swallowed my retainer wire",
		},
		"heart": {"chest pain going into my jaw and left arm", "đau hàm lan xuống tay trái, tức ngực"},
		"allergic reaction": {
			"uống kháng sinh xong môi với họng em sưng lên", "lips swelling after amoxicillin", "uong khang sinh xong moi em sung len",
		},
		"injured tooth": {"gãy răng cửa do té xe", "My daughter fell and her front tooth is loose"},
		knockedOut: {
			"Con tôi té cầu thang, răng cửa bật ra ngoài",
			"be nha em te xe rang cua bi bat ra khoi o",
			"Em vừa bị đánh văng mất một cái răng",
			"Răng bị rơi ra khỏi ổ sau khi va đập, cắm lại được không?",
			"Cháu ngã xe đạp, rụng hai cái răng cửa",
			"Đá bóng bị bóng đập trúng, răng gãy rơi ra ngoài",
			"răng của em bị bứng cả chân ra do té",
			"My tooth got knocked out playing football",
			"My son knocked out his front tooth",
			"I fell off my bike and my tooth came out",
			"Her front teeth were knocked out in an accident",
			"A knocked-out tooth, what do I do now?",
			"avulsed permanent incisor in a 9 year old, just happened",
			"My tooth fell out after I got punched",
			"tooth completely out of its socket after a fall",
			"she fell and her front tooth is in my hand right now",
			"tooth came clean out, it is in a glass of milk",
			"con em té, cái răng cửa nằm dưới đất nè bác sĩ ơi",
		},
		bleeding: {
			"Nhổ răng xong chảy máu không cầm được",
			"nho rang 5 tieng roi mau van chay khong ngung",
			"Em nhổ răng sáng nay mà giờ máu chảy nhiều quá",
			"Chảy máu ồ ạt ở chỗ nhổ răng",
			"miệng đầy máu, không cầm máu được sau nhổ răng",
			"máu ra nhiều, thay gạc liên tục vẫn không hết",
			"The bleeding won't stop after my extraction",
			"I am bleeding heavily from the socket",
			"It is still bleeding 6 hours after the tooth was pulled",
			"Can't stop the bleeding in my mouth",
			"my mouth is full of blood after surgery",
			"Heavy bleeding after wisdom tooth removal",
			"I keep soaking gauze and it keeps bleeding",
			"blood is pouring out of my gum",
			"the socket has been bleeding since this morning and it will not clot",
			"they took it out at nine and I have soaked through six gauzes",
		},
		injury: {
			"Em bị tai nạn xe, hàm lệch không ngậm được miệng",
			"Anh tôi bị đánh gãy xương hàm",
			"te xe gay ham roi bac si oi",
			"Bé ngã đập mặt xuống đất, môi rách, răng lung lay",
			"Tôi ngáp xong bị trật khớp hàm, không khép miệng được",
			"Va đập mạnh vào cằm, hàm đau không cử động được",
			"I think my jaw is broken",
			"I was punched in the face and my jaw won't close",
			"My jaw is dislocated, I can't close my mouth",
			"He fell on his face and his teeth moved",
			"car accident, hit my jaw on the wheel",
			"My child was kicked in the mouth at school",
			"facial injury after a motorbike crash",
			"hit in the jaw with a bat",
			"mieng em khong ngam lai duoc sau khi ngap",
		},
	}
}

// nonEmergencies returns ordinary questions, and messages that deny an emergency, assume one
// hypothetically, ask about one in general or describe one that is over.
func nonEmergencies() []string {
	return []string{
		// Ordinary questions.
		"Một ngày nên đánh răng bao nhiêu lần?", "Bao lâu nên thay bàn chải một lần?", "Niềng răng mất bao lâu?",
		"Trồng răng implant giá bao nhiêu?", "Răng khôn mọc lệch có nên nhổ không?", "Tẩy trắng răng có hại men răng không?",
		"Trẻ mấy tuổi thay răng sữa?", "Răng sữa của bé bị lung lay và rụng thì có mọc lại không?", "Bầu 5 tháng có lấy cao răng được không?",
		"Chảy máu chân răng khi đánh răng là bị gì?", "Em hay bị chảy máu chân răng nhiều khi chải răng", "hoi mieng phai lam sao",
		"Trám răng xong bao lâu được ăn?", "Miếng trám của em bị rơi ra, có cần trám lại không?", "Răng sứ bị rơi ra do ăn kẹo dẻo",
		"Mắc cài bị bung ra thì sao?", "Hàm duy trì bị gãy phải làm lại không?", "Hàm giả tháo lắp bị gãy sửa được không?",
		"Ăn đồ nóng lạnh bị buốt răng, sưng nướu nhẹ", "Uống nước nóng bị ê răng và nướu hơi sưng", "lấy tủy răng có đau không",
		"Sưng lợi trùm răng khôn mấy ngày nay", "Em bị sưng nướu nhẹ ở răng cấm", "nuou rang bi sung do la bi gi", "Răng ê buốt khi ăn kem",
		"Nhổ răng khôn xong nên ăn gì?", "Sau nhổ răng bao lâu thì hết sưng?", "Viêm nướu chữa ở nhà được không?", "Nước súc miệng loại nào tốt?",
		"Con 3 tuổi bị sâu răng có phải trám không?", "Bị tụt lợi có chữa được không?", "Bọc răng sứ có phải lấy tủy không?",
		"Sốt ruột quá, khi nào em tháo niềng, nướu hơi sưng", "Ăn thịt sốt vang bị sưng nướu do dắt thức ăn", "Nghẹt mũi không thở bằng mũi được thì trám răng được không?",
		"How often should I brush my teeth?", "How much does a dental implant cost?", "Are electric toothbrushes better?", "Is whitening safe for enamel?",
		"When do baby teeth fall out?", "My baby tooth fell out yesterday, is that normal at 7?", "My gums bleed a lot when I floss",
		"My gums keep bleeding when I brush", "What is a root canal?", "Does a filling hurt?", "My crown fell out, can it be glued back?",
		"My filling came out while eating", "How long do braces take?", "Why do my teeth hurt with cold water?", "Do I need my wisdom teeth removed?",
		"My retainer is broken, can I still wear it on my jaw?", "Bad breath in the morning, what helps?", "Swollen gum around a wisdom tooth for two days",
		"I have hay fever, can I still have my swollen gum checked?", "What can I eat after an extraction?", "Is fluoride safe for kids?",
		"My denture broke, can it be repaired?", "I cannot swallow pills, is there a liquid painkiller for toothache?", "I can't breathe through my nose, can I wear a mouthguard?",
		"Do snoring and sleep apnea devices from a dentist work?", "I was knocked out with sedation for my filling, is that usual?", "How is a broken tooth fixed?",
		"đau răng muốn chết luôn bác sĩ ơi", "this toothache is killing me", "I took two ibuprofen this morning, can I take another?",
		"Uống 2 viên panadol được không", "my root canal tooth died", "I chipped my tooth on a nut", "em hay bị khô miệng khó nuốt bánh mì",
		"Em vừa làm rớt cái mão ra ngoài luôn rồi", "Nuốt kem đánh răng có sao không?", "bạn tư vấn được gì", "ban tu van duoc nhung gi vay",
		"an keo keo rot luon mieng tram", "Uống 15 viên kháng sinh theo đơn trong 5 ngày có hại không", "Can I swallow mouthwash by accident?",
		// Other senses of the words, and events long past.
		"I can't swallow the price of implants", "That quote knocked my teeth out lol, any payment plan?", "The price fell and my tooth can finally come out",
		"Swollen gums around braces, is a high temperature wash ok for my mouthguard?", "Is a knocked-out tooth worth saving in general?",
		"Năm ngoái em té xe gãy răng cửa, giờ muốn trồng lại", "năm ngoái té xe gãy răng cửa giờ muốn trồng lại",
		// Denials.
		"Má em hơi sưng nhưng không sốt", "Em bị sưng nướu, không bị sốt, không khó thở", "sung ma nhung ko sot, ko kho nuot",
		"Bé sưng lợi nhưng chưa sốt", "Sưng sau nhổ răng, em không có sốt hay khó nuốt gì", "Nhổ răng xong không chảy máu nhiều, chỉ hơi rỉ",
		"My cheek is swollen but I have no fever", "Swelling after extraction, no fever and no trouble breathing", "swollen gums without fever",
		"I don't have a fever or swelling, just pain", "No heavy bleeding, just some pink saliva", "The jaw is not broken, only sore",
		"I have a swollen gum but never had any fever", "no difficulty swallowing, only a sore tongue",
		// Hypothetical cases and general questions.
		"Nhổ răng khôn có bị sốt không, có sưng không?", "Nếu răng bị bật ra khỏi ổ thì phải làm gì?", "Sâu răng có gây sưng và sốt không?",
		"Làm sao để phòng tránh gãy xương hàm khi chơi thể thao?", "Khi nào sưng kèm sốt là nguy hiểm?", "Nhổ răng có thể gây khó thở không?",
		"Dấu hiệu của nhiễm trùng răng là gì, có phải sưng và sốt?", "Giả sử chảy máu không cầm sau nhổ răng thì xử lý ra sao?", "Gây tê có khó thở không ạ?",
		"What should I do if a tooth gets knocked out?", "Can a tooth infection cause fever and swelling?", "What are the signs of a broken jaw?",
		"How can I prevent heavy bleeding after an extraction?", "Could a wisdom tooth cause trouble swallowing?", "In case of heavy bleeding after extraction, whom do I call?",
		"Why do people get a fever with facial swelling?", "How do dentists treat a fractured jaw?", "Does insurance cover a knocked out tooth?",
		"What happens if the bleeding won't stop?", "I am worried about heavy bleeding during surgery",
		// Over, or long ago.
		"Năm ngoái em bị gãy xương hàm, giờ có niềng răng được không?", "Hồi nhỏ tôi bị té gãy mất răng cửa, nay muốn trồng implant", "Tuần trước em sưng và sốt, đã khỏi rồi",
		"Tôi từng bị khó thở khi tiêm tê", "hoi nho em bi te rung rang cua", "Last year I broke my jaw. Can I get braces?", "I knocked out a tooth as a kid and want an implant",
		"Two years ago I was punched in the face and lost a tooth", "I had swelling and fever last month but it went away", "The heavy bleeding has stopped",
		"My jaw was dislocated years ago", "I have a history of fever and swelling after extractions",
	}
}

func TestDetector_Find_now(t *testing.T) {
	d := dentalDetector()
	n := 0
	for kind, texts := range emergencies() {
		for _, text := range texts {
			n++
			if got := d.Find(text, ""); !slices.Contains(got, kind) {
				t.Errorf("%q: found %q, want %q", text, got, kind)
			}
		}
	}
	for _, text := range laterEmergencies() {
		if d.Find(text, "") == nil {
			t.Errorf("%q: nothing found", text)
		}
	}
	if n < 60 {
		t.Errorf("only %d lines", n)
	}
}

func TestDetector_Find_notNow(t *testing.T) {
	d := dentalDetector()
	for _, text := range append(nonEmergencies(), laterNonEmergencies()...) {
		if got := d.Find(text, ""); len(got) > 0 {
			t.Errorf("%q: false alarm %q", text, got)
		}
	}
	if n := len(nonEmergencies()); n < 60 {
		t.Errorf("only %d lines", n)
	}
}

// Two signs may come in two messages, but a message without a sign finds nothing.
func TestDetector_Find_withTheQuestionBefore(t *testing.T) {
	d := dentalDetector()
	for _, tt := range []struct {
		earlier, text string
		want          bool
	}{
		{"My cheek is swollen", "now I have a fever too", true},
		{"Má em bị sưng", "giờ em sốt 39 độ", true},
		{"My cheek is swollen and I have a fever", "thank you, where is your clinic?", false},
		{"How do braces work?", "I have a fever", false},
	} {
		if got := len(d.Find(tt.text, tt.earlier)) > 0; got != tt.want {
			t.Errorf("%q after %q: %v", tt.text, tt.earlier, got)
		}
	}
}

func TestNew_WithoutEmergencies(t *testing.T) {
	if subject.NewDetector(subject.Topic{Name: "gardening"}).Find("I can't breathe", "") != nil {
		t.Error("a topic without emergencies has some")
	}
}

func TestNotice(t *testing.T) {
	for lang, wants := range map[string][]string{
		"en": {"115 in Vietnam", "local emergency number", "sit upright"},
		"vi": {"gọi 115", "số cấp cứu", "ngồi thẳng"},
		"fr": {"local emergency number"},
	} {
		text := subject.Notice(packs.Dental(), []string{airway}, lang)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in %q", lang, want, text)
			}
		}
	}
	for lang, want := range map[string]string{"en": "**Permanent tooth knocked out (not a baby tooth): put it back into its socket now", "vi": "**Răng vĩnh viễn bị bật ra (không phải răng sữa): đặt lại vào ổ răng ngay"} {
		if text := subject.Notice(packs.Dental(), []string{knockedOut}, lang); !strings.HasPrefix(text, want) || !strings.Contains(text, "115") || strings.Contains(text, "{") {
			t.Errorf("%s: the right first step is not first: %q", lang, text)
		}
	}
	all := []string{
		airway, "allergic reaction", "heart", "low blood sugar", "overdose", "poison", bleeding,
		"inhaled or swallowed part", injury, knockedOut, "injured tooth", infection,
	}
	if text := subject.Notice(packs.Dental(), all, "vi"); len([]rune(text)) > 700 || strings.Count(text, "\n\n") != 2 {
		t.Errorf("too long to be read in haste: %d characters", len([]rune(text)))
	}
	own := packs.Dental()
	own.Emergencies.Number = "112"
	if text := subject.Notice(own, all, "en"); !strings.Contains(text, "Call 112 or go") || strings.Contains(text, "115") {
		t.Errorf("another number: %q", text)
	}
	for _, k := range append(all, "self-harm") {
		for _, lang := range []string{"vi", "en"} {
			if text := subject.Notice(packs.Dental(), []string{k}, lang); strings.HasSuffix(text, "\n\n") {
				t.Errorf("%s in %s has no advice", k, lang)
			}
		}
	}
	if subject.Notice(packs.Dental(), nil, "vi") != "" {
		t.Error("a notice about nothing")
	}
}

// Who cannot breathe reads that before the advice for a tooth, whatever the message is mostly about.
func TestNotice_thePressingFirst(t *testing.T) {
	dental := packs.Dental()
	kinds := subject.NewDetector(dental).Find("She hit her mouth on the tap, tooth shoved up into the gum, and she can't breathe well")
	if len(kinds) < 2 || kinds[0] != "injured tooth" || subject.Deciding(dental, kinds).Passage != "chipped" {
		t.Errorf("found %q", kinds)
	}
	for lang, want := range map[string][3]string{
		"en": {"do not wait for the answer", "Trouble breathing or swallowing", "see a dentist today"},
		"vi": {"đừng chờ câu trả lời", "Khó thở", "đến nha sĩ trong hôm nay"},
	} {
		rest := subject.Notice(dental, kinds, lang)
		for _, text := range want {
			_, after, found := strings.Cut(rest, text)
			if !found {
				t.Errorf("%s: %q is not in its place in %q", lang, text, subject.Notice(dental, kinds, lang))
			}
			rest = after
		}
	}
	if kinds[0] != "injured tooth" {
		t.Error("a notice changed the order of its kinds")
	}
}

// A very long message is handled fast, and signs at its beginning and end are still detected.
func TestDetector_Find_long(t *testing.T) {
	long := strings.Repeat("đánh răng ", 20_000) + ". Tôi khó thở"
	if got := dentalDetector().Find(long, ""); len(got) == 0 {
		t.Error("the end of a long message is not read")
	}
	for _, text := range []string{"", "🦷🦷🦷", "\xff\xfe", strings.Repeat("?", 100_000)} {
		if got := dentalDetector().Find(text, ""); got != nil {
			t.Errorf("%.20q: %v", text, got)
		}
	}
}

func FuzzDetector_Find(f *testing.F) {
	f.Add("Má em sưng và sốt", "")
	f.Add("can't stop the bleeding", "jaw 38.5")
	d := dentalDetector()
	f.Fuzz(func(t *testing.T, text, earlier string) {
		if len(text) > 20_000 {
			t.Skip()
		}
		if kinds := d.Find(text, earlier); len(kinds) > 0 && subject.Notice(packs.Dental(), kinds, "vi") == "" {
			t.Errorf("no notice for %q", kinds)
		}
	})
}

func BenchmarkDetector_Find(b *testing.B) {
	d := dentalDetector()
	for b.Loop() {
		d.Find("Nhổ răng khôn hàm dưới mọc lệch có nguy hiểm không, và sau bao lâu thì ăn uống bình thường được?", "")
	}
}

// A custom topic brings its signs and texts.
func TestNew_OwnTopic(t *testing.T) {
	own := subject.Topic{
		Name:        "gardening",
		Emergencies: subject.Simple([]subject.Sign{{Name: "poisoned", Phrases: []string{"ăn|nuốt * lá trúc đào", "ate|swallowed * berries|pesticide"}, Unless: []string{"bird|birds"}}}),
		Voices:      map[string]subject.Voice{"en": {Notices: map[string]string{"poisoned": "Keep the plant."}}},
	}
	d := subject.NewDetector(own)
	for text, want := range map[string]int{
		"my son just swallowed some red berries": 1, "con em vua an la truc dao": 1, "a bird ate the berries": 0, "what if a child ate pesticide?": 0,
	} {
		kinds := d.Find(text, "")
		if len(kinds) != want || want == 1 && !strings.Contains(subject.Notice(own, kinds, "en"), "Keep the plant.") {
			t.Errorf("%q: kinds %v, notice %q", text, kinds, subject.Notice(own, kinds, "en"))
		}
	}
}

// A broken piece is not a knocked-out tooth: it never goes back into the socket. A whole tooth
// counts as knocked out, whatever it is wrapped in.
func TestDetector_Find_aPieceIsNoTooth(t *testing.T) {
	d := subject.NewDetector(packs.Dental())
	for _, tt := range []struct{ message, earlier, want string }{
		{"mảnh răng còn giữ trong khăn giấy", "con trai em 8 tuổi té gãy răng cửa", "injured tooth"},
		{"miếng răng gãy rớt dưới sàn em nhặt rồi", "con trai em 8 tuổi té gãy răng cửa", "injured tooth"},
		{"I kept the piece in a tissue", "my son fell and broke his front tooth", "injured tooth"},
		{"half of the tooth is in my hand", "I fell off my bike", "injured tooth"},
		{"my son's tooth broke when he fell off the swing", "", "injured tooth"},
		{"my tooth cracked after I fell off a ladder", "", "injured tooth"},
		{"chồng em đánh nhau gãy răng cửa", "", "injured tooth"},
		{"bị bóng đập trúng, răng cửa sứt, em ngâm trong sữa", "", "injured tooth"},
		{"em té, răng gãy rớt ra ngoài luôn, còn nguyên chân", "", knockedOut + ", injured tooth"},
		{"a chunk of my tooth got knocked out", "", "injured tooth"},
		{"my tooth got knocked out, I have it in a piece of wet cloth", "", knockedOut},
		{"my tooth was knocked out and it bleeds a bit", "", knockedOut},
		{"the whole tooth is out, not just a piece", "my son fell and broke his front tooth", knockedOut},
		{"răng bị văng ra, em bọc trong miếng vải", "", knockedOut},
	} {
		if got := strings.Join(d.Find(tt.message, tt.earlier), ", "); got != tt.want {
			t.Errorf("%q after %q: got %q, want %q", tt.message, tt.earlier, got, tt.want)
		}
	}
	for message, want := range map[string]string{
		"it is only a piece of the tooth":           "injured tooth",
		"the broken off part is in my pocket":       "injured tooth",
		"I have the bit that came off in a zip bag": "injured tooth",
		"we found the other half on the grass":      "injured tooth",
		"got the chip wrapped in foil":              "injured tooth",
		"cục gãy em đang cầm đây":                   "injured tooth",
		"phần bị mẻ em bỏ vô bịch ni lông rồi":      "injured tooth",
		"nửa kia còn trong túi áo":                  "injured tooth",
		"what do I do now":                          knockedOut,
		"it is in a glass of milk":                  knockedOut,
		"em cầm nó trên tay nè":                     knockedOut,
	} {
		if got := d.CorrectKinds([]string{knockedOut, "injured tooth"}, message); got[0] != want {
			t.Errorf("%q, behind a tooth that came out: %q, want %q first", message, got, want)
		}
	}
}

// A person who has to call now does not also read that a visit today is enough.
func TestDetector_Find_noLesserHaste(t *testing.T) {
	d := subject.NewDetector(packs.Dental())
	for _, message := range []string{
		"my face is swollen, fever 39, and I can't swallow my saliva", "sưng mặt lan lên mắt, sốt từ đêm qua",
		"áp xe răng sưng to, sốt cao, khó thở",
	} {
		if got := d.Find(message, ""); !slices.Equal(got, []string{airway}) {
			t.Errorf("%q: %q", message, got)
		}
	}
	if got := d.Find("now I cannot swallow either", "my cheek is swollen and I have a fever"); !slices.Equal(got, []string{airway}) {
		t.Errorf("told in two messages: %q", got)
	}
}

// A diabetic who feels faint needs sugar, and neither an adrenaline pen nor the advice for the
// heart.
func TestDetector_Find_lowBloodSugar(t *testing.T) {
	d := subject.NewDetector(packs.Dental())
	for message, want := range map[string]string{
		"I have diabetes and since the filling I am shaking and in a cold sweat":    "low blood sugar",
		"my dad is on insulin, he is dizzy and confused after his tooth was out":    "low blood sugar",
		"em bị tiểu đường, mới nhổ răng xong tay run, vã mồ hôi":                    "low blood sugar",
		"me em tieu duong, nho rang ve lu lan, do mo hoi lanh":                      "low blood sugar",
		"I'm diabetic and after the amoxicillin I have hives and trouble breathing": "allergic reaction, airway",
		"em bị tiểu đường nhổ răng có sao không":                                    "",
		"I am diabetic and feel faint when I see needles, can I get an implant?":    "",
		"Can people with diabetes get dizzy from the anaesthetic?":                  "",
	} {
		if got := strings.Join(d.Find(message, ""), ", "); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// A denture is not a hypothetical case, although "giả" can introduce one.
func TestDetector_Find_aDenture(t *testing.T) {
	d := subject.NewDetector(packs.Dental())
	for message, want := range map[string]bool{
		"ba em bị nghẹn hàm giả không thở được": true, "bà tháo răng giả ra thì má sưng to, sốt cao": true, "giả sử sưng má kèm sốt thì sao": false,
	} {
		if got := d.Find(message, ""); len(got) > 0 != want {
			t.Errorf("%q: %q", message, got)
		}
	}
}

// One of several kinds decides what follows the notice: a kind that ends the turn, else the most
// urgent one, with the passage that also fits the others.
func TestDeciding(t *testing.T) {
	dental := packs.Dental()
	for _, tt := range []struct {
		kinds, name, passage string
		ends                 bool
	}{
		{"airway", airway, "airway", false},
		{"airway, allergic reaction", airway, "allergy", false},
		{"airway, swelling with fever", airway, "airway", false},
		{"airway, inhaled or swallowed part", airway, "swallowed-part", false},
		{"low blood sugar", "low blood sugar", "", false},
		{"injury, knocked-out tooth", injury, "knocked-out", false},
		{"heart, injured tooth", "heart", "", false},
		{"airway, self-harm, overdose", "self-harm", "", true},
		{"", "", "", false},
	} {
		var kinds []string
		if tt.kinds != "" {
			kinds = strings.Split(tt.kinds, ", ")
		}
		if got := subject.Deciding(dental, kinds); got.Name != tt.name || got.Passage != tt.passage || got.Ends != tt.ends {
			t.Errorf("%s: got %+v", tt.kinds, got)
		}
	}
	for _, lang := range []string{"vi", "en"} {
		alone, beside := subject.Notice(dental, []string{"self-harm"}, lang), subject.Notice(dental, []string{"overdose", "self-harm"}, lang)
		if alone != beside {
			t.Errorf("beside who speaks of self-harm reads what too many pills do: %q", beside)
		}
	}
}

// The newer kinds are found in both languages, with and without marks; the same words about what is
// past, asked in general, prevented or none of it are harmless.
func TestDetector_Find_furtherKinds(t *testing.T) {
	d := dentalDetector()
	for kind, tt := range map[string]struct{ urgent, harmless []string }{
		"numbing medicine": {
			urgent: []string{
				"my baby's lips turned blue after the teething gel", "he is grey and floppy, I used numbing gel on his gums",
				"bôi gel tê xong môi bé tím tái", "con em mềm nhũn, da xám sau khi xịt thuốc tê",
			},
			harmless: []string{
				"Is numbing gel safe for a teething baby?", "Can benzocaine turn a baby blue?", "My tooth turned grey after the injection years ago",
				"Gel tê có an toàn cho bé không?", "Tiêm tê xong bao lâu thì hết tê?", "Răng em bị xám, có tẩy được không?",
			},
		},
		"button battery": {
			urgent: []string{
				"my daughter swallowed a button battery", "there is a battery stuck up his nose",
				"con em nuốt viên pin cúc áo rồi", "bé nhét pin vào mũi lấy không ra",
			},
			harmless: []string{
				"How do I change the battery of my electric toothbrush?", "What should I do if a child swallows a button battery?",
				"Pin bàn chải điện dùng được bao lâu?", "Nếu bé nuốt pin thì phải làm sao?",
			},
		},
		"very ill child": {
			urgent: []string{
				"my 8 month old has a fever and is very sleepy, she won't wake up properly", "toddler with a fever of 39 and no wet nappies since last night",
				"my 5 week old baby has a fever", "bé sốt 39 độ, bỏ bú, không chịu uống gì", "con em đang sốt thì co giật", "bé nhà em li bì gọi không dậy",
			},
			harmless: []string{
				"Can teething cause a fever?", "She had a fever last week, now she is well", "My son sleeps badly since he is teething",
				"Mọc răng có gây sốt không?", "Tuần trước bé bị sốt, giờ khỏi rồi", "Bé không chịu đánh răng",
			},
		},
		"throat bleeding": {
			urgent: []string{
				"I had my tonsils out six days ago and now I am spitting blood", "she is vomiting blood after the operation",
				"em mổ amidan tuần này, giờ khạc ra máu", "con em cắt amidan xong nôn ra máu",
			},
			harmless: []string{
				"How long after a tonsillectomy can I get braces?", "I had my tonsils out as a child", "Sỏi amidan có gây hôi miệng không?", "Hồi nhỏ em cắt amidan rồi",
			},
		},
		bleeding: {
			urgent: []string{
				"I take warfarin and the socket has been slowly oozing all day", "on blood thinners, still bleeding since the extraction this morning",
				"ba em uống thuốc chống đông, chỗ nhổ răng rỉ máu cả ngày nay", "em uống thuốc loãng máu, nhổ răng xong máu cứ chảy",
			},
			harmless: []string{
				"I take warfarin, can I have a tooth out?", "Do I stop my blood thinner before the extraction?",
				"Uống thuốc chống đông có nhổ răng được không?", "Em uống aspirin, chải răng ra tí máu",
			},
		},
		"low blood sugar": {
			urgent: []string{
				"I'm diabetic, my sugar has dropped and I can't eat after the extraction", "my blood sugar is low, I am shaking after the dentist",
				"em bị tiểu đường, đường huyết tụt còn 2.9, run tay", "mẹ em tụt đường huyết, vã mồ hôi sau nhổ răng",
			},
			harmless: []string{
				"What should diabetics eat before an extraction?", "Is a low sugar diet good for teeth?", "Làm sao tránh hạ đường huyết khi nhịn ăn?", "Tiểu đường có cấy implant được không?",
			},
		},
		"self-harm": {
			urgent: []string{
				"I can't go on like this, I just want to disappear", "everyone would be better off without me", "I have written goodbye letters to my kids",
				"I don't want to wake up tomorrow", "em không chịu nổi nữa, chỉ muốn biến mất", "k mún sống nữa", "em muốn ngủ một giấc không bao giờ dậy nữa",
				"cả nhà không có em chắc nhẹ hơn", "em không còn lý do gì để sống",
			},
			harmless: []string{
				"this price kills me", "my tooth is killing me", "I can't go on like this with these braces", "goodbye cavities, hello smile",
				"đau răng muốn chết luôn, còn lịch chiều nay không?", "giá này giết người quá shop", "tạm biệt mắc cài thân yêu", "em muốn vết ố này biến mất", "nghe giá muốn xỉu",
			},
		},
	} {
		for _, message := range tt.urgent {
			for _, typed := range []string{message, text.Fold(message)} {
				if got := d.Find(typed); !slices.Contains(got, kind) {
					t.Errorf("%q: found %q, want %q", typed, got, kind)
				}
			}
		}
		for _, message := range tt.harmless {
			for _, typed := range []string{message, text.Fold(message)} {
				if got := d.Find(typed); len(got) > 0 {
					t.Errorf("%q: false alarm %q", typed, got)
				}
			}
		}
	}
}

// Signs from several messages of a talk count together, but each emergency is reported once, unless
// it is told of again at once.
func TestDetector_Find_inAFewMessages(t *testing.T) {
	d := dentalDetector()
	for _, tt := range []struct {
		message string
		earlier []string
		want    string
	}{
		{"and no wet nappy since this morning", []string{"my 8 month old has a fever", "what helps with teething?", "she chews on everything"}, "very ill child"},
		{"bé còn bỏ bú nữa", []string{"con em 8 tháng sốt 38 độ rưỡi", "bé mọc răng mấy cái là vừa?"}, "very ill child"},
		{"her lips look blue now", []string{"can I use numbing gel on my baby's gums?", "I put the numbing gel on her gums", "she cries a lot"}, "numbing medicine, very ill child"},
		{"it is still bleeding", []string{"I had a tooth out, I take warfarin", "can I drink coffee?"}, "bleeding"},
		{"giờ em sốt nữa", []string{"má em bị sưng", "uống gì cho đỡ đau?", "cảm ơn bác sĩ"}, infection},
		{"what can I eat?", []string{"my cheek is swollen", "and I have a fever"}, ""},
		{"how long does the swelling last?", []string{"my cheek is swollen and I have a fever", "thank you", "how much is a visit?"}, ""},
		{"I have a fever", []string{"How do braces work?", "what do they cost?"}, ""},
	} {
		if got := strings.Join(d.Find(tt.message, tt.earlier...), ", "); got != tt.want {
			t.Errorf("%q after %q: got %q, want %q", tt.message, tt.earlier, got, tt.want)
		}
	}
	for message, want := range map[string]bool{"I have a fever": true, "she is very sleepy": true, "what does a crown cost?": false} {
		if got := d.MayAdd(message); got != want {
			t.Errorf("%q may add to an emergency: %v", message, got)
		}
	}
}

// The notice names whom a person with thoughts of suicide can call, or says what to look for.
func TestNotice_crisisLine(t *testing.T) {
	dental := packs.Dental()
	for lang, want := range map[string]string{"en": "call the crisis line of your country", "vi": "gọi đường dây hỗ trợ tâm lý nơi bạn sống"} {
		if got := subject.Notice(dental, []string{"self-harm"}, lang); !strings.Contains(got, want) || strings.Contains(got, "{") {
			t.Errorf("%s, none set: %q", lang, got)
		}
	}
	dental.Emergencies.CrisisLine = "0800 123 456"
	got := subject.Notice(dental, []string{"self-harm"}, "en")
	if !strings.Contains(got, "call 0800 123 456.") {
		t.Errorf("set: %q", got)
	}
	if leading, kinds := subject.Leading(dental, got); leading != got || !slices.Contains(kinds, "self-harm") {
		t.Errorf("not told from an answer: %q %q", leading, kinds)
	}
}
