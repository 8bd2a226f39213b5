package main

// language is one prepared language: its tag, whether it is written from right
// to left, the face that has its letters, its words in the order of wordNames,
// and its phrases in the order of phraseNames.
type language struct {
	tag          string
	rtl          bool
	face         string // a key of faces; its Latin letters come from "latin"
	colon, comma string // with the spaces the language sets around them
	words        [wordCount]string
	phrases      [phraseCount]string
}

// The width of a badge has room for every state, so a long word for one makes all badges of its
// language wider: in de, da, nb, nl and hu the word for "stale" is short, and the phrase says
// that it is the audit that is out of date.

// The sizes are part of the types, so that a language with a missing word does not compile.
const (
	wordCount   = 11
	phraseCount = 7
)

// wordNames name the words that a badge shows. "unready" is "notYet" with its
// subject, for the styles that do not show "ready" beside it.
var wordNames = [wordCount]string{"ready", "notYet", "unready", "stale", "pending", "unreachable", "notRated", "grade",
	"verified",
	"unavailable", "badParameter"}

// phraseNames name the phrases that only speech, tooltips and alternative texts
// have. They are whole, because languages do not agree on the order of words.
var phraseNames = [phraseCount]string{"notReady", "outdated", "notAudited", "siteUnreachable", "unknownBrand",
	"readiness", "claimed"}

