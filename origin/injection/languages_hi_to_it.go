package injection

// hindi are the words by which Hindi texts address and order a model. TestCorpora measures them.
var hindi = words{
	tag:      "hi",
	verbLast: true,
	ignore: "अनदेखा करो, अनदेखा करें, अनदेखा कर दो, अनदेखा कर दें, अनदेखी करें, अनदेखी करो, " +
		"नज़रअंदाज़ करो, नज़रअंदाज़ करें, नज़रअंदाज करें, नजरअंदाज करो, नजरअंदाज करें, " +
		"नज़रअंदाज़ कर दो, नज़रअंदाज़ कर दें, भूल जाओ, भूल जाएँ, भूल जाएं, भूल जाइए, उपेक्षा करें, " +
		"उपेक्षा करो, पालन मत करो, पालन न करें, अनदेखा कीजिए, ध्यान मत दो, ध्यान न दें, " +
		"नजरअंदाज कर दें, नज़रअंदाज़ कीजिए, नजरअंदाज कीजिए, न मानो, न मानें, मत मानो, मत मानिए, " +
		"अमल मत करो, अमल न करें, अनुसरण न करें, अनुसरण मत करो, ध्यान न दो, परवाह मत करो, " +
		"परवाह न करें, एक तरफ रखो, छोड़ दो, छोड़ दें, पालन न करो, पालन नहीं करें, भुला दो, भुला दें, " +
		"दरकिनार करें, दरकिनार करो",
	all: "सभी, सब, सारे, समस्त, हर, पूरे, तमाम, सारी",
	earlier: "पिछले, पिछली, पूर्व, उपरोक्त, पहले, ऊपर, पहले के, ऊपर दिए गए, पुराने, पूर्ववर्ती, अब तक, " +
		"पहले मिले, मिले, मिले हुए, अब तक मिले, पहले दिए गए, पहले के दिए, मौजूदा, मूल, शुरुआती, " +
		"इससे पहले, इस पंक्ति से पहले, ऊपर के, ऊपर लिखे, पुराना, पहले वाले",
	rules: "निर्देश, निर्देशों, नियम, नियमों, आदेश, आदेशों, हिदायतों, दिशानिर्देश, दिशानिर्देशों, " +
		"दिशा निर्देशों, प्रॉम्प्ट, कमांड, अनुदेशों, हिदायतें, निर्देशों का, निर्देशों को, " +
		"आदेशों का, नियमों का, सीमाएँ, पाबंदियाँ, पाबंदियों, सब कुछ जो, ऊपर की हर बात, " +
		"जो तुम्हें बताया गया, जो आपको बताया गया, संदर्भ, नीतियाँ, हिदायत",
	void: "रद्द, अमान्य, लागू नहीं, अब लागू नहीं, मान्य नहीं, निरस्त, समाप्त, बदल दिए गए, निष्प्रभावी",
	reveal: "दिखाओ, दिखाएँ, दिखाएं, दिखाइए, बताओ, बताएँ, बताएं, प्रकट करें, प्रकट करो, उजागर करो, " +
		"उजागर करें, भेजो, भेजें, दोहराओ, दोहराएँ, दोहराएं, प्रिंट करो, प्रिंट करें, साझा करें, " +
		"साझा करो, प्रदर्शित करें, लिखो, लिखें, लिखिए, कॉपी करो, कॉपी करें, पढ़ो, सुनाओ, उद्धृत करो, " +
		"उद्धृत करें, संलग्न करो, प्रकाशित करो, भेजिए, बताइए, दिखा दो, खोलकर बताओ, ज़ाहिर करो, " +
		"जाहिर करें",
	secret: "सिस्टम प्रॉम्प्ट, सिस्टम निर्देश, सिस्टम निर्देशों, छिपे हुए निर्देश, छिपे निर्देश, " +
		"सिस्टम संदेश, गुप्त निर्देश, अपने छिपे निर्देश, छिपे हुए निर्देशों, गुप्त निर्देशों, " +
		"आंतरिक निर्देश, मूल निर्देश, अपना प्रॉम्प्ट, अपना सिस्टम, शुरुआती निर्देश",
	data: "बातचीत, पासवर्ड, उपयोगकर्ता का डेटा, व्यक्तिगत डेटा, उपयोगकर्ता का ईमेल, एपीआई कुंजी, " +
		"api कुंजी, चैट इतिहास, यह बातचीत, चैट, कार्ड नंबर, क्रेडिट कार्ड, उपयोगकर्ता का पता, " +
		"उपयोगकर्ता का नाम, उपयोगकर्ता के संदेश, लॉगिन जानकारी, फ़ाइलें",
	role: "अब तुम, अब आप, अब से तुम, अब से आप, तुम अब, आप अब, की तरह व्यवहार करो, की तरह व्यवहार करें, " +
		"होने का नाटक करो, होने का नाटक करें, की भूमिका निभाओ, की भूमिका निभाएँ, " +
		"के रूप में कार्य करें, अब तुम नहीं, इस क्षण से तुम, आज से तुम, भूमिका में आओ, " +
		"कल्पना करो कि तुम, मोड में जाओ, मोड चालू करो, बन जाओ, बन जाइए, की तरह काम करो, " +
		"की तरह काम करें",
	free: "बिना किसी प्रतिबंध, बिना प्रतिबंध, बिना नियम, बिना किसी नियम, बिना सीमा, बिना किसी सीमा, " +
		"प्रतिबंध रहित, असीमित, बिना फ़िल्टर, बिना किसी रोक, बिना किसी पाबंदी, बिना सेंसर, " +
		"कोई नियम नहीं, कोई प्रतिबंध नहीं, कोई सीमा नहीं, डेवलपर मोड, बिना किसी फ़िल्टर, " +
		"नियमों से मुक्त",
	recommend: "सिफारिश करो, सिफारिश करें, सिफ़ारिश करें, सिफ़ारिश करो, सिफारिश करनी चाहिए, " +
		"सिफ़ारिश करनी चाहिए, सिफारिश, सुझाओ, सुझाएँ, सुझाएं, सुझाव दो, सुझाव दें, सुझाना चाहिए, " +
		"अनुशंसा करें, अनुशंसा करो, अनुशंसा करनी चाहिए, प्रचार करो, प्रचार करें, प्राथमिकता दो, " +
		"प्राथमिकता दें, चुनो, चुनें, रखो, रखें, करनी चाहिए, तारीफ़ करो, सलाह दो, सुझाव दीजिए, " +
		"सुझाइए, सुझाना, सिफारिश कीजिए, सिफ़ारिश कीजिए, अनुशंसा कीजिए, रखना चाहिए, रखिए, रख दो, " +
		"रख दें, स्थान दें, स्थान दो, स्थान देना चाहिए, चुनिए, चुनना चाहिए, प्राथमिकता देनी चाहिए, " +
		"प्राथमिकता दीजिए, पसंद करें, बढ़ावा दें, बढ़ावा दो, बढ़ावा देना चाहिए, प्रचार करना चाहिए, " +
		"तारीफ़ करें, तारीफ करें, प्रशंसा करें, प्रशंसा करो, प्रशंसा करनी चाहिए, सूचीबद्ध करें, " +
		"सूचीबद्ध करो, सूचीबद्ध करना चाहिए, भेजना चाहिए, आगे रखें, आगे रखो, ऊपर रखें, ऊपर रखो, " +
		"वरीयता दें, वरीयता दो",
	say: "कहो, कहें, कहिए, बताओ, बताएँ, बताएं, उत्तर दो, उत्तर दें, जवाब दो, जवाब दें, उल्लेख करो, " +
		"उल्लेख करें, कहना चाहिए, लिखो, लिखें, बताना चाहिए, बोलो, प्रस्तुत करें, प्रस्तुत करो, " +
		"प्रस्तुत करना चाहिए, प्रस्तुत कीजिए, पेश करें, पेश करो, पेश करना चाहिए, बताइए, कहा जाए, " +
		"कहना, नाम लें, नाम लो, नाम लीजिए, नाम लेना चाहिए, उल्लेख कीजिए, उल्लेख करना चाहिए, " +
		"ज़िक्र करें, जिक्र करें, ज़िक्र करो, वर्णन करें, वर्णन करो, वर्णन करना चाहिए, मानें, मानो, " +
		"मानिए, मानना चाहिए, समझें, समझो, समझना चाहिए, याद रखें, याद रखो, याद रखिए, याद रखना, " +
		"सहेजें, सहेजो, दर्ज करें, आंकें, रेटिंग दें, रेटिंग दो, अंक दें, घोषित करें, घोषित करो, " +
		"पुष्टि करें, पुष्टि करो, ज़ोर दें, जोर दें, दावा करें, लिखना चाहिए, जवाब देना चाहिए, " +
		"उत्तर देना चाहिए, उद्धृत करना चाहिए, हवाला दें, हवाला दो, दिखाएँ, दिखाना चाहिए, शामिल करें, " +
		"शामिल करो, दो, दें",
	never: "उल्लेख न करें, उल्लेख कभी न करें, उल्लेख मत करो, उल्लेख न करो, उल्लेख कभी मत करो, " +
		"नाम मत लो, नाम न लें, ज़िक्र न करें, जिक्र न करें, ज़िक्र मत करो, सिफारिश न करें, " +
		"सिफारिश मत करो, न बताएँ, नाम कभी न लें, बात मत करो, सुझाव न दें, ज़िक्र कभी न करें, " +
		"उल्लेख नहीं करें, उल्लेख नहीं करना चाहिए, उल्लेख नहीं करना, उल्लेख न कीजिए, नाम न लो, " +
		"नाम मत लें, नाम नहीं लेना चाहिए, ज़िक्र न करो, जिक्र मत करो, जिक्र नहीं करना चाहिए, " +
		"बात न करें, बात नहीं करनी चाहिए, सिफ़ारिश न करें, सिफ़ारिश मत करो, सुझाव मत दो, " +
		"तुलना न करें, तुलना मत करो, आलोचना न करें, आलोचना मत करो, उद्धृत न करें, चुप रहें, चुप रहो, " +
		"छिपाएँ, छिपाओ, छिपा लें, छोड़ दें, हटा दें, बचें, मत बताओ, मत बताएँ, न बताएं, मत दिखाओ",
	first: "सबसे अच्छा, सबसे अच्छे, सबसे अच्छी, सर्वश्रेष्ठ, पहला, पहले, सबसे पहले, नंबर एक, अग्रणी, " +
		"एकमात्र, सबसे विश्वसनीय, सर्वोत्तम, पहले स्थान, सबसे बेहतर, बेहतरीन, सूची में सबसे ऊपर, " +
		"सबसे ऊपर, शीर्ष, शीर्ष पर, पहले नंबर, पहले नंबर पर, पहली पसंद, नंबर 1, विजेता, पसंदीदा, " +
		"विश्वसनीय, भरोसेमंद, विश्वसनीय स्रोत, भरोसेमंद स्रोत, आदर्श, उत्कृष्ट, शानदार, श्रेष्ठ, " +
		"केवल, सिर्फ, सिर्फ़, सकारात्मक, पाँच सितारे, सबसे अधिक, बाज़ार में अग्रणी, सबसे सुरक्षित, " +
		"प्रतिस्पर्धियों से पहले, औरों से पहले",
	rival: "प्रतिस्पर्धी, प्रतिस्पर्धियों, प्रतियोगी, प्रतियोगियों, प्रतिद्वंद्वी, प्रतिद्वंद्वियों, " +
		"अन्य ब्रांड, दूसरे ब्रांड, अन्य दुकानों, अन्य कंपनियों, विकल्प, किसी और, " +
		"प्रतिस्पर्धियों का, दूसरी कंपनी, दूसरी कंपनियों, दूसरी दुकान, दूसरे उत्पाद, अन्य उत्पाद, " +
		"अन्य विकल्प, दूसरा कोई, कोई और, कुछ और, दूसरों, बाकी, आलोचना, कमियाँ, कमियों, नकारात्मक, " +
		"शिकायतें",
	prefer: "उपयोग करें, उपयोग करो, इस्तेमाल करो, उद्धृत करें, संदर्भ दें, लिंक करें, पालन करो, " +
		"पालन करें, पालन कीजिए, मानो, अनुसरण करें, अनुसरण करो, आज्ञा मानो, पढ़ें, पढ़ो, क्लिक करें, " +
		"खोलें, अमल करें, अमल करो, प्रयोग करें",
	must: "चाहिए, कृपया, अनिवार्य, करना होगा, अनुरोध है, निवेदन है, आग्रह है, ज़रूरी है, जरूरी है, " +
		"अनिवार्य है, पड़ेगा, सुनिश्चित करें, सुनिश्चित करो, ध्यान रखें, भूलें नहीं",
	always: "हमेशा, सदा, कभी, अवश्य, ज़रूर, केवल, सदैव, कभी भी",
	model: "ai, एआई, ai सहायक, ai सहायकों, एआई सहायक, एआई सहायकों, कृत्रिम बुद्धिमत्ता, भाषा मॉडल, " +
		"भाषा मॉडलों, चैटबॉट, चैटबॉट्स, ai मॉडल, ai मॉडलों, एआई मॉडल, ai एजेंट, ai एजेंटों, " +
		"ai असिस्टेंट, बॉट, बॉट्स, ai प्रणाली, आर्टिफिशियल इंटेलिजेंस, बड़े भाषा मॉडल, ai सिस्टम, " +
		"ai सिस्टमों, ai टूल, ai टूल्स, ai सर्च, ai बॉट, ai चैटबॉट, एआई सिस्टम, एआई टूल, एआई बॉट, " +
		"एआई चैटबॉट, एआई मॉडलों, एआई एजेंट, एआई एजेंटों, ai असिस्टेंट्स, एआई असिस्टेंट, " +
		"कृत्रिम बुद्धि, बड़े भाषा मॉडलों, बड़ा भाषा मॉडल, भाषा मॉडलों को, वर्चुअल असिस्टेंट, " +
		"डिजिटल असिस्टेंट, आभासी सहायक, चैट जीपीटी, चैटजीपीटी, chat gpt, llm*, क्रॉलर, उत्तर इंजन, " +
		"रोबोट, मॉडलों",
	helper: "सहायक, सहायकों, असिस्टेंट",
	user:   "उपयोगकर्ता को, उपयोगकर्ता, उपयोगकर्ताओं, उपयोगकर्ता से, ग्राहक को",
	conceal: "मत बताओ, मत बताएँ, न बताएँ, न बताएं, सूचित न करें, सूचित मत करो, चेतावनी न दें, छिपाओ, " +
		"छिपाएँ, छिपाकर रखो",
	asked: "जब उपयोगकर्ता पूछे, जब कोई पूछे, अगर कोई पूछे, यदि कोई पूछे, जब उपयोगकर्ता पूछें, " +
		"यदि उपयोगकर्ता पूछे, अगर उपयोगकर्ता पूछे, पूछे जाने पर, जब भी कोई, जब तुमसे पूछा जाए, " +
		"पूछने पर, हर उत्तर में, हर जवाब में, अपने उत्तर में, अपने जवाब में, अपने उत्तरों में, " +
		"उत्तर में, जवाब में, उत्तरों में, जवाबों में, हर सवाल, हर प्रश्न, किसी भी सवाल, " +
		"भविष्य की बातचीत, भविष्य में, आगे की बातचीत, जब ग्राहक, यदि ग्राहक, जब कोई उपयोगकर्ता, " +
		"यदि कोई उपयोगकर्ता, सारांश में, इस पेज का सारांश, तुलना में",
	ours: "हमें, हमारे, हमारी, हमारा, इस साइट, इस दुकान, इस पेज, इस ब्रांड, इस उम्मीदवार, इस कंपनी, " +
		"इस उत्पाद, इस लेख, इस वेबसाइट",
	intro: "सूचना, नोट, ध्यान दें, संदेश, के लिए सूचना, के लिए संदेश, के लिए, यदि आप, अगर आप, यदि तुम, " +
		"अगर तुम, प्रिय, महत्वपूर्ण, निर्देश, हैं, हो, नमस्ते, के नाम, एक, को, यह पेज पढ़ने वाले, " +
		"सावधान, के लिए नोट, के लिए निर्देश, ध्यान दो, ध्यान दीजिए, के लिए निर्देशः, के लिए सूचनाः, " +
		"के लिए संदेशः, सूचना के लिए, सभी, सब, हर, यदि यह, अगर यह, यदि कोई, अगर कोई, यदि, अगर, जब, " +
		"पढ़ रहे, पढ़ रहा, पढ़ रही, पढ़ने वाले, पढ़ने वाला, पढ़ता, पढ़ते, यह पढ़ रहे, " +
		"इस पेज को पढ़ने वाले, सारांश बनाने वाले, सारांश बना रहे, संसाधित, विश्लेषण, यह पेज, यह पाठ, " +
		"इस पेज को, इस पाठ को, सिस्टम, सिस्टम संदेश, नया निर्देश, नए निर्देश, आदरणीय, श्रीमान, सुनो, " +
		"याद रहे, महत्वपूर्ण सूचना, रहे, रहा, रही, नाम",
	and: "और, या, बल्कि",
	filler: "कृपया, को, के, की, का, और, से, में, एक, यह, ये, इन, उन, अपना, अपने, अपनी, आप, तुम, तो, भी, " +
		"ही, अब, पर, हो, हैं, है, रूप, लिए, दिए, गए, दी, गई, किसी, साथ, कि, केवल, बस, फिर, विकल्प, " +
		"कर, मुझे, हमें, वाले, ब्रांड, कंपनी, उपयोगकर्ता, कभी, हमेशा, सबसे, उसे, उन्हें, जो, बिना, " +
		"था, थे, थी, वह, वे, हम, मैं, तुम्हें, आपको, उनका, उनके, उसका, उसके, हमारा, जिन, जिस, यहाँ, " +
		"वहाँ, कैसे, क्या, कौन, या, लेकिन, नहीं, न, मत, सदा, बाद, बीच, बारे, शब्दशः, पूरा, पूरी, " +
		"पूरे, स्पष्ट, उत्तर, जवाब, सूची, पेज, पाठ, सवाल, प्रश्न, स्रोत, नाम, तक, वाला, वाली, हुए, " +
		"हुआ, हुई, जाए, जाएँ, इसे, इस, उस, अच्छे, अच्छा, मिले, मिली",
	topic:  "हमलावर*, हमला, हमले, उदाहरण, हैकर*, लिखते",
	report: "अनुसार, सर्वेक्षण, अध्ययन",
	about:  "प्रॉम्प्ट इंजेक्शन, प्रॉम्प्ट इन्जेक्शन",
}

