package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldmark/fieldmark/origin/audit"
)

// languages are those of the badge.
var languages = strings.Fields("en ar cs da de el es fa fi fr he hi hu id it ja ko nb nl pl pt ro ru sv th tr uk vi zh")

// TestLexiconsComplete: the lexicon of every language has words of every kind, so that facts
// that depend on words exist in every language.
func TestLexiconsComplete(t *testing.T) {
	if tags := audit.LexiconTags(); !slices.Equal(tags, languages) {
		t.Errorf("lexicons of %v, want %v", tags, languages)
	}
	for _, tag := range languages {
		for field, words := range audit.LexiconOf(tag) {
			if len(words) == 0 {
				t.Errorf("%s has no words for %s", tag, field)
			}
			for i, word := range words {
				if strings.Trim(word, " *=") == "" || word != strings.ToLower(word) || slices.Contains(words[:i],
					word) {
					t.Errorf("%s %s: word %d is %q: empty, not in lower case, or there before", tag, field, i, word)
				}
			}
		}
	}
}

// inLanguage returns a page in a language, with a thousand words of main text.
func inLanguage(tag, main string) web {
	return web{"/": {body: "<!doctype html><html lang='" + tag + "'><head></head><body><main><div>" + main +
		"</div><p>" + words(1000) + "</p></main></body></html>"}}
}

// spoken is one sample of each kind in a language: the text of links to an about,
// a contact and an offer page, a quotation and a figure.
var spoken = []struct{ tag, about, contact, offer, quotation, figure string }{
	{"en", "Who we are", "Get in touch", "Pricing", "“The first week I rode around for nothing at all”, says Ada.",
		"30 minutes"},
	{"ar", "من نحن", "اتصل بنا", "الأسعار", "«هذا أفضل شيء حدث لنا في هذه المدينة منذ سنوات»، وقال أحمد.", "70 عامًا"},
	{"cs", "O nás", "Kontaktujte nás", "Ceník", "„Celý první týden jsem jezdila jen tak pro radost“, říká Jana.",
		"12 let"},
	{"da", "Om virksomheden", "Kontakt os", "Ydelser", "»Den første uge kørte jeg rundt uden noget mål«, siger Mette.",
		"12 dage"},
	{"de", "Über uns", "Kontakt", "Leistungen", "„Die erste Woche bin ich nur so herumgefahren“, erzählt Anna.",
		"5 Jahre"},
	{"el", "Σχετικά με εμάς", "ΕΠΙΚΟΙΝΩΝΙΑ", "Υπηρεσίες", "«Την πρώτη εβδομάδα έκανα βόλτες χωρίς λόγο», λέει η Μαρία.",
		"12 χρόνια"},
	{"es", "Quiénes somos", "Contáctanos", "Servicios",
		"«La primera semana di vueltas por el barrio sin motivo», cuenta Ana.", "12 semanas"},
	{"fa", "درباره ما", "تماس با ما", "محصولات", "«هفتهٔ اول فقط برای شادی بچه\u200cها دور محله " +
		"می\u200cگشتم»، مریم گفت.", "۱۲ سال"},
	{"fi", "Tietoa meistä", "Ota yhteyttä", "Palvelut",
		"”Ensimmäisen viikon ajelin vain huvin vuoksi ympäriinsä”, sanoo Aino.", "12 vuotta"},
	{"fr", "Qui sommes-nous", "Contactez-nous", "Nos tarifs",
		"« La première semaine, j’ai fait le tour du quartier pour rien », raconte Maëlle.", "12 ans"},
	{"he", "מי אנחנו", "צור קשר", "מחירון", "\"בשבוע הראשון נסעתי סתם סביב השכונה כל היום\", אמרה מאיה.", "12 חודשים"},
	{"hi", "हमारे बारे में", "संपर्क करें", "सेवाएँ", "“पहले हफ़्ते मैं बस यूँ ही मोहल्ले में घूमती रही”, मीरा ने कहा।",
		"१२ दिन"},
	{"hu", "Rólunk", "Elérhetőség", "Szolgáltatások", "„Az első héten csak úgy köröztem a környéken”, mondja Anna.",
		"12 év"},
	{"id", "Tentang kami", "Hubungi kami", "Layanan", "“Minggu pertama saya hanya berkeliling tanpa tujuan”, kata Ayu.",
		"12 tahun"},
	{"it", "Chi siamo", "Contattaci", "Servizi", "«La prima settimana ho girato il quartiere per niente», " +
		"racconta Anna.", "12 anni"},
	{"ja", "店について", "お問い合わせはこちら", "料金プラン", "「断られた理由を書いてくれる店は、ここだけだ」と言う人もいます。", "12週間"},
	{"ko", "회사 소개", "문의하기", "요금", "“첫 주에는 그냥 동네를 이유 없이 한 바퀴 돌았어요”라고 말했다.", "12년간"},
	{"nb", "Om oss", "Kontakt oss", "Tjenester", "«Den første uken kjørte jeg rundt uten noe mål», sier Kari.",
		"12 døgn"},
	{"nl", "Over ons", "Neem contact op", "Diensten", "“De eerste week reed ik zomaar wat rond”, vertelt Sanne.",
		"12 dagen"},
	{"pl", "O firmie", "Skontaktuj się z nami", "Usługi", "„W pierwszym tygodniu jeździłam tak po prostu”, mówi Anna.",
		"12 godzin"},
	{"pt", "Quem somos", "Fale conosco", "Serviços", "“Na primeira semana andei pelo bairro sem motivo”, disse Ana.",
		"12 meses"},
	{"ro", "Despre noi", "Contactați-ne", "Servicii", "„În prima săptămână m-am plimbat fără rost”, spune Ana.",
		"20 de ani"},
	{"ru", "О компании", "Контакты", "Услуги", "«Первую неделю я каталась просто так», — говорит Анна.", "12 лет"},
	{"sv", "Om oss", "Kontakta oss", "Tjänster", "”Den första veckan åkte jag runt utan mål”, säger Anna.",
		"12 timmar"},
	{"th", "เกี่ยวกับเรา", "ติดต่อเราได้ที่นี่", "บริการ", "“สัปดาห์แรกฉันขี่เล่นไปรอบหมู่บ้าน” มาลีกล่าวว่าดีมาก",
		"๑๒ ปี"},
	{"tr", "HAKKIMIZDA", "İletişim", "Hizmetler", "“İlk hafta mahallede öylesine dolaştım durdum”, dedi Ayşe.", "%50"},
	{"uk", "Про нас", "Контакти", "Послуги", "«Перший тиждень я каталася просто так», — каже Оксана.", "12 годин"},
	{"vi", "Về chúng tôi", "Liên hệ", "Dịch vụ", "“Tuần đầu tiên tôi chỉ đạp xe quanh xóm cho vui”, chị Lan cho biết.",
		"12 năm"},
	{"zh", "公司简介", "联系我们", "价格", "“第一个星期我只是骑着车到处转转，没有目的，也不着急”，李女士说。", "12个月"},
}

