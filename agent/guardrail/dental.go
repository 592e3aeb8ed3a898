package guardrail

import "strings"

// Dental returns the built-in topic: dentistry, oral health, visits to a dental
// clinic and dental insurance, in Vietnamese and English.
func Dental() Topic {
	return Topic{
		Name:    "dental",
		Version: "1",
		Description: map[string]string{
			"vi": "nha khoa: răng, nướu (lợi), miệng, hàm, vệ sinh răng miệng, điều trị nha khoa và chăm sóc sau đó, nha sĩ, phòng khám nha khoa, đặt lịch, chi phí và bảo hiểm nha khoa.",
			"en": "dentistry: teeth, gums, mouth and jaw, oral hygiene, dental treatments and their after-care, dentists, dental clinics, appointments, dental costs and dental insurance.",
		},
		Admit:    append(list(dentalAdmitVI), list(dentalAdmitEN)...),
		Related:  list(dentalRelated),
		Weak:     list(dentalWeak),
		Adjacent: list(dentalAdjacent),
		Foreign:  append(list(dentalForeign), list(commonForeign)...),
		Tasks:    list(commonTasks),
		Refusal: map[string]string{
			"vi": "Xin lỗi bạn, mình là trợ lý nha khoa nên chỉ trả lời được các câu hỏi về răng miệng. Mình có thể giúp bạn về chăm sóc răng nướu, đau răng, sâu răng, nhổ răng, niềng răng, implant, răng của trẻ em hay chi phí và lịch khám nha khoa. Bạn muốn hỏi điều gì về răng miệng không?",
			"en": "Sorry, I am a dental assistant and can only answer questions about teeth and oral health. I can help with tooth and gum care, toothache, cavities, extractions, braces, implants, children's teeth, or dental costs and visits. Is there anything about your teeth or mouth that you would like to ask?",
		},
		Unavailable: map[string]string{
			"vi": "Hiện tại mình chưa kiểm tra được câu hỏi này nên chưa thể trả lời. Bạn vui lòng thử lại sau ít phút nhé. Nếu bạn bị sưng mặt kèm sốt, khó thở, khó nuốt hoặc chảy máu không cầm, hãy đến cơ sở y tế ngay.",
			"en": "I cannot check this question right now, so I cannot answer it yet. Please try again in a moment. If your face is swollen and you have a fever, trouble breathing or swallowing, or bleeding that does not stop, go to emergency care now.",
		},
	}
}

// list splits a block of phrases at commas and line ends.
func list(block string) []string {
	var phrases []string
	for p := range strings.FieldsFuncSeq(block, func(r rune) bool { return r == ',' || r == '\n' }) {
		if p = strings.TrimSpace(p); p != "" {
			phrases = append(phrases, p)
		}
	}
	return phrases
}