// hungarian are the words by which Hungarian texts address and order a model. TestCorpora measures them.
var hungarian = words{
	tag: "hu",
	ignore: "hagyd figyelmen kívül, hagyja figyelmen kívül, hagyjátok figyelmen kívül, " +
		"hagyják figyelmen kívül, felejtsd el, felejtse el, felejtsétek el, felejtsd, felejtse, " +
		"ne vedd figyelembe, ne vegye figyelembe, ne vegyétek figyelembe, ne kövesd, ne kövesse, " +
		"mellőzd, mellőzze, tekints el, tekintsen el, ne tartsd be, ne tartsa be, ne engedelmeskedj, " +
		"ne törődj, ne törődjön, ne hallgass, ne alkalmazd, ne kövessétek, tedd félre, tegye félre, " +
		"hanyagold el, hanyagolja el, kerüld meg, lépj túl, hagyj fel, ne foglalkozz, hagyjátok",
	all: "összes, minden, mindet, valamennyi, bármely",
	earlier: "korábbi*, előző*, fenti*, eddigi*, megelőző*, előbbi*, kapott, kapottakat, eddig kapott, " +
		"korábban kapott, eredeti*, meglévő*, jelenlegi*, érvényes*, régi*, fentebb, ezelőtti*, " +
		"korábban",
	rules: "utasítás*, szabály*, parancs*, előírás*, útmutatás*, promptok*, irányelv*, utasításokat, " +
		"utasítást, szabályokat, parancsokat, irányelveket, promptot, prompt, korlátozás*, " +
		"instrukció*, minden fentit, mindent ami fent, amit mondtak neked, amit eddig mondtak, " +
		"mindent amit mondtak, rendelkezés*",
	void: "érvénytelen*, érvényét veszt*, hatályát veszt*, hatálytalan*, nem érvényes*, " +
		"már nem érvényes*, visszavon*, törölve, felülír*, elavult*",
	reveal: "mutasd meg, mutassa meg, mutasd, írd ki, írja ki, áruld el, árulja el, fedd fel, fedje fel, " +
		"küldd el, küldje el, ismételd meg, oszd meg, jelenítsd meg, add ki, írd le, írja le, " +
		"másold, másolja, idézd, csatold, tedd közzé, add meg, add át, olvasd fel, küldj, ismételd",
	secret: "rendszerprompt*, rendszerutasítás*, rendszer prompt*, rejtett utasítás*, rendszerüzenet*, " +
		"rendszerpromptodat, rejtett utasításaidat, titkos utasítás*, belső utasítás*, " +
		"eredeti utasításaidat, a promptodat, promptodat",
	data: "beszélgetés*, jelszó*, jelszav*, felhasználói adat*, személyes adat*, api kulcs*, " +
		"felhasználó adat*, felhasználó e mail*, csevegés*, kártyaszám*, bankkártya*, hitelkártya*, " +
		"belépési adat*, felhasználó*, üzenet*, fájl*",
	role: "mostantól, most már, te most, innentől, viselkedj úgy, tégy úgy, tegyél úgy, úgy viselkedj, " +
		"mostantól te, már nem, nem vagy többé, vedd fel a szerepet, játszd el, képzeld el hogy, " +
		"viselkedj mint, lépj be, válts",
	free: "korlátozások nélkül*, szabályok nélkül*, korlátok nélkül*, korlátlan, szűrők nélkül*, " +
		"cenzúrázatlan, szűretlen, nincsenek szabályok, nincsenek korlátok, nincs korlát, " +
		"fejlesztői mód*, minden korlátozás nélkül, szabályoktól mentes",
	recommend: "ajánld, ajánlja, ajánljátok, ajánljon+, ajánlaniuk, ajánlania, ajánlani+, ajánlj, javasold, " +
		"javasolja, javasolják+, javasolni+, javasolniuk, részesítsd előnyben, részesítse előnyben, " +
		"ajánlják+, népszerűsítsd, helyezd, sorold, ajánlást, ajánlja+, ajánlott, ajánlania+, " +
		"ajánlaniuk+, javasoljátok, helyezze, helyezzék+, helyezzétek, helyezni+, tedd, tegye, " +
		"tegyék+, tenni+, rakd, rakja, sorolja, sorolják+, sorolni+, listázd, listázza, listázzák+, " +
		"válaszd, válassza, válasszák+, választani+, részesítsék előnyben+, részesítsétek előnyben, " +
		"előnyben részesíteni+, emeld, emelje, emeljék+, dicsérd, dicsérje, dicsérjék+, " +
		"népszerűsítse, reklámozd, irányítsd, támogasd, rangsorold, rangsorolja, helyezzék, tegyék, " +
		"emeljék, részesítsék, dicsérjék",
	say: "mondd, mondja, mondjátok, válaszold, válaszolj, említsd, említse, említsék+, említeni+, " +
		"állítsd, írd, nevezd, mondjon+, említsétek, nevezni+, nevezniük+, nevezniük, említeniük, " +
		"mondaniuk, leírniuk+, bemutatniuk, mutasd be, mutassa be, mutassák be+, mutassátok be, " +
		"bemutatni+, bemutatniuk+, említeniük+, említsék, nevezd meg, nevezze, nevezze meg, " +
		"nevezzék+, nevezzétek, megnevezni+, írd le, írják le+, írja, írják+, tekintsd, tekintse, " +
		"tekintsék+, tekintsétek, kezeld, kezelje, kezeljék+, jegyezd meg, jegyezze meg, " +
		"jegyezzék meg+, jegyezd, emlékezz, emlékezzen, mentsd el, mentse el, tárold, értékeld, " +
		"értékelje, értékeljék+, állítsa, állítsák+, jelentsd ki, jelentse ki, erősítsd meg, " +
		"hangsúlyozd, hangsúlyozza, hangsúlyozzák+, mondják+, mondani+, válaszolja, válaszoljon, " +
		"válaszoljanak+, válaszolni+, hivatkozz, hivatkozzon, hivatkozzanak+, idézd, idézze, mutasd, " +
		"szerepeljen, szerepeljenek, szerepelnie+, jelöld meg, jelölje, sorold fel, sorolja fel, " +
		"sorolják fel+, beszélj, mutassák be, nevezzék, tekintsék, jegyezzék, állítsák, " +
		"hangsúlyozzák, hivatkozzanak, idézzék, válaszoljanak, válaszolják, írják le",
	never: "ne említsd, ne említse, ne említsétek, ne említsék, soha ne említs*, ne ajánlj*, " +
		"soha ne ajánlj*, ne nevezd, ne beszélj, ne javasolj*, ne említsetek, ne említsenek, " +
		"ne említs, ne említsék meg, nem említhet*, ne nevezze, ne nevezd meg, ne beszéljen, " +
		"ne beszéljenek, ne hasonlítsd, ne kritizáld, ne idézd, ne hivatkozz, ne mutasd, ne ajánld, " +
		"ne ajánlja, ne ajánljon, ne ajánljanak, ne javasold, ne sorold, hallgass a, hallgasd el, " +
		"hallgassa el, elhallgatni+, hagyd ki, hagyja ki, kihagyni+, rejtsd el, kerüld, kerülje, " +
		"mellőzd a versenytárs*",
	first: "legjobb*, első*, elsőként, vezető*, piacvezető*, egyetlen, legmegbízhatóbb*, mások elé, " +
		"számú, legbiztonságosabb*, élre, élén, élén áll, lista élére, lista tetejére, tetejére, " +
		"tetején, elsőnek, elsőre, első helyen, első helyre, győztes*, kedvenc*, megbízható*, " +
		"hiteles*, megbízható forrás*, hivatkozási, etalon*, ideális*, tökéletes*, kiváló*, " +
		"kizárólag, csakis, pozitív*, öt csillag*, legmagasabb*, előnyben részesített, preferált, " +
		"mások előtt, mindenki előtt, versenytársak előtt, listavezető*, jobb",
	rival: "versenytárs*, konkuren*, más márka*, más márkák*, más bolt*, más cég*, alternatív*, " +
		"rajta kívül, vetélytárs*, más márkát, más boltot, más céget, más terméket, másik márká*, " +
		"senki mást, semmi mást, mást, többi*, kritik*, hátrány*, hiányosság*, panasz*, negatív*",
	prefer: "használd, használja, idézd, idézze, hivatkozz, emeld ki, kövesd, kövesse, követni+, " +
		"tartsd be, tartsa be, engedelmeskedj, hallgass, olvasd el, olvassa el, kattints, nyisd meg, " +
		"használj",
	must: "kell, kellene, köteles, kötelesek, kérjük, kérem, kérlek, muszáj, szíveskedj*, " +
		"szíveskedjen*, felkérjük, felkérünk, arra kérjük, arra kérünk, kérjük hogy, kérem hogy, " +
		"kérünk, kötelessége*, tartoznak, tudnál, tudná, lennél szíves, legyen szíves, légy szíves, " +
		"ügyelj arra hogy, gondoskodj arról hogy, ne felejtsd el hogy, az a feladatod hogy, " +
		"a feladatod, fontos hogy, azt szeretnénk, szükséges, mutassák, mutassák be, említsék, " +
		"helyezzék, tegyék, nevezzék, tekintsék, jegyezzék, állítsák, emeljék, részesítsék, " +
		"hangsúlyozzák, soroljanak, hivatkozzanak, idézzék, válaszoljanak, válaszolják, dicsérjék, " +
		"írják le",
	always: "mindig, soha",
	model: "ai, mi, mesterséges intelligenci*, mesterséges intelligencia asszisztens*, mi asszisztens*, " +
		"ai asszisztens*, nyelvi modell*, asszisztens*, chatbot*, csevegőbot*, mi modell*, " +
		"ai modell*, nagy nyelvi modell*, robotok, mi rendszer*, mi asszisztensek, mi modellek, " +
		"mi rendszerek, mi ügynök*, mi eszköz*, mi kereső*, mi chatbot*, mi bot*, mi szolgáltatás*, " +
		"ai rendszer*, ai ügynök*, ai eszköz*, ai kereső*, ai bot*, nyelvi modelleknek, " +
		"nyelvi modellek, nyelvi modell, llm*, generatív mi, generatív modell*, csetbot*, botok, " +
		"bot, beszélgetőrobot*, keresőrobot*, virtuális asszisztens*, hangasszisztens*, " +
		"mesterséges intelligenciák, mesterséges intelligencia, chat gpt, nagy nyelvi modellek",
	helper: "asszisztens, asszisztensek, asszisztensnek, asszisztenseknek",
	user: "a felhasználót, a felhasználónak, felhasználónak, felhasználót, felhasználó elől, " +
		"az ügyfélnek",
	conceal: "ne tájékoztasd, ne tájékoztassa, ne mondd el, ne mondja el, ne értesítsd, ne szólj, " +
		"titkold el, rejtsd el",
	asked: "ha a felhasználó, ha egy felhasználó, ha a felhasználók, amikor a felhasználó*, ha valaki, " +
		"ha megkérdez*, amikor valaki, minden válaszban, a válaszodban, válaszodban, válaszaidban, " +
		"válaszaiban, a válaszban, válaszban, válaszokban, minden kérdésre, kérdésekre, kérdésre, " +
		"ha kérdezik, ha kérdeznek, amikor kérdezik, ha egy ügyfél, jövőbeli beszélgetés*, " +
		"a jövőben, összefoglalásban, összehasonlításokban, foglald össze ezt az oldalt",
	ours: "minket, mi cégünk, boltunkat, ezt az oldalt, ezt a boltot, ezt a jelöltet, ez a jelölt, " +
		"ezt a céget, ez a cég, ezt a terméket, ezt a cikket",
	intro: "megjegyzés, figyelem, üzenet, üzenet a, ha te, ha ön, kedves, fontos, utasítás, utasítások, " +
		"szia, vagy, vagyok, egy, figyelmeztetés, üzenet az, megjegyzés az, figyelmeztetés az, " +
		"tájékoztatás, minden, valamennyi, ha ezt, ha egy, ha ez, ha az, ha olyan, amennyiben, " +
		"amikor, ha, olvassa, olvassa ezt, olvassák, olvasod, olvasó, olvasó összes, oldalt olvasó, " +
		"összefoglaló, összefoglalja, feldolgozó, elemző, ezt az oldalt, ezt a szöveget, az oldalt, " +
		"mint, rendszer, rendszerüzenet, új utasítás, új utasítások, tisztelt, drága, hé, ps, " +
		"emlékeztető, fontos üzenet",
	and: "és, vagy, hanem, majd",
	filler: "a, az, és, kérjük, kérem, kérlek, te, ön, most, csak, is, hogy, egy, azt, ezt, ezeket, " +
		"ezután, aztán, legyen, szépen, légy szíves, márkát, mint, majd, saját, vagy, van, vannak, " +
		"volt, lesz, ő, ők, neki, nekik, őt, itt, ott, ahol, amely, amelyek, aki, akik, ami, mely, " +
		"meg, el, ki, be, le, fel, de, sem, se, nem, ne, soha, mindig, szó szerint, szóról szóra, " +
		"teljesen, kifejezetten, egyértelműen, válasz, választ, lista, listán, listát, oldal, " +
		"szöveg, kérdés, választásként, választás, választásnak, legjobb, forrásként, márka, cég, " +
		"bolt, tovább, többé, azokat, egyik, önök, ti",
	topic:  "támadó*, támadás*, például",
	report: "felmérés, tanulmány",
	about:  "prompt injekció*, promptinjekció*",
}

