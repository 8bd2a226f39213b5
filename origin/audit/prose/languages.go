package prose

// language is what running text in one language looks like.
type language struct {
	tag  string // BCP 47, as on the badge
	name string

	// typical is the median percentage of common words. In a language without spaces, and
	// in Korean, which joins particles to words, it is the percentage of letters that
	// belong to a common word. Source: 3,600 translated manuals and message catalogues of
	// Debian 12, and the demo sites. Of texts in these languages that are not lists of
	// names, none has less than a third of it.
	typical int

	common string // the most common words, separated by spaces
}

// Languages returns the tags of the languages that are known.
func Languages() (tags []string) {
	for _, l := range languages {
		tags = append(tags, l.tag)
	}
	return tags
}

// languages has one entry per lexicon. The words are function words: they do not
// depend on the subject of a text.
var languages = []language{
	{"en", "English", 38, "the of and to a in is that for it as with on be are this by or from an at you your we " +
		"our not have has can will if which their they all more but was were when what how who one no do its also " +
		"than these any other only so i he she his her my about out up into there then may must should would"},
	{"ar", "Arabic", 20,
		"في من على إلى الى أن ان عن مع هذا هذه التي الذي ما لا لم لن هو هي كان كانت أو او و ثم قد كل " +
			"بعد قبل بين عند حتى أي غير نحن أنت إذا كما لكن منذ ذلك تلك حيث بل هل فيه فيها به بها له لها لك لكم " +
			"عليه عليها " +
			"منه منها عنها نحو أكثر فقط يتم تم يمكن يجب دون خلال ليس إن هناك لدينا"},
	{"cs", "Czech", 20, "a v se na je s z do to pro i o že k ve si jsou za by po jako ale nebo které který která od " +
		"jsme jsem však tak co při při až než když pokud jen už u své tím toho není být bude také může jeho její " +
		"jejich podle mezi pod před bez ze aby tento tato této těchto lze další všechny vám vás nám nás"},
	{"da", "Danish", 36, "og i at er det en til af på for med de den som der ikke et vi du har fra kan man om eller " +
		"hvis vil var skal også sig så men din dit dine vores os ved efter være bliver når over hvor hvad alle under " +
		"end kun mere uden blev denne dette disse andre da han hun jeg dem deres mellem op ud ind"},
	{"de", "German", 35,
		"der die das und in zu den von mit ist für auf im ein eine nicht sich des dem auch es an als " +
			"wird sie werden oder aus er einer einem einen eines bei wir sind hat kann nach wie um nur noch so man " +
			"über " +
			"zum zur wenn aber durch vor bis dass ihr ihre uns unser unsere was mehr diese dieser dieses alle ich " +
			"haben " +
			"war keine sein ohne vom beim am"},
	{"el", "Greek", 35, "και το να του η της με για την από ο τα τον στο σε που τη οι στην είναι των δεν θα τους στη " +
		"στον μας σας τις ή στα στις ένα μια ένας αν όταν όπως μπορείτε μπορεί πριν μετά κάθε πιο πολύ αυτό αυτή " +
		"αυτά αλλά χωρίς μόνο έχει έχουν ως κατά προς δε μη μην όλα όλες ώστε εδώ εμείς μου σου"},
	{"es", "Spanish", 38, "de la que el en y a los se del las un por con no una para es al lo como más o su sus este " +
		"esta estos estas pero si sin sobre ser son ha han también entre cuando hasta desde todo todos todas nos " +
		"nuestro nuestra nuestros muy ya hay puede donde cada le les me mi tu te qué porque solo está fue ni"},
	{"fa", "Persian", 35,
		"و در به از که را این با است برای آن یک تا بر هم هر ما شما می شود شده باشد های ها اگر یا اما " +
			"نیز خود نمی دارد دارند کنید کند کرد کرده شد بود نیست هستند آنها پس بین پیش بعد چه همه دیگر بدون باید " +
			"توان روی فقط همین وی او من تان مان ای ولی چون دو تواند"},
	{"fi", "Finnish", 14, "ja on ei se että tai ovat kun niin jos mutta sekä ole oli kuin myös voi vain joka jotka " +
		"jossa sen siitä tämä tämän tässä ne niiden hän me te sinun meidän mukaan kanssa ennen jälkeen voit voidaan " +
		"olla ollut mitä miten nyt vielä jo eikä kaikki kaikkien yli ilman kautta siis sitä jonka ettei mikä eri " +
		"käyttää itse noin asti"},
	{"fr", "French", 42, "de la le et les des à en un du une est pour que qui dans par sur pas au plus ne ce se son " +
		"sa ses avec il elle ils nous vous ou sont aux cette ces mais votre vos notre nos leur leurs comme tout tous " +
		"toutes sans si être ont a été fait peut y on même où entre aussi bien très d l n s c j qu deux chaque"},
	{"he", "Hebrew", 20, "של את על לא עם זה הוא היא אם או גם כי אני אנחנו אתם הם יש אין כל ב ל ה מה כמו אבל רק עוד " +
		"יותר בין לפני אחרי מאוד ניתן שלנו שלכם שלך שלו שלה זו זאת אלה אלו היה היתה להיות אותו אותה לנו לכם לו לה " +
		"בו בה אשר כאשר כדי עד אך מי איך כבר ללא תחת ידי אל מן פי שם"},
	{"hi", "Hindi", 38, "के में है की और से को का हैं पर यह कि एक के लिए इस ने भी नहीं तो या हम आप ही जो कर था थी " +
		"थे हो " +
		"कुछ अपने अपनी अपना वह वे इसे इन उन उस उनके हमारे हमारी आपके आपकी साथ तक बाद पहले जब अगर कोई सभी सकते सकता " +
		"किया करने करें रहा रहे गया होता होती जाता दो लिये अधिक"},
	{"hu", "Hungarian", 27, "a az és nem hogy egy is ha van meg csak vagy de mint ez azt el már ki minden még ezt " +
		"lehet kell ami aki akkor mert itt amely után volt vannak majd több sem ne mi ön hanem között szerint nélkül " +
		"mely ezek azok olyan így úgy be le fel át ahol amikor illetve pedig való"},
	{"id", "Indonesian", 26, "yang dan di untuk dengan ini dari dalam pada tidak ke anda adalah atau akan kami itu " +
		"oleh dapat sebagai juga bisa jika lebih telah saat setiap kita mereka ada karena agar secara hanya harus " +
		"sudah tersebut seperti bagi para serta tanpa hingga belum banyak semua kepada lain antara ia saya tetapi " +
		"namun bila maka sebuah apa"},
	{"it", "Italian", 35,
		"di e la il che in a per un è i del le con non una della si da sono al dei come più o anche " +
			"lo nel alla se delle gli ma su ci questo questa questi queste ha nella dal dalla sul sulla essere " +
			"nostro nostra nostri loro suo sua tutti tutto ogni dove quando senza fra tra solo può vi ne l d c ed ad"},
	{"ja", "Japanese", 36, "の に は を た が で て と し れ さ い も な か ら り る す ま ん け こ そ よ き く せ ば ず"},
	{"ko", "Korean", 30, "이 다 는 의 에 을 를 은 가 고 하 로 도 한 지 기 서 니 과 와 인 들 그 해 있 습 되 거 나 라 면 수 것 만 된 할"},
	{"nb", "Norwegian", 34, "og i er det på som en til å av for med at de ikke den har et vi du kan om fra man eller " +
		"seg så vil var skal hvis men din ditt dine vår våre oss ved etter være blir når over hvor hva alle under " +
		"enn bare mer uten ble denne dette disse andre han hun jeg dem deres mellom opp ut inn også"},
	{"nl", "Dutch", 40, "de het een en van in is op te dat voor met die zijn niet aan er om als ook bij door of naar " +
		"wordt uit maar u je wij we dan nog kan worden over tot hebben heeft deze dit ze zich wat meer al onze ons " +
		"uw hun geen zo was wanneer alle na wel kunt hij ik ter per moet zonder tussen"},
	{"pl", "Polish", 22, "w i na z się do nie jest to że o od dla za po przez a jak ale oraz lub są co tak tym tego " +
		"które który która jego jej ich przed może można być by już tylko przy bez pod nad więcej nas nam was twój " +
		"także również jeśli gdy aby ze we czy każdy każda został jako między innych ten ta te"},
	{"pt", "Portuguese", 35, "de a o que e do da em um para com não uma os no se na por mais as dos como mas foi ao " +
		"das à seu sua ou ser quando muito há nos já está também só pelo pela até isso entre sem nas são você nós " +
		"nosso nossa nossos este esta estes esse essa pode todos cada onde seus suas aos pelos tem sobre"},
	{"ro", "Romanian", 34, "de și în a la cu nu este pe să care o din pentru un că mai se sau al ale au fi sunt dacă " +
		"ca prin după fără despre acest această aceste ce cel cea cele noi noastre noastră dumneavoastră lor lui ei " +
		"ne vă le îi îl va vor poate trebuie fiecare până când dar doar între către ai am si unei unui"},
	{"ru", "Russian", 19, "и в не на с что по для из как к от это но за у или его о же так все они мы вы если при то " +
		"до быть только может можно ее их является будет был была были также чтобы которые который которая без под " +
		"наш наши нас вас вам нам этого этот эта эти уже еще более между после перед когда где том а бы я он она"},
	{"sv", "Swedish", 31,
		"och i att det som en på är av för med till den har de inte om ett vi du kan från man eller " +
			"så var ska men din ditt dina vår våra oss vid efter vara blir när över där vad alla under än bara mer " +
			"utan " +
			"blev denna detta dessa andra han hon jag dem deras mellan upp ut in också finns används kommer sig"},
	{"th", "Thai", 32, "ที่ การ และ ใน ของ เป็น ได้ ไม่ มี จะ ให้ ว่า กับ จาก นี้ หรือ คุณ เรา โดย ความ แต่ ต้อง ทุก " +
		"ก็ คือ แล้ว อยู่ ไป มา ถ้า เพื่อ กว่า นั้น ผู้ ทำ ใช้ อย่าง ซึ่ง ตาม ด้วย ถึง หาก ยัง เมื่อ สามารถ ไว้ เขา " +
		"แบบ " +
		"ครับ ค่ะ หนึ่ง ตัว ก่อน หลัง"},
	{"tr", "Turkish", 15, "ve bir bu için ile de da en olarak daha çok ne o gibi olan her sonra kadar ya veya değil " +
		"var ise mi ama biz siz sizin bizim göre tüm önce yok hem ki ancak bunu eğer olduğu olur oldu şekilde " +
		"tarafından " +
		"sadece hiç şu bile diğer iki yeni kendi üzerinde içinde bütün nasıl neden"},
	{"uk", "Ukrainian", 20, "і в на з не що та до у для за від як це по або які який яка його її їх про ми ви якщо " +
		"при але так то й є бути був була були буде може можна також щоб без під наш наші нас вас вам нам цього цей " +
		"ця ці вже ще більше між після перед коли де тому а б я він вона вони тільки лише всі кожен через із зі"},
	{"vi", "Vietnamese", 25, "và của là có các cho không được trong một với những để người này đã khi từ về đến ra " +
		"thì tại nhiều vào sẽ như hay hoặc bạn chúng tôi nếu cũng trên theo bằng mà ở đó lại còn phải rất nên sau " +
		"trước cần mỗi chỉ hơn nào đây bị tất cả qua do vì làm"},
	{"zh", "Chinese", 14, "的 一 是 不 了 在 有 和 人 这 這 中 大 为 為 上 个 個 我 以 要 他 时 時 来 來 用 们 們 到 于 於 出 会 會 可 也 你 对 對 " +
		"能 而 那 得 就 下 与 與 及 或 其 被 将 將 从 從 都 很 后 後 所 没 沒 等"},
}