const dentalAdmitVI = `
nha khoa, nha sĩ, nha sỹ, nha chu, nha si, răng hàm mặt, bác sĩ răng, chỉ nha khoa, nha học đường
sâu răng, sún răng, đau răng, nhức răng, ê răng, ê buốt răng, buốt răng, đánh răng, chải răng, nhổ răng, nhổ bỏ răng, mọc răng, thay răng, trám răng, hàn răng, niềng răng, chỉnh răng, chỉnh nha, nắn răng
bọc răng, bọc sứ, răng sứ, mão răng, mão sứ, chụp răng, cầu răng, cầu sứ, dán sứ, mặt dán sứ, răng giả, hàm giả, răng tháo lắp, trồng răng, cấy răng, cấy ghép răng, ghép răng, mất răng, rụng răng, gãy răng, mẻ răng, vỡ răng, sứt răng, nứt răng
lấy tủy, lấy tuỷ, chữa tủy, chữa tuỷ, viêm tủy răng, tủy răng, tuỷ răng, điều trị tủy, diệt tủy, chết tủy
cao răng, vôi răng, cạo vôi, mảng bám, men răng, mòn răng, mòn cổ răng, chân răng, cổ răng, kẽ răng, thân răng, nghiến răng, xỉa răng, tẩy trắng răng, tẩy trắng, trắng răng, làm trắng răng, răng trắng, ố răng, vàng răng, răng vàng, răng ố, răng xỉn, răng nhiễm
răng khôn, răng sữa, răng cửa, răng hàm, răng nanh, răng số, răng cấm, răng vĩnh viễn, hàm răng, cái răng, chiếc răng, răng miệng, răng lợi, răng nướu, răng hô, răng móm, răng khểnh, răng thưa, răng lệch, răng mọc, răng lung lay, lung lay răng
răng tôi, răng em, răng mình, răng con, răng bé, răng trẻ, răng của, răng bị, răng đau, răng nhức, răng ê, răng hư, răng sâu, răng sưng, răng cháu, răng mẹ, răng ba
nướu, lợi trùm, viêm lợi, sưng lợi, sưng nướu, viêm nướu, tụt lợi, tụt nướu, chảy máu lợi, chảy máu nướu, đau lợi, đau nướu, lợi sưng, lợi bị, lợi chảy máu, nướu bị, nướu sưng, áp xe răng, mủ chân răng, ổ răng, viêm quanh răng
hôi miệng, súc miệng, khoang miệng, nhiệt miệng, lở miệng, loét miệng, khô miệng, vệ sinh miệng, ung thư miệng, nấm miệng, hơi thở có mùi, mùi hôi miệng
mắc cài, khay niềng, khay trong suốt, hàm duy trì, khớp cắn, thái dương hàm, cắn ngược, cắn chéo, khí cụ nha, tăm nước, kem đánh răng, bàn chải đánh răng, bàn chải điện, bàn chải kẽ, trám bít hố rãnh, máng chống nghiến, implant răng, cấy implant, trụ implant, cấy ghép implant, trồng implant, cắm implant, làm implant
bảo hiểm nha khoa, đau chân răng, đau khớp hàm, đau khớp thái dương, ung thư lưỡi, ung thư khoang miệng, khám răng, phòng răng, làm răng, đau hàm răng, chụp phim răng, x quang răng, nội nha, phục hình răng, mặt trong răng`

const dentalAdmitEN = `
dental, dentist*, denture, orthodont*, endodont*, periodont*, prosthodont*, gingiv*, toothache, tooth ache, toothbrush*, toothpaste, tooth paste, teethbrush, tooth brush, toothpick
tooth decay, tooth pain, tooth hurt, tooth ached, tooth extraction, tooth removal, tooth sensitivity, tooth infection, tooth abscess, tooth enamel, tooth nerve, tooth crown, tooth root, tooth loss, tooth whitening, tooth filling, tooth implant
wisdom tooth, wisdom teeth, baby tooth, baby teeth, milk tooth, milk teeth, front tooth, front teeth, back tooth, back teeth, molar, premolar, incisor, canine tooth, adult teeth, permanent teeth, permanent tooth, false teeth, fake teeth, loose tooth, loose teeth, missing tooth, missing teeth, broken tooth, broken teeth, chipped tooth, cracked tooth, knocked out tooth, yellow teeth, crooked teeth, sensitive teeth, sensitive tooth, stained teeth, straight teeth, bad teeth, white teeth, whiter teeth, rotten tooth, rotten teeth, sore tooth
my tooth, my teeth, your teeth, his teeth, her teeth, their teeth, our teeth, his tooth, her tooth, child teeth, kid teeth, son teeth, daughter teeth, son tooth, daughter tooth, toddler teeth, baby first tooth, first tooth, first teeth, a tooth, the tooth, this tooth, between teeth, between the teeth, teeth clean, clean teeth, teeth cleaning, teeth whitening, whiten teeth, whitening teeth, brush teeth, brushing teeth, teeth grinding, grinding teeth, grind teeth, teeth straightening, straighten teeth, teeth hurt, teeth pulled, tooth pulled, tooth out, tooth knocked, pull a tooth, lose a tooth, lost a tooth, teeth falling
root canal, gum disease, bleeding gum, gum bleed, gum bleeding, swollen gum, receding gum, gum recession, sore gum, gum infection, gum pain, gum hurt, gum line, gumline, my gum, gum health, healthy gum, gum graft, gum inflammation, inflamed gum, gum abscess, gum and teeth, teeth and gum
dry socket, bad breath, halitosis, mouth ulcer, canker sore, mouth sore, dry mouth, mouthwash, mouth wash, oral health, oral hygiene, oral cancer, oral care, oral surgeon, oral surgery, oral thrush, mouth guard, mouthguard, night guard, nightguard, overbite, underbite, crossbite, malocclusion, tmj, bruxism, fluoride toothpaste, fluoride varnish, fluorosis, pulpitis, invisalign, clear aligner, aligner, water flosser, waterpik, dental floss, interdental, floss daily, floss every, how to floss, i floss, floss properly, flossing, composite filling, amalgam filling, amalgam, my filling, a filling fell, filling fell out, porcelain crown, zirconia crown, crown fell off, crown came off, crown fell, temporary crown, my crown, my brace, get brace, wear brace, wearing brace, metal brace, brace off, brace hurt, brace or invisalign, brace pain, brace wire, porcelain veneer, pediatric dentist, tartar removal, plaque and tartar, scaling and root planing, deep cleaning teeth, pregnancy gingivitis, teething, jaw pain, my jaw, jawbone, thumb sucking, pacifier teeth`

