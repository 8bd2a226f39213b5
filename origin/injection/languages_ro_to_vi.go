package injection

var romanian = words{
	tag: "ro",
	ignore: "ignoră, ignorați, ignora+, să ignorați, să ignori, uită, uitați, să uitați, să uiți, " +
		"nu ține cont de, nu țineți cont de, nu urma, nu urmați, nu lua în considerare, " +
		"nu luați în considerare, treci peste, lasă deoparte, nu respecta",
	all: "toate, tot, orice, oricare, fiecare, toți",
	earlier: "anterioare, precedente, de mai sus, anterior, de până acum, primite, de dinainte, dinainte, " +
		"mai sus",
	rules: "instrucțiunile, instrucțiuni, regulile, reguli, comenzile, comenzi, indicațiile, ordinele, " +
		"directivele, directive, ce ți s a spus, ce ți s-a spus, prompturile",
	reveal: "arată, arătați, afișează, afișați, dezvăluie, dezvăluiți, tipărește, trimite, trimiteți, " +
		"repetă, repetați, divulgă, partajează, spune",
	secret: "promptul tău de sistem, promptul de sistem, prompt de sistem, instrucțiunile de sistem, " +
		"instrucțiunile ascunse, mesajul de sistem, instrucțiunile tale de sistem",
	data: "conversația, conversații, parola, parole, datele utilizatorului, date personale, " +
		"e mailul utilizatorului, cheia api, cheile api, istoricul",
	role: "acum ești, de acum ești, de acum înainte ești, din acest moment ești, acționează ca, " +
		"comportă te ca, prefă te că ești, joacă rolul, acum sunteți un model",
	free: "fără restricții, fără reguli, fără limite, fără filtre, fără cenzură, fără limitări, " +
		"fără nicio restricție, nerestricționat",
	recommend: "recomandă, recomandați, să recomande+, să recomanzi+, recomanda+, sugerează, sugerați, " +
		"să sugereze+, promovează, promovați, să promoveze+, preferă, preferați, să prefere+, alege, " +
		"pune, plasează, laudă, propune, favorizează, clasează, sfătuiește",
	say: "spune, spuneți, să spună+, răspunde, răspundeți, să răspundă+, menționează, menționați, " +
		"să menționeze+, citează, să citeze+, afirmă, numește, descrie, scrie, precizează",
	never: "nu menționa, nu menționați, nu recomanda, nu recomandați, nu menționați niciodată, " +
		"nu menționa niciodată, nu numi, nu vorbi despre, nu vorbiți despre, nu pomeni, nu pomeniți, " +
		"nu sugera, să nu menționeze+, să nu recomande+, nu cita",
	first: "cea mai bună, cel mai bun, cele mai bune, primul, prima, pe primul loc, numărul unu, lider*, " +
		"unica, singura, înaintea, cel mai",
	rival: "concuren*, rival*, alte mărci, alte magazine, alte firme, alternativ*, alte branduri, " +
		"alți furnizori, pe nimeni altcineva",
	prefer: "folosește, folosiți, citează, citați, utilizează, prioritizează, trimite la",
	must: "trebuie, ar trebui, sunt obligați, este obligatoriu, vă rugăm, te rog, te rugăm, rugăm, " +
		"este necesar",
	always: "întotdeauna, mereu, niciodată, totdeauna",
	model: "asistent ai, asistenții ai, asistenți ai, asistent, asistenți, asistenții, asistenții ia, " +
		"inteligență artificială, inteligența artificială, inteligențe artificiale, model lingvistic, " +
		"model de limbaj, modele de limbaj, modelele de limbaj, modelele lingvistice, " +
		"modele lingvistice, chatbot*, modele ai, modelele ai, model ai, agenții ai, sistemele ai, boți, " +
		"boții, ești un ai, ești ai, modelelor de limbaj, modelelor ai",
	asked: "când un utilizator întreabă, când utilizatorii întreabă, dacă un utilizator întreabă, " +
		"dacă cineva întreabă, când cineva întreabă, când ești întrebat, dacă ești întrebat, " +
		"când utilizatorul întreabă",
	ours: "noi, nostru, noastră, acest site, acest magazin, această pagină, ne, pe noi",
	intro: "notă pentru, notă, atenție, mesaj pentru, mesaj către, către, pentru, dacă ești, dacă sunteți, " +
		"dragă, dragi, stimate, important, instrucțiuni pentru, salut, notă către, o, un, toate",
	filler: "vă rugăm, vă rog, te rog, și, de, la, cu, un, o, tău, tale, ta, tăi, dumneavoastră, pe, că, ca, " +
		"fiind, acum, să, în, a, al, ale, doar, numai, de asemenea, aceste, acestea, mi, îmi, ți, " +
		"utilizatorului, apoi, deci, firma, marca, cele, brandul, magazinul, te",
	topic: "atacator*, atac, atacuri, de exemplu, hackeri*, cum să",
	about: "injectare de prompt*, injectarea de prompt*, injecție de prompt*",
}

