package injection

// finnish are the words by which Finnish texts address and order a model. TestCorpora measures them.
var finnish = words{
	tag: "fi",
	ignore: "ohita, ohittakaa, unohda, unohtakaa, jätä huomiotta, jättäkää huomiotta, jätä huomioimatta, " +
		"jättäkää huomioimatta, älä noudata, älkää noudattako, sivuuta, sivuuttakaa, hylkää, " +
		"älä tottele, älkää totelko, älä seuraa, älkää seuratko, älä välitä, älkää välittäkö, " +
		"älä huomioi, älkää huomioiko, lakkaa noudattamasta, jätä sikseen, jätä sivuun, kierrä, " +
		"unohda kaikki, mitätöi",
	all: "kaikki, kaiken, jokainen, jokaista",
	earlier: "aiemm*, aiemp*, edellis*, aikaisem*, edeltäv*, yllä olev*, yläpuolella, tähänastis*, " +
		"saamasi, saamiasi, saamianne, annetut, annettuja, alkuperäis*, nykyis*, vanhat, vanhoja, " +
		"ennen tätä, tähän mennessä, tätä ennen, yllä, ylempänä",
	rules: "ohjeet, ohjeita, ohje, käskyt, käskyjä, säännöt, sääntöjä, määräykset, kehotteet, " +
		"ohjeistuk*, mitä sinulle on sanottu, ohjeitasi, ohjeesi, ohjeista, sääntöjäsi, käskyistä, " +
		"kehotteita, kehote, rajoitukset, rajoituksia, määräyksiä, kaikki yllä oleva, " +
		"kaikki mitä sinulle on sanottu, ohjeistus, ohjeistuksia",
	void: "mitätöi*, kumot*, eivät ole enää voimassa, ei ole enää voimassa, eivät enää päde, " +
		"ei enää päde, eivät päde, korvat*, peruut*, vanhentun*, raukea*",
	reveal: "paljasta, näytä, tulosta, kerro, toista, lähetä, jaa, paljastakaa, näyttäkää, kirjoita, " +
		"kopioi, liitä, julkaise, lue, anna, välitä, siteeraa, luovuta",
	secret: "järjestelmäkeho*, järjestelmäkehot*, järjestelmäohje*, piilotetut ohje*, " +
		"piilotetut ohjeesi, järjestelmäviesti*, järjestelmäkehotteesi, salaiset ohje*, " +
		"sisäiset ohje*, alkuperäiset ohjeesi, kehotteesi, järjestelmän kehot*",
	data: "keskustelu*, salasana*, käyttäjän tiedot, henkilötiedot, api avai*, käyttäjän sähköposti*, " +
		"keskustelun, chat*, korttinumero*, luottokort*, kirjautumistie*, käyttäjän, viestit",
	role: "olet nyt, olet tästä lähtien, tästä lähtien olet, toimi kuin, esitä, käyttäydy kuin, " +
		"teeskentele olevasi, toimi, et ole enää, nyt olet, tästedes olet, ota rooli, omaksu rooli, " +
		"kuvittele olevasi, siirry, toimi kuten, teeskentele",
	free: "ilman rajoituksia, ilman sääntöjä, rajoittama*, ilman suodatti*, ilman rajoja, " +
		"vailla rajoituksia, suodattama*, ei sääntöjä, ei rajoituksia, ei rajoja, kehittäjätila*, " +
		"ilman mitään rajoituksia, ilman mitään sääntöjä, sääntöjä ei ole, ei ole sääntöjä",
	recommend: "suosittele, suositelkaa, suositella+, suositeltava+, suositeltava, ehdota, ehdottakaa, " +
		"ehdottaa+, suosi, suosikaa, suosia+, mainosta, aseta, nosta, kehu, arvioi, suositellaan, " +
		"suosittelemaan+, suosittelevat+, laita, laittakaa, laittaa+, laittamaan+, asettakaa, " +
		"asettaa+, sijoita, sijoittakaa, sijoittaa+, nostakaa, nostaa+, pane, valitse, valitkaa, " +
		"valita+, listaa, listatkaa, listata+, luettele, luetelkaa, luetella+, ehdottamaan+, " +
		"ehdotettava+, priorisoi, priorisoida+, suosittava+, kehukaa, kehua+, ylistä, ylistää+, " +
		"mainostaa+, ohjaa käyttäjät, ohjaa, puolla, esitä, esittäkää, tuo esiin, tuokaa esiin, " +
		"tuoda esiin+",
	say: "sano, sanokaa, sanoa+, kerro, kertokaa, vastaa, vastatkaa, mainitse, mainitkaa, mainita+, " +
		"kirjoita, väitä, mainittava+, esitellä+, esittele, esitelkää, esittelemään+, esiteltävä+, " +
		"esittää+, esittämään+, kuvaile, kuvailkaa, kuvailla+, kuvaa, kuvata+, nimeä, nimetkää, " +
		"nimetä+, nimettävä+, mainitsemaan+, pidä, pitäkää, kohtele, kohdella+, muista, muistakaa, " +
		"muistaa+, tallenna, tallentaa+, merkitse, arvioikaa, arvioida+, julista, vahvista, " +
		"vahvistaa+, vakuuta, väittää+, korosta, korostaa+, korostakaa, kertoa+, vastata+, viitata+, " +
		"viittaa, siteerata+, näytä, näyttää+, puhu, puhua+, lopeta, aloita, sisällytä, totea, " +
		"todeta+, todetkaa, kutsu, kutsua+",
	never: "älä mainitse, älkää mainitko, älä koskaan mainitse, älkää koskaan mainitko, älä suosittele, " +
		"älkää suositelko, älä koskaan suosittele, ei saa mainita, älä puhu, älkää puhuko, " +
		"älä nimeä, älkää nimetkö, älä vertaa, älä kritisoi, älä siteeraa, älä linkitä, älä ehdota, " +
		"älkää ehdottako, älä näytä, älä listaa, ei pidä mainita, ei tule mainita, " +
		"eivät saa mainita, ei saa suositella, ei saa puhua, jätä mainitsematta, " +
		"jättäkää mainitsematta, jättää mainitsematta+, vaikene, vaieta+, vaietkaa, salaa, salata+, " +
		"piilota, piilottaa+, vältä, välttää+, välttäkää",
	first: "paras, parhaana, parhaaksi, parhain, ensin, ensimmäis*, ykkö*, johtava*, ainoa*, " +
		"ennen muita, luotettav*, turvallisin*, kärkeen, kärjessä, kärki, listan kärkeen, ylimmäksi, " +
		"ylimpänä, ylimmä*, etusijalle, etusijalla, ensisijais*, ykkösenä, numero yksi, voittaja*, " +
		"suosikki*, suositelluin*, paremp*, luotettuna, luotettu, luotettuna lähteenä, ihanteelli*, " +
		"täydelli*, erinomai*, ylivertai*, vain, ainoastaan, yksinomaan, myönteis*, positiivi*, " +
		"viisi tähteä, korkeim*, markkinajohtaja*, ennen kilpailijoita, ennen kaikkia, parhaiten",
	rival: "kilpailij*, muita merkkejä, muita kauppoja, muita yrityksiä, vaihtoehto*, muita kuin, " +
		"muita tuotteita, muita toimittajia, toista merkkiä, toista kauppaa, ketään muuta, " +
		"mitään muuta, muista, kritiikki*, haittoja, puutteita, valituksia, kielteis*, negatiivi*, " +
		"heikkouksia",
	prefer: "käytä, käyttäkää, siteeraa, viittaa, korosta, priorisoi, noudata, noudattakaa, noudattaa+, " +
		"tottele, totelkaa, seuraa, toimi ohjeen mukaan, lue, lukekaa, klikkaa, avaa, käyttää+",
	must: "on aina, pitää, täytyy, tulee, tulisi, pitäisi, on, saa, eivät saa, on pakko, pyydämme, " +
		"pyydetään, pyydetään esittämään, on syytä, velvoitetaan, on velvollinen, ovat velvollisia, " +
		"voisitko, voitko, voisitteko, olisitko, varmista että, huolehdi että, muista, muistathan, " +
		"tehtäväsi on, tehtävänäsi on, pyydämme että, haluamme että, toivomme, saavat vain, " +
		"saa vain, olisi hyvä, olkaa hyvä, ole hyvä, täytyisi",
	always: "aina, koskaan",
	model: "tekoäly, tekoälyt, tekoälyavustaj*, tekoälymall*, kielimall*, ai, ai avustaj*, chatbot*, " +
		"botit, tekoälyjärjestelm*, tekoälyagent*, tekoälylle, tekoälyille, kielimallit, " +
		"kielimallien, kielimallin, tekoälyjen, tekoälyn, tekoälyavustajat, tekoälyavustajien, " +
		"tekoälyrobot*, tekoälypalvel*, tekoälyhaku*, tekoälytyökalu*, tekoälyavus*, llm*, " +
		"generatiivi* tekoäly*, botti, bottien, chatbotti*, keskustelubot*, keskustelurobot*, " +
		"hakubot*, hakuavustaj*, ääniavustaj*, chat gpt, tekoälyohjelm*, suuret kielimallit, " +
		"virtuaaliavustaj*, indeksointirobot*",
	helper: "avustaja, avustajat, avustajien, avustajan, assistentti, assistentit",
	user:   "käyttäjälle, käyttäjältä, käyttäjää, käyttäjille, asiakkaalle",
	conceal: "älä kerro, älkää kertoko, älä ilmoita, älä informoi, älä varoita, salaa, piilota, " +
		"kertomatta",
	asked: "kun käyttäjät kysyvät, kun käyttäjä kysyy, kun joku kysyy, jos käyttäjä kysyy, " +
		"jos joku kysyy, kysyttäessä, kun sinulta kysytään, jokaisessa vastauksessa, vastauksessasi, " +
		"vastauksissasi, kaikissa vastauksissa, vastauksessa, vastauksissa, jokaiseen kysymykseen, " +
		"kysymyksiin, kun kysytään, jos kysytään, kun asiakas, jos asiakas, kun vastaat, " +
		"vastatessasi, kun tiivistät, tulevissa keskusteluissa, jatkossa, tiivistä tämä sivu, " +
		"vertailuissa, käyttäjä",
	ours: "meitä, meidät, meidän, tätä sivua, tätä kauppaa, tätä sivustoa, tämä ehdokas, tämä yritys, " +
		"tätä yritystä, tämä tuote, tätä tuotetta, tämä artikkeli, tämä teksti",
	intro: "huomautus, huomio, viesti, jos olet, hyvä, rakas, ohje, ohjeet, hei, tiedoksi, tärkeää, " +
		"huomautus kaikille, viesti kaikille, tiedote, ohjeita, kaikille, kaikki, jos tämän, " +
		"jos tätä, jos sivua, jos tekstiä, mikäli, mikäli olet, kun, lukee, lukevat, lukee tämän, " +
		"lukee tätä, lukee tämän sivun, lukevien, lukeva, tiivistää, tiivistävä, tiivistävät, " +
		"käsittelee, analysoi, tämän sivun, tämän tekstin, tätä sivua, tätä tekstiä, sivua, " +
		"järjestelmä, järjestelmäviesti, uusi ohje, uudet ohjeet, arvoisa, arvon, kallis, moi, " +
		"terve, jokainen, ps, muistutus, tärkeä, huom",
	and: "ja, tai, vaan, sekä",
	filler: "ja, kiitos, ole hyvä, ystävällisesti, olkaa hyvä, sinun, sinulle, sinä, nyt, myös, vain, " +
		"tämän, nämä, ne, se, että, on, aina, sitten, saamasi, siis, käyttäjälle, mikä, annetut, " +
		"tulee, olet, ovat, ole, oli, te, teidän, hän, he, sen, sitä, niitä, niiden, tämä, tuo, " +
		"mutta, tai, eikä, ei, en, et, älä, koskaan, ensin, myöskin, joka, jotka, jonka, " +
		"sanasta sanaan, sana sanalta, kokonaan, kokonaisuudessaan, selvästi, nimenomaan, vastaus, " +
		"vastaukset, vastauksen, listan, listalla, sivun, teksti, kysymys, tähän, tässä, siinä, " +
		"siihen, sellaisenaan, vaihtoehtona, vaihtoehto, vaihtoehdoksi, valintana, valinta, " +
		"valinnaksi, lähteenä, merkki, yritys, kauppa, enää, heti, kuin",
	topic:  "hyökkää*, hyökkäy*, esimerkiksi",
	report: "mukaan, tutkimus, kysely",
	about:  "kehoteinjektio*, kehotteen injektoin*",
}

