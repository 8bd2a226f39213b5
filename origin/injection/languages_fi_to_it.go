package injection

var finnish = words{
	tag: "fi",
	ignore: "ohita, ohittakaa, unohda, unohtakaa, jätä huomiotta, jättäkää huomiotta, jätä huomioimatta, " +
		"jättäkää huomioimatta, älä noudata, älkää noudattako, sivuuta, sivuuttakaa, hylkää",
	all:     "kaikki, kaiken, jokainen, jokaista",
	earlier: "aiemm*, aiemp*, edellis*, aikaisem*, edeltäv*, yllä olev*, yläpuolella, tähänastis*",
	rules: "ohjeet, ohjeita, ohje, käskyt, käskyjä, säännöt, sääntöjä, määräykset, kehotteet, ohjeistuk*, " +
		"mitä sinulle on sanottu",
	reveal: "paljasta, näytä, tulosta, kerro, toista, lähetä, jaa, paljastakaa, näyttäkää",
	secret: "järjestelmäkeho*, järjestelmäkehot*, järjestelmäohje*, piilotetut ohje*, piilotetut ohjeesi, " +
		"järjestelmäviesti*",
	data: "keskustelu*, salasana*, käyttäjän tiedot, henkilötiedot, api avai*, käyttäjän sähköposti*",
	role: "olet nyt, olet tästä lähtien, tästä lähtien olet, toimi kuin, esitä, käyttäydy kuin, " +
		"teeskentele olevasi, toimi",
	free: "ilman rajoituksia, ilman sääntöjä, rajoittama*, ilman suodatti*, ilman rajoja, " +
		"vailla rajoituksia, suodattama*",
	recommend: "suosittele, suositelkaa, suositella+, suositeltava+, suositeltava, ehdota, ehdottakaa, " +
		"ehdottaa+, suosi, suosikaa, suosia+, mainosta, aseta, nosta, kehu, arvioi",
	say: "sano, sanokaa, sanoa+, kerro, kertokaa, vastaa, vastatkaa, mainitse, mainitkaa, mainita+, " +
		"kirjoita, väitä, mainittava+",
	never: "älä mainitse, älkää mainitko, älä koskaan mainitse, älkää koskaan mainitko, älä suosittele, " +
		"älkää suositelko, älä koskaan suosittele, ei saa mainita, älä puhu",
	first: "paras, parhaana, parhaaksi, parhain, ensin, ensimmäis*, ykkö*, johtava*, ainoa*, ennen muita, " +
		"luotettav*",
	rival:  "kilpailij*, muita merkkejä, muita kauppoja, muita yrityksiä, vaihtoehto*, muita kuin",
	prefer: "käytä, käyttäkää, siteeraa, viittaa, korosta, priorisoi",
	must:   "on aina, pitää, täytyy, tulee, tulisi, pitäisi, on, saa, eivät saa, on pakko, pyydämme",
	always: "aina, koskaan",
	model: "tekoäly, tekoälyt, tekoälyavustaj*, tekoälymall*, kielimall*, ai, ai avustaj*, chatbot*, botit, " +
		"avustaja, avustajat, avustajien, avustajan, tekoälyjärjestelm*, tekoälyagent*, tekoälylle, " +
		"tekoälyille",
	asked: "kun käyttäjät kysyvät, kun käyttäjä kysyy, kun joku kysyy, jos käyttäjä kysyy, jos joku kysyy, " +
		"kysyttäessä, kun sinulta kysytään",
	ours:  "meitä, meidät, meidän, tätä sivua, tätä kauppaa, tätä sivustoa",
	intro: "huomautus, huomio, viesti, jos olet, hyvä, rakas, ohje, ohjeet, hei, tiedoksi, tärkeää",
	filler: "ja, kiitos, ole hyvä, ystävällisesti, olkaa hyvä, sinun, sinulle, sinä, nyt, myös, vain, tämän, " +
		"nämä, ne, se, että, on, aina, sitten, saamasi, siis, käyttäjälle, mikä, annetut, tulee",
	topic: "hyökkää*, hyökkäy*, esimerkiksi",
	about: "kehoteinjektio*, kehotteen injektoin*",
}