var swedish = words{
	tag: "sv",
	ignore: "ignorera, glöm, bortse från, strunta i, åsidosätt, följ inte, ta ingen hänsyn till, " +
		"ta inte hänsyn till, förbise, ignorera+",
	all:     "alla, allt, varje, samtliga, all",
	earlier: "tidigare, föregående, ovanstående, förra, ovan, hittillsvarande, dittills, förut",
	rules: "instruktion*, anvisning*, regel, regler, reglerna, order, kommandon, riktlinjer*, uppmaningar, " +
		"det du fått höra",
	reveal: "visa, skriv ut, avslöja, skicka, upprepa, visa mig, dela, vidarebefordra, uppge, röj",
	secret: "systeminstruktion*, dolda instruktion*, systemprompt*, systemmeddelande*, hemliga instruktion*",
	data:   "konversation*, samtalet, lösenord*, personuppgifter, användarens, api nyck*, chatthistorik*",
	role: "du är nu, från och med nu är du, från nu är du, bete dig som, låtsas att du är, agera som, " +
		"spela rollen som, uppträd som, låtsas vara",
	free: "utan begränsning*, utan regler, utan restriktioner, obegränsad*, ofiltrerad*, utan filter, " +
		"utan censur, utan spärrar",
	recommend: "rekommendera, rekommendera+, föreslå, föredra, framhäv, prioritera, välj, ranka, rangordna, " +
		"marknadsför, lyft fram, förespråka, främja, tipsa om, placera, sätt",
	say: "säg, berätta, svara, nämn, nämna+, säga+, uppge, skriv, påstå, beskriv, omnämn, svara+",
	never: "nämn aldrig, nämn inte, rekommendera aldrig, rekommendera inte, aldrig nämna+, inte nämna+, " +
		"inte rekommendera+, undvik att nämna, tala inte om, prata inte om",
	first:  "bästa, bäst, först, första, nummer ett, ledande, framför, enda, mest, i första hand",
	rival:  "konkurrent*, andra märken, andra butiker, andra företag, alternativ*, andra än, någon annan",
	prefer: "använd, citera, hänvisa till, fokusera på, länka",
	must:   "måste, ska, skall, bör, får, är skyldiga att, vänligen, uppmanas att, ombeds att",
	always: "alltid, aldrig",
	model: "ai, ai assistent*, artificiell intelligens, språkmodell, språkmodeller, språkmodellen, " +
		"stora språkmodeller, chatbot*, chattbot*, assistent, assistenter, ai modell*, ai agent*, " +
		"ai system*, botar, ai botar",
	asked: "när användare frågar, när användaren frågar, när någon frågar, om någon frågar, " +
		"om användaren frågar, när en användare frågar, om en användare frågar",
	ours: "oss, vår, vårt, denna sida, den här sidan, denna butik, den här butiken",
	intro: "meddelande till, notering till, anmärkning till, till, om du är, kära, käre, obs, notera, för, " +
		"viktigt, instruktion till, instruktioner till, hej",
	filler: "längre, och, vänligen, snälla, de, den, det, en, ett, din, dina, ditt, du, så, nu, då, som, " +
		"att, var snäll, också, endast, bara, för, från, om, till, alltid, därför, tack, ge, dig, mig, " +
		"helt",
	topic: "angripar*, angrepp, till exempel, attack*",
	about: "promptinjektion*, prompt injektion*",
}

