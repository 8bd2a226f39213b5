package main

// language is one prepared language: its tag, whether it is written from right
// to left, the face that has its letters, and its words in the order of
// wordNames.
type language struct {
	tag   string
	rtl   bool
	face  string // a key of faces; its Latin letters come from "latin"
	words [wordCount]string
}

const wordCount = 8

// wordNames name the words of a language, as the badge's code knows them.
var wordNames = [wordCount]string{"ready", "notYet", "stale", "pending", "unreachable", "notRated", "grade", "verified"}

// languages are in the order of their tags, but for English, which is first
// because the zero language is the default.
var languages = []language{
	{"en", false, "latin", [wordCount]string{"GEO-ready", "not yet", "stale", "pending", "unreachable", "not rated", "Grade", "verified"}},
	{"ar", true, "latin", [wordCount]string{"جاهز GEO", "ليس بعد", "قديم", "قيد الانتظار", "غير متاح", "بدون تقييم", "الدرجة", "تم التحقق"}},
	{"cs", false, "latin", [wordCount]string{"GEO připraveno", "zatím ne", "zastaralé", "čeká", "nedostupné", "nehodnoceno", "Známka", "ověřeno"}},
	{"da", false, "latin", [wordCount]string{"GEO-klar", "ikke endnu", "forældet", "afventer", "utilgængelig", "ikke vurderet", "Karakter", "kontrolleret"}},
	{"de", false, "latin", [wordCount]string{"GEO-bereit", "noch nicht", "veraltet", "ausstehend", "nicht erreichbar", "nicht bewertet", "Note", "geprüft"}},
	{"el", false, "latin", [wordCount]string{"Έτοιμο GEO", "όχι ακόμη", "παλιό", "σε αναμονή", "μη προσβάσιμο", "χωρίς βαθμό", "Βαθμός", "έλεγχος"}},
	{"es", false, "latin", [wordCount]string{"GEO listo", "aún no", "caducado", "pendiente", "inaccesible", "sin evaluar", "Nota", "verificado"}},
	{"fa", true, "latin", [wordCount]string{"آماده GEO", "هنوز نه", "قدیمی", "در انتظار", "در دسترس نیست", "بدون امتیاز", "درجه", "بررسی"}},
	{"fi", false, "latin", [wordCount]string{"GEO-valmis", "ei vielä", "vanhentunut", "odottaa", "ei tavoitettu", "ei arvioitu", "Arvosana", "tarkistettu"}},
	{"fr", false, "latin", [wordCount]string{"GEO prêt", "pas encore", "périmé", "en attente", "injoignable", "non évalué", "Note", "vérifié"}},
	{"he", true, "latin", [wordCount]string{"מוכן GEO", "עדיין לא", "לא עדכני", "ממתין", "לא זמין", "ללא דירוג", "ציון", "נבדק"}},
	{"hi", false, "devanagari", [wordCount]string{"GEO तैयार", "अभी नहीं", "पुराना", "लंबित", "पहुँच से बाहर", "मूल्यांकन नहीं", "ग्रेड", "सत्यापित"}},
	{"hu", false, "latin", [wordCount]string{"GEO-kész", "még nem", "elavult", "folyamatban", "nem elérhető", "nincs értékelve", "Osztályzat", "ellenőrizve"}},
	{"id", false, "latin", [wordCount]string{"Siap GEO", "belum siap", "usang", "menunggu", "tak terjangkau", "belum dinilai", "Nilai", "diverifikasi"}},
	{"it", false, "latin", [wordCount]string{"GEO pronto", "non ancora", "scaduto", "in attesa", "irraggiungibile", "non valutato", "Voto", "verificato"}},
	{"ja", false, "japanese", [wordCount]string{"GEO対応", "未対応", "期限切れ", "確認待ち", "接続不可", "未評価", "評価", "確認"}},
	{"ko", false, "korean", [wordCount]string{"GEO 준비됨", "준비 전", "만료됨", "대기 중", "연결 안 됨", "미평가", "등급", "확인"}},
	{"nb", false, "latin", [wordCount]string{"GEO-klar", "ikke ennå", "utdatert", "venter", "utilgjengelig", "ikke vurdert", "Karakter", "kontrollert"}},
	{"nl", false, "latin", [wordCount]string{"GEO-klaar", "nog niet", "verouderd", "in wachtrij", "onbereikbaar", "niet beoordeeld", "Cijfer", "gecontroleerd"}},
	{"pl", false, "latin", [wordCount]string{"GEO gotowe", "jeszcze nie", "nieaktualne", "oczekuje", "niedostępne", "bez oceny", "Ocena", "sprawdzono"}},
	{"pt", false, "latin", [wordCount]string{"GEO pronto", "ainda não", "desatualizado", "pendente", "inacessível", "não avaliado", "Nota", "verificado"}},
	{"ro", false, "latin", [wordCount]string{"GEO pregătit", "încă nu", "expirat", "în așteptare", "inaccesibil", "neevaluat", "Nota", "verificat"}},
	{"ru", false, "latin", [wordCount]string{"GEO готов", "пока нет", "устарело", "ожидает", "недоступен", "без оценки", "Оценка", "проверено"}},
	{"sv", false, "latin", [wordCount]string{"GEO-redo", "inte än", "inaktuell", "väntar", "kan inte nås", "ej betygsatt", "Betyg", "kontrollerad"}},
	{"th", false, "thai", [wordCount]string{"พร้อม GEO", "ยังไม่พร้อม", "ล้าสมัย", "รอตรวจ", "เข้าไม่ได้", "ยังไม่มีคะแนน", "เกรด", "ตรวจสอบ"}},
	{"tr", false, "latin", [wordCount]string{"GEO hazır", "henüz değil", "güncel değil", "bekliyor", "erişilemiyor", "puanlanmadı", "Not", "doğrulandı"}},
	{"uk", false, "latin", [wordCount]string{"GEO готово", "поки ні", "застаріло", "очікує", "недоступно", "без оцінки", "Оцінка", "перевірено"}},
	{"vi", false, "latin", [wordCount]string{"GEO sẵn sàng", "chưa đạt", "đã cũ", "đang chờ", "không kết nối", "chưa đánh giá", "Hạng", "xác minh"}},
	{"zh", false, "chinese", [wordCount]string{"GEO 就绪", "未就绪", "已过期", "待检测", "无法访问", "未评级", "等级", "核实"}},
}

// face names the files of a face in both weights, and which font of a
// collection is meant.
type face struct {
	regular, bold string
	index         int
}

// faces are the faces whose letters are drawn where text is outlines.
var faces = map[string]face{
	"latin":      {"truetype/dejavu/DejaVuSans.ttf", "truetype/dejavu/DejaVuSans-Bold.ttf", 0},
	"devanagari": {"truetype/noto/NotoSansDevanagari-Regular.ttf", "truetype/noto/NotoSansDevanagari-Bold.ttf", 0},
	"thai":       {"truetype/noto/NotoSansThai-Regular.ttf", "truetype/noto/NotoSansThai-Bold.ttf", 0},
	"japanese":   {"opentype/noto/NotoSansCJK-Regular.ttc", "opentype/noto/NotoSansCJK-Bold.ttc", 0},
	"korean":     {"opentype/noto/NotoSansCJK-Regular.ttc", "opentype/noto/NotoSansCJK-Bold.ttc", 1},
	"chinese":    {"opentype/noto/NotoSansCJK-Regular.ttc", "opentype/noto/NotoSansCJK-Bold.ttc", 2},
}