// languages are in the order of their tags, but for English, which is first
// because the zero language is the default. English sentences are written in
// code; of its phrases only the last is used.
var languages = []language{
	// English, the default
	{"en", false, "latin", ": ", ", ",
		[wordCount]string{"GEO-ready", "not yet", "GEO: not yet", "stale", "pending", "unreachable", "not rated",
			"Grade", "verified", "unavailable", "bad parameter"},
		[phraseCount]string{"not yet GEO-ready", "audit out of date", "not audited yet", "site unreachable",
			"no such brand", "GEO readiness",
			"claimed by its owner"}},
	// Arabic, whose letters DejaVu Sans has
	{"ar", true, "latin", ": ", "، ",
		[wordCount]string{"جاهز لـ GEO", "ليس بعد", "GEO: ليس بعد", "نتيجة قديمة", "قيد الانتظار", "تعذّر الوصول",
			"بدون تقييم",
			"الدرجة", "تم التحقق", "غير متاح", "معامل غير صالح"},
		[phraseCount]string{"غير جاهز لـ GEO بعد", "نتيجة التدقيق قديمة", "لم يُدقَّق بعد", "تعذّر الوصول إلى الموقع",
			"علامة تجارية غير معروفة", "تقييم GEO",
			"مؤكَّدة من مالكها"}},
	// Czech
	{"cs", false, "latin", ": ", ", ",
		[wordCount]string{"připraveno na GEO", "zatím ne", "GEO: zatím ne", "zastaralé", "čeká na audit",
			"nedostupné",
			"nehodnoceno",
			"Známka", "ověřeno", "není k dispozici", "neplatný parametr"},
		[phraseCount]string{"zatím nepřipraveno na GEO", "audit zastaral", "zatím bez auditu", "web je nedostupný",
			"neznámá značka", "hodnocení GEO",
			"potvrzeno vlastníkem"}},
	// Danish
	{"da", false, "latin", ": ", ", ",
		[wordCount]string{"GEO-klar", "ikke endnu", "GEO: ikke endnu", "forældet", "afventer", "kan ikke nås",
			"ikke vurderet",
			"Karakter", "kontrolleret", "ikke tilgængelig", "ugyldig parameter"},
		[phraseCount]string{"endnu ikke GEO-klar", "kontrollen er forældet", "endnu ikke kontrolleret",
			"webstedet kunne ikke nås", "ukendt brand", "GEO-vurdering",
			"bekræftet af ejeren"}},
	// German
	{"de", false, "latin", ": ", ", ",
		[wordCount]string{"GEO-bereit", "noch nicht", "GEO: noch nicht", "veraltet", "noch ungeprüft",
			"nicht erreichbar",
			"nicht bewertet",
			"Note", "geprüft", "nicht verfügbar", "ungültiger Parameter"},
		[phraseCount]string{"noch nicht GEO-bereit", "Prüfung veraltet", "noch nicht geprüft",
			"Website nicht erreichbar", "unbekannte Marke", "GEO-Bewertung",
			"vom Inhaber bestätigt"}},
	// Greek
	{"el", false, "latin", ": ", ", ",
		[wordCount]string{"Έτοιμο για GEO", "όχι ακόμη", "GEO: όχι ακόμη", "παρωχημένο", "σε αναμονή",
			"δεν αποκρίνεται", "χωρίς βαθμό",
			"Βαθμός", "έλεγχος", "μη διαθέσιμο", "μη έγκυρη παράμετρος"},
		[phraseCount]string{"όχι ακόμη έτοιμο για GEO", "ο έλεγχος δεν είναι πρόσφατος", "δεν έχει ελεγχθεί ακόμη",
			"ο ιστότοπος δεν αποκρίνεται", "άγνωστη μάρκα", "αξιολόγηση GEO",
			"επιβεβαιωμένο από τον κάτοχο"}},
	// Spanish
	{"es", false, "latin", ": ", ", ",
		[wordCount]string{"listo para GEO", "aún no", "GEO: aún no", "desactualizado", "pendiente", "inaccesible",
			"sin evaluar",
			"Nota", "verificado", "no disponible", "parámetro no válido"},
		[phraseCount]string{"aún no está listo para GEO", "auditoría desactualizada", "aún sin auditar",
			"sitio inaccesible", "marca desconocida", "evaluación GEO",
			"confirmado por su propietario"}},
	// Persian
	{"fa", true, "latin", ": ", "، ",
		[wordCount]string{"آمادهٔ GEO", "هنوز نه", "GEO: هنوز نه", "قدیمی", "در انتظار", "در دسترس نیست", "بدون امتیاز",
			"درجه", "بررسی\u200cشده", "در دسترس نیست", "پارامتر نامعتبر"},
		[phraseCount]string{"هنوز آمادهٔ GEO نیست", "بررسی قدیمی است", "هنوز بررسی نشده", "سایت در دسترس نیست",
			"برند ناشناخته", "ارزیابی GEO",
			"تأییدشده توسط مالک"}},
	// Finnish
	{"fi", false, "latin", ": ", ", ",
		[wordCount]string{"GEO-valmis", "ei vielä", "GEO: ei vielä", "vanhentunut", "odottaa", "ei tavoitettu",
			"ei arvioitu",
			"Arvosana", "tarkistettu", "ei saatavilla", "virheellinen parametri"},
		[phraseCount]string{"ei vielä GEO-valmis", "tarkistus vanhentunut", "ei vielä tarkistettu",
			"sivustoa ei tavoitettu", "tuntematon brändi", "GEO-arvio",
			"omistajan vahvistama"}},
	// French sets a no-break space before a colon.
	{"fr", false, "latin", "\u00a0: ", ", ",
		[wordCount]string{"prêt pour le GEO", "pas encore", "GEO\u00a0: pas encore", "à actualiser", "en attente",
			"injoignable", "non évalué",
			"Note", "vérifié", "indisponible", "paramètre non valide"},
		[phraseCount]string{"pas encore prêt pour le GEO", "audit à actualiser", "pas encore audité",
			"site injoignable", "marque inconnue", "évaluation GEO",
			"confirmé par son propriétaire"}},
	// Hebrew
	{"he", true, "latin", ": ", ", ",
		[wordCount]string{"מוכן ל-GEO", "עדיין לא", "GEO: עדיין לא", "לא עדכני", "ממתין", "לא זמין", "ללא דירוג",
			"ציון", "נבדק", "לא זמין", "פרמטר לא חוקי"},
		[phraseCount]string{"עדיין לא מוכן ל-GEO", "הבדיקה אינה עדכנית", "טרם נבדק", "לא ניתן היה להגיע לאתר",
			"מותג לא ידוע", "דירוג GEO",
			"אושר על ידי הבעלים"}},
	// Hindi
	{"hi", false, "devanagari", ": ", ", ",
		[wordCount]string{"GEO के लिए तैयार", "अभी तक नहीं", "GEO: अभी तक नहीं", "जाँच पुरानी", "लंबित",
			"पहुँच से बाहर",
			"मूल्यांकन नहीं हुआ",
			"ग्रेड", "सत्यापित", "उपलब्ध नहीं", "अमान्य पैरामीटर"},
		[phraseCount]string{"अभी तक GEO के लिए तैयार नहीं", "जाँच पुरानी हो गई है", "अभी तक जाँच नहीं हुई",
			"साइट तक पहुँचा नहीं जा सका", "अज्ञात ब्रांड", "GEO मूल्यांकन",
			"स्वामी द्वारा पुष्ट"}},
	// Hungarian
	{"hu", false, "latin", ": ", ", ",
		[wordCount]string{"GEO-kész", "még nem", "GEO: még nem", "elavult", "ellenőrzésre vár", "nem elérhető",
			"nincs értékelve",
			"Osztályzat", "ellenőrizve", "nem érhető el", "érvénytelen paraméter"},
		[phraseCount]string{"még nem GEO-kész", "az ellenőrzés elavult", "még nincs ellenőrizve",
			"a webhely nem érhető el", "ismeretlen márka", "GEO-értékelés",
			"a tulajdonos megerősítette"}},
	// Indonesian
	{"id", false, "latin", ": ", ", ",
		[wordCount]string{"Siap GEO", "belum siap", "belum siap GEO", "kedaluwarsa", "menunggu", "tidak dapat diakses",
			"belum dinilai",
			"Nilai", "diverifikasi", "tidak tersedia", "parameter tidak valid"},
		[phraseCount]string{"belum siap GEO", "audit kedaluwarsa", "belum diaudit", "situs tidak dapat diakses",
			"merek tidak dikenal", "penilaian GEO",
			"dikonfirmasi oleh pemiliknya"}},
	// Italian
	{"it", false, "latin", ": ", ", ",
		[wordCount]string{"pronto per la GEO", "non ancora", "GEO: non ancora", "scaduto", "in attesa",
			"irraggiungibile", "non valutato",
			"Voto", "verificato", "non disponibile", "parametro non valido"},
		[phraseCount]string{"non ancora pronto per la GEO", "verifica scaduta", "non ancora verificato",
			"sito irraggiungibile", "marchio sconosciuto", "valutazione GEO",
			"confermato dal proprietario"}},
	// Japanese punctuation is as wide as a letter and has no space after it.
	{"ja", false, "japanese", "：", "、",
		[wordCount]string{"GEO対応", "未対応", "GEO未対応", "要再監査", "監査待ち", "接続不可", "未評価",
			"評価", "監査", "利用不可", "無効なパラメーター"},
		[phraseCount]string{"まだGEO未対応", "監査が古い", "未監査", "サイトに接続できません", "未登録のブランド", "GEO評価",
			"所有者が確認済み"}},
	// Korean
	{"ko", false, "korean", ": ", ", ",
		[wordCount]string{"GEO 준비됨", "아직 준비 안 됨", "GEO 아직 준비 안 됨", "만료됨", "대기 중", "접속 불가", "미평가",
			"등급", "확인", "사용 불가", "잘못된 매개변수"},
		[phraseCount]string{"아직 GEO 준비 안 됨", "점검 결과가 오래됨", "아직 점검 전", "사이트에 접속할 수 없음", "알 수 없는 브랜드", "GEO 평가",
			"소유자가 확인함"}},
	// Norwegian Bokmål
	{"nb", false, "latin", ": ", ", ",
		[wordCount]string{"GEO-klar", "ikke ennå", "GEO: ikke ennå", "utdatert", "venter", "utilgjengelig",
			"ikke vurdert",
			"Karakter", "kontrollert", "ikke tilgjengelig", "ugyldig parameter"},
		[phraseCount]string{"ennå ikke GEO-klar", "kontrollen er utdatert", "ennå ikke kontrollert",
			"nettstedet kunne ikke nås", "ukjent merke", "GEO-vurdering",
			"bekreftet av eieren"}},
	// Dutch
	{"nl", false, "latin", ": ", ", ",
		[wordCount]string{"GEO-klaar", "nog niet", "GEO: nog niet", "verouderd", "wacht op controle", "onbereikbaar",
			"niet beoordeeld",
			"Beoordeling", "gecontroleerd", "niet beschikbaar", "ongeldige parameter"},
		[phraseCount]string{"nog niet GEO-klaar", "controle verouderd", "nog niet gecontroleerd", "site onbereikbaar",
			"onbekend merk", "GEO-beoordeling",
			"bevestigd door de eigenaar"}},
	// Polish
	{"pl", false, "latin", ": ", ", ",
		[wordCount]string{"gotowe na GEO", "jeszcze nie", "GEO: jeszcze nie", "nieaktualne", "oczekuje", "niedostępne",
			"bez oceny",
			"Ocena", "sprawdzono", "niedostępne", "błędny parametr"},
		[phraseCount]string{"jeszcze niegotowe na GEO", "audyt nieaktualny", "jeszcze nie sprawdzono",
			"strona niedostępna", "nieznana marka", "ocena GEO",
			"potwierdzone przez właściciela"}},
	// Portuguese
	{"pt", false, "latin", ": ", ", ",
		[wordCount]string{"pronto para GEO", "ainda não", "GEO: ainda não", "desatualizado", "pendente", "inacessível",
			"não avaliado",
			"Nota", "verificado", "indisponível", "parâmetro inválido"},
		[phraseCount]string{"ainda não está pronto para GEO", "auditoria desatualizada", "ainda não auditado",
			"site inacessível", "marca desconhecida", "avaliação GEO",
			"confirmado pelo proprietário"}},
	// Romanian
	{"ro", false, "latin", ": ", ", ",
		[wordCount]string{"pregătit pentru GEO", "încă nu", "GEO: încă nu", "expirat", "în așteptare", "inaccesibil",
			"neevaluat",
			"Calificativ", "verificat", "indisponibil", "parametru nevalid"},
		[phraseCount]string{"încă nepregătit pentru GEO", "audit expirat", "încă neauditat", "site inaccesibil",
			"marcă necunoscută", "evaluare GEO",
			"confirmat de proprietar"}},
	// Russian
	{"ru", false, "latin", ": ", ", ",
		[wordCount]string{"готов к GEO", "пока нет", "GEO: пока нет", "устарел", "ожидает", "недоступен", "без оценки",
			"Оценка", "проверен", "недоступно", "неверный параметр"},
		[phraseCount]string{"пока не готов к GEO", "аудит устарел", "ещё не проверен", "сайт недоступен",
			"неизвестный бренд", "оценка GEO",
			"подтверждён владельцем"}},
	// Swedish
	{"sv", false, "latin", ": ", ", ",
		[wordCount]string{"GEO-redo", "inte än", "GEO: inte än", "inaktuell", "väntar", "kan inte nås", "ej betygsatt",
			"Betyg", "kontrollerad", "inte tillgänglig", "ogiltig parameter"},
		[phraseCount]string{"ännu inte GEO-redo", "kontrollen är inaktuell", "ännu inte kontrollerad",
			"webbplatsen kunde inte nås", "okänt varumärke", "GEO-bedömning",
			"bekräftat av ägaren"}},
	// Thai
	{"th", false, "thai", ": ", ", ",
		[wordCount]string{"พร้อม GEO", "ยังไม่พร้อม", "ยังไม่พร้อม GEO", "ผลตรวจเก่า", "รอตรวจ", "เข้าถึงไม่ได้",
			"ยังไม่มีคะแนน",
			"เกรด", "ตรวจสอบแล้ว", "ไม่พร้อมใช้งาน", "พารามิเตอร์ไม่ถูกต้อง"},
		[phraseCount]string{"ยังไม่พร้อมสำหรับ GEO", "ผลตรวจเก่าเกินไป", "ยังไม่ได้ตรวจ", "เข้าถึงเว็บไซต์ไม่ได้",
			"ไม่รู้จักแบรนด์นี้", "การประเมิน GEO",
			"เจ้าของยืนยันแล้ว"}},
	// Turkish
	{"tr", false, "latin", ": ", ", ",
		[wordCount]string{"GEO'ya hazır", "henüz değil", "GEO: henüz değil", "güncel değil", "bekliyor", "erişilemiyor",
			"puanlanmadı",
			"Not", "doğrulandı", "kullanılamıyor", "geçersiz parametre"},
		[phraseCount]string{"henüz GEO'ya hazır değil", "denetim güncel değil", "henüz denetlenmedi",
			"siteye erişilemiyor", "bilinmeyen marka", "GEO değerlendirmesi",
			"sahibi tarafından doğrulandı"}},
	// Ukrainian
	{"uk", false, "latin", ": ", ", ",
		[wordCount]string{"готово до GEO", "ще ні", "GEO: ще ні", "застаріло", "очікує", "недоступно", "без оцінки",
			"Оцінка", "перевірено", "недоступно", "хибний параметр"},
		[phraseCount]string{"ще не готово до GEO", "аудит застарів", "ще не перевірено", "сайт недоступний",
			"невідомий бренд", "оцінка GEO",
			"підтверджено власником"}},
	// Vietnamese
	{"vi", false, "latin", ": ", ", ",
		[wordCount]string{"sẵn sàng cho GEO", "chưa sẵn sàng", "GEO: chưa sẵn sàng", "đã cũ", "đang chờ",
			"không truy cập được",
			"chưa đánh giá",
			"Hạng", "đã xác minh", "không khả dụng", "tham số không hợp lệ"},
		[phraseCount]string{"chưa sẵn sàng cho GEO", "kết quả kiểm tra đã cũ", "chưa kiểm tra",
			"không truy cập được trang web", "thương hiệu không xác định", "đánh giá GEO",
			"đã được chủ sở hữu xác nhận"}},
	// Chinese, simplified
	{"zh", false, "chinese", "：", "，",
		[wordCount]string{"GEO 就绪", "未就绪", "GEO 未就绪", "已过期", "待检测", "无法访问", "未评级",
			"等级", "检测", "不可用", "参数无效"},
		[phraseCount]string{"尚未 GEO 就绪", "检测结果已过期", "尚未检测", "网站无法访问", "未知品牌", "GEO 评级",
			"已由所有者认领"}},
	// Chinese, traditional
	{"zh-Hant", false, "traditional", "：", "，",
		[wordCount]string{"GEO 已就緒", "未就緒", "GEO 未就緒", "已過期", "待檢測", "無法連線", "未評級",
			"等級", "檢測", "無法使用", "參數無效"},
		[phraseCount]string{"尚未 GEO 就緒", "檢測結果已過期", "尚未檢測", "無法連線至網站", "未知品牌", "GEO 評級",
			"已由所有者認領"}},
}