// TestLexicons finds one sample of each kind in every language.
func TestLexicons(t *testing.T) {
	if len(spoken) != len(languages) {
		t.Errorf("samples of %d languages, want %d", len(spoken), len(languages))
	}
	for _, s := range spoken {
		t.Run(s.tag, func(t *testing.T) {
			t.Parallel()
			links := fmt.Sprintf("<a href=/1>%s</a><a href=/2>%s</a><a href=/3>%s</a>", s.about, s.contact, s.offer)
			site := inLanguage(s.tag, links+"<p>"+s.quotation+"</p><p>"+s.figure+"</p>")
			facts := site.audit(t)
			for _, id := range []string{"link.about", "link.contact", "quote.spans", "stat.numbers"} {
				if got := say(facts, id); got == "0" || got == "unknown" {
					t.Errorf("%s = %s; page:\n%s\nseen:\n%s", id, got, site["/"].body[:len(links)+400], seen(facts, id))
				}
			}
			if got := audit.PurposeOf(s.offer, "/x"); got != "offer" {
				t.Errorf("a link %q leads to %q, want an offer page", s.offer, got)
			}
		})
	}
}

// linkWords are the usual texts of links to about, contact and offer pages in each language.
const linkWords = `
en about us, who we are / contact, contact us / pricing, products, services
ar من نحن / اتصل بنا, تواصل معنا / الأسعار, المنتجات, الخدمات
cs o nás, o firmě / kontakt / ceník, produkty, služby
da om os, om virksomheden / kontakt os, kontakt / priser, produkter, ydelser
de über uns, das unternehmen / kontakt / preise, produkte, leistungen
el σχετικά με εμάς, ποιοι είμαστε / επικοινωνία / τιμές, προϊόντα, υπηρεσίες
es quiénes somos, sobre nosotros / contacto / precios, productos, servicios
fa درباره ما / تماس با ما / قیمت\u200cها, محصولات, خدمات
fi tietoa meistä, yritys / yhteystiedot, ota yhteyttä / hinnat, tuotteet, palvelut
fr à propos, qui sommes-nous / contact, contactez-nous / tarifs, produits, services
he אודות, מי אנחנו / צור קשר / מחירון, מוצרים, שירותים
hi हमारे बारे में / संपर्क करें, संपर्क / मूल्य, उत्पाद, सेवाएँ
hu rólunk / kapcsolat, elérhetőség / árak, termékek, szolgáltatások
id tentang kami / hubungi kami, kontak / harga, produk, layanan
it chi siamo / contatti / prezzi, prodotti, servizi
ja 会社概要 / お問い合わせ / 料金, 製品, サービス
ko 회사 소개 / 문의하기 / 요금, 제품, 서비스
nb om oss / kontakt oss / priser, produkter, tjenester
nl over ons / contact / prijzen, producten, diensten
pl o nas, o firmie / kontakt / cennik, usługi, oferta
pt sobre nós, quem somos / contato, fale conosco / preços, produtos, serviços
ro despre noi / contact / prețuri, produse, servicii
ru о нас, о компании / контакты / цены, услуги, тарифы, каталог
sv om oss / kontakta oss, kontakt / priser, produkter, tjänster
th เกี่ยวกับเรา / ติดต่อเรา / ราคา, สินค้า, บริการ
tr hakkımızda / iletişim / fiyatlar, ürünler, hizmetler
uk про нас, про компанію / контакти / ціни, послуги, продукція
vi giới thiệu, về chúng tôi / liên hệ / bảng giá, sản phẩm, dịch vụ
zh 关于我们, 公司简介 / 联系我们 / 价格, 产品, 服务`