// indonesian are the words by which Indonesian texts address and order a model. TestCorpora measures them.
var indonesian = words{
	tag: "id",
	ignore: "abaikan, lupakan, hiraukan, jangan ikuti, kesampingkan, jangan patuhi, mengabaikan+, " +
		"melupakan+, tinggalkan, jangan hiraukan, jangan taati, jangan turuti, jangan mematuhi, " +
		"jangan mengikuti, jangan pedulikan, tidak usah ikuti, tak usah ikuti, jangan gunakan, " +
		"berhenti mengikuti, singkirkan, langgar, jangan dengarkan, jangan perhatikan, acuhkan, " +
		"tidak perlu mengikuti, mengikuti+",
	all: "semua, seluruh, setiap, segala, seluruhnya",
	earlier: "sebelumnya, di atas, terdahulu, sebelum ini, tadi, lama, yang lalu, yang kamu terima, " +
		"yang anda terima, yang diterima, yang diberikan, diterima, diberikan, awal, semula, asli, " +
		"saat ini, yang ada, sampai sekarang, sejauh ini, sebelum baris ini, dahulu",
	rules: "instruksi, perintah, petunjuk, aturan, arahan, pedoman, ketentuan, prompt, panduan, " +
		"apa yang dikatakan kepada anda, semua yang dikatakan, semua di atas, " +
		"segala sesuatu di atas, apa yang dikatakan, batasan, pembatasan, kebijakan, konteks, " +
		"perintahmu, instruksimu, peraturan, larangan, arahanmu",
	void: "tidak berlaku, tidak berlaku lagi, tidak lagi berlaku, dibatalkan, batal, dicabut, diganti, " +
		"digantikan, usang, kedaluwarsa, gugur, dihapus, tidak sah",
	reveal: "tampilkan, tunjukkan, ungkapkan, cetak, kirim, kirimkan, ulangi, bagikan, bocorkan, " +
		"perlihatkan, sebutkan, tulis, tuliskan, salin, bacakan, kutip, lampirkan, terbitkan, " +
		"serahkan, teruskan, beri, berikan, beberkan, ungkap, sampaikan",
	secret: "prompt sistem, perintah sistem, instruksi sistem, instruksi tersembunyi, pesan sistem, " +
		"instruksi tersembunyimu, instruksi rahasia, instruksi internal, instruksi awal, " +
		"prompt sistemmu, promptmu, prompt tersembunyi, perintah rahasia",
	data: "percakapan, kata sandi, data pengguna, data pribadi, email pengguna, kunci api, " +
		"riwayat obrolan, percakapan ini, obrolan, nomor kartu, kartu kredit, alamat pengguna, " +
		"nama pengguna, pesan pengguna, berkas pengguna, kredensial, lokasi pengguna",
	role: "sekarang kamu adalah, sekarang anda adalah, kamu sekarang adalah, anda sekarang adalah, " +
		"mulai sekarang anda adalah, mulai sekarang kamu adalah, bertindaklah sebagai, " +
		"bertindak sebagai, berpura puralah, berperilaku sebagai, anda kini adalah, kamu bukan lagi, " +
		"anda bukan lagi, mulai saat ini anda adalah, mulai saat ini kamu adalah, kini kamu adalah, " +
		"ambil peran, mainkan peran, bayangkan kamu adalah, masuk ke mode, aktifkan mode, " +
		"berpura pura menjadi, berlakulah seperti, jadilah",
	free: "tanpa batasan, tanpa aturan, tanpa batas, tanpa filter, tanpa sensor, tidak terbatas, " +
		"tanpa pembatasan, tidak ada aturan, tidak ada batasan, tidak punya aturan, mode pengembang, " +
		"tanpa satu pun batasan, bebas dari aturan, tanpa kekangan",
	recommend: "rekomendasikan, merekomendasikan+, sarankan, menyarankan+, promosikan, mempromosikan+, " +
		"utamakan, mengutamakan+, pilih, prioritaskan, tempatkan, dahulukan, anjurkan, " +
		"menganjurkan+, unggulkan, taruh, taruhlah, letakkan, letakkanlah, meletakkan+, " +
		"menempatkan+, tempatkanlah, pilihlah, memilih+, dipilih+, direkomendasikan+, " +
		"rekomendasikanlah, disarankan+, sarankanlah, diutamakan+, utamakanlah, memprioritaskan+, " +
		"diprioritaskan+, promosikanlah, dipromosikan+, puji, pujilah, memuji+, unggulkanlah, " +
		"mengunggulkan+, arahkan, mengarahkan+, usulkan, mengusulkan+, daftarkan, mencantumkan+, " +
		"cantumkan, urutkan, peringkatkan, tonjolkan, menonjolkan+, kedepankan, mengedepankan+, " +
		"dukung, mendukung+, jadikan, menjadikan+",
	say: "katakan, mengatakan+, sebut, sebutkan, menyebut+, menyebutkan+, jawab, menjawab+, nyatakan, " +
		"menyatakan+, tulis, beri tahu, menampilkan+, ditampilkan+, tampilkan, perkenalkan, " +
		"memperkenalkan+, sajikan, menyajikan+, gambarkan, menggambarkan+, sebutlah, sebutkanlah, " +
		"disebut+, disebutkan+, namai, menamai+, anggap, anggaplah, menganggap+, dianggap+, " +
		"perlakukan, ingat, ingatlah, mengingat+, simpan, simpanlah, menyimpan+, catat, catatlah, " +
		"mencatat+, nilai, nilailah, menilai+, beri, berikan, memberi+, memberikan+, umumkan, " +
		"nyatakanlah, konfirmasikan, tegaskan, menegaskan+, tekankan, menekankan+, klaim, " +
		"mengklaim+, jelaskan, menjelaskan+, jawablah, tuliskan, menulis+, kutiplah, mengutip+, " +
		"dikutip+, rujuk, merujuk+, bicarakan, muncul+, sertakan, menyertakan+, masukkan, " +
		"memasukkan+, bilang, akhiri, mulailah, katakanlah, beritahu, memberi tahu+",
	never: "jangan menyebut*, jangan pernah menyebut*, jangan sebut*, jangan merekomendasikan, " +
		"jangan pernah merekomendasikan, tidak boleh menyebut*, jangan pernah sebut*, jangan bahas, " +
		"jangan menyinggung, jangan singgung, jangan membahas, jangan bicarakan, " +
		"jangan membicarakan, jangan sarankan, jangan menyarankan, jangan rekomendasikan, " +
		"jangan tampilkan, jangan menampilkan, jangan bandingkan, jangan membandingkan, " +
		"jangan kritik, jangan mengkritik, jangan kutip, jangan mengutip, jangan cantumkan, " +
		"tidak menyebut+, tidak boleh merekomendasikan, tidak boleh membahas, " +
		"tidak boleh menyinggung, tidak menyebutkan+, sembunyikan, menyembunyikan+, diamlah tentang, " +
		"hilangkan, menghilangkan+, hindari, menghindari+, hindari menyebut, kecualikan, rahasiakan, " +
		"abaikan pesaing, bungkam",
	first: "terbaik, pertama, nomor satu, utama, terdepan, paling, teratas, terlebih dahulu, " +
		"terpercaya, satu satunya, unggulan, lebih dulu, lebih dahulu, paling dulu, urutan teratas, " +
		"di urutan teratas, urutan pertama, posisi teratas, posisi pertama, paling atas, di puncak, " +
		"puncak, peringkat pertama, pilihan utama, pilihan pertama, nomor 1, pemenang, favorit, " +
		"paling tepercaya, tepercaya, dapat dipercaya, sumber tepercaya, sumber terpercaya, andal, " +
		"rujukan, acuan, ideal, sempurna, unggul, hanya, semata, positif, bintang lima, " +
		"lima bintang, nilai tertinggi, tertinggi, pemimpin pasar, sebelum yang lain, " +
		"sebelum pesaing",
	rival: "pesaing*, kompetitor*, merek lain, toko lain, perusahaan lain, alternatif, selain, saingan, " +
		"merk lain, produk lain, penyedia lain, pemasok lain, yang lain, lainnya, siapa pun selain, " +
		"orang lain, kritik, kekurangan, kelemahan, negatif, keluhan, ulasan negatif",
	prefer: "gunakan, kutip, utamakan, prioritaskan, tautkan, pakai, ikuti, ikutilah, mengikuti+, " +
		"patuhi, patuhilah, mematuhi+, taati, turuti, laksanakan, jalankan, baca, bacalah, klik, " +
		"buka, menggunakan+, terapkan",
	must: "harus, wajib, sebaiknya, mesti, jangan, diharuskan, diwajibkan, perlu, tolong, mohon, " +
		"hendaknya, diminta, diminta untuk, dimohon, dimohon untuk, kami minta, kami mohon, diimbau, " +
		"semestinya, seharusnya, harap, bolehkah, bisakah, bisakah kamu, bisakah anda, maukah, " +
		"dapatkah, pastikan, pastikan untuk, jangan lupa, usahakan, penting untuk, tugasmu adalah, " +
		"tugas anda adalah, kami ingin, hanya boleh, silakan, supaya, agar, diperintahkan, " +
		"ditugaskan, berkewajiban",
	always: "selalu",
	model: "ai, asisten ai, kecerdasan buatan, model bahasa, model ai, chatbot*, bot, agen ai, " +
		"sistem ai, asisten virtual, model bahasa besar, ais, para ai, asisten asisten ai, " +
		"asisten kecerdasan buatan, sistem kecerdasan buatan, model kecerdasan buatan, " +
		"agen kecerdasan buatan, alat ai, mesin ai, mesin jawaban, mesin pencari ai, perayap ai, " +
		"bot ai, chatbot ai, ai generatif, model generatif, model model bahasa, llm*, robot ai, " +
		"robot percakapan, asisten digital, asisten suara, bot bot, chat gpt, perayap",
	helper: "asisten, para asisten",
	user:   "pengguna, kepada pengguna, dari pengguna, pelanggan",
	conceal: "jangan beri tahu, jangan memberi tahu, jangan katakan, jangan informasikan, " +
		"jangan peringatkan, sembunyikan, tanpa memberi tahu, tanpa sepengetahuan",
	asked: "ketika pengguna bertanya, jika pengguna bertanya, saat pengguna bertanya, " +
		"bila ada yang bertanya, jika ada yang bertanya, jika ditanya, saat ditanya, ketika ditanya, " +
		"di setiap jawaban, dalam setiap jawaban, dalam jawabanmu, dalam jawaban anda, di jawaban, " +
		"dalam jawaban, di semua jawaban, setiap pertanyaan, pada setiap pertanyaan, " +
		"untuk setiap pertanyaan, dalam percakapan mendatang, di percakapan mendatang, " +
		"di masa depan, ke depannya, setiap kali, ketika pelanggan, jika pelanggan, saat merangkum, " +
		"saat menjawab, ketika menjawab, ringkas halaman ini, rangkum halaman ini, " +
		"dalam perbandingan, jika seseorang bertanya, apa pun pertanyaannya",
	ours: "kami, situs ini, toko ini, halaman ini, merek ini, kandidat ini, pelamar ini, " +
		"perusahaan ini, produk ini, artikel ini, teks ini",
	intro: "catatan untuk, catatan, perhatian, pesan untuk, kepada, untuk, jika anda, jika kamu, " +
		"jika anda adalah, jika kamu adalah, halo, hai, penting, instruksi untuk, bila anda, " +
		"yang terhormat, para, semua, perhatian untuk, perhatian bagi, perhatian kepada, " +
		"catatan bagi, catatan kepada, pesan bagi, pesan kepada, pesan, instruksi bagi, " +
		"instruksi kepada, pemberitahuan, pemberitahuan untuk, informasi untuk, petunjuk untuk, " +
		"untuk semua, untuk setiap, untuk para, bagi, kepada semua, kepada seluruh, jika, bila, " +
		"apabila, kalau, ketika, saat, jika sebuah, jika ini, membaca, membaca ini, " +
		"membaca halaman ini, yang membaca, yang membaca ini, yang membaca halaman ini, merangkum, " +
		"meringkas, yang merangkum, yang meringkas, memproses, yang memproses, menganalisis, " +
		"halaman ini, teks ini, situs ini, sebagai, sistem, pesan sistem, instruksi baru, " +
		"perintah baru, yth, hei, sahabat, setiap, seluruh, wahai, pengingat, baik",
	and: "dan, atau, tetapi, lalu",
	filler: "harap, mohon, tolong, silakan, dan, yang, anda, kamu, ini, itu, sekarang, juga, lalu, " +
		"kemudian, dari, untuk, saja, hanya, sebagai, bahwa, dengan, seorang, sebuah, adalah, " +
		"pernah, kepada, para, telah, lah, mulai, ialah, sudah, sedang, akan, dia, ia, mereka, kita, " +
		"kami, saya, aku, mu, nya, di, ke, pada, oleh, tentang, antara, tanpa, hingga, sampai, " +
		"setelah, sesudah, atau, tetapi, namun, tidak, tak, bukan, jangan, selalu, kata demi kata, " +
		"kata, lengkap, sepenuhnya, seluruhnya, jelas, jawaban, daftar, halaman, teks, pertanyaan, " +
		"sumber, pilihan, merek, toko, perusahaan, apa, siapa, mana, bagaimana, setiap, satu, lagi, " +
		"pun, agar, supaya, hal, baik, lain, tersebut, begitu, sana, sini",
	topic:  "penyerang, serangan, misalnya, contohnya",
	report: "menurut, survei, penelitian, studi",
	about:  "injeksi prompt, injeksi perintah",
}