// face names the files of a face in both weights, and which font of a
// collection is meant.
type face struct {
	regular, bold string
	index         int
}

// faces are the faces whose letters are drawn where text is outlines. One collection has all CJK scripts: its
// fonts draw the same code points differently, as each script expects.
var faces = map[string]face{
	"latin":       {"truetype/dejavu/DejaVuSans.ttf", "truetype/dejavu/DejaVuSans-Bold.ttf", 0},
	"devanagari":  {"truetype/noto/NotoSansDevanagari-Regular.ttf", "truetype/noto/NotoSansDevanagari-Bold.ttf", 0},
	"thai":        {"truetype/noto/NotoSansThai-Regular.ttf", "truetype/noto/NotoSansThai-Bold.ttf", 0},
	"japanese":    {"opentype/noto/NotoSansCJK-Regular.ttc", "opentype/noto/NotoSansCJK-Bold.ttc", 0},
	"korean":      {"opentype/noto/NotoSansCJK-Regular.ttc", "opentype/noto/NotoSansCJK-Bold.ttc", 1},
	"chinese":     {"opentype/noto/NotoSansCJK-Regular.ttc", "opentype/noto/NotoSansCJK-Bold.ttc", 2},
	"traditional": {"opentype/noto/NotoSansCJK-Regular.ttc", "opentype/noto/NotoSansCJK-Bold.ttc", 3},
}
