package audit

// lexicons has one entry per badge language, English first, then by tag. A test
// checks that all entries are complete, so that no language is at a disadvantage.
var lexicons = []lexicon{
	{
		tag:     "en",
		about:   "about=, about us, about our company, about the company, who we are, our story, our company",
		contact: "contact, contact us, get in touch, talk to us",
		offer: "pricing, prices, plans, products, our products, services, our services, solutions, " +
			"features, shop",
		aboutPaths: "about, aboutus, company", contactPaths: "contactus, inquiry", offerPaths: "product, price, store",
		says: "say, says, said, explain, explains, explained, told, write, writes, wrote, notes, noted, adds, " +
			"added, according to, stated, argue, argues, argued",
		units: "percent, per cent, percentage, pct, thousand, million, millions, billion, billions, bn, mn, " +
			"trillion, times, fold, euro, euros, dollars, pounds, cents, second, seconds, sec, secs, minute, " +
			"minutes, min, mins, hour, hours, hr, hrs, day, days, week, weeks, month, months, year, years, " +
			"decades, nanosecond, nanoseconds, microsecond, microseconds, millisecond, milliseconds, metre, " +
			"metres, meter, meters, kilometre, kilometres, kilometer, kilometers, miles, hectare, hectares, " +
			"acres, kilogram, kilograms, kilos, grams, tonne, tonnes, tons, litre, litres, liter, liters, " +
			"watt, watts, byte, bytes, kilobyte, kilobytes, megabyte, megabytes, gigabyte, gigabytes, " +
			"terabyte, terabytes, petabytes, kibibytes, mebibytes, gibibytes, tebibytes",
	},
	{
		tag:        "ar",
		about:      "من نحن, عن الشركة, حول=, حول الشركة, نبذة عنا, تعرف علينا",
		contact:    "اتصل بنا, تواصل معنا, للتواصل",
		offer:      "الأسعار, المنتجات, منتجاتنا, الخدمات, خدماتنا",
		aboutPaths: "about-ar",
		says:       "قال, قالت, يقول, تقول, صرح, صرحت, أضاف, أضافت, أوضح, أوضحت, أكد, أكدت, وفقا, وفقًا, بحسب",
		units: "بالمائة, بالمئة, في المائة, ألف, ألفا, ألفًا, آلاف, مليون, ملايين, مليار, مليارات, ترليون, " +
			"ريال, ريالا, ريالًا, درهم, درهما, درهمًا, دينار, دينارا, دينارًا, جنيه, جنيها, جنيهًا, دولار, " +
			"دولارا, دولارًا, يورو, ثانية, ثانيتان, ثوان, دقيقة, دقيقتان, دقائق, ساعة, ساعتان, ساعات, يوم, " +
			"يوما, يومًا, يومان, أيام, أسبوع, أسبوعا, أسبوعًا, أسبوعان, أسابيع, شهر, شهرا, شهرًا, شهران, أشهر, " +
			"سنة, سنتان, سنوات, عام, عاما, عامًا, أعوام, متر, مترا, مترًا, أمتار, كيلومتر, كيلومترا, " +
			"كيلومترًا, كيلومترات, كيلوغرام, كيلوغراما, كيلو, كجم, كغ, مل, غرام, لتر, لترا, لترًا, هكتار, هكتارا, " +
			"هكتارًا, طن, أطنان",
	},
	{
		tag:     "cs",
		about:   "o nás, o firmě, o společnosti, kdo jsme, náš příběh",
		contact: "kontakt, kontakty, kontaktujte nás",
		offer:   "ceník, ceny, produkty, služby, nabídka",
		says:    "říká, řekl, řekla, uvedl, uvedla, vysvětluje, dodává, tvrdí, podle",
		units: "procento, procenta, procent, tisíc, tisíce, tis, milion, miliony, milionů, mil*, miliarda, " +
			"miliardy, miliard, mld*, bilion, kč, korun, eura, eur, sekunda, sekundy, sekund, minuta, minuty, " +
			"minut, hodina, hodiny, hodin, hod*, den*, dny, dní, dnů, dne*, týden, týdny, týdnů, týdne, měsíc, " +
			"měsíce, měsíců, rok*, roky, let*, roku*, metr, metry, metrů, metru, kilometr, kilometry, " +
			"kilometrů, kilogram, kilogramů, kilo, gramů, litr, litry, litrů, hektar, hektary, hektarů, tun*",
	},
	{
		tag:     "da",
		about:   "om os, om virksomheden, om firmaet, hvem er vi",
		contact: "kontakt, kontakt os",
		offer:   "priser, produkter, ydelser, tjenester, services",
		says:    "siger, sagde, fortæller, fortalte, forklarer, forklarede, mener, ifølge, udtaler",
		units: "procent, tusind, million, millioner, mio, milliard, milliarder, mia*, billion, kr, kroner, " +
			"euro, sekund, sekunder, minut, minutter, time*, timer*, dag*, dage, uge*, uger, måned, måneder, " +
			"år, kilogram, kilo, gram, meter, kilometer, liter, hektar, tons, gange*",
	},
	{
		tag: "de",
		about: "über=, über uns, wir über uns, das unternehmen, über das unternehmen, unser unternehmen, " +
			"wer wir sind",
		contact:    "kontakt, kontaktieren sie uns, kontakt aufnehmen",
		offer:      "preise, produkte, leistungen, unsere leistungen, angebot",
		aboutPaths: "ueber-uns, ueber, wir-ueber-uns, unternehmen",
		says: "sagt, sagte, sagen, erklärt, erklärte, erzählt, erzählte, meint, meinte, schreibt, " +
			"schrieb, betont, betonte, laut, zufolge, so der, so die",
		units: "prozent, tausend, tsd, million, millionen, mio, milliarde, milliarden, mrd, billion, " +
			"billionen, euro, franken, cent, fach, mal*, sekunde, sekunden, minute, minuten, stunde, stunden, " +
			"tag*, tage, tagen, woche, wochen, monat, monate, monaten, jahr, jahre, jahren, jahrzehnte, " +
			"millisekunden, meter, metern, kilometer, kilometern, kilogramm, kilo, gramm, tonne, tonnen, " +
			"liter, litern, hektar, watt",
	},
	{
		tag:     "el",
		about:   "σχετικά με εμάς, ποιοι είμαστε, η εταιρεία, η εταιρία, η ιστορία μας",
		contact: "επικοινωνία, επικοινωνήστε μαζί μας",
		offer:   "τιμές, τιμοκατάλογος, προϊόντα, υπηρεσίες",
		says:    "λέει, λένε, είπε, δήλωσε, δηλώνει, εξηγεί, σύμφωνα με, τονίζει",
		units: "τοις εκατό, χιλιάδα, χιλιάδες, χιλ, εκατομμύριο, εκατομμύρια, εκατ, δισεκατομμύριο, " +
			"δισεκατομμύρια, δισ, ευρώ, δολάρια, δευτερόλεπτο, δευτερόλεπτα, λεπτό, λεπτά, ώρα, ώρες, ημέρα, " +
			"ημέρες, μέρες, εβδομάδα, εβδομάδες, μήνας, μήνες, έτος, έτη, χρόνια, μέτρο, μέτρα, χιλιόμετρο, " +
			"χιλιόμετρα, χλμ, χιλιόγραμμο, χιλιόγραμμα, κιλό, κιλά, γραμμάρια, λίτρο, λίτρα, εκτάριο, εκτάρια, " +
			"στρέμματα, τόνοι, τόνους",
	},
	{
		tag: "es",
		about: "acerca de=, acerca de nosotros, quiénes somos, sobre=, sobre nosotros, nosotros, " +
			"nuestra historia, la empresa",
		contact:    "contacto, contáctenos, contáctanos, contactar",
		offer:      "precios, tarifas, productos, servicios",
		aboutPaths: "acerca, acerca-de, sobre",
		says: "dice*, dijo, afirma, afirmó, explica, explicó, señala, señaló, según, declaró, cuenta*, " +
			"comenta, asegura, sostiene",
		units: "por ciento, mil, millón, millones, billón, billones, euro, euros, dólares, pesos, veces, " +
			"segundo*, segundos, minuto, minutos, hora, horas, día, días, semana, semanas, mes, meses, año, " +
			"años, milisegundos, metro, metros, kilómetro, kilómetros, kilogramo, kilogramos, kilo, kilos, " +
			"gramos, tonelada, toneladas, litro, litros, hectárea, hectáreas",
	},
	{
		tag:     "fa",
		about:   "درباره ما, دربارهٔ ما",
		contact: "تماس با ما",
		offer:   "قیمت\u200cها, قیمت ها, محصولات, خدمات",
		says:    "گفت, گفته است, گفته, می\u200cگوید, می\u200cگویند, به گفته, به گفتهٔ",
		units: "درصد, هزار, میلیون, میلیارد, تومان, ریال, یورو, دلار, ثانیه, دقیقه, ساعت, روز, هفته, ماه, " +
			"سال, متر, کیلومتر, کیلوگرم, کیلو, گرم, لیتر, هکتار, تن",
	},
	{
		tag:     "fi",
		about:   "tietoa meistä, meistä=, yritys, keitä olemme, tarinamme",
		contact: "yhteystiedot, ota yhteyttä, yhteys=",
		offer:   "hinnat, hinnasto, tuotteet, palvelut",
		says:    "sanoo, sanoi, kertoo, kertoi, toteaa, totesi, selittää, mukaan*",
		units: "prosentti, prosenttia, tuhat, tuhatta, miljoona, miljoonaa, milj, miljardi, miljardia, mrd, " +
			"euroa, sekunti, sekuntia, minuutti, minuuttia, tunti, tuntia, päivä, päivää, viikko, viikkoa, " +
			"kuukausi, kuukautta, vuosi, vuotta, vuoden, metri, metriä, kilometri, kilometriä, kilogramma, " +
			"kilogrammaa, kilo, kiloa, grammaa, litra, litraa, hehtaari, hehtaaria, tonnia, kertaa",
	},
	{
		tag:        "fr",
		about:      "à propos=, à propos de nous, qui sommes-nous, notre histoire, notre entreprise, l'entreprise",
		contact:    "contact, contactez-nous, nous contacter",
		offer:      "tarifs, nos tarifs, prix, produits, nos produits, offres, nos offres, services, nos services",
		aboutPaths: "a-propos, apropos, présentation",
		says: "dit, disent, déclare, déclarait, explique, affirme, souligne, écrit, raconte, confie, " +
			"précise, assure, ajoute, selon, d'après",
		units: "pour cent, mille, million, millions, milliard, milliards, euro, euros, francs, fois, octets, " +
			"seconde, secondes, millisecondes, minute, minutes, heure, heures, jour, jours, semaine, semaines, " +
			"mois, an*, ans, année, années, mètre, mètres, kilomètre, kilomètres, kilogramme, kilogrammes, " +
			"kilo, kilos, gramme, grammes, tonne, tonnes, litre, litres, hectare, hectares",
	},
	{
		tag:     "he",
		about:   "אודות, אודותינו, מי אנחנו, עלינו=",
		contact: "צור קשר, צרו קשר, יצירת קשר",
		offer:   "מחירון, מחירים, מוצרים, שירותים, השירותים שלנו",
		says:    "אמר, אמרה, אומר, אומרת, לדברי, לפי, מסביר, מסבירה, מספרת, סיפר, סיפרה, כתב, כתבה",
		units: "אחוז, אחוזים, אלף, אלפים, מיליון, מיליארד, טריליון, שקל, שקלים, אירו, יורו, דולר, שניה, שנייה, " +
			"שניות, דקה, דקות, שעה, שעות, יום, ימים, שבוע, שבועות, חודש, חודשים, שנה, שנים, מטר, מטרים, " +
			"קילומטר, קילומטרים, ק״מ, ס״מ, קילוגרם, קילו, ק״ג, גרם, ליטר, הקטאר, דונם, טון",
	},
	{
		tag:     "hi",
		about:   "हमारे बारे में, हम कौन हैं",
		contact: "संपर्क करें, संपर्क, हमसे संपर्क करें",
		offer:   "मूल्य, कीमत, उत्पाद, सेवाएँ, सेवाएं, हमारी सेवाएँ",
		says:    "कहा, कहते हैं, कहती हैं, बताया, बताते हैं, बताती हैं, के अनुसार",
		units: "प्रतिशत, फीसदी, हज़ार, हजार, लाख, करोड़, अरब, खरब, रुपये, रुपए, यूरो, डॉलर, सेकंड, मिनट, घंटा, " +
			"घंटे, घंटों, दिन, दिनों, सप्ताह, हफ्ते, महीना, महीने, महीनों, वर्ष, वर्षों, साल, सालों, मीटर, " +
			"किलोमीटर, किमी, किलोग्राम, किलो, किग्रा, ग्राम, लीटर, हेक्टेयर, एकड़, टन",
	},
	{
		tag:     "hu",
		about:   "rólunk, kik vagyunk, cégünk, történetünk",
		contact: "kapcsolat, elérhetőség, elérhetőségek, elérhetőségeink",
		offer:   "árak, áraink, árlista, termékek, termékeink, szolgáltatások, szolgáltatásaink",
		says:    "mondja, mondta, meséli, mesélte, nyilatkozta, szerint",
		units: "százalék, százaléka, ezer, millió, milliárd, billió, forint, ft, euró, másodperc, perc*, " +
			"percet, óra, órát, nap*, napot, napon, hét*, hetet, hónap, hónapot, év, évet, éve, éves, méter, " +
			"kilométer, kilogramm, kiló, gramm, liter, hektár, tonna",
	},
	{
		tag:     "id",
		about:   "tentang kami, tentang perusahaan, siapa kami",
		contact: "hubungi kami, kontak",
		offer:   "harga, daftar harga, produk, layanan",
		says:    "kata*, ujar, ucap, tutur, menurut, mengatakan, berkata",
		units: "persen, ribu, juta, miliar, triliun, rupiah, dolar, euro, detik, menit, jam*, hari*, minggu, " +
			"pekan, bulan, tahun, meter, kilometer, kilogram, kilo, gram, liter, hektare, hektar, ton, kali*",
	},
	{
		tag:     "it",
		about:   "chi siamo, la nostra storia, la storia, l'azienda, azienda",
		contact: "contatti, contattaci",
		offer:   "prezzi, prodotti, i nostri prodotti, servizi, i nostri servizi",
		says: "dice*, ha detto, afferma, spiega, dichiara, racconta, sostiene, aggiunge, secondo*, " +
			"secondo il, secondo la, secondo l', secondo i, secondo gli",
		units: "percento, per cento, mille, mila, milione, milioni, miliardo, miliardi, euro, dollari, volte, " +
			"secondo*, secondi, millisecondi, minuto, minuti, ora*, ore, giorno, giorni, settimana, settimane, " +
			"mese, mesi, anno, anni, metro, metri, chilometro, chilometri, chilogrammo, chilogrammi, chilo, " +
			"chili*, grammi, tonnellata, tonnellate, litro, litri, ettaro, ettari",
	},
	{
		tag: "ja",
		about: "会社概要, 会社案内, 会社情報, 企業情報, 運営会社, 私たちについて, わたしたちについて, 当社について, 弊社について, 会社について, 店について=, 当店について, " +
			"当サイトについて, について=",
		contact:    "お問い合わせ, お問合せ, お問合わせ, 問い合わせ, ご連絡先=, 連絡先=",
		offer:      "料金, 料金プラン, 価格, 製品, 製品情報, 商品, サービス",
		aboutPaths: "kaisha", contactPaths: "otoiawase, toiawase",
		saysPattern: `と(?:述べ|語|話し|話す|言|いう声)|によると|によれば`,
		units: "パーセント, 万, 億, 兆, 倍, 割, 円, ユーロ, 米ドル, ドル, 秒, 分, 分間, 時間, 日間, 週間, ヶ月, か月, カ月, ケ月, 年*, 年間, " +
			"年以上, メートル, キロ, グラム, トン, リットル, ヘクタール",
	},
	{
		tag:         "ko",
		about:       "회사 소개, 회사소개, 소개=, 우리 이야기",
		contact:     "문의하기, 문의, 고객 문의, 연락처",
		offer:       "제품, 제품 소개, 가격, 요금, 요금제, 서비스, 상품",
		saysPattern: `라고 (?:말|설명|전|밝)|다고 (?:말|설명|전|밝)|말했|말한다|말합니다|밝혔|설명했|에 따르면`,
		units: "퍼센트, 천, 만, 억, 조, 원, 유로, 달러, 배, 초, 분, 시간, 일, 일간, 주, 주일, 개월, 달, 년, 킬로그램, 킬로미터, 미터, 그램, 톤, " +
			"리터, 헥타르",
	},
	{
		tag:     "nb",
		about:   "om oss, om bedriften, om selskapet, hvem er vi",
		contact: "kontakt, kontakt oss, ta kontakt",
		offer:   "priser, produkter, tjenester, våre tjenester",
		says:    "sier, sa*, forteller, fortalte, forklarer, mener, ifølge, uttaler",
		units: "prosent, tusen, million, millioner, mill*, milliard, milliarder, mrd, billion, kr, kroner, " +
			"euro, sekund, sekunder, minutt, minutter, time*, timer*, dag*, dager, døgn, uke*, uker, måned, " +
			"måneder, år, kilogram, kilo, gram, meter, kilometer, mil*, liter, hektar, tonn, ganger*",
	},
	{
		tag:     "nl",
		about:   "over ons, wie zijn wij, ons verhaal, over het bedrijf",
		contact: "contact, contacteer ons, neem contact op",
		offer:   "prijzen, tarieven, producten, onze producten, diensten, onze diensten",
		says:    "zegt, zei, zeggen, aldus, volgens, vertelt, vertelde, schrijft, legt uit",
		units: "procent, duizend, miljoen, mln, miljard, mld*, biljoen, euro, cent, keer, seconde, seconden, " +
			"minuut, minuten, uur, dag*, dagen, week, weken, maand, maanden, jaar, meter, kilometer, kilogram, " +
			"kilo, gram, ton, liter, hectare",
	},
	{
		tag:     "pl",
		about:   "o nas, o firmie, kim jesteśmy, nasza historia",
		contact: "kontakt, skontaktuj się z nami, skontaktuj się",
		offer:   "cennik, ceny, produkty, usługi, oferta, nasza oferta",
		says:    "mówi, mówią, powiedział, powiedziała, twierdzi, wyjaśnia, podkreśla, dodaje, według, zdaniem",
		units: "procent, proc, tysiąc, tysiące, tysięcy, tys, milion, miliony, milionów, mln, miliard, " +
			"miliardy, miliardów, mld, bilion, zł, złoty, złote, złotych, euro, sekunda, sekundy, sekund, " +
			"minuta, minuty, minut, godzina, godziny, godzin, godz, dzień, dni, dnia*, tydzień, tygodnie, " +
			"tygodni, tygodnia, miesiąc, miesiące, miesięcy, miesiąca, rok*, lata*, lat*, roku*, metr, metry, " +
			"metrów, metra, kilometr, kilometry, kilometrów, kilometra, kilogram, kilogramy, kilogramów, kilo, " +
			"gramów, litr, litry, litrów, litra, hektar, hektary, hektarów, ton*, razy*",
	},
	{
		tag:   "pt",
		about: "sobre=, sobre nós, sobre a empresa, quem somos, a nossa história, nossa história",
		contact: "contato, contacto, contatos, contactos, contacte-nos, fale conosco, fale connosco, " +
			"entre em contato",
		offer:      "preços, produtos, serviços, nossos serviços, os nossos serviços, planos",
		aboutPaths: "sobre", contactPaths: "contacte",
		says: "diz, disse, afirma, afirmou, explica, explicou, conta*, garante, segundo*, segundo o, " +
			"segundo a, de acordo com",
		units: "por cento, mil, milhão, milhões, bilhão, bilhões, trilhão, euro, euros, reais, dólares, vezes, " +
			"segundo*, segundos, milissegundos, minuto, minutos, hora, horas, dia*, dias, semana, semanas, " +
			"mês, meses, ano*, anos, metro, metros, quilômetro, quilômetros, quilómetro, quilómetros, " +
			"quilograma, quilogramas, quilo, quilos, gramas, tonelada, toneladas, litro, litros, hectare, " +
			"hectares",
	},
	{
		tag:     "ro",
		about:   "despre noi, cine suntem, povestea noastră",
		contact: "contact, contactează-ne, contactați-ne",
		offer:   "prețuri, tarife, produse, servicii, serviciile noastre",
		says:    "spune, a spus, a declarat, afirmă, explică, povestește, potrivit",
		units: "procent, procente, la sută, mie*, mii*, milion, milioane, miliard, miliarde, trilion, lei, " +
			"euro, secundă, secunde, minut, minute, oră, ore, zi*, zile, săptămână, săptămâni, lună, luni*, " +
			"an*, ani, metru, metri, kilometru, kilometri, kilogram, kilograme, grame, litru, litri, hectar, " +
			"hectare, tone",
	},
	{
		tag:     "ru",
		about:   "о компании, о нас, кто мы, о фирме",
		contact: "контакты, связаться с нами, свяжитесь с нами",
		offer:   "цены, прайс-лист, услуги, наши услуги, тарифы, каталог, продукция, товары",
		says: "говорит, говорят, сказал, сказала, рассказал, рассказала, рассказывает, отметил, отметила, " +
			"отмечает, считает, объясняет, по словам, пояснил, пояснила",
		units: "процент, процента, процентов, тысяча, тысячи, тысяч, тыс, миллион, миллиона, миллионов, млн, " +
			"миллиард, миллиарда, миллиардов, млрд, триллион, трлн, руб, рубль, рубля, рублей, евро, доллара, " +
			"долларов, раз*, раза*, секунда, секунды, секунд, сек, минута, минуты, минут, мин, час, часа, " +
			"часов, день, дня, дней, неделя, недели, недель, месяц, месяца, месяцев, мес, год, года, лет, " +
			"метр, метра, метров, километр, километра, километров, километрах, килограмм, килограмма, " +
			"килограммов, грамм, граммов, литр, литра, литров, гектар, гектара, гектаров, тонна, тонны, тонн",
	},
	{
		tag:     "sv",
		about:   "om oss, om företaget, vilka är vi",
		contact: "kontakt, kontakta oss",
		offer:   "priser, produkter, våra produkter, tjänster, våra tjänster",
		says:    "säger, sade, sa*, berättar, berättade, förklarar, menar, enligt, uppger",
		units: "procent, tusen, miljon, miljoner, milj, miljard, miljarder, mdkr, biljon, kr, kronor, euro, " +
			"sekund, sekunder, minut, minuter, timme, timmar, dag*, dagar, dygn, vecka, veckor, månad, " +
			"månader, år, meter, kilometer, mil*, kilogram, kilo, gram, liter, hektar, ton, gånger*",
	},
	{
		tag:         "th",
		about:       "เกี่ยวกับเรา, เกี่ยวกับบริษัท, รู้จักเรา",
		contact:     "ติดต่อเรา, ติดต่อ=",
		offer:       "ราคา, สินค้า, ผลิตภัณฑ์, บริการ, บริการของเรา",
		saysPattern: `กล่าวว่า|[^ง]กล่าว(?:[^\p{L}\p{M}]|$)|บอกว่า|เล่าว่า|ระบุว่า|อธิบายว่า`,
		units: "เปอร์เซ็นต์, พัน, หมื่น, แสน, ล้าน, พันล้าน, บาท, ยูโร, ดอลลาร์, วินาที, นาที, ชั่วโมง, " +
			"วัน, สัปดาห์, เดือน, ปี, เมตร, กิโลเมตร, กิโลกรัม, กรัม, กิโล, ตัน, ลิตร, เฮกตาร์, ไร่, เท่า",
	},
	{
		tag:     "tr",
		about:   "hakkımızda, biz kimiz, kurumsal, hikayemiz",
		contact: "iletişim, bize ulaşın, bize ulaş",
		offer:   "fiyatlar, fiyat listesi, ürünler, ürünlerimiz, hizmetler, hizmetlerimiz",
		says:    "dedi, diyor, söyledi, söylüyor, belirtti, anlatıyor, anlattı, açıkladı",
		units: "yüzde, bin*, milyon, milyar, trilyon, lira, tl, euro, avro, dolar, saniye, dakika, saat, " +
			"gün, günde, hafta, ay*, yıl, yılda, yıllık, metre, kilometre, kilogram, kilo, gram, litre, " +
			"hektar, dönüm, ton, kat*",
	},
	{
		tag:     "uk",
		about:   "про нас, про компанію, хто ми",
		contact: "контакти, зв'язатися з нами, зв’язатися з нами",
		offer:   "ціни, послуги, наші послуги, продукція, товари, тарифи, каталог",
		says: "каже, кажуть, сказав, сказала, розповідає, розповів, розповіла, зазначив, зазначила, " +
			"пояснює, за словами, вважає",
		units: "відсоток, відсотка, відсотки, відсотків, тисяча, тисячі, тисяч, тис, мільйон, мільйона, " +
			"мільйони, мільйонів, млн, мільярд, мільярда, мільярди, мільярдів, млрд, трильйон, грн, гривня, " +
			"гривні, гривень, євро, доларів, секунда, секунди, секунд, хвилина, хвилини, хвилин, хв, година, " +
			"години, годин, год, день, дні, днів, дня, тиждень, тижні, тижнів, тижня, місяць, місяці, місяців, " +
			"місяця, рік, роки, років, року, метр, метра, метри, метрів, кілометр, кілометра, кілометри, " +
			"кілометрів, кілограм, кілограма, кілограми, кілограмів, грамів, літр, літра, літри, літрів, " +
			"гектар, гектара, гектари, гектарів, тонна, тонни, тонн",
	},
	{
		tag:     "vi",
		about:   "giới thiệu, về chúng tôi, giới thiệu công ty, câu chuyện của chúng tôi",
		contact: "liên hệ, liên hệ với chúng tôi",
		offer:   "bảng giá, sản phẩm, dịch vụ, giá",
		says:    "cho biết, theo*, nói, chia sẻ, cho hay, khẳng định",
		units: "phần trăm, nghìn, ngàn, triệu, tỷ, tỉ, đồng, euro, giây, phút, giờ, tiếng, ngày, tuần, " +
			"tháng, năm, mét, kilômét, kilômet, kilôgam, cân*, gam, lít, héc-ta, hécta, tấn, lần",
	},
	{
		tag:         "zh",
		about:       "关于我们, 關於我們, 公司简介, 公司簡介, 公司介绍, 公司介紹",
		contact:     "联系我们, 聯絡我們, 聯繫我們, 联系方式, 聯絡方式",
		offer:       "产品, 產品, 产品中心, 價格, 价格, 服务, 服務, 我们的服务, 我們的服務",
		saysPattern: `(?:^|[^小传傳学學解])(?:说|說)(?:道)?[：，。“「]|表示[：，“]|指出[：，]|(?:据|據)[^，。]{1,20}(?:称|稱|报道|報導|介绍|介紹)`,
		units: "万, 萬, 亿, 億, 万亿, 兆, 倍, 元, 人民币, 欧元, 歐元, 美元, 秒, 秒钟, 秒鐘, 分钟, 分鐘, 小时, 小時, 天, 周, 週, 个月, 個月, " +
			"年*, 米, 公尺, 公里, 千克, 公斤, 克, 吨, 噸, 升, 公升, 公顷, 公頃, 亩, 畝",
	},
}