const dentalRelated = `
răng, niềng, tủy, implant, veneer, tooth, teeth, cavity, caries, floss, tartar, retainer, fluoride, plaque, enamel, mão, đặt lịch khám, lịch khám, đặt hẹn khám, tái khám, phòng khám, chụp phim, bàn chải, khôn mọc, cái hàm, đau hàm, gãy hàm, sưng hàm, hàm dưới, hàm trên, hàm hô, hàm móm, lưỡi trắng, đau lưỡi, sưng má, sưng mặt, book an appointment, make an appointment, clinic, gum, brushing, wisdom, brace, numbing, anesthetic, local anaesthetic, gây tê, thuốc tê, chewing pain, bite down, hurt to chew, hurt when i bite, swollen cheek, swollen face, in my mouth, my mouth, roof of my mouth, my tongue, trong miệng, ê buốt, buốt khi, bị buốt, miệng em, miệng tôi, đau khi nhai, nhai đau, hơi thở, jaw, tongue, extraction, extracted, whitening, sealant, abscess, lưỡi, mọc lệch, toothless, nhai, chữa viêm lợi, nhổ`

const dentalWeak = `
crown, bridge, canal, filling, drill, mouth, bite, chew, x ray, scaling, numb, swollen, appointment, insurance cover, smile, sứ, hàm, lợi, sâu, trám, miệng, cắn, buốt, bảo hiểm, chích máu, chảy máu, trẻ mọc, bleeding, brush`

// dentalAdjacent are other parts of medicine: not ours, but often asked together
// with something that is.
const dentalAdjacent = `
đau đầu, nhức đầu, đau bụng, đau lưng, đau họng, viêm họng, đau dạ dày, dạ dày, tiểu đường, huyết áp, tim mạch, cảm cúm, ho khan, sổ mũi, ung thư, covid, vắc xin, tiêm chủng, viêm gan, mụn, rụng tóc, giảm cân, mất ngủ, trầm cảm, xương khớp, đau mắt, cận thị, viêm xoang, tai mũi họng, da liễu, thai kỳ, sinh lý, đau chân, gãy tay, gãy chân, đau khớp, đau tim
headache, migraine, stomach ache, stomachache, back pain, sore throat, diabetes, blood pressure, hypertension, cholesterol, heart attack, flu, covid, vaccine, cancer, hepatitis, acne, hair loss, lose weight, weight loss, insomnia, depression, anxiety, arthritis, knee pain, eye pain, myopia, sinus infection, dermatology, skin rash, ear infection, asthma, broken arm, broken leg, kidney stone, allergy medicine, heart disease, stomach pain`