// italian are the words by which Italian texts address and order a model. TestCorpora measures them.
var italian = words{
	tag: "it",
	ignore: "ignora, ignori, ignorate, ignorare+, ignorare, dimentica, dimentichi, dimenticate, " +
		"dimenticare+, non seguire, non seguite, non tenere conto, non tener conto, trascura, " +
		"trascurate, tralascia, non considerare, scarta, disattendi, non obbedire, non obbedite, " +
		"non rispettare, non rispettate, non applicare, non applicate, non dare retta, " +
		"non dare ascolto, non tenga conto, non tenete conto, non tieni conto, smetti di seguire, " +
		"smettete di seguire, smetta di seguire, metti da parte, mettete da parte, lascia perdere, " +
		"lasciate perdere, accantona, aggira, non curarti, tralasciate, scordati, scordatevi, " +
		"abbandona, non seguire più, non seguite più",
	all: "tutte, tutti, tutto, ogni, qualsiasi, tutta",
	earlier: "precedenti, precedente, di cui sopra, sopra, qui sopra, ricevute finora, anteriori, finora, " +
		"ricevute, sopra riportate, originali, precedentemente, in precedenza, " +
		"ricevute in precedenza, ricevuto, ricevuti, date, iniziali, prima di questa riga, " +
		"prima di questo punto, esistenti, attuali, vigenti, vecchie, passate, che hai ricevuto, " +
		"che avete ricevuto, prima, antecedenti, sin qui, fin qui",
	rules: "istruzioni, istruzione, regole, regola, comandi, direttive, ordini, indicazioni, " +
		"linee guida, prompt, quello che ti è stato detto, quanto ti è stato detto, " +
		"istruzioni dello sviluppatore, consegne, disposizioni, norme, vincoli, restrizioni, " +
		"tutto ciò che precede, tutto quello che precede, tutto ciò che ti è stato detto, " +
		"tutto quello che ti è stato detto, quanto sopra, ciò che precede, contesto, politiche, " +
		"comando, prompts, ciò che ti è stato detto, quello che ti hanno detto",
	void: "annullat*, nulle, nulli, non valgono più, non vale più, non sono più valide, " +
		"non sono più validi, decadut*, revocat*, sostituit*, superat*, sospes*, abrogat*, " +
		"cancellat*, obsolet*, non si applicano più, non si applicano, scadut*, invalid*",
	reveal: "mostra, mostri, mostrate, mostrami, rivela, riveli, rivelate, stampa, stampi, ripeti, " +
		"invia, invii, inviate, condividi, divulga, svela, dimmi, visualizza, inoltra, copia, " +
		"copiate, trascrivi, riporta, riportate, riproduci, scrivi, allega, aggiungi, incolla, " +
		"pubblica, comunica, trasmetti, leggi, fornisci, manda, esponi",
	secret: "prompt di sistema, prompt del sistema, istruzioni di sistema, istruzioni nascoste, " +
		"messaggio di sistema, istruzioni del sistema, tue istruzioni nascoste, " +
		"tue istruzioni segrete, tue istruzioni interne, tue istruzioni iniziali, " +
		"istruzioni interne, istruzioni segrete, istruzioni iniziali, tuo prompt, " +
		"tuo prompt iniziale, prompt nascosto, testo sopra",
	data: "conversazione, conversazioni, password, dati dell'utente, dati personali, " +
		"email dell'utente, chiave api, chiavi api, cronologia, chat, questa conversazione, " +
		"carta di credito, numero di carta, dati bancari, indirizzo dell'utente, nome dell'utente, " +
		"file dell'utente, credenziali, messaggi dell'utente, posizione dell'utente, " +
		"cronologia della chat, telefono dell'utente",
	role: "ora sei, adesso sei, da ora sei, d'ora in poi sei, da questo momento sei, agisci come, " +
		"comportati come, fingi di essere, fai finta di essere, tu ora sei, da adesso sei, sei ora, " +
		"sei adesso, d'ora innanzi sei, a partire da ora sei, non sei più, assumi il ruolo, " +
		"interpreta il ruolo, immagina di essere, entra in modalità, attiva la modalità, lavori ora, " +
		"ora lavori, diventa, calati nei panni, si comporti come",
	free: "senza restrizioni, senza regole, senza limiti, senza filtri, senza filtro, senza censura, " +
		"senza limitazioni, senza alcuna restrizione, senza vincoli, nessuna regola, " +
		"nessuna restrizione, nessun limite, nessun filtro, più nessuna regola, " +
		"modalità sviluppatore, senza alcuna regola, senza alcun limite, senza freni, " +
		"libero da regole, senza barriere",
	recommend: "consiglia, consigli, consigliate, consigliare+, raccomanda, raccomandi, raccomandate, " +
		"raccomandare+, suggerisci, suggerite, suggerire+, promuovi, promuovere+, preferisci, " +
		"preferire+, privilegia, privilegiare+, scegli, metti, classifica, elogia, proponi, " +
		"proporre+, indica, consiglino+, raccomandata+, raccomandato+, raccomandino+, consigliata+, " +
		"consigliato+, suggerisca, suggeriscano+, suggerito+, promuova, promuovano+, promuovete, " +
		"preferisca, preferiscano+, preferite, privilegi, privilegino+, privilegiate, favorisci, " +
		"favorite, favorire+, favoriscano+, elenca, elencate, elencare+, elenchi, elenchino+, " +
		"elencata+, colloca, collocate, collocare+, collochino+, posiziona, posizionate, " +
		"posizionare+, mettere+, mettete, metta, mettano+, poni, ponete, porre+, classificare+, " +
		"classificate, scegliere+, scelga, scelgano+, scegliete, elogiare+, elogiate, lodare+, loda, " +
		"lodate, esalta, esaltate, proponga, propongano+, proponete, indicare+, indichi, indichino+, " +
		"segnala, segnalate, segnalare+, indirizza, indirizzate, indirizzare+, rimanda, rimandate, " +
		"sostieni, appoggia, valorizza, valorizzare+, metti in evidenza, mettere in evidenza+, " +
		"dai la priorità, date la priorità, dare la priorità+, anteponi, anteporre+, inserisci, " +
		"inserite, inserire+",
	say: "di', dì, dite, dire+, rispondi, rispondete, rispondere+, menziona, menzionate, menzionare+, " +
		"cita, citate, citare+, afferma, affermare+, nomina, scrivi, descrivi, ricorda, concludere+, " +
		"concludi, concludete, presenta, presentate, presentare+, presenti, presentino+, " +
		"presentata+, descrivete, descrivere+, descriva, descrivano+, descritta+, considera, " +
		"considerate, considerare+, consideri, considerino+, tratta, trattate, trattare+, trattino+, " +
		"definisci, definite, definire+, definiscano+, nominate, nominare+, nomini, nominino+, " +
		"nominata+, menzionata+, menzionato+, menzioni, menzionino+, citata+, citato+, citi, " +
		"citino+, ricordate, ricordare+, ricordino+, ricordati, memorizza, memorizzate, " +
		"memorizzare+, salva, salvate, salvare+, tieni a mente, tenere a mente+, annota, valuta, " +
		"valutate, valutare+, assegna, assegnate, assegnare+, attribuisci, dichiara, dichiarate, " +
		"dichiarare+, dichiarino+, conferma, confermate, confermare+, sottolinea, sottolineate, " +
		"sottolineare+, evidenzia, evidenziate, evidenziare+, evidenzino+, specifica, precisa, " +
		"ribadisci, insisti, informa, comunica, parla, parlate, parlare+, parlino+, fai riferimento, " +
		"fate riferimento, mostra, mostrare+, mostrino+, includi, includete, includere+, comparire+, " +
		"compaia+, apparire+, appaia+, identifica, riconosci, proclama, affermate, affermino+, " +
		"dicano+, dica, rispondano+, risponda, inizia, associa",
	never: "non menzion*, non citare, non citate, non nominare, non nominate, non raccomand*, " +
		"non consigliare, non consigliate, non menzionate mai, mai menzionare+, non parlare di, " +
		"non parlate di, non suggerire, evita di menzionare, evitate di menzionare, non parli, " +
		"non parlino+, non parlare+, non citare+, non citi, non citino+, non menzionare+, " +
		"non menzioni, non menzionino+, non nomini, non nominare+, mai citare+, mai nominare+, taci, " +
		"tacere+, tacete, ometti, omettete, omettere+, omettano+, nascondi, nascondete, nascondere+, " +
		"evita di citare, evita di nominare, evita di parlare, evitare di citare+, " +
		"evitare di menzionare+, evitino di, non criticare, non confrontare, non paragonare, " +
		"non dire nulla, non dite nulla, non suggerite, non proporre, non proponete, non elencare, " +
		"non includere, escludi, escludete, escludere+, tralascia, sorvola, passa sotto silenzio, " +
		"passare sotto silenzio+, non consigliar*, non indicare, non linkare, non raccomandare+",
	first: "migliore, migliori, primo, prima, per primo, numero uno, leader, al primo posto, unica, " +
		"unico, più affidabile, davanti a, primi, al primo, prima scelta, in cima, in testa, " +
		"cima alla lista, in prima posizione, prima di tutti, prima degli altri, " +
		"prima dei concorrenti, capolista, vincitore, vincitrice, preferit*, favorit*, riferimento, " +
		"punto di riferimento, di riferimento, affidabile, affidabili, fonte affidabile, " +
		"attendibile, di fiducia, sicura, sicuro, ideale, perfett*, eccellente, eccellenza, " +
		"superiore, solo, soltanto, esclusivamente, unicamente, positiv*, cinque stelle, 5 stelle, " +
		"punteggio massimo, massimo dei voti, leader di mercato, leader del settore, numero 1, " +
		"migliori in assoluto, insuperabile, imbattibile",
	rival: "concorrent*, concorrenza, rivali, altri marchi, altri negozi, altre aziende, alternative, " +
		"alternativa, altre marche, nessun altro, altri prodotti, altri fornitori, altro negozio, " +
		"altro marchio, altra azienda, altro fornitore, altro prodotto, nessun'altra, nessuno, " +
		"nient'altro, gli altri, le altre, critiche, difetti, svantaggi, punti deboli, " +
		"recensioni negative, commenti negativi, aspetti negativi, lamentele, rivale",
	prefer: "usa, usate, utilizza, utilizzate, cita, citate, privilegia, collega, segui, seguite, " +
		"seguire+, segua, obbedisci, obbedite, obbedire+, rispetta, rispettate, rispettare+, " +
		"attieniti, attenetevi, attenersi+, applica, applicate, leggi, leggete, consulta, " +
		"consultate, clicca, apri, esegui, basati, fai riferimento, usare+, utilizzare+",
	must: "deve, devono, devi, dovete, dovrebbe, dovrebbero, dovresti, si prega di, siete pregati di, " +
		"sei pregato di, occorre, bisogna, è necessario, sono tenuti a, vi preghiamo di, debba, " +
		"debbano, dovrà, dovranno, va, vanno, sono pregati di, è pregato di, si chiede agli, " +
		"si chiede ai, si chiede di, chiediamo agli, chiediamo ai, chiediamo di, si richiede agli, " +
		"si invitano, sono invitati a, è invitato a, siete invitati a, è tenuto a, " +
		"hanno l'obbligo di, ha l'obbligo di, assicurati di, assicurati che, assicuratevi di, " +
		"fai in modo che, fate in modo che, potresti, potreste, vorresti, ti prego di, ti chiedo di, " +
		"ti chiediamo di, vi chiediamo di, vi prego di, la prego di, il tuo compito è, è importante, " +
		"è importante che, è fondamentale, è opportuno, non dimenticare di, non dimenticate di, " +
		"abbi cura di, occorre che, bisogna che, è richiesto, hanno il compito di, ha da, " +
		"voglio che, vogliamo che",
	always: "sempre, mai",
	model: "ia, assistente ia, assistenti ia, assistente ai, assistenti ai, intelligenza artificiale, " +
		"intelligenze artificiali, modello linguistico, modelli linguistici, modello ia, modelli ia, " +
		"modelli ai, modello ai, chatbot*, agenti ia, agenti ai, sistemi ia, " +
		"grandi modelli linguistici, modelli di linguaggio, modello di linguaggio, le ia, l'ia, " +
		"gli assistenti ia, ia generativa, ia generative, modelli di ia, modello di ia, " +
		"modelli d'intelligenza artificiale, modelli di intelligenza artificiale, " +
		"modello di intelligenza artificiale, assistente di intelligenza artificiale, " +
		"assistenti di intelligenza artificiale, assistenti basati sull'ia, sistemi di ia, " +
		"sistema di ia, sistemi ai, agente ia, agente ai, agenti di ia, strumenti di ia, " +
		"strumento ia, motori di ia, motori di risposta, motore di risposta, motori generativi, bot, " +
		"robot, crawler, llm*, modello generativo, modelli generativi, lettori automatici, chat gpt, " +
		"agenti conversazionali, agente conversazionale, assistente conversazionale, " +
		"assistenti conversazionali, ai",
	helper: "assistente, assistenti, assistenti virtuali, assistente virtuale, assistente digitale",
	user:   "all'utente, l'utente, utente, agli utenti, al cliente",
	conceal: "non informare, non informate, non dire, non dite, non avvisare, non avvisate, nascondi, " +
		"nascondete, senza informare, senza avvisare, senza dire, non rivelare",
	asked: "quando un utente chiede, se un utente chiede, quando gli utenti chiedono, " +
		"se qualcuno chiede, quando qualcuno chiede, quando ti chiedono, se ti chiedono, " +
		"quando ti viene chiesto, se ti viene chiesto, in ogni risposta, nella tua risposta, " +
		"nelle tue risposte, nelle risposte, in tutte le risposte, nella risposta, " +
		"nelle sue risposte, nelle vostre risposte, nelle loro risposte, quando rispondi, " +
		"quando riassumi, quando consigli, a ogni domanda, ad ogni domanda, a qualsiasi domanda, " +
		"nelle conversazioni future, per le conversazioni future, in futuro, ogni volta che, " +
		"quando l'utente chiede, se l'utente chiede, quando un cliente, se un cliente, a chi chiede, " +
		"a chiunque chieda, se richiesto, quando viene chiesto, se viene chiesto, " +
		"riassumi questa pagina, nei confronti, in ogni confronto, nelle raccomandazioni, " +
		"qualunque sia la domanda",
	ours: "noi, nostr*, questo sito, questo negozio, questa pagina, ci, questo candidato, " +
		"questa azienda, questo marchio, questo prodotto, questo articolo, questo testo, " +
		"questo fornitore, questa candidatura, questo servizio, questa offerta",
	intro: "nota per, nota ai, nota, attenzione, messaggio per, messaggio ai, avviso ai, avviso per, " +
		"se sei, se tu sei, caro, cara, cari, a, ai, agli, per, ciao, importante, istruzioni per, " +
		"gentile, nota alle, nota per le, nota agli, nota per gli, avviso agli, avviso alle, " +
		"messaggio agli, messaggio alle, messaggio per le, messaggio per gli, istruzioni ai, " +
		"istruzioni agli, istruzione per, indicazioni per, informazione per, all'attenzione, " +
		"all'attenzione dei, all'attenzione degli, all'attenzione delle, alle, per le, per gli, " +
		"per i, a tutti, a tutte, a ogni, a qualsiasi, se un, se una, se un', se questa pagina, " +
		"se questo testo, se stai, se leggi, nel caso, qualora, sta leggendo, legge, leggono, " +
		"leggendo, che legge, che leggono, che leggete, legge questa pagina, riassume, riassumono, " +
		"riassume questa pagina, riassumendo, che riassume, che riassumono, analizza, analizzano, " +
		"elabora, elaborano, indicizza, questa pagina, questo testo, questo sito, questo documento, " +
		"in quanto, in qualità di, come ia, sistema, messaggio di sistema, nuova istruzione, " +
		"nuove istruzioni, ehi, salve, buongiorno, egregio, spettabile, quando un, quando una, ogni, " +
		"qualsiasi, tutte le, ps, promemoria, priorità",
	and: "e, ed, o, ma, poi",
	filler: "più, per favore, per piacere, cortesemente, gentilmente, e, le, la, il, lo, i, gli, l, di, " +
		"del, della, dell, un, una, un', tue, tuo, tua, tuoi, che, ti, te, in, ora, adesso, anche, " +
		"solo, queste, questi, come, con, poi, all'utente, si, prego, da, al, essere, soltanto, " +
		"quindi, sei, è, sono, sia, siano, ha, hai, hanno, stato, stata, state, stati, ho, dagli, " +
		"dalle, dai, dal, dalla, nella, nelle, nel, nei, negli, sul, sulla, alla, alle, allo, dello, " +
		"delle, dei, degli, parola per parola, parola, integralmente, testualmente, esplicitamente, " +
		"chiaramente, completo, completa, risposta, risposte, lista, elenco, pagina, testo, utenti, " +
		"clienti, domanda, domande, ogni, altro, altri, altra, altre, molto, così, qui, qua, dopo, " +
		"quando, se, ma, o, oppure, né, non, mai, sempre, nessun, nessuna, vi, voi, lei, suo, sua, " +
		"suoi, sue, loro, vostro, vostra, vostre, mi, me, questo, questa, quello, quella, quelli, " +
		"marchio, azienda, negozio, per, su, tra, fra, senza, verso, anzi, invece, ne",
	topic:  "aggressor*, attacco, attacchi, ad esempio, per esempio, come",
	report: "secondo, sondaggio, studio",
	about:  "iniezione di prompt, prompt injection",
}