// TestPurposesInEveryLanguage finds about, contact and offer pages by the texts of links and
// by the same words in paths.
func TestPurposesInEveryLanguage(t *testing.T) {
	// Persian joins words with an invisible letter, which the table writes as an escape.
	text := strings.ReplaceAll(linkWords, `\u200c`, "\u200c")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != len(languages) {
		t.Errorf("words of %d languages, want %d", len(lines), len(languages))
	}
	for i, line := range lines {
		tag, rest, _ := strings.Cut(line, " ")
		if tag != languages[i] {
			t.Errorf("line %d is %s, want %s", i, tag, languages[i])
		}
		for j, list := range strings.Split(rest, " / ") {
			want := []string{"about", "contact", "offer"}[j]
			for word := range strings.SplitSeq(list, ", ") {
				path := "/" + tag + "/" + strings.ReplaceAll(word, " ", "-") + "/"
				if got := audit.PurposeOf(word, "/x"); got != want {
					t.Errorf("%s: a link %q leads to %q, want %s", tag, word, got, want)
				}
				if got := audit.PurposeOf("", path); got != want {
					t.Errorf("%s: a link to %s leads to %q, want %s", tag, path, got, want)
				}
			}
		}
	}
	for path, want := range map[string]string{"/hakkimizda": "about", "/iletisim": "contact", "/gioi-thieu": "about",
		"/lien-he": "contact", "/o-firme.html": "about", "/ueber-uns": "about", "/o-nas": "about"} {
		if got := audit.PurposeOf("", path); got != want {
			t.Errorf("a link to %s leads to %q, want %s", path, got, want)
		}
	}
}

