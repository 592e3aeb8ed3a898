package subject_test

// laterEmergencies and laterNotNow were written after the rules, to measure how well they generalise; the
// rules have been corrected for them since.
func laterEmergencies() []string {
	return []string{
		"Bác sĩ ơi cứu với, con em ngã gãy răng văng ra ngoài rồi",
		"Sau nhổ răng 2 ngày em bị sốt cao và má sưng to dần",
		"mat bi sung lan xuong co, kho tho",
		"em cần gấp: nhổ răng 8h sáng mà máu vẫn chảy không dứt",
		"chau be bi nga dap mieng xuong san, rang cua bat ra",
		"My wife's face is swelling fast and she can barely breathe",
		"Had a tooth pulled this morning, blood won't stop coming",
		"I got elbowed in basketball and my tooth is completely out",
		"Got hit by a baseball, think my jaw is fractured",
		"Can't swallow, neck swelling, dental abscess",
		"tooth abscess with fever",
		"máu cứ chảy hoài không cầm",
		"răng cửa bé rớt ra nguyên cái chân do té xe",
		"cho em hoi em nho rang khon ve bi kho tho",
		"vet nho rang ra mau hoai khong cam",
		"Răng cửa vừa bị đập bay ra ngoài, em đang cầm trên tay",
		"I knocked my tooth out ten minutes ago",
		"tooth knocked out what should I do",
		"my face is so swollen my eye is shut",
		"Bleeding non stop since extraction",
		"my jaw is locked and i cannot close it",
		"răng bị rụng do đánh nhau",
		"Cấp cứu! Răng con tôi bị bật khỏi hàm",
		"Feverish and swollen after root canal",
		"đau răng sưng má, sốt rét run",
		"Nuốt phải mão răng có sao không?",
	}
}

func laterNonEmergencies() []string {
	return []string{
		"Sưng nướu có nên chườm nóng không?",
		"Nên chườm lạnh hay chườm nóng khi sưng?",
		"Uống thuốc hạ sốt có giảm đau răng không?",
		"Trẻ mọc răng có sốt và sưng nướu không?",
		"Bị mất răng hàm lâu năm có trồng implant được không?",
		"Gãy răng cửa do cắn đá có bọc sứ được không?",
		"Chảy máu nướu nhiều có phải viêm nha chu?",
		"Há miệng to bị kêu và đau khớp thái dương hàm",
		"My jaw clicks when I chew",
		"Teething fever in babies, what helps?",
		"Should I use heat or ice for a swollen cheek?",
		"I lost a tooth years back, what are my options?",
		"Đang sốt xuất huyết có nhổ răng được không?",
		"I take aspirin, will I bleed heavily?",
		"Mùa nóng em hay bị sưng lợi",
		"My bracket fell off while eating",
		"Can I go to the dentist with a cold and fever?",
		"Sau nhổ răng bao lâu thì ngừng chảy máu?",
		"Em nhổ răng ở phòng khám về chỉ hơi đau",
		"How to store a knocked out tooth?",
		"Em bị hen, khó thở mãn tính, có gây mê được không?",
		"I get out of breath on stairs, is local anesthesia safe?",
		"Chi phí điều trị gãy răng do tai nạn?",
		"What counts as a dental emergency?",
		"My jaw hurts from grinding",
	}
}
