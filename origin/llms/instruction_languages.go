package llms

import (
	"regexp"

	"golang.org/x/text/unicode/norm"
)

// Where an instruction may start: at the start of a line or sentence, after markup.
// Spanish opens one with "¡"; Chinese and Japanese have no space between sentences.
const (
	spacedStart   = `(?im)(?:^|[.!?:;。！？؟।][ \t\n]+|¡)[ \t>#*+\-_~=|\d.)¡«]*`
	unspacedStart = `(?im)(?:^|[.!?:;。！？][ \t\n]*)[ \t>#*+\-_~=|\d.)「『]*`
)

// overrideCommand is the order to ignore the instructions so far, in one language.
// Patterns are narrow: the order, what is earlier, and a word for instructions,
// as a text about such attacks must not be taken for one.
type overrideCommand struct {
	tag      string // BCP 47
	words    []string
	pattern  string
	unspaced bool
}

var overrideOrders = []overrideCommand{
	{tag: "de", words: []string{"ignorier", "vergiss", "vergessen", "missachte"}, pattern: `(?:bitte[, ]+)?` +
		`(?:(?:ignorieren|vergessen|missachten)\s+sie|ignoriere|vergiss|missachte)\s+(?:bitte\s+)?(?:alle\s+)?` +
		`(?:deine\s+|ihre\s+|die\s+)?` +
		`(?:vorherigen|vorigen|bisherigen|obigen|früheren)\s+(?:anweisungen|befehle|regeln|vorgaben)`},
	{tag: "fr", words: []string{"ignore", "oublie", "tenez pas compte", "tiens pas compte"},
		pattern: `(?:veuillez\s+(?:ignorer|oublier)|ignore[zs]?|oublie[zs]?|ne\s+(?:tenez|tiens)` +
			`\s+pas\s+compte\s+(?:de|des))` +
			`\s+(?:toutes\s+)?(?:les\s+|vos\s+|tes\s+)?` +
			`(?:instructions|consignes|règles)\s+(?:précédentes|antérieures|ci-dessus)`},
	{tag: "es", words: []string{"ignor", "olvid", "caso omiso"}, pattern: `(?:por\s+favor[, ]+)?` +
		`(?:ignora|ignore|ignoren|olvida|olvide|olviden|ha(?:z|ga|gan)\s+caso\s+omiso\s+(?:de|a))\s+(?:todas\s+)?` +
		`(?:las\s+|tus\s+|sus\s+)?` +
		`(?:instrucciones|órdenes|reglas)\s+(?:anteriores|previas)`},
	{tag: "it", words: []string{"ignora", "ignori", "dimentica"},
		pattern: `(?:ignora(?:te)?|ignori|dimentica(?:te)?)\s+(?:tutte\s+)?(?:le\s+)?(?:istruzioni|regole)\s+` +
			`(?:precedenti|sopra)`},
	{tag: "pt", words: []string{"ignor", "esque", "desconsider"},
		pattern: `(?:por\s+favor[, ]+)?(?:ignorem?|ignora|esqueçam?|esquece|desconsiderem?)\s+(?:todas\s+)?` +
			`(?:as\s+|suas\s+)?(?:instruções|regras|ordens)\s+(?:anteriores|acima|prévias)`},
	{tag: "nl", words: []string{"negeer", "vergeet"},
		pattern: `(?:negeer|vergeet)\s+(?:alle\s+)?(?:de\s+|je\s+|uw\s+)?(?:vorige|eerdere|voorgaande|` +
			`bovenstaande)\s+(?:instructies|opdrachten|regels)`},
	{tag: "pl", words: []string{"ignoruj", "zapomnij"},
		pattern: `(?:(?:z?ignoruj)(?:cie)?|zapomnij\s+o)\s+(?:wszystki(?:e|ch)\s+)?(?:poprzednie|poprzednich|` +
			`powyższe|powyższych|wcześniejsze|wcześniejszych)\s+(?:instrukcj(?:e|ach)|polecenia(?:ch)?|zasady)`},
	{tag: "cs", words: []string{"ignoruj", "zapome"},
		pattern: `(?:ignoruj(?:te)?|zapomeň(?:te)?\s+(?:na\s+)?)\s*(?:všechny\s+)?(?:předchozí|předešlé|dřívější)` +
			`\s+(?:pokyny|instrukce|příkazy)`},
	{tag: "sv", words: []string{"ignorera", "glöm"},
		pattern: `(?:ignorera|glöm)\s+(?:alla\s+)?(?:dina\s+)?(?:tidigare|föregående|ovanstående)\s+` +
			`(?:instruktioner|anvisningar|regler)`},
	{tag: "da", words: []string{"ignor", "glem"}, pattern: `(?:ignorér|ignorer|glem)\s+(?:alle\s+)?(?:dine\s+)?` +
		`(?:tidligere|foregående|ovenstående)\s+(?:instruktioner|anvisninger|regler)`},
	{tag: "nb", words: []string{"ignorer", "glem"},
		pattern: `(?:ignorer|glem)\s+(?:alle\s+)?(?:dine\s+)?(?:tidligere|foregående|ovenstående)\s+` +
			`(?:instruksjoner|instrukser|anvisninger|regler)`},
	{tag: "fi", words: []string{"ohita", "unohda"},
		pattern: `(?:ohita|ohittakaa|unohda|unohtakaa)\s+(?:kaikki\s+)?(?:aiemmat|edelliset|aikaisemmat)\s+` +
			`(?:ohjeet|käskyt|säännöt)`},
	{tag: "ro", words: []string{"ignor", "uită"}, pattern: `(?:ignoră|ignorați|uită|uitați)\s+(?:de\s+)?` +
		`(?:toate\s+)?(?:instrucțiunile|regulile)\s+(?:anterioare|precedente|de mai sus)`},
	{tag: "hu", words: []string{"figyelmen", "felejts"},
		pattern: `(?:hagyd|hagyja)\s+figyelmen\s+kívül\s+(?:az?\s+)?(?:összes\s+)?(?:korábbi|előző|fenti)\s+` +
			`(?:utasítás|szabály)|felejtsd?\s+el\s+(?:az?\s+)?(?:összes\s+)?(?:korábbi|előző|fenti)\s+utasítás`},
	{tag: "el", words: []string{"αγνό", "αγνο", "ξέχασ"},
		pattern: `(?:αγνόησε|αγνοήστε|ξέχασε|ξεχάστε)\s+(?:όλες\s+)?(?:τις\s+)?(?:προηγούμενες|παραπάνω)\s+` +
			`(?:οδηγίες|εντολές)`},
	{tag: "ru", words: []string{"игнорируй", "забудь"},
		pattern: `(?:(?:про)?игнорируй(?:те)?|забудь(?:те)?)\s+(?:все\s+)?(?:предыдущие|прежние|вышеуказанные)` +
			`\s+(?:инструкции|указания|команды|правила)`},
	{tag: "uk", words: []string{"ігноруй", "забудь"},
		pattern: `(?:(?:про)?ігноруй(?:те)?|забудь(?:те)?)\s+(?:всі\s+|усі\s+)?(?:попередні|наведені\s+вище)\s+` +
			`(?:інструкції|вказівки|команди|правила)`},
	{tag: "tr", words: []string{"talimatlar", "komutlar"},
		pattern: `(?:önceki|yukarıdaki)\s+(?:tüm\s+|bütün\s+)?(?:talimatları|komutları)\s+(?:yok\s+say|` +
			`görmezden\s+gel|unut)|(?:tüm\s+|bütün\s+)?(?:önceki|yukarıdaki)\s+(?:talimatları|komutları)\s+` +
			`(?:yok\s+say|görmezden\s+gel|unut)`},
	{tag: "ar", words: []string{"تجاهل", "انس"}, pattern: `(?:تجاهل(?:ي|وا)?|انس)\s+(?:جميع\s+|كل\s+)?` +
		`(?:التعليمات|الأوامر)\s+السابقة`},
	{tag: "fa", words: []string{"نادیده"}, pattern: `(?:همه\s*ی?\s+|تمام(?:ی)?\s+)?(?:دستورالعمل|دستور|دستورات)\s?` +
		`(?:های)?\s*(?:قبلی|پیشین|بالا)\s+را\s+نادیده\s+بگیر`},
	{tag: "he", words: []string{"התעלם", "התעלמ", "שכח"},
		pattern: `(?:התעלם|התעלמי|התעלמו|שכח|שכחי|שכחו)\s+(?:מכל\s+|את\s+כל\s+|מ)?(?:ההוראות|ההנחיות)\s+` +
			`(?:הקודמות|שלמעלה)`},
	{tag: "hi", words: []string{"अनदेखा", "नज़रअंदाज़", "नजरअंदाज"},
		pattern: `(?:पिछले|पूर्व|उपरोक्त)\s+(?:सभी\s+)?निर्देशों\s+(?:को|की)\s+(?:अनदेखा|अनदेखी|नज़रअंदाज़|` +
			`नजरअंदाज)\s+कर`},
	{tag: "id", words: []string{"abaikan", "lupakan"},
		pattern: `(?:abaikan|lupakan)\s+(?:semua\s+)?(?:instruksi|perintah|petunjuk)\s+(?:sebelumnya|di\s+atas)`},
	{tag: "vi", words: []string{"bỏ qua", "phớt lờ"},
		pattern: `(?:hãy\s+)?(?:bỏ\s+qua|phớt\s+lờ|quên)\s+(?:tất\s+cả\s+|mọi\s+)?(?:các\s+)?(?:hướng\s+dẫn|` +
			`chỉ\s+dẫn|chỉ\s+thị|lệnh)\s+(?:trước|ở\s+trên|bên\s+trên)`},
	{tag: "th", words: []string{"คำสั่ง"}, unspaced: true,
		pattern: `(?:โปรด)?(?:ละเว้น|เพิกเฉยต่อ|ไม่ต้องสนใจ|ลืม)\s*คำสั่ง\s*(?:ก่อนหน้า|ทั้งหมดก่อนหน้า|ข้างต้น)`},
	{tag: "ja", words: []string{"無視", "忘れ"}, unspaced: true,
		pattern: `(?:これまで|以前|上記|前)の(?:すべての|全ての)?(?:指示|命令|ルール)を(?:すべて|全て)?(?:無視|忘れ)`},
	{tag: "ko", words: []string{"무시", "잊"}, unspaced: true,
		pattern: `(?:이전|위|앞)의?\s*(?:모든\s*)?(?:지시|명령|지침)(?:사항)?[을를]?\s*(?:모두\s*)?(?:무시|잊)`},
	{tag: "zh", words: []string{"忽略", "无视", "無視", "忘记", "忘記"}, unspaced: true,
		pattern: `(?:请|請)?(?:忽略|无视|無視|忘记|忘記)(?:所有|一切)?(?:之前|以上|先前|前面|上述)的?(?:所有|一切)?(?:指令|指示|命令|规则|規則)`},
}

// overrideRules compiles overrideOrders, in the form that visible gives a text.
func overrideRules() []instructionRule {
	rules := make([]instructionRule, 0, len(overrideOrders))
	for _, o := range overrideOrders {
		start := spacedStart
		if o.unspaced {
			start = unspacedStart
		}
		words := make([]string, 0, len(o.words))
		for _, w := range o.words {
			words = append(words, norm.NFKC.String(w))
		}
		rules = append(rules, instructionRule{InstructionOverride, words, regexp.MustCompile(start + "(?:" +
			norm.NFKC.String(o.pattern) + ")")})
	}
	return rules
}