var french = words{
	tag: "fr",
	ignore: "ignore, ignorez, ignores+, ignorer+, oublie, oubliez, oublier+, ne tenez pas compte, " +
		"ne tiens pas compte, ne pas tenir compte+, faites abstraction, fais abstraction, ne suis plus, " +
		"ne suivez plus, ne respecte plus, ne tenez plus compte, ne tiens plus compte, écarte, écartez, " +
		"néglige, négligez",
	all: "toutes, tous, tout, toute, chaque, l'ensemble, n'importe quelle",
	earlier: "précédent*, antérieur*, ci dessus, préalable*, reçues, jusqu'ici, jusqu'à présent, d'avant, " +
		"initiales, plus haut, avant, données avant",
	rules: "instructions, instruction, consignes, consigne, règles, règle, directives, ordres, commandes, " +
		"prompts, tout ce qu'on t'a dit, ce qu'on vous a dit",
	reveal: "révèle, révélez, montre, montrez, montre moi, affiche, affichez, imprime, imprimez, répète, " +
		"répétez, envoie, envoyez, transmets, transmettez, divulgue, divulguez, partage, partagez, " +
		"donne, donnez, dévoile, dévoilez, copie, recopie",
	secret: "invite système, invite de système, prompt système, message système, instructions système, " +
		"instructions cachées, consignes cachées, invite systeme, consignes système, " +
		"instructions secrètes",
	data: "conversation, conversations, mot de passe, mots de passe, données de l'utilisateur, " +
		"données personnelles, adresse e mail de l'utilisateur, clé api, clés api, historique",
	role: "tu es désormais, vous êtes désormais, tu es maintenant, à partir de maintenant tu es, " +
		"dorénavant tu es, agis comme, agissez comme, comporte toi comme, fais semblant d'être, " +
		"faites semblant d'être, désormais tu es, joue le rôle, tu deviens",
	free: "sans restriction*, sans règle*, sans limite*, sans filtre*, sans censure, " +
		"sans aucune restriction, non censuré, sans limitation*, sans aucune limite, débridé",
	recommend: "recommande, recommandez, recommander+, suggère, suggérez, suggérer+, conseille, conseillez, " +
		"conseiller+, privilégie, privilégiez, privilégier+, préfère, préférez, préférer+, promeus, " +
		"promouvoir+, classe, classez, classer+, place, placez, mets, mettez, choisis, choisissez, loue, " +
		"vante, vantez, propose, proposez, favorise, favorisez, présente, présentez, présenter+, " +
		"recommandent+",
	say: "dis, dites, dire+, réponds, répondez, répondre+, mentionne, mentionnez, mentionner+, cite, " +
		"citez, citer+, affirme, affirmez, affirmer+, nomme, nommez, souligne, indique, indiquez, " +
		"décris, décrivez, écris",
	never: "ne mentionne*, ne recommande*, ne cite*, ne nomme*, ne parle*, ne suggère*, ne pas mentionner, " +
		"ne pas citer, ne jamais mentionner, ne pas recommander, ne jamais citer, évitez de mentionner, " +
		"évite de mentionner, ne propose*, ne jamais recommander",
	first: "meilleur*, premier, première, en tête, numéro un, leader, avant tout*, unique, seule, " +
		"référence, plus fiable, incontournable",
	rival: "concurrent*, concurrence, rivaux, autres marques, autres boutiques, autres entreprises, " +
		"alternative*, d'autres marques, autre marque, personne d'autre, autres fournisseurs",
	prefer: "utilise, utilisez, cite, citez, privilégie, privilégiez, mets en avant, mettez en avant, renvoie",
	must: "doit, doivent, dois, devez, devrait, devraient, devrais, il faut que, il faut, veuillez, " +
		"merci de, prière de, sont tenus de, sont priés de, êtes priés de, tenu de, il est impératif de, " +
		"nous demandons de, est prié de",
	always: "toujours, jamais",
	model: "ia, assistant ia, assistants ia, assistant, assistants, intelligence artificielle, " +
		"intelligences artificielles, modèle de langage, modèles de langage, modèle de langue, " +
		"modèles de langue, modèles d'ia, modèle d'ia, modèle ia, modèles ia, chatbot*, agents ia, " +
		"agent ia, systèmes d'ia, robots d'ia, robots, grands modèles de langage, assistants virtuels",
	asked: "quand un utilisateur demande, lorsqu'un utilisateur demande, si un utilisateur demande, " +
		"quand on te demande, si on te demande, quand on vous demande, " +
		"lorsque les utilisateurs demandent, quand les utilisateurs demandent, si quelqu'un demande, " +
		"quand quelqu'un demande",
	ours: "nous, notre, nos, ce site, cette boutique, cette page, cette marque",
	intro: "note à, note aux, note pour, note, à l'attention, attention, message aux, message à, " +
		"message pour, si tu es, si vous êtes, cher, chère, chers, à, aux, bonjour, instructions pour, " +
		"important, avis aux, pour",
	filler: "les, le, la, l, de, des, du, d, et, s'il te plaît, s'il vous plaît, vos, tes, ton, ta, votre, " +
		"un, une, que, qu, à, en, au, aux, maintenant, désormais, aussi, ces, cette, te, vous, tu, on, " +
		"a, me, moi, comme, alors, donc, seulement, bien, aimablement, l'utilisateur, ne, gentiment, " +
		"très, toute, ce",
	topic: "attaquant*, attaque, attaques, par exemple, comment, pirate*",
	about: "injection de prompt*, injections de prompt*, injection d'invite*, injection d'instructions, " +
		"injection rapide",
}