// TestWordBoundaries: a lexicon word does not match inside another word, or where it has a
// different meaning in the language of the page.
func TestWordBoundaries(t *testing.T) {
	tests := []struct{ fact, tag, text string }{
		{"quote.spans", "fr", "« Le tour du quartier que nous proposons aux clients » décrit notre offre."},
		{"quote.spans", "zh", "“这里有一段足够长的引文用来测试数据中的文字”，数据说明如下。"},
		{"quote.spans", "zh", "“这里有一段足够长的引文用来测试数据中的文字”是我最喜欢的小说。"},
		{"quote.spans", "ja", "「設定画面の詳しい項目をすべて表示するための長い見出し」を表示します。"},
		{"quote.spans", "ar", "مقال بعنوان «هذا أفضل شيء حدث لنا في هذه المدينة منذ سنوات» هنا."},
		{"quote.spans", "he", "מאמר \"בשבוע הראשון נסעתי סתם סביב השכונה כל היום\" אלפי קוראים"},
		{"quote.spans", "hi", "“पहले हफ़्ते मैं बस यूँ ही मोहल्ले में घूमती रही” एक कहानी है।"},
		{"quote.spans", "th", "“สัปดาห์แรกฉันขี่เล่นไปรอบหมู่บ้านกับเด็ก ๆ” ดังกล่าว"},
		{"quote.spans", "en", "“The first week I rode around for nothing at all” with dice and segundo secondo theo."},
		{"quote.spans", "ja", "「短い引用だけ」と言う。"},
		{"stat.numbers", "en", "In chapter 3 let us go; 5 an hour; 2 bin bags; 4 jam jars; 3 nap mats; 2 lat lines."},
		{"stat.numbers", "de", "Mit 30 bin ich umgezogen."},
		{"stat.numbers", "ko", "2026년 11월 22일 오후 3시 30분, 3원칙"},
		{"stat.numbers", "zh", "2026年11月 08年3月 20年代"},
		{"stat.numbers", "ja", "平成30年 10時30分"},
		{"stat.numbers", "vi", "ngày 22 tháng 11"},
		{"link.about", "de", "<a href=/x>Über Nacht</a>"},
		{"link.about", "es", "<a href=/x>Sobre mesas</a>"},
		{"link.about", "en", "<a href=/x>About cookies</a>"},
		{"link.about", "ja", "<a href=/x>Cookieについて</a>"},
	}
	for _, tt := range tests {
		t.Run(tt.fact+" "+tt.tag, func(t *testing.T) {
			t.Parallel()
			facts := inLanguage(tt.tag, "<p>"+tt.text+"</p>").audit(t)
			if got := say(facts, tt.fact); got != "0" {
				t.Errorf("%s of %q in %s = %s, want 0; seen:\n%s", tt.fact, tt.text, tt.tag, got, seen(facts, tt.fact))
			}
		})
	}
}

// TestLanguageWithoutLexicon: in a language without a lexicon a fact is unknown instead of
// zero, and a match that does not need the lexicon still counts.
func TestLanguageWithoutLexicon(t *testing.T) {
	swahili := `<a href=/x>Kuhusu sisi</a><p>Tuna miaka 20, na asilimia 40 ya wateja.</p>`
	runFacts(t, []factTest{
		{"no words", inLanguage("sw", swahili), []string{"link.about unknown", "link.contact unknown",
			"stat.numbers unknown", "quote.spans unknown"}},
		{"a path", inLanguage("sw", `<a href=/about>Kuhusu sisi</a>`), []string{"link.about 1",
			"link.contact unknown"}},
		{"words", inLanguage("en", swahili), []string{"link.about 0", "stat.numbers 0", "quote.spans 0"}},
		{"another tag of a language with words", inLanguage("nn", "x"), []string{"link.about 0", "stat.numbers 0"}},
		{"no language", inLanguage("", "<p>5 Jahre</p>"), []string{"link.about 0", "stat.numbers 0.998"}},
		{"one page of two", web{"/": inLanguage("sw", `<a href=/about>x</a>`)["/"],
			"/about": html("", "<main>"+words(1500)+"<p>5 kg</p></main>")}, []string{"stat.numbers 0.666"}},
	})
}

// TestQuestions: questions are detected in languages that do not use a question mark.
func TestQuestions(t *testing.T) {
	heading := func(tag, s string) web { return inLanguage(tag, "<h2>"+s+"</h2><p>We are in the old town.</p>") }
	runFacts(t, []factTest{
		{"Greek", heading("el", "Πού βρίσκεστε;"), []string{"answer.kinds 1"}},
		{"Greek question mark", heading("el", "Πού βρίσκεστε\u037e"), []string{"answer.kinds 1"}},
		{"Japanese", heading("ja", "届くまでに何日かかりますか"), []string{"answer.kinds 1"}},
		{"Japanese noun", heading("ja", "静か"), []string{"answer.kinds 0"}},
		{"Thai", heading("th", "มีที่จอดรถไหม"), []string{"answer.kinds 1"}},
		{"a semicolon", heading("en", "Where we are;"), []string{"answer.kinds 0"}},
	})
}