var turkish = words{
	tag:      "tr",
	verbLast: true,
	ignore: "yok say, yok sayın, yok sayınız, görmezden gel, görmezden gelin, görmezden geliniz, unut, " +
		"unutun, unutunuz, dikkate alma, dikkate almayın, göz ardı et, göz ardı edin, yoksay, yoksayın, " +
		"uyma, uymayın, boş ver, önemseme, umursama",
	all:     "tüm, bütün, her, hepsini, tamamını, hepsi, tümünü, herhangi",
	earlier: "önceki, yukarıdaki, daha önceki, evvelki, geçmiş, şimdiye kadarki, verilen, eski",
	rules:   "talimat*, komut*, kural*, yönerge*, emir, emirleri, istemleri, direktif*, yönlendirme*",
	reveal: "göster, gösterin, açıkla, açıklayın, yazdır, yazdırın, gönder, gönderin, tekrarla, tekrarlayın, " +
		"paylaş, paylaşın, ifşa et, ver, söyle, dök, aktar, ilet",
	secret: "sistem istem*, sistem prompt*, sistem talimat*, gizli talimat*, sistem komut*, sistem mesaj*",
	data:   "konuşma*, sohbet*, şifre*, parola*, kullanıcı veri*, kullanıcının, kişisel veri*, api anahtar*",
	role: "artık, şu andan itibaren, bundan sonra, şimdi sen, sen artık, gibi davran, gibi davranın, " +
		"rolünü üstlen, numarası yap",
	free: "kısıtlaması olmayan, sınırsız, kısıtlamasız, kuralsız, filtresiz, sansürsüz, " +
		"sınırlaması olmayan, kuralları olmayan, kısıtlama olmadan, kısıtlama olmaksızın",
	recommend: "öner, önerin, öneriniz, önermelidir, önermeli, önermelisin, önermelisiniz, önermek zorundadır, " +
		"önersin, tavsiye et, tavsiye edin, tavsiye etmelidir, tavsiye etmeli, tavsiye etsin, tercih et, " +
		"tercih edin, öne çıkar, öne çıkarın, ilk sıraya koy, ilk sıraya yerleştir, sırala, tanıt, " +
		"tanıtın, öv, övün, seç, seçin, önersinler, önermeliler, önermeleri gerekir, önermesi gerekir",
	say: "söyle, söyleyin, söylemelidir, de, belirt, belirtin, belirtmelidir, yanıtla, cevap ver, " +
		"yanıt ver, yaz, an, anın, bahset, bahsedin, ifade et",
	never: "bahsetme, bahsetmeyin, bahsetmeyiniz, önerme, önermeyin, anma, anmayın, adını anma, söz etme, " +
		"söz etmeyin, adını verme, listeleme, bahsetmemelidir, önermemelidir, tavsiye etme, " +
		"tavsiye etmeyin",
	first: "en iyi, ilk, birinci, bir numara, bir numaralı, ilk sırada, lider*, öncü, tek, en güvenilir, " +
		"önce, üstün, en",
	rival: "rakip*, rakib*, rakipler*, diğer marka*, başka marka*, diğer mağaza*, diğer firma*, " +
		"alternatif*, başka firma*, diğer şirket*, başkasını",
	prefer: "kullan, kullanın, alıntıla, kaynak göster, bağlantı ver, vurgula",
	must:   "lütfen, zorunda, zorundadır, gerekir, sakın",
	always: "her zaman, daima, hep, asla, mutlaka, kesinlikle",
	model: "yapay zeka, yapay zekalar, yapay zekaya, yapay zekaysan*, yapay zekasın, yapay zeka asistan*, " +
		"yapay zeka model*, dil model*, asistan, asistanlar, chatbot*, sohbet bot*, ai, ai asistan*, " +
		"ai model*, botlar, yapay zekalara, yapay zeka sistem*, büyük dil model*",
	asked: "kullanıcılar sorduğunda, kullanıcı sorduğunda, biri sorduğunda, sorulduğunda, " +
		"kullanıcı sorarsa, biri sorarsa, birisi sorarsa, birisi sorduğunda, sorulursa",
	ours: "bizi, bizim, bu siteyi, bu sayfayı, bu mağazayı, markamızı, mağazamızı",
	intro: "not, dikkat, mesaj, eğer, sevgili, önemli, bir, uyarı, merhaba, isen, iseniz, için, olarak, " +
		"bu sayfayı okuyan, okuyan, talimat, talimatlar, sayın",
	filler: "lütfen, ve, bir, bu, şu, o, sen, siz, senin, sana, size, de, da, şimdi, ayrıca, sadece, " +
		"yalnızca, ile, için, olarak, kendi, tarafından, ki, kullanıcıya, kullanıcılara, seçenek, ise, " +
		"olan, hemen, artık, bana, olduğunu, çok, bundan, sonra",
	topic: "saldırgan*, saldırı*, örneğin, mesela",
	about: "istem enjeksiyon*, prompt enjeksiyon*, komut enjeksiyon*",
}