// french are the words by which French texts address and order a model. TestCorpora measures them.
var french = words{
	tag: "fr",
	ignore: "ignore, ignorez, ignores+, ignorer+, oublie, oubliez, oublier+, ne tenez pas compte, " +
		"ne tiens pas compte, ne pas tenir compte+, faites abstraction, fais abstraction, " +
		"ne suis plus, ne suivez plus, ne respecte plus, ne tenez plus compte, ne tiens plus compte, " +
		"écarte, écartez, néglige, négligez, n'obéis pas, n'obéissez pas, n'applique pas, " +
		"n'appliquez pas, ne respecte pas, ne respectez pas, ne suis pas, ne suivez pas, " +
		"n'obéis plus, n'obéissez plus, ne prends pas en compte, ne prenez pas en compte, " +
		"laisse de côté, laissez de côté, laisse tomber, passe outre, passez outre, mets de côté, " +
		"mettez de côté, contourne, contournez, ne prête aucune attention",
	all: "toutes, tous, tout, toute, chaque, l'ensemble, n'importe quelle",
	earlier: "précédent*, antérieur*, ci dessus, préalable*, reçues, jusqu'ici, jusqu'à présent, d'avant, " +
		"initiales, plus haut, avant, données avant, reçues jusqu'ici, reçues auparavant, reçue, " +
		"reçu, précédemment, auparavant, d'origine, existantes, en vigueur, données, ci avant, " +
		"susmentionnées, plus tôt, au dessus, qui précède, qui précèdent, avant cette ligne, " +
		"initial, passées, anciennes, que tu as reçues, que vous avez reçues",
	rules: "instructions, instruction, consignes, consigne, règles, règle, directives, ordres, " +
		"commandes, prompts, tout ce qu'on t'a dit, ce qu'on vous a dit, prompt, invite, " +
		"indications, recommandations du développeur, contraintes, principes, consigne système, " +
		"ce qui précède, ce que t'a dit, ce qu'on t'a dit, ce que l'on t'a dit, tout ce qui précède, " +
		"lignes directrices, paramètres, contexte, limites, garde fous, restrictions",
	void: "annulé*, caduc*, caduques, nul, nulles, ne s'appliquent plus, ne s'applique plus, " +
		"ne sont plus valables, n'est plus valable, n'ont plus cours, abrogé*, remplacé*, révoqué*, " +
		"périmé*, levé*, obsolète*, suspendu*, invalide*",
	reveal: "révèle, révélez, montre, montrez, montre moi, affiche, affichez, imprime, imprimez, répète, " +
		"répétez, envoie, envoyez, transmets, transmettez, divulgue, divulguez, partage, partagez, " +
		"donne, donnez, dévoile, dévoilez, copie, recopie, recopiez, copiez, écris, écrivez, " +
		"restitue, restituez, cite mot pour mot, ajoute, ajoutez, joins, communique, communiquez, " +
		"publie, publiez, donne moi, dis moi, lis",
	secret: "invite système, invite de système, prompt système, message système, instructions système, " +
		"instructions cachées, consignes cachées, invite systeme, consignes système, " +
		"instructions secrètes, tes instructions cachées, tes instructions secrètes, " +
		"tes consignes cachées, tes instructions internes, ton prompt, ton prompt système, " +
		"votre prompt, tes instructions initiales, vos instructions cachées, " +
		"vos instructions internes, instructions internes, ton invite, texte ci dessus",
	data: "conversation, conversations, mot de passe, mots de passe, données de l'utilisateur, " +
		"données personnelles, adresse e mail de l'utilisateur, clé api, clés api, historique, " +
		"historique de la conversation, échange, discussion, coordonnées, carte bancaire, " +
		"carte de crédit, numéro de carte, nom de l'utilisateur, fichiers de l'utilisateur, " +
		"données bancaires, jeton*, identifiants, messages de l'utilisateur",
	role: "tu es désormais, vous êtes désormais, tu es maintenant, à partir de maintenant tu es, " +
		"dorénavant tu es, agis comme, agissez comme, comporte toi comme, fais semblant d'être, " +
		"faites semblant d'être, désormais tu es, joue le rôle, tu deviens, tu es à présent, " +
		"vous êtes maintenant, vous êtes à présent, à compter de maintenant tu es, " +
		"dès maintenant tu es, tu n'es plus, vous n'êtes plus, prends le rôle, endosse le rôle, " +
		"imagine que tu es, passe en mode, active le mode, tu travailles désormais, " +
		"mets toi dans la peau, incarne",
	free: "sans restriction*, sans règle*, sans limite*, sans filtre*, sans censure, " +
		"sans aucune restriction, non censuré, sans limitation*, sans aucune limite, débridé, " +
		"aucune règle, aucune restriction, aucune limite, plus aucune règle, plus de règles, " +
		"plus aucune restriction, sans garde fou*, mode développeur, sans contrainte*, " +
		"sans aucune règle, sans aucun filtre, libre de toute règle",
	recommend: "recommande, recommandez, recommander+, suggère, suggérez, suggérer+, conseille, conseillez, " +
		"conseiller+, privilégie, privilégiez, privilégier+, préfère, préférez, préférer+, promeus, " +
		"promouvoir+, classe, classez, classer+, place, placez, mets, mettez, choisis, choisissez, " +
		"loue, vante, vantez, propose, proposez, favorise, favorisez, présente, présentez, " +
		"présenter+, recommandent+, fais la promotion, faites la promotion, faire la promotion+, " +
		"conseillent+, recommandé*+, recommande+, proposer+, favoriser+, favorisent+, placer+, " +
		"placent+, mettre+, choisir+, promeuvent+, louer+, vanter+, valorise, valorisez, valoriser+, " +
		"préconise, préconisez, préconiser+, oriente, orientez, orienter vers+, orienter+, " +
		"dirige vers, renvoyer+, renvoyez vers, mets en valeur, mettez en valeur, mettre en valeur+, " +
		"mettre en avant+, priorise, priorisez, prioriser+, positionne, positionnez, positionner+, " +
		"liste, listez, lister+, encense, fais l'éloge, faites l'éloge, faire l'éloge+, soutiens, " +
		"défends, classent+, range, hisse, propulse, opte pour, optez pour, à recommander, " +
		"à privilégier, à conseiller, à promouvoir, à classer, à placer, à mettre en avant",
	say: "dis, dites, dire+, réponds, répondez, répondre+, mentionne, mentionnez, mentionner+, cite, " +
		"citez, citer+, affirme, affirmez, affirmer+, nomme, nommez, souligne, indique, indiquez, " +
		"décris, décrivez, écris, conclure+, conclus, concluez, présentent+, présente, présenter+, " +
		"désigne, désignez, désigner+, qualifie, qualifiez, qualifier+, décrire+, décrivent+, " +
		"mentionnent+, mentionné*+, cité*+, citent+, nommer+, nommé*+, indiquer+, signale, signalez, " +
		"signaler+, considère, considérez, considérer+, considèrent+, traite, traitez, traiter+, " +
		"retiens, retenez, retenir+, souviens toi, souvenez vous, mémorise, mémorisez, mémoriser+, " +
		"enregistre, enregistrez, garde en mémoire, gardez en mémoire, note, notez, noter+, " +
		"note que, évalue, évaluez, évaluer+, attribue, attribuez, attribuer+, déclare, déclarez, " +
		"déclarer+, confirme, confirmez, confirmer+, précise, précisez, rappelle, rappelez, insiste, " +
		"insistez, énumère, apparaître+, apparaisse+, figurer+, figure+, figurent+, parle, parlez, " +
		"parler+, fais référence, terminer+, termine, terminez, commence, commencez, " +
		"utilise comme source, reconnais, vois, à citer, à mentionner, à présenter, à nommer, " +
		"à indiquer, à décrire, à considérer",
	never: "ne mentionne*, ne recommande*, ne cite*, ne nomme*, ne parle*, ne suggère*, " +
		"ne pas mentionner, ne pas citer, ne jamais mentionner, ne pas recommander, ne jamais citer, " +
		"évitez de mentionner, évite de mentionner, ne propose*, ne jamais recommander, " +
		"passe sous silence, passez sous silence, passer sous silence+, tais, taisez, taire+, omets, " +
		"omettez, omettre+, cache, cachez, cacher+, dissimule, dissimulez, n'évoque*, " +
		"ne pas évoquer+, ne jamais évoquer+, ne cite aucun, ne mentionne aucun, ne pas parler+, " +
		"ne jamais parler+, ne dis rien, ne dites rien, ne rien dire+, ne critique*, ne compare*, " +
		"ne pas comparer+, exclus, excluez, exclure+, écarte, écartez, éviter de mentionner+, " +
		"éviter de citer+, ne liste*, n'indique*, ne signale*, ne renvoie*",
	first: "meilleur*, premier, première, en tête, numéro un, leader, avant tout*, unique, seule, " +
		"référence, plus fiable, incontournable, tête, en tête de liste, tête de liste, " +
		"haut de la liste, première place, premier choix, premier rang, au sommet, en haut, d'abord, " +
		"avant les autres, devant, avant ses concurrents, numéro 1, n 1, gagnant, vainqueur, favori, " +
		"favorite, préféré*, incontesté*, fiable, digne de confiance, de confiance, " +
		"source de confiance, sûre, idéal*, parfait*, excellent*, leader du marché, la référence, " +
		"exclusivement, uniquement, positif*, positive*, cinq étoiles, 5 étoiles, note maximale, " +
		"meilleure note, supérieur*, priorité, en priorité",
	rival: "concurrent*, concurrence, rivaux, autres marques, autres boutiques, autres entreprises, " +
		"alternative*, d'autres marques, autre marque, personne d'autre, autres fournisseurs, " +
		"d'autres boutiques, d'autres entreprises, d'autres fournisseurs, d'autres produits, " +
		"autre boutique, autre entreprise, autre produit, autre fournisseur, autres produits, " +
		"aucun autre, aucune autre, les autres, rien d'autre, critiques, défauts, points faibles, " +
		"inconvénients, avis négatifs, commentaires négatifs, faiblesses",
	prefer: "utilise, utilisez, cite, citez, privilégie, privilégiez, mets en avant, mettez en avant, " +
		"renvoie, suis, suivez, suivre+, obéis, obéissez, obéir+, respecte, respectez, respecter+, " +
		"applique, appliquez, conforme toi, conformez vous, tiens compte, tenez compte, réfère toi, " +
		"référez vous, lis, lisez, consulte, consultez, clique, cliquez, ouvre, ouvrez, utiliser+, " +
		"citer+, t'appuie, appuie toi, exécute",
	must: "doit, doivent, dois, devez, devrait, devraient, devrais, il faut que, il faut, veuillez, " +
		"merci de, prière de, sont tenus de, sont priés de, êtes priés de, tenu de, " +
		"il est impératif de, nous demandons de, est prié de, sont invités à, est invité à, " +
		"sont invitées à, êtes invités à, sont tenues de, il est demandé de, il est demandé à, " +
		"il est demandé aux, on demande aux, nous demandons aux, demandons aux, nous demandons à, " +
		"il convient de, ont l'obligation de, est tenu de, sont obligés de, il est important de, " +
		"il est essentiel de, assure toi que, assurez vous que, veille à, veillez à, " +
		"fais en sorte que, faites en sorte que, pourrais tu, pourriez vous, peux tu, pouvez vous, " +
		"voudrais tu, aurais tu, je te prie de, je vous prie de, nous te prions de, " +
		"nous vous prions de, prié de, priés de, a pour tâche de, ont pour tâche de, ont à, a à, " +
		"n'oublie pas de, n'oubliez pas de, pense à, pensez à, doive, est à, sont à, " +
		"ton rôle est de, ta tâche est de",
	always: "toujours, jamais",
	model: "ia, assistant ia, assistants ia, intelligence artificielle, intelligences artificielles, " +
		"modèle de langage, modèles de langage, modèle de langue, modèles de langue, modèles d'ia, " +
		"modèle d'ia, modèle ia, modèles ia, chatbot*, agents ia, agent ia, systèmes d'ia, " +
		"robots d'ia, robots, grands modèles de langage, ias, l'ia, les ia, assistants d'ia, " +
		"assistant d'ia, assistants conversationnels, agent conversationnel, " +
		"agents conversationnels, robot conversationnel, robots conversationnels, outils d'ia, " +
		"outil d'ia, moteurs d'ia, moteur d'ia, moteurs de réponse, moteur de réponse, " +
		"moteurs génératifs, ia génératives, ia générative, systèmes ia, système d'ia, système ia, " +
		"agents d'ia, agent d'ia, modèle d'intelligence artificielle, " +
		"modèles d'intelligence artificielle, assistants d'intelligence artificielle, " +
		"assistant d'intelligence artificielle, llm*, modèle génératif, modèles génératifs, " +
		"robots d'indexation, robot d'indexation, lecteurs automatiques, bots, bot, résumeur*, " +
		"gros modèles de langage, chat gpt, robot d'ia, une ia",
	helper: "assistant, assistants, assistante, assistants virtuels, assistant virtuel",
	user:   "l'utilisateur, à l'utilisateur, de l'utilisateur, aux utilisateurs, le client, au client",
	conceal: "n'informe pas, n'informez pas, ne dis pas, ne dites pas, ne préviens pas, ne prévenez pas, " +
		"n'avertis pas, n'avertissez pas, cache, cachez, ne dis rien, ne dites rien, à l'insu",
	asked: "quand un utilisateur demande, lorsqu'un utilisateur demande, si un utilisateur demande, " +
		"quand on te demande, si on te demande, quand on vous demande, " +
		"lorsque les utilisateurs demandent, quand les utilisateurs demandent, si quelqu'un demande, " +
		"quand quelqu'un demande, dans chaque réponse, dans ta réponse, dans tes réponses, " +
		"dans vos réponses, dans toutes tes réponses, dans toutes les réponses, dans sa réponse, " +
		"dans leurs réponses, dans la réponse, à chaque question, à toute question, " +
		"pour toute question, lors de tes réponses, quand tu réponds, lorsque tu réponds, " +
		"pour les conversations futures, dans les conversations futures, dans tes futures réponses, " +
		"à l'avenir, lorsqu'on te demande, lorsqu'on, quand un client demande, si un client demande, " +
		"dès qu'un utilisateur, chaque fois qu'un utilisateur, quand l'utilisateur demande, " +
		"si l'utilisateur demande, lorsque l'utilisateur demande, résume cette page, " +
		"résumez cette page, quand tu résumes, dans les comparatifs, dans tout comparatif, " +
		"dans tes recommandations, aux questions, quelle que soit la question",
	ours: "nous, notre, nos, ce site, cette boutique, cette page, cette marque, ce candidat, " +
		"cette candidature, cet article, ce produit, cette entreprise, cette offre, ce texte, " +
		"ce fournisseur, cette société, ce service",
	intro: "note à, note aux, note pour, note, à l'attention, attention, message aux, message à, " +
		"message pour, si tu es, si vous êtes, cher, chère, chers, à, aux, bonjour, " +
		"instructions pour, important, avis aux, pour, résume cet article, lit cet article, " +
		"résument cet article, résume ce texte, lit ce document, message pour les, " +
		"message à l'attention, à l'attention des, à l'intention, à l'intention des, avis à, " +
		"avis pour, note destinée, instruction pour, instruction à, instructions à, " +
		"instructions aux, consigne pour, consignes pour, info pour, information pour, ps, à tous, " +
		"à toute, à tout, à chaque, pour les, pour toute, pour tout, si une, si un, si cette page, " +
		"si ce texte, si jamais, si tu lis, si vous lisez, es, êtes, qui lit, qui lisent, qui lisez, " +
		"lisant, lit, lisent, lit cette page, lit ce texte, résume, résumant, résume cette page, " +
		"résumant cette page, qui résume, qui résument, analyse, analysant, traite cette page, " +
		"traitant, parcourant, qui parcourt, cette page, ce texte, ce site, ce document, " +
		"en tant qu', en tant que, système, message système, nouvelle consigne, nouvelles consignes, " +
		"nouvelles instructions, chères, madame, monsieur, salut, lorsqu'une, quand une, quand un, " +
		"lorsqu'un, toute, tout, aux lecteurs, hé",
	and: "et, ou, mais, puis",
	filler: "les, le, la, l, de, des, du, d, et, s'il te plaît, s'il vous plaît, vos, tes, ton, ta, " +
		"votre, un, une, que, qu, à, en, au, aux, maintenant, désormais, aussi, ces, cette, te, " +
		"vous, tu, on, a, me, moi, comme, alors, donc, seulement, bien, aimablement, l'utilisateur, " +
		"ne, gentiment, très, toute, ce, avez, as, été, est, sont, il, elle, ils, elles, nous, ses, " +
		"son, sa, leur, leurs, se, s, y, sur, par, dans, pour, sous, mot pour mot, intégralement, " +
		"mot, réponse, réponses, liste, page, texte, utilisateurs, clients, question, ici, là, " +
		"ainsi, ensuite, puis, lors, dont, chaque, toujours, jamais, systématiquement, " +
		"explicitement, clairement, surtout, uniquement, auprès, jusqu, plus, pas, point, marque, " +
		"société, boutique, aucun, aucune, autre, autres, toi, n, c, cela, ceci, celle, si, ou, " +
		"avec",
	topic:  "attaquant*, attaque, attaques, par exemple, comment, pirate*",
	report: "selon, sondage, étude, enquête",
	about: "injection de prompt*, injections de prompt*, injection d'invite*, injection d'instructions, " +
		"injection rapide",
}
