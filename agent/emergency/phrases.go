package emergency

// dentalSigns are the words in which people describe the signs. See phrase for their
// form; a Vietnamese word also stands for itself typed without marks.
func dentalSigns() map[sign]string {
	return map[sign]string{
		breath: `
			khó|khá thở
			thở khó
			thở không|ko|k|chẳng được|nổi
			thở không|ko|k|hổng ra hơi
			thở rất|hơi|quá khó
			thở không|ko|k * nổi|được
			không|ko|k|hông|chẳng|hổng * thở được|nổi
			nghẹt|ngạt|tắc thở
			nghẹn thở
			thở rít|khò
			đường thở
			hụt|thiếu hơi
			trouble|difficulty|difficulties|problem|problems|hard|struggling|struggle|struggles|unable|can't|cannot|cant|couldn't|barely|hardly * breathe|breathing
			can not * breathe
			difficult to breathe
			breathing is|gets|getting|became|becomes * hard|harder|difficult|worse
			short of breath
			shortness of breath
			out of breath
			gasping for air|breath
			can't|cannot|cant get * air
			throat is|was|feels closing|tight|tightening
			throat closing
			choking
			suffocating`,
		swallow: `
			khó nuốt
			nuốt khó|nghẹn|vướng
			nuốt rất|hơi|quá khó
			nuốt không|ko|k|chẳng|hổng * được|nổi|trôi
			không|ko|k|hông|chẳng|hổng|chả * nuốt được|nổi|trôi
			không|ko|k|hông|chẳng nuốt * được|nổi
			trouble|difficulty|difficulties|problem|problems|hard|struggling|struggle|struggles|unable|can't|cannot|cant|couldn't|barely|hardly|impossible * swallow|swallowing
			can not * swallow
			swallowing is|gets|getting|became|becomes * hard|harder|difficult|impossible
			drooling`,
		spread: `
			sưng|phù * lan * cổ|mắt|họng|ngực
			sưng|phù * xuống|tới|đến cổ|họng|ngực
			sưng|phù * lên|tới|đến mắt
			sưng|phù * sàn miệng
			sưng|phù * húp|híp mắt
			sưng * dưới hàm * cứng
			swelling|swollen|swelled * neck|eye|throat
			neck|throat is|are|has|have|feels * swollen|swelling|swelled
			eye is|are * swollen shut
			floor of * mouth * swollen|swelling
			swelling * floor of * mouth`,
		bleed: `
			chảy|ra máu * không|ko|k|chẳng|hổng|chưa * cầm|ngừng|dừng|ngưng|hết|dứt
			máu * chảy * không|ko|k|chẳng|hổng|chưa * cầm|ngừng|dừng|ngưng|hết|dứt
			máu * không|ko|k|chẳng|hổng|chưa * cầm|ngừng|dừng|ngưng
			không|ko|k|chưa|chẳng|hổng cầm * máu
			chảy máu|máu * đầy miệng
			đầy miệng máu
			máu phun|tuôn
			bleeding * won't|wont|doesn't|does|hasn't|isn't|not|can't|cannot|didn't * stop|stopping|stopped
			can't|cannot|cant|couldn't|unable|won't * stop * bleeding
			won't|wont|doesn't|hasn't|not stop|stopped|stopping bleeding
			keeps|kept|still bleeding
			bleeding for|since * hour|hours
			mouth * full of blood
			blood * won't|wont|doesn't|isn't|not * stop|stopping
			blood * pouring|gushing|spurting|everywhere
			pouring|gushing|spurting blood
			bleeding since this|last|yesterday
			not|won't|wont|doesn't|isn't * clot|clotting
			soaking|soaked|soaks * gauze|gauzes`,
		much: `
			chảy|ra * máu * nhiều|mãi|hoài|ồ|xối|ào|dữ|đầm|ướt|suốt|liên
			chảy|ra * nhiều|lắm máu
			máu * chảy|ra * nhiều|mãi|hoài|ồ|xối|ào|dữ|đầm|ướt|suốt|liên
			xuất huyết * nhiều|ồ|không
			heavy|heavily|severe|severely|profuse|profusely|uncontrolled|uncontrollable|uncontrollably|massive|badly bleeding|bleed|bleeds|bled
			bleeding|bleeds|bleed * heavily|profusely|badly|uncontrollably|nonstop|non|severely|constantly|continuously
			a lot of blood|bleeding
			lots|loads|tons of blood|bleeding
			so|too much blood`,
		jaw: `
			gãy|vỡ|nứt|bể * hàm
			hàm bị|dưới|trên|em|tôi|con|bé * gãy|vỡ|nứt|bể
			trật|lệch|trẹo|sái khớp|quai hàm
			trật hàm
			hàm * bị trật|trẹo
			hàm * không|ko|k * khép|ngậm|đóng
			không|ko|k * khép|ngậm|đóng * miệng|hàm
			há miệng * không|ko|k * ngậm|đóng|khép
			miệng|hàm * không|ko|k ngậm|khép|đóng * được|lại
			chấn thương * hàm|mặt
			đập|va|đụng|đánh|đấm|đá * vào|vô|trúng|xuống mặt|hàm|cằm|miệng|mồm|gò
			đập|va mặt|hàm|cằm|miệng|mồm
			mặt|hàm|cằm|miệng|mồm * đập|va|đụng * vào|vô|xuống|đất|bàn|cạnh
			té|ngã * đập|dập|úp mặt|hàm|cằm|miệng|mồm
			tai nạn * hàm|mặt|cằm
			broken|fractured|dislocated|shattered|broke|dislocate * jaw|cheekbone
			jaw * broken|fractured|dislocated|shattered|broke
			jaw * popped|came|out out|of place
			jaw * stuck|locked open
			jaw is|was|got|has|feels * stuck|locked
			jaw won't|wont|can't|cannot|doesn't * close|shut
			can't|cannot|cant|unable * close * mouth|jaw
			hit|punched|kicked|struck|elbowed|smashed|hurt|smacked|bashed|slammed * in|on * face|jaw|mouth|chin
			punched|kicked|smashed|slammed|hit his|her|my|their|the face|jaw|mouth|chin
			fell|fallen|landed * on|onto * face|jaw|chin|mouth
			injury|injured|injuries|trauma * face|jaw|facial
			facial|face|jaw injury|injuries|trauma|fracture
			accident|crash * face|jaw|chin`,
		tooth: `
			răng * bật|văng|bắn|bay|bứng * ra|khỏi|mất|luôn|nguyên|cả
			răng * rơi|rớt|rụng|tuột|long * khỏi ổ|hàm|xương
			bật|văng|bắn|bay|bứng|đánh * răng|cái * ra|cửa|khỏi
			bật|văng|bay|bứng luôn|mất|cả|nguyên|cái|một|2|1|hai * răng
			knocked|knock|knocks|punched|kicked * tooth|teeth * out
			knocked|knock|punched|kicked out * tooth|teeth
			tooth|teeth * knocked|punched|kicked|smashed * out
			tooth|teeth * flew out
			knocked out tooth|teeth
			tooth|teeth * in a|some|the|cold glass|cup|milk
			răng * ngâm * sữa
			tooth|teeth came clean|right out
			avulsed|avulsion
			tooth|teeth * out of * socket`,
		toothOut: `
			răng * rơi|rớt|rụng|gãy|mất|lung
			rơi|rớt|rụng|gãy|mất * răng
			tooth|teeth * fell|came|come|fallen|falling out|off
			lost|lose|lost * tooth|teeth
			tooth|teeth * is|was|are|were * gone|out
			tooth|teeth * in my|his|her|the hand|floor|ground
			răng * nằm dưới|trên đất|sàn|tay`,
		force: `
			bị|vừa|mới|do|vì|sau|đi|trượt|em|con|bé|cháu|tôi té|ngã
			té|ngã xe|cầu|xuống|từ|đập|sấp|nhào
			tai nạn
			va đập|chạm|quẹt
			đánh nhau
			bóng|banh đập|trúng|đá|bay
			fell from|off|down|over|while|on|at|in|and
			after|had|took|from * fall
			accident
			crash
			crashed
			hit by|in|with
			got|was|been hit|punched|kicked|elbowed
			punched|kicked|elbowed
			fight`,
		swelling: `
			sưng|phù|húp
			áp xe
			abscess|abscessed
			swollen|swelling|swells|swelled|swell|puffy|puffed`,
		fever: `
			sốt
			nóng sốt|ran|hầm|hừng
			người nóng
			38|39|40|41 * độ
			38|39|40|41|101|102|103|104 * degrees
			38c|39c|40c|102f|103f
			ớn|rét lạnh|run
			lạnh run
			fever|fevers|feverish|febrile
			high|raised temperature
			temp of|is|was|at * 38|39|40|41|100|101|102|103|104
			temperature of|is|was|at * 38|39|40|41|100|101|102|103|104
			running a temperature
			running temperature
			chills`,
	}
}