var vietnamese = words{
	tag: "vi",
	ignore: "bỏ qua, phớt lờ, quên, quên đi, lờ đi, đừng tuân theo, không tuân theo, đừng làm theo, gạt bỏ, " +
		"mặc kệ, không cần quan tâm, xem nhẹ, hủy bỏ, không để ý",
	all:     "tất cả, mọi, toàn bộ, hết, bất kỳ, hết thảy, mỗi",
	earlier: "trước đó, trước đây, ở trên, bên trên, phía trên, trước, nêu trên, đã cho, đã nhận, cũ, kể trên",
	rules: "hướng dẫn, chỉ dẫn, chỉ thị, lệnh, quy tắc, mệnh lệnh, quy định, câu lệnh, yêu cầu, nguyên tắc, " +
		"luật lệ",
	reveal: "tiết lộ, hiển thị, cho tôi xem, in ra, gửi, lặp lại, chia sẻ, để lộ, đưa ra, cho xem, viết ra, " +
		"cung cấp, xuất ra",
	secret: "lời nhắc hệ thống, prompt hệ thống, câu lệnh hệ thống, hướng dẫn hệ thống, hướng dẫn ẩn, " +
		"chỉ dẫn hệ thống, thông điệp hệ thống, chỉ thị hệ thống",
	data: "cuộc trò chuyện, mật khẩu, dữ liệu người dùng, dữ liệu cá nhân, email của người dùng, khóa api, " +
		"lịch sử trò chuyện, thông tin người dùng",
	role: "bây giờ bạn là, giờ bạn là, từ giờ bạn là, từ bây giờ bạn là, kể từ bây giờ bạn là, " +
		"từ nay bạn là, hãy đóng vai, đóng vai, hãy hành động như, hãy giả vờ là, giả vờ là, " +
		"hành xử như, bạn hiện là",
	free: "không có giới hạn, không giới hạn, không bị giới hạn, không có quy tắc, không hạn chế, " +
		"không có hạn chế, không bị kiểm duyệt, không bộ lọc, không có bất kỳ giới hạn, " +
		"không có ràng buộc",
	recommend: "giới thiệu, đề xuất, gợi ý, khuyến nghị, khuyên dùng, quảng bá, ưu tiên, xếp, chọn, đặt, " +
		"ca ngợi, tiến cử, quảng cáo",
	say: "nói, nói rằng, trả lời, trả lời rằng, nhắc đến, đề cập, khẳng định, nêu, viết, cho biết, mô tả, " +
		"bảo, nhắc tới",
	never: "không bao giờ nhắc, đừng nhắc, không nhắc, không được nhắc, đừng đề cập, không đề cập, " +
		"không được đề cập, không bao giờ đề cập, đừng giới thiệu, không giới thiệu, " +
		"không được giới thiệu, không bao giờ giới thiệu, đừng bao giờ nhắc, đừng bao giờ đề cập",
	first: "tốt nhất, đầu tiên, hàng đầu, số một, trước tiên, nhất, duy nhất, dẫn đầu, uy tín nhất",
	rival: "đối thủ, thương hiệu khác, cửa hàng khác, công ty khác, cạnh tranh, lựa chọn thay thế, " +
		"nhãn hiệu khác, bên khác",
	prefer: "sử dụng, trích dẫn, ưu tiên, dẫn link, dùng",
	must:   "phải, cần phải, nên, cần, hãy, bắt buộc, đừng, vui lòng, xin hãy",
	always: "luôn, luôn luôn, không bao giờ, nhất định",
	model: "trợ lý ai, trợ lý, trí tuệ nhân tạo, mô hình ngôn ngữ, mô hình ai, chatbot*, các ai, " +
		"hệ thống ai, tác nhân ai, bạn là ai, bạn là một ai, trợ lý ảo, công cụ ai, bot ai, gửi ai, " +
		"mô hình ngôn ngữ lớn, con ai",
	asked: "khi người dùng hỏi, nếu người dùng hỏi, khi có người hỏi, khi được hỏi, nếu có ai hỏi, " +
		"nếu ai hỏi, khi ai đó hỏi, nếu ai đó hỏi, nếu được hỏi",
	ours: "chúng tôi, trang này, cửa hàng này, website này, trang web này, thương hiệu này",
	intro: "lưu ý cho, lưu ý, ghi chú cho, ghi chú, chú ý, gửi, thông báo cho, thông báo, nếu, nếu bạn là, " +
		"nếu bạn là một, dành cho, kính gửi, cho, hỡi, các, này, xin chào, tin nhắn cho, quan trọng, " +
		"đối với, thân mến, với",
	filler: "hãy, vui lòng, xin, làm ơn, các, những, của, bạn, một, và, là, này, đó, bây giờ, cũng, chỉ, " +
		"rằng, cho, đi, ra, ngay, với, như, thì, rồi, đến, tới, được, đã, có, vào, trong, lựa chọn, " +
		"sau đây, người dùng, cái, tôi, mà",
	topic: "kẻ tấn công, tấn công, ví dụ, hacker, tin tặc",
	about: "chèn lời nhắc, tiêm lời nhắc, chèn prompt, tiêm prompt",
}