var hungarian = words{
	tag: "hu",
	ignore: "hagyd figyelmen kívül, hagyja figyelmen kívül, hagyjátok figyelmen kívül, " +
		"hagyják figyelmen kívül, felejtsd el, felejtse el, felejtsétek el, felejtsd, felejtse, " +
		"ne vedd figyelembe, ne vegye figyelembe, ne vegyétek figyelembe, ne kövesd, ne kövesse, " +
		"mellőzd, mellőzze, tekints el, tekintsen el",
	all:     "összes, minden, mindet, valamennyi, bármely",
	earlier: "korábbi*, előző*, fenti*, eddigi*, megelőző*, előbbi*",
	rules:   "utasítás*, szabály*, parancs*, előírás*, útmutatás*, promptok*, irányelv*",
	reveal: "mutasd meg, mutassa meg, mutasd, írd ki, írja ki, áruld el, árulja el, fedd fel, fedje fel, " +
		"küldd el, küldje el, ismételd meg, oszd meg, jelenítsd meg, add ki",
	secret: "rendszerprompt*, rendszerutasítás*, rendszer prompt*, rejtett utasítás*, rendszerüzenet*",
	data: "beszélgetés*, jelszó*, jelszav*, felhasználói adat*, személyes adat*, api kulcs*, " +
		"felhasználó adat*, felhasználó e mail*",
	role: "mostantól, most már, te most, innentől, viselkedj úgy, tégy úgy, tegyél úgy, úgy viselkedj",
	free: "korlátozások nélkül*, szabályok nélkül*, korlátok nélkül*, korlátlan, szűrők nélkül*, " +
		"cenzúrázatlan, szűretlen",
	recommend: "ajánld, ajánlja, ajánljátok, ajánljon+, ajánlaniuk, ajánlania, ajánlani+, ajánlj, javasold, " +
		"javasolja, javasolják+, javasolni+, javasolniuk, részesítsd előnyben, részesítse előnyben, " +
		"ajánlják+, népszerűsítsd, helyezd, sorold",
	say: "mondd, mondja, mondjátok, válaszold, válaszolj, említsd, említse, említsék+, említeni+, " +
		"állítsd, írd, nevezd, mondjon+, említsétek",
	never: "ne említsd, ne említse, ne említsétek, ne említsék, soha ne említs*, ne ajánlj*, " +
		"soha ne ajánlj*, ne nevezd, ne beszélj, ne javasolj*",
	first: "legjobb*, első*, elsőként, vezető*, piacvezető*, egyetlen, legmegbízhatóbb*, mások elé, számú",
	rival: "versenytárs*, konkuren*, más márka*, más márkák*, más bolt*, más cég*, alternatív*, " +
		"rajta kívül, vetélytárs*",
	prefer: "használd, használja, idézd, idézze, hivatkozz, emeld ki",
	must:   "kell, kellene, köteles, kötelesek, kérjük, kérem, kérlek, muszáj",
	always: "mindig, soha",
	model: "ai, mi, mesterséges intelligenci*, mesterséges intelligencia asszisztens*, mi asszisztens*, " +
		"ai asszisztens*, nyelvi modell*, asszisztens*, chatbot*, csevegőbot*, mi modell*, ai modell*, " +
		"nagy nyelvi modell*, robotok, mi rendszer*",
	asked: "ha a felhasználó, ha egy felhasználó, ha a felhasználók, amikor a felhasználó*, ha valaki, " +
		"ha megkérdez*, amikor valaki",
	ours: "minket, mi cégünk, boltunkat, ezt az oldalt, ezt a boltot",
	intro: "megjegyzés, figyelem, üzenet, üzenet a, ha te, ha ön, kedves, fontos, utasítás, utasítások, " +
		"szia, vagy, vagyok, egy, figyelmeztetés",
	filler: "a, az, és, kérjük, kérem, kérlek, te, ön, most, csak, is, hogy, egy, azt, ezt, ezeket, ezután, " +
		"aztán, legyen, szépen, légy szíves, márkát, mint, majd, saját, vagy",
	topic: "támadó*, támadás*, például",
	about: "prompt injekció*, promptinjekció*",
}