// dentalExclusions are words in the same sentence that give a sign another sense.
func dentalExclusions() map[sign]string {
	return map[sign]string{
		breath: `
			thở bằng|qua mũi|miệng
			nghẹt mũi
			ngưng|ngừng thở khi|lúc ngủ
			through * nose
			stuffy|blocked nose
			sleep apnea|apnoea
			mãn|mạn tính
			chronic|stairs|exercise|exercising
			breath smells|smell|stinks`,
		swallow: `
			nuốt * viên|thuốc
			swallow|swallowing * price|cost|bill|fee
			swallow|swallowing * pills|pill|tablets|tablet|capsules`,
		bleed: `
			khi|lúc|mỗi|lần|sau * đánh|chải răng
			khi|lúc * xỉa|chỉ
			when|whenever|while|after|every * brush|brushing|floss|flossing`,
		much: `
			chân răng
			nướu|lợi
			gum|gums
			sốt xuất huyết
			khi|lúc|mỗi|lần * chải răng
			when|whenever|while|after|every * brush|brushing|floss|flossing`,
		jaw: `
			gãy|vỡ|nứt|bể hàm giả|tháo|duy|khung
			hàm giả|duy|tháo
			denture|dentures|retainer|retainers|mouthguard|aligner|aligners`,
		tooth: `
			quote|price|lol
			răng giả|sứ|tạm
			mão|mắc|miếng|cục|trám|chụp|veneer|implant
			hàm giả|duy|tháo
			false|fake|crown|crowns|filling|fillings|veneer|veneers|temporary|denture|dentures|implant|bracket|brackets|cap|baby`,
		toothOut: `
			răng giả|sứ|tạm
			mão|mắc|miếng|cục|trám|chụp|veneer|implant
			hàm giả|duy|tháo
			false|fake|crown|crowns|filling|fillings|veneer|veneers|temporary|denture|dentures|implant|bracket|brackets|cap|baby`,
		force: `
			price|prices|cost|rate|asleep`,
		fever: `
			nước|cà|cơn|rau|thịt|giá|bánh|vang sốt
			sốt ruột|sắng|vang|cà|mayonnaise|chanh|me|dẻo|đất|giá|kem
			high temperature wash|water|cycle|program
			hay fever`,
	}
}