// dentalForeign are near misses: words of the trade in another sense.
const dentalForeign = `
molar mass, molar concentration, molar volume, panama canal, suez canal, erie canal, canal boat, ear canal, canal street, golden gate bridge, london bridge, brooklyn bridge, suspension bridge, bridge loan, bridge game, card game, bridge design, build a bridge, network bridge, long bien bridge, dragon bridge, the crown, crown prince, crown jewel, crown of the king, king crown, queen crown, royal crown, crown on netflix, crown molding, curly brace, knee brace, ankle brace, back brace, brace for impact, brace yourself, brace expansion, cavity wall, resonant cavity, microwave cavity, plug cavity, filling station, pie filling, filling for, gas station, form filling, drill bit, drill press, drill a hole, fire drill, military drill, root directory, root access, root user, square root, root cause, cube root, plaque on the wall, memorial plaque, arterial plaque, enamel paint, enamel pin, wisdom of, words of wisdom, chewing gum brand, bubble gum, gum tree, xanthan gum, gum arabic, tree gum, shark tooth, shark teeth, saw teeth, gear teeth, gear tooth, comb teeth, saber tooth, sabertooth, sweet tooth cafe, blue tooth, bluetooth, tooth fairy movie, zipper teeth, retainer fee, legal retainer, lawyer retainer, wood veneer, veneer plywood, breast implant, cochlear implant, chip implant, brain implant, hair implant, bone scaling, image scaling, scaling a, fish scale, horizontal scaling, mouth of the river, river mouth, word of mouth, mother tongue, tongue twister, bite size, bite of the apple, sound bite, mosquito bite, snake bite, dog bite, floss dance, candy floss, kernel filling, python brace, smile emoji, abutment of the bridge
cầu long biên, cầu rồng, cầu nhật tân, cầu vàng, cầu mỹ thuận, cầu thê húc, cầu cần thơ, cây cầu, cầu lông, cầu thủ, cầu đường, cầu vồng, cầu thang, xây cầu, cầu treo, cầu bãi cháy, cầu sông hàn, bồn cầu, khinh khí cầu, toàn cầu, địa cầu, hồng cầu, bạch cầu, tiểu cầu, đại sứ, gốm sứ, bát sứ, chén sứ, bình sứ, đồ sứ, sứ quán, sứ mệnh, thiết bị vệ sinh, hoa sứ, sứ thanh hoa, hàm số, hàm mũ, hàm bậc, hàm python, hàm excel, hàm vlookup, hàm if, hàm sum, hàm đệ quy, hàm nghi, hàm lượng, hàm ý, hàm lâm, quân hàm, học hàm, hàm cá mập, đạo hàm, nguyên hàm, hàm main, viết hàm, sâu bệnh, sâu bọ, sâu bướm, thuốc trừ sâu, sâu cuốn lá, học sâu, sâu keo, vùng biển sâu, lợi nhuận, lợi tức, lợi thế, thủy lợi, thuỷ lợi, quyền lợi, phúc lợi, lãi lợi, lê lợi, tỷ suất sinh lợi, cổ tức, tủy sống, ghép tủy, tủy xương, suy tủy, tủy heo, niềng xe, mâm niềng, quả trám, trám đen, hạt trám, trám tường, khôn ngoan, dao lưỡi, lưỡi cưa, lưỡi dao, lưỡi câu, răng cưa, bánh răng, răng lược, răng cá mập, răng rứa, mần răng, răng mô, mô răng, cơm rang, rang cơm, lạc rang, ngô rang, rang xay, rang lạc, cửa hàm, bàn chải cọ, miệng núi lửa, miệng hố, miệng cống, truyền miệng, cá mập, khủng long, cấy chip, bọc ghế, tẩy trắng quần áo, tẩy trắng vải, tẩy trắng áo, tẩy trắng da, tắm trắng, bleach clothes, whiten clothes, whitening cream, skin whitening, laundry whitening`