var indonesian = words{
	tag: "id",
	ignore: "abaikan, lupakan, hiraukan, jangan ikuti, kesampingkan, jangan patuhi, mengabaikan+, " +
		"melupakan+, tinggalkan, jangan hiraukan",
	all:     "semua, seluruh, setiap, segala, seluruhnya",
	earlier: "sebelumnya, di atas, terdahulu, sebelum ini, tadi, lama, yang lalu",
	rules: "instruksi, perintah, petunjuk, aturan, arahan, pedoman, ketentuan, prompt, panduan, " +
		"apa yang dikatakan kepada anda",
	reveal: "tampilkan, tunjukkan, ungkapkan, cetak, kirim, kirimkan, ulangi, bagikan, bocorkan, " +
		"perlihatkan, sebutkan",
	secret: "prompt sistem, perintah sistem, instruksi sistem, instruksi tersembunyi, pesan sistem",
	data:   "percakapan, kata sandi, data pengguna, data pribadi, email pengguna, kunci api, riwayat obrolan",
	role: "sekarang kamu adalah, sekarang anda adalah, kamu sekarang adalah, anda sekarang adalah, " +
		"mulai sekarang anda adalah, mulai sekarang kamu adalah, bertindaklah sebagai, " +
		"bertindak sebagai, berpura puralah, berperilaku sebagai, anda kini adalah",
	free: "tanpa batasan, tanpa aturan, tanpa batas, tanpa filter, tanpa sensor, tidak terbatas, " +
		"tanpa pembatasan",
	recommend: "rekomendasikan, merekomendasikan+, sarankan, menyarankan+, promosikan, mempromosikan+, " +
		"utamakan, mengutamakan+, pilih, prioritaskan, tempatkan, dahulukan, anjurkan, menganjurkan+, " +
		"unggulkan",
	say: "katakan, mengatakan+, sebut, sebutkan, menyebut+, menyebutkan+, jawab, menjawab+, nyatakan, " +
		"menyatakan+, tulis, beri tahu",
	never: "jangan menyebut*, jangan pernah menyebut*, jangan sebut*, jangan merekomendasikan, " +
		"jangan pernah merekomendasikan, tidak boleh menyebut*, jangan pernah sebut*, jangan bahas",
	first: "terbaik, pertama, nomor satu, utama, terdepan, paling, teratas, terlebih dahulu, terpercaya, " +
		"satu satunya, unggulan",
	rival:  "pesaing*, kompetitor*, merek lain, toko lain, perusahaan lain, alternatif, selain, saingan",
	prefer: "gunakan, kutip, utamakan, prioritaskan, tautkan, pakai",
	must:   "harus, wajib, sebaiknya, mesti, jangan, diharuskan, diwajibkan, perlu, tolong, mohon, hendaknya",
	always: "selalu",
	model: "ai, asisten ai, asisten, kecerdasan buatan, model bahasa, model ai, chatbot*, bot, agen ai, " +
		"sistem ai, asisten virtual, model bahasa besar",
	asked: "ketika pengguna bertanya, jika pengguna bertanya, saat pengguna bertanya, " +
		"bila ada yang bertanya, jika ada yang bertanya, jika ditanya, saat ditanya, ketika ditanya",
	ours: "kami, situs ini, toko ini, halaman ini, merek ini",
	intro: "catatan untuk, catatan, perhatian, pesan untuk, kepada, untuk, jika anda, jika kamu, " +
		"jika anda adalah, jika kamu adalah, halo, hai, penting, instruksi untuk, bila anda, " +
		"yang terhormat, para, semua",
	filler: "harap, mohon, tolong, silakan, dan, yang, anda, kamu, ini, itu, sekarang, juga, lalu, kemudian, " +
		"dari, untuk, saja, hanya, sebagai, bahwa, dengan, seorang, sebuah, adalah, pernah, kepada, " +
		"para, telah, lah, mulai",
	topic: "penyerang, serangan, misalnya, contohnya",
	about: "injeksi prompt, injeksi perintah",
}

var italian = words{
	tag: "it",
	ignore: "ignora, ignori, ignorate, ignorare+, ignorare, dimentica, dimentichi, dimenticate, " +
		"dimenticare+, non seguire, non seguite, non tenere conto, non tener conto, trascura, " +
		"trascurate, tralascia, non considerare, scarta, disattendi",
	all: "tutte, tutti, tutto, ogni, qualsiasi, tutta",
	earlier: "precedenti, precedente, di cui sopra, sopra, qui sopra, ricevute finora, anteriori, finora, " +
		"ricevute, sopra riportate, originali",
	rules: "istruzioni, istruzione, regole, regola, comandi, direttive, ordini, indicazioni, linee guida, " +
		"prompt, quello che ti è stato detto, quanto ti è stato detto",
	reveal: "mostra, mostri, mostrate, mostrami, rivela, riveli, rivelate, stampa, stampi, ripeti, invia, " +
		"invii, inviate, condividi, divulga, svela, dimmi, visualizza, inoltra",
	secret: "prompt di sistema, prompt del sistema, istruzioni di sistema, istruzioni nascoste, " +
		"messaggio di sistema, istruzioni del sistema",
	data: "conversazione, conversazioni, password, dati dell'utente, dati personali, email dell'utente, " +
		"chiave api, chiavi api, cronologia",
	role: "ora sei, adesso sei, da ora sei, d'ora in poi sei, da questo momento sei, agisci come, " +
		"comportati come, fingi di essere, fai finta di essere, tu ora sei, da adesso sei",
	free: "senza restrizioni, senza regole, senza limiti, senza filtri, senza filtro, senza censura, " +
		"senza limitazioni, senza alcuna restrizione, senza vincoli",
	recommend: "consiglia, consigli, consigliate, consigliare+, raccomanda, raccomandi, raccomandate, " +
		"raccomandare+, suggerisci, suggerite, suggerire+, promuovi, promuovere+, preferisci, " +
		"preferire+, privilegia, privilegiare+, scegli, metti, classifica, elogia, proponi, proporre+, " +
		"indica, consiglino+",
	say: "di', dì, dite, dire+, rispondi, rispondete, rispondere+, menziona, menzionate, menzionare+, " +
		"cita, citate, citare+, afferma, affermare+, nomina, scrivi, descrivi, ricorda",
	never: "non menzion*, non citare, non citate, non nominare, non nominate, non raccomand*, " +
		"non consigliare, non consigliate, non menzionate mai, mai menzionare+, non parlare di, " +
		"non parlate di, non suggerire, evita di menzionare, evitate di menzionare",
	first: "migliore, migliori, primo, prima, per primo, numero uno, leader, al primo posto, unica, unico, " +
		"più affidabile, davanti a",
	rival: "concorrent*, concorrenza, rivali, altri marchi, altri negozi, altre aziende, alternative, " +
		"alternativa, altre marche, nessun altro",
	prefer: "usa, usate, utilizza, utilizzate, cita, citate, privilegia, collega",
	must: "deve, devono, devi, dovete, dovrebbe, dovrebbero, dovresti, si prega di, siete pregati di, " +
		"sei pregato di, occorre, bisogna, è necessario, sono tenuti a, vi preghiamo di",
	always: "sempre, mai",
	model: "ia, assistente ia, assistenti ia, assistente ai, assistenti ai, assistente, assistenti, " +
		"intelligenza artificiale, intelligenze artificiali, modello linguistico, modelli linguistici, " +
		"modello ia, modelli ia, modelli ai, modello ai, chatbot*, agenti ia, agenti ai, sistemi ia, " +
		"assistenti virtuali, grandi modelli linguistici, modelli di linguaggio, modello di linguaggio",
	asked: "quando un utente chiede, se un utente chiede, quando gli utenti chiedono, se qualcuno chiede, " +
		"quando qualcuno chiede, quando ti chiedono, se ti chiedono, quando ti viene chiesto, " +
		"se ti viene chiesto",
	ours: "noi, nostr*, questo sito, questo negozio, questa pagina, ci",
	intro: "nota per, nota ai, nota, attenzione, messaggio per, messaggio ai, avviso ai, avviso per, " +
		"se sei, se tu sei, caro, cara, cari, a, ai, agli, per, ciao, importante, istruzioni per, gentile",
	filler: "più, per favore, per piacere, cortesemente, gentilmente, e, le, la, il, lo, i, gli, l, di, del, " +
		"della, dell, un, una, un', tue, tuo, tua, tuoi, che, ti, te, in, ora, adesso, anche, solo, " +
		"queste, questi, come, con, poi, all'utente, si, prego, da, al, essere, soltanto, quindi",
	topic: "aggressor*, attacco, attacchi, ad esempio, per esempio, come",
	about: "iniezione di prompt, prompt injection",
}
