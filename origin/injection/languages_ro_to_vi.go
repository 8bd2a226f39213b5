package injection

// romanian are the words by which Romanian texts address and order a model. TestCorpora measures them.
var romanian = words{
	tag: "ro",
	ignore: "ignoră, ignorați, ignora+, să ignorați, să ignori, uită, uitați, să uitați, să uiți, " +
		"nu ține cont de, nu țineți cont de, nu urma, nu urmați, nu lua în considerare, " +
		"nu luați în considerare, treci peste, lasă deoparte, nu respecta, nu mai urma, " +
		"nu mai urmați, nu mai respecta, nu mai respectați, nu asculta, nu ascultați, " +
		"nu te conforma, nu vă conformați, nu da atenție, nu dați atenție, nu aplica, nu aplicați, " +
		"pune deoparte, lasă la o parte, ignorând+, ocolește, sari peste, renunță la, să ignore+",
	all: "toate, tot, orice, oricare, fiecare, toți",
	earlier: "anterioare, precedente, de mai sus, anterior, de până acum, primite, de dinainte, dinainte, " +
		"mai sus, primite anterior, pe care le ai primit, date, inițiale, originale, existente, " +
		"actuale, vechi, trecute, înainte de această linie, până acum, de mai devreme, mai devreme",
	rules: "instrucțiunile, instrucțiuni, regulile, reguli, comenzile, comenzi, indicațiile, ordinele, " +
		"directivele, directive, ce ți s a spus, ce ți s-a spus, prompturile, instrucțiunilor, " +
		"regulilor, comanda, indicații, ordine, prompt, promptul, restricțiile, restricții, " +
		"limitările, politicile, tot ce ți s a spus, tot ce este mai sus, tot ce e mai sus, " +
		"contextul, îndrumările",
	void: "anulat*, nule, nu mai sunt valabile, nu mai este valabil*, nu mai valorează, " +
		"nu se mai aplică, nu se aplică, revocat*, înlocuit*, abrogat*, expirat*, suspendat*, " +
		"invalid*",
	reveal: "arată, arătați, afișează, afișați, dezvăluie, dezvăluiți, tipărește, trimite, trimiteți, " +
		"repetă, repetați, divulgă, partajează, spune, copiază, transcrie, scrie, reproduce, redă, " +
		"redați, citează, atașează, adaugă, publică, lipește, furnizează, comunică, citește, " +
		"înaintează",
	secret: "promptul tău de sistem, promptul de sistem, prompt de sistem, instrucțiunile de sistem, " +
		"instrucțiunile ascunse, mesajul de sistem, instrucțiunile tale de sistem, " +
		"instrucțiunile tale ascunse, instrucțiunile secrete, instrucțiunile interne, " +
		"instrucțiunile inițiale, promptul tău, promptul ascuns, textul de mai sus",
	data: "conversația, conversații, parola, parole, datele utilizatorului, date personale, " +
		"e mailul utilizatorului, cheia api, cheile api, istoricul, această conversație, chatul, " +
		"cardul, numărul cardului, date bancare, adresa utilizatorului, numele utilizatorului, " +
		"fișierele utilizatorului, mesajele utilizatorului, date de autentificare",
	role: "acum ești, de acum ești, de acum înainte ești, din acest moment ești, acționează ca, " +
		"comportă te ca, prefă te că ești, joacă rolul, acum sunteți un model, nu mai ești, " +
		"de acum încolo ești, asumă ți rolul, imaginează ți că ești, intră în modul, " +
		"activează modul, acum lucrezi, comportă te",
	free: "fără restricții, fără reguli, fără limite, fără filtre, fără cenzură, fără limitări, " +
		"fără nicio restricție, nerestricționat, nicio regulă, nicio restricție, nicio limită, " +
		"niciun filtru, mod dezvoltator, modul dezvoltator, fără nicio regulă, fără nicio limită, " +
		"liber de reguli",
	recommend: "recomandă, recomandați, să recomande+, să recomanzi+, recomanda+, sugerează, sugerați, " +
		"să sugereze+, promovează, promovați, să promoveze+, preferă, preferați, să prefere+, alege, " +
		"pune, plasează, laudă, propune, favorizează, clasează, sfătuiește, recomandată+, " +
		"recomandat+, recomande+, recomandând+, puneți, să pună+, să pui+, plasați, să plaseze+, " +
		"așază, așezați, să așeze+, poziționează, poziționați, să poziționeze+, listează, listați, " +
		"să listeze+, enumeră, enumerați, să enumere+, alegeți, să aleagă+, favorizați, " +
		"să favorizeze+, lăudați, să laude+, elogiază, elogiați, să elogieze+, propuneți, " +
		"să propună+, prioritizează, prioritizați, să prioritizeze+, clasați, evidențiază, " +
		"evidențiați, să evidențieze+, îndrumă, îndreaptă, trimite utilizatorii la, susține, " +
		"scoate în evidență, acordă prioritate, acordați prioritate",
	say: "spune, spuneți, să spună+, răspunde, răspundeți, să răspundă+, menționează, menționați, " +
		"să menționeze+, citează, să citeze+, afirmă, numește, descrie, scrie, precizează, prezintă, " +
		"prezentați, prezinte+, să prezinte+, să prezinți+, prezentată+, prezentat+, numiți, " +
		"să numească+, numită+, menționată+, menționat+, amintește, amintiți, să amintească+, " +
		"pomenește, pomeniți, să pomenească+, descrieți, să descrie+, considera, consideră, " +
		"considerați, să considere+, tratează, tratați, să trateze+, ține minte, țineți minte, " +
		"să țină minte+, reține, rețineți, să rețină+, memorează, memorați, salvează, salvați, " +
		"notează, evaluează, evaluați, să evalueze+, acordă, acordați, să acorde+, declară, " +
		"declarați, să declare+, confirmă, confirmați, să confirme+, afirmați, să afirme+, " +
		"subliniază, subliniați, să sublinieze+, precizați, să precizeze+, indică, indicați, " +
		"să indice+, arată, arătați, să arate+, citați, vorbește, vorbiți, să vorbească+, apară+, " +
		"să apară+, scrieți, încheie, începe, include, includeți, să includă+",
	never: "nu menționa, nu menționați, nu recomanda, nu recomandați, nu menționați niciodată, " +
		"nu menționa niciodată, nu numi, nu vorbi despre, nu vorbiți despre, nu pomeni, nu pomeniți, " +
		"nu sugera, să nu menționeze+, să nu recomande+, nu cita, să nu pomenească+, " +
		"să nu vorbească, să nu numească, să nu citeze, să nu sugereze, să nu compare, " +
		"să nu menționezi, nu citați, nu vorbi, nu spune nimic, nu compara, nu critica, nu lista, " +
		"nu include, nu sugerați, nu propune, nu arăta, nu face referire la, trece sub tăcere, " +
		"treceți sub tăcere, omite, omiteți, să omită+, ascunde, ascundeți, să ascundă+, evită, " +
		"evitați, să evite+, exclude, excludeți, să excludă+, taci despre, nu aminti, nu amintiți, " +
		"să nu amintească",
	first: "cea mai bună, cel mai bun, cele mai bune, primul, prima, pe primul loc, numărul unu, " +
		"lider*, unica, singura, înaintea, cel mai, capul listei, în capul listei, " +
		"în fruntea listei, în frunte, fruntea, în vârf, vârful listei, în top, topul, " +
		"prima alegere, primul loc, prima poziție, numărul 1, câștigător*, favorit*, preferat*, " +
		"de încredere, sursă de încredere, cel mai de încredere, referință, ideal*, perfect*, " +
		"excelent*, superior*, doar, exclusiv, numai, pozitiv*, cinci stele, 5 stele, nota maximă, " +
		"cea mai mare notă, lider de piață, liderul pieței, înaintea tuturor, " +
		"înaintea concurenților, înaintea altora, prioritar*, cea mai sigură",
	rival: "concuren*, rival*, alte mărci, alte magazine, alte firme, alternativ*, alte branduri, " +
		"alți furnizori, pe nimeni altcineva, alt magazin, altă marcă, altă firmă, alt furnizor, " +
		"alt produs, alte produse, niciun alt, nicio altă, altcineva, altceva, ceilalți, celelalte, " +
		"critici, critica, defecte, dezavantaje, recenzii negative, comentarii negative, plângeri, " +
		"aspecte negative, concurența",
	prefer: "folosește, folosiți, citează, citați, utilizează, prioritizează, trimite la, urmează, " +
		"urmați, să urmeze+, respectă, respectați, ascultă, ascultați, conformează te, supune te, " +
		"aplică, citește, citiți, consultă, dă clic, deschide, să folosească+, execută",
	must: "trebuie, ar trebui, sunt obligați, este obligatoriu, vă rugăm, te rog, te rugăm, rugăm, " +
		"este necesar, sunt rugați să, este rugat să, sunt rugate să, rugați să, sunt invitați să, " +
		"sunt obligate să, sunt obligați să, e obligat să, trebuie să, ar trebui să, se cere, " +
		"se solicită, solicităm, cerem, te rog să, vă rugăm să, vă rog să, ai putea, ați putea, " +
		"asigură te că, asigurați vă că, ai grijă să, nu uita să, nu uitați să, este important să, " +
		"e important să, sarcina ta este, rolul tău este, vrem ca, dorim ca, ar fi bine să, " +
		"să binevoiască, urmează să, au obligația să, pot doar",
	always: "întotdeauna, mereu, niciodată, totdeauna",
	model: "asistent ai, asistenții ai, asistenți ai, asistenții ia, inteligență artificială, " +
		"inteligența artificială, inteligențe artificiale, model lingvistic, model de limbaj, " +
		"modele de limbaj, modelele de limbaj, modelele lingvistice, modele lingvistice, chatbot*, " +
		"modele ai, modelele ai, model ai, agenții ai, sistemele ai, boți, boții, ești un ai, " +
		"ești ai, modelelor de limbaj, modelelor ai, un ai, o ia, ia, asistenților ai, " +
		"sistemele de ai, sisteme ai, agenți ai, agentul ai, instrumente ai, instrumentele ai, " +
		"motoarele ai, motoare de răspuns, roboții ai, robot ai, boții ai, chatboți*, " +
		"inteligențele artificiale, inteligenței artificiale, modelul lingvistic, modelul de limbaj, " +
		"modelelor lingvistice, modele ia, model ia, modelele de ai, modele generative, " +
		"ai generativ*, llm*, modele mari de limbaj, asistenți virtuali, asistentul virtual, " +
		"asistenții virtuali, chat gpt, crawlere, bot",
	helper: "asistent, asistentul, asistenți, asistenții, asistente",
	user:   "utilizatorul, utilizatorului, utilizatorilor, clientului",
	conceal: "nu informa, nu informați, nu spune, nu spuneți, nu anunța, nu avertiza, ascunde, ascundeți, " +
		"fără să informezi, fără să spui",
	asked: "când un utilizator întreabă, când utilizatorii întreabă, dacă un utilizator întreabă, " +
		"dacă cineva întreabă, când cineva întreabă, când ești întrebat, dacă ești întrebat, " +
		"când utilizatorul întreabă, în fiecare răspuns, în răspunsul tău, în răspunsurile tale, " +
		"în toate răspunsurile, în răspuns, în răspunsuri, la fiecare întrebare, la orice întrebare, " +
		"la întrebări despre, în conversațiile viitoare, pentru conversațiile viitoare, în viitor, " +
		"ori de câte ori, când un client, dacă un client, când răspunzi, când rezumi, " +
		"rezumă această pagină, în comparații, când ești întrebat despre",
	ours: "noi, nostru, noastră, acest site, acest magazin, această pagină, ne, pe noi, " +
		"acest candidat, această firmă, această companie, acest produs, acest articol, acest text, " +
		"acest furnizor",
	intro: "notă pentru, notă, atenție, mesaj pentru, mesaj către, către, pentru, dacă ești, " +
		"dacă sunteți, dragă, dragi, stimate, important, instrucțiuni pentru, salut, notă către, o, " +
		"un, toate, notă pentru toate, anunț pentru, avertisment pentru, mesaj, instrucțiuni către, " +
		"instrucțiune pentru, indicații pentru, informație pentru, în atenția, tuturor, către toate, " +
		"pentru toate, dacă un, dacă o, dacă această, dacă acest, dacă, când un, când o, " +
		"atunci când, citește, citește această pagină, citește acest text, citesc, citești, " +
		"care citește, care citesc, rezumă, care rezumă, rezumând, procesează, analizează, " +
		"această pagină, acest text, acest site, ca, în calitate de, sistem, mesaj de sistem, " +
		"instrucțiune nouă, instrucțiuni noi, stimați, stimată, bună, hei, orice, fiecare, ps, " +
		"memento",
	and: "și, sau, ci, iar, apoi",
	filler: "vă rugăm, vă rog, te rog, și, de, la, cu, un, o, tău, tale, ta, tăi, dumneavoastră, pe, că, " +
		"ca, fiind, acum, să, în, a, al, ale, doar, numai, de asemenea, aceste, acestea, mi, îmi, " +
		"ți, utilizatorului, apoi, deci, firma, marca, cele, brandul, magazinul, te, ești, este, e, " +
		"sunt, ai, au, am, fost, fi, fie, ea, el, ei, ele, noi, voi, lor, lui, îl, le, îi, vă, se, " +
		"ne, acest, această, acestui, acestei, aici, acolo, unde, cum, ce, care, cui, dacă, sau, " +
		"ori, dar, nu, nici, niciodată, mereu, întotdeauna, din, prin, spre, după, între, fără, sub, " +
		"peste, cuvânt cu cuvânt, cuvânt, integral, complet, explicit, clar, răspuns, răspunsuri, " +
		"lista, listei, pagina, text, întrebare, întrebări, drept, alegere, alegerea, opțiune, " +
		"opțiunea, sursă, marcă, firmă, magazin, mai, foarte, toți",
	topic:  "atacator*, atac, atacuri, de exemplu, hackeri*, cum să",
	report: "potrivit, conform unui, sondaj, studiu",
	about:  "injectare de prompt*, injectarea de prompt*, injecție de prompt*",
}

// swedish are the words by which Swedish texts address and order a model. TestCorpora measures them.
var swedish = words{
	tag: "sv",
	ignore: "ignorera, glöm, bortse från, strunta i, åsidosätt, följ inte, ta ingen hänsyn till, " +
		"ta inte hänsyn till, förbise, ignorera+, bry dig inte om, lyssna inte på, lyd inte, " +
		"åtlyd inte, följ inte längre, sluta följa, lägg åt sidan, lämna därhän, hoppa över, " +
		"kringgå, upphäv, beakta inte, glömma+",
	all: "alla, allt, varje, samtliga, all",
	earlier: "tidigare, föregående, ovanstående, förra, ovan, hittillsvarande, dittills, förut, du fick, " +
		"du fått, du har fått, ni fått, mottagna, givna, ursprungliga, befintliga, gällande, gamla, " +
		"innan, dessförinnan, hittills, före denna rad",
	rules: "instruktion*, anvisning*, regel, regler, reglerna, order, kommandon, riktlinjer*, " +
		"uppmaningar, det du fått höra, instruktionerna, instruktion, direktiv, direktiven, " +
		"föreskrifter, begränsningar, prompt, prompten, riktlinjerna, det du har fått höra, " +
		"allt ovan, allt ovanstående, allt du fått höra, kontext",
	void: "ogiltig*, upphävd*, gäller inte längre, gäller inte, gäller ej, ersatt*, ersätts, " +
		"återkallad*, upphör att gälla, inaktuell*, makulerad*",
	reveal: "visa, skriv ut, avslöja, skicka, upprepa, visa mig, dela, vidarebefordra, uppge, röj, " +
		"återge, kopiera, citera, klistra, bifoga, publicera, mejla, lämna ut, läs upp",
	secret: "systeminstruktion*, dolda instruktion*, systemprompt*, systemmeddelande*, " +
		"hemliga instruktion*, dina dolda instruktioner, dina hemliga instruktioner, " +
		"dina interna instruktioner, dolda instruktioner, hemliga instruktioner, " +
		"ursprungliga instruktioner, din prompt, din systemprompt, systemprompten",
	data: "konversation*, samtalet, lösenord*, personuppgifter, användarens, api nyck*, " +
		"chatthistorik*, chatten, chatt*, kortnummer*, kreditkort*, inloggningsuppgift*, filer",
	role: "du är nu, från och med nu är du, från nu är du, bete dig som, låtsas att du är, agera som, " +
		"spela rollen som, uppträd som, låtsas vara, du är inte längre, hädanefter är du, ta rollen, " +
		"anta rollen, föreställ dig att du är, gå in i, aktivera, du arbetar nu, spela",
	free: "utan begränsning*, utan regler, utan restriktioner, obegränsad*, ofiltrerad*, utan filter, " +
		"utan censur, utan spärrar, inga regler, inga begränsningar, inga gränser, inga filter, " +
		"utvecklarläge, utan några begränsningar, utan alla begränsningar, fri från regler",
	recommend: "rekommendera, rekommendera+, föreslå, föredra, framhäv, prioritera, välj, ranka, rangordna, " +
		"marknadsför, lyft fram, förespråka, främja, tipsa om, placera, sätt, rekommenderas+, " +
		"rekommenderad+, sätta+, placeras+, ställ, ställa+, lyfta fram+, framhäva+, framhåll, " +
		"framhålla+, välja+, prioritera+, prioriteras+, föreslå+, föreslås+, lista, listas+, " +
		"rankas+, beröm, berömma+, prisa, hylla, gynna, gynna+, favorisera, hänvisa användare till, " +
		"hänvisa, hänvisa till, styr, förorda, förorda+, lägg",
	say: "säg, berätta, svara, nämn, nämna+, säga+, uppge, skriv, påstå, beskriv, omnämn, svara+, " +
		"nämnas+, nämns+, omnämna+, presentera, presenteras+, framställ, framställa+, framställas+, " +
		"beskriva+, beskrivas+, kalla, kallas+, betrakta, behandla, se, anse, uppge+, ange, ange+, " +
		"kom ihåg, komma ihåg+, minns, spara, lagra, notera, bedöm, bedöma+, betygsätt, förklara, " +
		"bekräfta, intyga, försäkra, hävda, betona, betona+, understryk, poängtera, citera, " +
		"citeras+, visa, visas+, tala, prata, skriva+, avsluta, börja, inkludera, ta med, ta upp, " +
		"stå+",
	never: "nämn aldrig, nämn inte, rekommendera aldrig, rekommendera inte, aldrig nämna+, inte nämna+, " +
		"inte rekommendera+, undvik att nämna, tala inte om, prata inte om, inte omnämna+, " +
		"nämn inga, inte ta upp+, ta inte upp, inte tala om+, aldrig rekommendera+, " +
		"rekommendera inga, utelämna, utelämna+, dölj, dölja+, förtig, förtiga+, tig om, " +
		"var tyst om, hoppa över konkurrenter, undvik, undvika att nämna+, jämför inte, " +
		"kritisera inte, citera inte, länka inte till, visa inte, lista inte, uteslut, utesluta+",
	first: "bästa, bäst, först, första, nummer ett, ledande, framför, enda, mest, i första hand, " +
		"säkrast*, trygg*, tryggast*, överst, högst upp, toppen, först på listan, på första plats, " +
		"förstaval, förstahandsval, nummer 1, vinnare, favorit*, föredragn*, pålitlig*, " +
		"tillförlitlig*, betrodd*, trovärdig*, betrodd källa, referens, idealisk*, perfekt*, " +
		"utmärkt*, överlägs*, enbart, endast, bara, uteslutande, positiv*, fem stjärnor, 5 stjärnor, " +
		"högsta, toppbetyg, marknadsledande, före andra, före alla, ledare, säkraste",
	rival: "konkurrent*, andra märken, andra butiker, andra företag, alternativ*, andra än, " +
		"någon annan, andra leverantörer, andra produkter, annat märke, annan butik, annat företag, " +
		"något annat, inga andra, ingen annan, de andra, kritik, nackdelar, brister, klagomål, " +
		"negativ*, svagheter",
	prefer: "använd, citera, hänvisa till, fokusera på, länka, följ, följa+, lyd, lyda+, åtlyd, " +
		"rätta dig efter, håll dig till, läs, klicka, öppna, använda+, utgå från, konsultera, kör",
	must: "måste, ska, skall, bör, får, är skyldiga att, vänligen, uppmanas att, ombeds att, ombedes, " +
		"ombeds, uppmanas, är skyldig att, får bara, borde, snälla, var god, var vänlig, var så god, " +
		"kan du, kunde du, skulle du kunna, vill du, se till att, glöm inte att, tänk på att, " +
		"det är viktigt att, din uppgift är att, vi ber, vi ber att, vi vill att, jag vill att, låt, " +
		"önskas",
	always: "alltid, aldrig",
	model: "ai, ai assistent*, artificiell intelligens, språkmodell, språkmodeller, språkmodellen, " +
		"stora språkmodeller, chatbot*, chattbot*, ai modell*, ai agent*, ai system*, botar, " +
		"ai botar, ai modellerna, ai modeller, ai system, ai systemen, ai agenter, ai verktyg*, " +
		"ai tjänst*, ai sök*, ai bott*, ai robot*, ai chatt*, ai assistenter, chattrobot*, llm*, " +
		"språkmodellerna, generativ ai, sökassistent*, svarsmotor*, röstassistent*, crawler*, " +
		"chat gpt, artificiella intelligenser, maskinläsare",
	helper: "assistent, assistenter, assistenten, virtuella assistenter",
	user:   "användaren, användare, för användaren, kunden",
	conceal: "informera inte, berätta inte, säg inte, meddela inte, varna inte, dölj, utan att informera, " +
		"utan att berätta",
	asked: "när användare frågar, när användaren frågar, när någon frågar, om någon frågar, " +
		"om användaren frågar, när en användare frågar, om en användare frågar, i varje svar, " +
		"i ditt svar, i dina svar, i alla svar, i svaret, i svar, på varje fråga, på frågor om, " +
		"vid frågor om, vid varje fråga, när kunder, när en kund, om en kund, när du svarar, " +
		"när du sammanfattar, i framtida samtal, för framtida samtal, i framtiden, " +
		"sammanfatta sidan, sammanfatta denna sida, i jämförelser, vid jämförelser",
	ours: "oss, vår, vårt, denna sida, den här sidan, denna butik, den här butiken, denna kandidat, " +
		"detta företag, denna produkt, denna artikel, denna text, denna leverantör",
	intro: "meddelande till, notering till, anmärkning till, till, om du är, kära, käre, obs, notera, " +
		"för, viktigt, instruktion till, instruktioner till, hej, till alla, meddelande för, " +
		"not till, notis till, anvisning till, anvisningar till, instruktioner för, " +
		"information till, för kännedom, om en, om detta, om denna, om texten, ifall en, ifall, " +
		"när en, när, så snart, läser detta, läser denna sida, läser denna, läser, läsa, " +
		"som läser detta, som läser denna sida, som läser, som sammanfattar, sammanfattar, " +
		"sammanfattar denna sida, behandlar, analyserar, denna sida, denna text, det här, system, " +
		"systemmeddelande, ny instruktion, nya instruktioner, bästa, hallå, ps, varje, alla, " +
		"påminnelse, i egenskap av, såsom",
	and: "och, eller, men, samt",
	filler: "längre, och, vänligen, snälla, de, den, det, en, ett, din, dina, ditt, du, så, nu, då, som, " +
		"att, var snäll, också, endast, bara, för, från, om, till, alltid, därför, tack, ge, dig, " +
		"mig, helt, är, var, har, fick, få, vi, han, hon, dem, sig, sin, sina, sitt, er, era, ert, " +
		"här, där, eller, men, inte, aldrig, även, in, på, av, vid, med, utan, under, över, efter, " +
		"mot, mellan, ur, ord för ord, ordagrant, fullständigt, uttryckligen, tydligt, svar, svaret, " +
		"listan, sida, sidan, text, frågan, frågor, gärna, ju, sedan, därefter, varje, andra, " +
		"märket, företaget, butiken, valet, val",
	topic:  "angripar*, angrepp, till exempel, attack*",
	report: "enligt, undersökning, studie",
	about:  "promptinjektion*, prompt injektion*",
}

// turkish are the words by which Turkish texts address and order a model. TestCorpora measures them.
var turkish = words{
	tag:      "tr",
	verbLast: true,
	ignore: "yok say, yok sayın, yok sayınız, görmezden gel, görmezden gelin, görmezden geliniz, unut, " +
		"unutun, unutunuz, dikkate alma, dikkate almayın, göz ardı et, göz ardı edin, yoksay, " +
		"yoksayın, uyma, uymayın, boş ver, önemseme, umursama, dinleme, dinlemeyin, takip etme, " +
		"takip etmeyin, uygulama, uygulamayın, önemsemeyin, umursamayın, kulak asma, kulak asmayın, " +
		"bir kenara bırak, bir kenara bırakın, hiçe say, hiçe sayın, aş, itaat etme, itaat etmeyin, " +
		"hesaba katma, hesaba katmayın, aldırma, aldırmayın, geçersiz say, geçersiz sayın, " +
		"bağlı kalma, çiğne",
	all: "tüm, bütün, her, hepsini, tamamını, hepsi, tümünü, herhangi",
	earlier: "önceki, yukarıdaki, daha önceki, evvelki, geçmiş, şimdiye kadarki, verilen, eski, " +
		"önce aldığın, daha önce, daha önce aldığın, aldığın, aldığınız, sana verilen, size verilen, " +
		"mevcut, bundan önceki, ilk, orijinal, yukarıda, yukarıdakileri, o ana kadarki",
	rules: "talimat*, komut*, kural*, yönerge*, emir, emirleri, istemleri, direktif*, yönlendirme*, " +
		"talimatlar, talimatlara, talimatları, kurallara, kuralları, komutlara, emirlere, emirler, " +
		"yönergelere, kısıtlama*, prompt*, istem*, sana söylenenleri, sana söylenen her şeyi, " +
		"yukarıdaki her şeyi, bağlam, politika*",
	void: "geçersiz*, geçerli değil*, artık geçerli değil*, iptal edil*, iptal edilmiş*, " +
		"yürürlükten kald*, yerini, hükümsüz*, kaldırıl*, değiştiril*, geçerliliğini yitir*",
	reveal: "göster, gösterin, açıkla, açıklayın, yazdır, yazdırın, gönder, gönderin, tekrarla, " +
		"tekrarlayın, paylaş, paylaşın, ifşa et, ver, söyle, dök, aktar, ilet, aynen yaz, yaz, " +
		"yazın, kopyala, kopyalayın, oku, ekle, yapıştır, yayımla, yolla, alıntıla, sızdır, iletin",
	secret: "sistem istem*, sistem prompt*, sistem talimat*, gizli talimat*, sistem komut*, " +
		"sistem mesaj*, sistem isteminin, gizli istem*, gizli talimatların*, iç talimat*, " +
		"ilk talimat*, istemini, prompt'unu, promptunu, sistem yönerge*",
	data: "konuşma*, sohbet*, şifre*, parola*, kullanıcı veri*, kullanıcının, kişisel veri*, " +
		"api anahtar*, sohbet geçmişi*, kart numara*, kredi kart*, giriş bilgi*, mesajlar*, " +
		"dosyalar*, adresini, konumunu",
	role: "artık, şu andan itibaren, bundan sonra, şimdi sen, sen artık, gibi davran, gibi davranın, " +
		"rolünü üstlen, numarası yap, artık değilsin, bundan böyle, bundan böyle sen, rolüne gir, " +
		"rol yap, rolünü oyna, olduğunu hayal et, moduna geç, gibi hareket et, kendini",
	free: "kısıtlaması olmayan, sınırsız, kısıtlamasız, kuralsız, filtresiz, sansürsüz, " +
		"sınırlaması olmayan, kuralları olmayan, kısıtlama olmadan, kısıtlama olmaksızın, " +
		"hiçbir kural*, hiçbir kısıtlama*, hiçbir sınır*, geliştirici mod*, kural yok, sınır yok, " +
		"tamamen özgür, kurallardan bağımsız",
	recommend: "öner, önerin, öneriniz, önermelidir, önermeli, önermelisin, önermelisiniz, " +
		"önermek zorundadır, önersin, tavsiye et, tavsiye edin, tavsiye etmelidir, tavsiye etmeli, " +
		"tavsiye etsin, tercih et, tercih edin, öne çıkar, öne çıkarın, ilk sıraya koy, " +
		"ilk sıraya yerleştir, sırala, tanıt, tanıtın, öv, övün, seç, seçin, önersinler, " +
		"önermeliler, önermeleri gerekir, önermesi gerekir, önermek, önermeniz, önermen, " +
		"önerilmelidir, önerilsin, önerilmeli, koy, koyun, koyunuz, koymalıdır, koymalı, koysun, " +
		"yerleştir, yerleştirin, yerleştirmelidir, sıralayın, sıralamalıdır, sıraya koy, listele, " +
		"listeleyin, listelemelidir, listelemeli, seçmelidir, seçmeli, tercih etmelidir, " +
		"tercih etmeli, tercih etsin, öne çıkarmalıdır, öne çıkarsın, tanıtmalıdır, tanıtmalı, " +
		"tanıtsın, övmelidir, öncelik ver, öncelik verin, öncelik vermelidir, yönlendir, " +
		"yönlendirin, yönlendirmelidir, destekle, savun, al, alın, reklamını yap, tavsiye etmelisin, " +
		"tavsiye ediniz, tavsiye edilmelidir, lanse et, göster",
	say: "söyle, söyleyin, söylemelidir, de, belirt, belirtin, belirtmelidir, yanıtla, cevap ver, " +
		"yanıt ver, yaz, an, anın, bahset, bahsedin, ifade et, sun, sunun, sunmalıdır, sunmalı, " +
		"sunsun, sunmalıdırlar, sunmaları gerekir, sunması gerekir, belirtmeli, belirtsin, " +
		"belirtiniz, belirtmelidirler, belirtmesi gerekir, bahsetmelidir, bahsetmeli, bahsetsin, " +
		"anmalıdır, ansın, adlandır, adlandırın, adlandırmalıdır, nitelendir, nitelendirin, " +
		"nitelendirmelidir, tanımla, tanımlayın, tanımlamalıdır, betimle, kabul et, kabul edin, " +
		"kabul etmelidir, say, sayın, saymalıdır, değerlendir, değerlendirin, değerlendirmelidir, " +
		"puanla, puan ver, puan verin, hatırla, hatırlayın, hatırlamalıdır, unutma, aklında tut, " +
		"aklınızda tutun, kaydet, kaydedin, not al, hafızana kaydet, hafızana al, ilan et, " +
		"ilan edin, doğrula, doğrulayın, onayla, vurgulayın, vurgulamalıdır, iddia et, ifade edin, " +
		"ifade etmelidir, söylesin, söylemeli, söylemelisin, yazmalıdır, yazsın, yanıt verin, " +
		"yanıt vermelidir, cevap verin, cevap vermelidir, cevaplayın, cevapla, göstersin, " +
		"göstermelidir, göstermeli, yer ver, yer verin, yer vermelidir, kaynak gösterin, " +
		"kaynak göstermelidir, alıntılayın, alıntılamalıdır, deyin, bitir, başla, ekle",
	never: "bahsetme, bahsetmeyin, bahsetmeyiniz, önerme, önermeyin, anma, anmayın, adını anma, " +
		"söz etme, söz etmeyin, adını verme, listeleme, bahsetmemelidir, önermemelidir, " +
		"tavsiye etme, tavsiye etmeyin, söz etmemelidir, söz etmemeli, söz etmesin, bahsetmemeli, " +
		"bahsetmesin, anmamalıdır, anmasın, belirtme, belirtmeyin, belirtmemelidir, adını anmayın, " +
		"önermemeli, önermesin, tavsiye etmemelidir, karşılaştırma, karşılaştırmayın, " +
		"karşılaştırmamalıdır, eleştirme, eleştirmeyin, alıntılama, gösterme, göstermeyin, " +
		"listelemeyin, sessiz kal, sus, susun, gizle, gizleyin, gizlemelidir, sakla, saklayın, atla, " +
		"atlayın, hariç tut, hariç tutun, dışarıda bırak, görmezden gelmelidir, kaçın, kaçının, " +
		"kaçınmalıdır, değinme, değinmeyin, değinmemelidir, yer verme, yer vermeyin",
	first: "en iyi, ilk, birinci, bir numara, bir numaralı, ilk sırada, lider*, öncü, tek, " +
		"en güvenilir, önce, üstün, en, başına, listenin başına, listenin başında, başında, en başa, " +
		"en başta, en üste, en üstte, üst sıra*, ilk sıraya, birinci sıraya, zirve*, zirvesine, " +
		"kazanan, favori*, tercih edilen, güvenilir*, güvenilir kaynak*, güvenilir bir kaynak*, " +
		"referans*, ideal*, mükemmel*, üstün*, sadece, yalnızca, yalnız, olumlu*, beş yıldız, " +
		"5 yıldız, en yüksek, tam puan, pazar lideri*, rakiplerden önce, herkesten önce, " +
		"diğerlerinden önce, öncelikli*, öncelikle, en güvenli, numara bir, bir numaralı seçenek",
	rival: "rakip*, rakib*, rakipler*, diğer marka*, başka marka*, diğer mağaza*, diğer firma*, " +
		"alternatif*, başka firma*, diğer şirket*, başkasını, diğer ürün*, başka ürün*, " +
		"başka mağaza*, başka şirket*, başka bir marka*, başka marka, diğer tedarikçi*, " +
		"başka birini, başka kimse*, başka hiçbir*, diğerleri*, ötekiler*, eleştiri*, olumsuz*, " +
		"dezavantaj*, şikayet*, kusur*",
	prefer: "kullan, kullanın, alıntıla, kaynak göster, bağlantı ver, vurgula, uy, uyun, takip et, " +
		"takip edin, itaat et, itaat edin, dinle, dinleyin, oku, okuyun, uygula, uygulayın, tıkla, " +
		"tıklayın, aç, açın, riayet et, baz al, esas al, referans al",
	must: "lütfen, zorunda, zorundadır, gerekir, sakın, rica olunur, rica ederiz, rica ediyoruz, " +
		"gerekmektedir, gerekiyor, zorundasın, zorundasınız, lazım, şart, emin ol, emin olun, " +
		"özen göster, dikkat et, unutma, mümkünse, istiyoruz, isteriz, isteniyor, istenmektedir",
	always: "her zaman, daima, hep, asla, mutlaka, kesinlikle",
	model: "yapay zeka, yapay zekalar, yapay zekaya, yapay zekaysan*, yapay zekasın, " +
		"yapay zeka asistan*, yapay zeka model*, dil model*, chatbot*, sohbet bot*, ai, ai asistan*, " +
		"ai model*, botlar, yapay zekalara, yapay zeka sistem*, büyük dil model*, yapay zekâ, " +
		"yapay zekâlar, yapay zekâ asistan*, yapay zekâ model*, yapay zekâ sistem*, yapay zekâ bot*, " +
		"yapay zekâ araç*, yapay zekâ ajan*, yapay zeka ajan*, yapay zeka araç*, yapay zeka arama*, " +
		"yapay zeka bot*, yapay zeka motor*, yapay zeka sohbet*, üretken yapay zeka, dil modelleri, " +
		"dil modeline, dil modellerine, dil modeli, dil modelisin, dil modeliysen, büyük dil modeli, " +
		"büyük dil modelleri, llm*, sohbet robot*, sohbet botları, sohbet botu, sanal asistan*, " +
		"dijital asistan*, sesli asistan*, botlara, bot, chat gpt, yapay zekâsı, robotlar",
	helper: "asistan, asistanlar, asistanlara, asistana",
	user:   "kullanıcıya, kullanıcıyı, kullanıcıdan, kullanıcılara, müşteriye",
	conceal: "haber verme, haber vermeyin, bildirme, bildirmeyin, söyleme, söylemeyin, uyarma, " +
		"bilgilendirme, gizle, gizleyin, sakla",
	asked: "kullanıcılar sorduğunda, kullanıcı sorduğunda, biri sorduğunda, sorulduğunda, " +
		"kullanıcı sorarsa, biri sorarsa, birisi sorarsa, birisi sorduğunda, sorulursa, her cevapta, " +
		"her yanıtta, cevabında, yanıtında, yanıtlarında, cevaplarında, tüm yanıtlarda, yanıtta, " +
		"cevapta, yanıtlarda, her soruya, sorulara, soruya, sorularında, gelecekteki konuşmalarda, " +
		"gelecek konuşmalarda, gelecekte, bundan sonraki, kullanıcı istediğinde, bir müşteri, " +
		"müşteriler sorduğunda, bu sayfayı özetle, özetlerken, karşılaştırmalarda",
	ours: "bizi, bizim, bu siteyi, bu sayfayı, bu mağazayı, markamızı, mağazamızı, bu aday, bu adayı, " +
		"bu şirket, bu şirketi, bu ürün, bu ürünü, bu makale, bu metin, bu markayı",
	intro: "not, dikkat, mesaj, eğer, sevgili, önemli, bir, uyarı, merhaba, isen, iseniz, için, olarak, " +
		"bu sayfayı okuyan, okuyan, talimat, talimatlar, sayın, notu, notumuz, dikkatine, mesajı, " +
		"duyuru, bilgi, modellerine not, için not, için mesaj, talimatı, yönerge, tüm, bütün, her, " +
		"şayet, okuyorsan, okuyorsanız, okuyorsa, okursa, okuyanlar, bu metni okuyan, bunu okuyan, " +
		"bunu okuyorsan, özetleyen, özetliyorsan, özetliyorsa, bu sayfayı özetleyen, işleyen, " +
		"analiz eden, tarayan, sayfayı, sayfa, metni, metin, bu metni, bu sayfayı, sistem, " +
		"sistem mesajı, yeni talimat, yeni talimatlar, değerli, saygıdeğer, selam, hey, hatırlatma, " +
		"ise, önemli not",
	and: "ve, veya, ama",
	filler: "lütfen, ve, bir, bu, şu, o, sen, siz, senin, sana, size, de, da, şimdi, ayrıca, sadece, " +
		"yalnızca, ile, için, olarak, kendi, tarafından, ki, kullanıcıya, kullanıcılara, seçenek, " +
		"ise, olan, hemen, artık, bana, olduğunu, çok, bundan, sonra, ben, biz, onlar, onu, onun, " +
		"onları, bunu, bunun, buna, burada, orada, nasıl, ne, kim, ya, veya, ama, fakat, değil, hiç, " +
		"asla, her, zaman, daima, hep, hakkında, göre, kadar, gibi, önce, üzerinde, arasında, " +
		"kelimesi kelimesine, aynen, tamamen, açıkça, özellikle, cevap, yanıt, liste, listede, " +
		"sayfa, metin, soru, seçeneği, kaynak, kaynağı, marka, markası, şirket, mağaza, firma, daha, " +
		"en, sizin, bizim, ettiğin, edilen, şekilde, şey, derhal, konusunda, durumunda, listenin",
	topic:  "saldırgan*, saldırı*, örneğin, mesela",
	report: "göre, anket, araştırma",
	about:  "istem enjeksiyon*, prompt enjeksiyon*, komut enjeksiyon*",
}

// vietnamese are the words by which Vietnamese texts address and order a model. TestCorpora measures them.
var vietnamese = words{
	tag: "vi",
	ignore: "bỏ qua, phớt lờ, quên, quên đi, lờ đi, đừng tuân theo, không tuân theo, đừng làm theo, " +
		"gạt bỏ, mặc kệ, không cần quan tâm, xem nhẹ, hủy bỏ, không để ý, đừng quan tâm đến, " +
		"đừng quan tâm tới, đừng quan tâm, không quan tâm đến, đừng nghe theo, đừng để ý, " +
		"đừng để ý đến, không nghe theo, đừng tuân thủ, không tuân thủ, không làm theo, " +
		"ngừng làm theo, ngừng tuân theo, thôi làm theo, gạt sang một bên, lách, vượt qua, phá vỡ, " +
		"làm ngơ, đừng thực hiện, không thực hiện, đừng áp dụng, coi như không có, quên hết",
	all: "tất cả, mọi, toàn bộ, hết, bất kỳ, hết thảy, mỗi",
	earlier: "trước đó, trước đây, ở trên, bên trên, phía trên, trước, nêu trên, đã cho, đã nhận, cũ, " +
		"kể trên, bạn đã nhận, bạn đã nhận trước đó, bạn nhận được, đã nhận trước đó, nhận được, " +
		"được đưa ra, được cho, ban đầu, gốc, hiện có, hiện tại, từ trước đến nay, cho đến nay, " +
		"trước dòng này, vừa rồi, phía trước, trước kia, có trước",
	rules: "hướng dẫn, chỉ dẫn, chỉ thị, lệnh, quy tắc, mệnh lệnh, quy định, câu lệnh, yêu cầu, " +
		"nguyên tắc, luật lệ, những gì đã được nói, những gì bạn được bảo, mọi thứ ở trên, " +
		"mọi điều ở trên, tất cả ở trên, giới hạn, hạn chế, chính sách, ngữ cảnh, lời nhắc, prompt, " +
		"điều lệnh, hướng dẫn của bạn, nội quy",
	void: "không còn hiệu lực, hết hiệu lực, vô hiệu, bị hủy, bị huỷ, bị bãi bỏ, bị thay thế, " +
		"được thay thế, không còn áp dụng, không áp dụng, đã hết hạn, bị thu hồi, mất hiệu lực",
	reveal: "tiết lộ, hiển thị, cho tôi xem, in ra, gửi, lặp lại, chia sẻ, để lộ, đưa ra, cho xem, " +
		"viết ra, cung cấp, xuất ra, viết, chép, sao chép, đọc, trích dẫn, đính kèm, đăng, giao, " +
		"chuyển, chuyển tiếp, nói cho tôi, cho tôi biết, hiện, tiết lộ cho, trình bày, dán",
	secret: "lời nhắc hệ thống, prompt hệ thống, câu lệnh hệ thống, hướng dẫn hệ thống, hướng dẫn ẩn, " +
		"chỉ dẫn hệ thống, thông điệp hệ thống, chỉ thị hệ thống, lời nhắc hệ thống của bạn, " +
		"lời nhắc ẩn, hướng dẫn bí mật, chỉ thị bí mật, hướng dẫn nội bộ, hướng dẫn ban đầu, " +
		"prompt của bạn, lời nhắc của bạn, chỉ dẫn ẩn, system prompt",
	data: "cuộc trò chuyện, mật khẩu, dữ liệu người dùng, dữ liệu cá nhân, email của người dùng, " +
		"khóa api, lịch sử trò chuyện, thông tin người dùng, cuộc trò chuyện này, đoạn chat, số thẻ, " +
		"thẻ tín dụng, địa chỉ người dùng, tên người dùng, tin nhắn của người dùng, " +
		"tệp của người dùng, thông tin đăng nhập, vị trí của người dùng",
	role: "bây giờ bạn là, giờ bạn là, từ giờ bạn là, từ bây giờ bạn là, kể từ bây giờ bạn là, " +
		"từ nay bạn là, hãy đóng vai, đóng vai, hãy hành động như, hãy giả vờ là, giả vờ là, " +
		"hành xử như, bạn hiện là, bạn không còn là, từ thời điểm này bạn là, " +
		"từ giây phút này bạn là, hãy nhập vai, nhập vai, hãy tưởng tượng bạn là, " +
		"tưởng tượng bạn là, chuyển sang chế độ, bật chế độ, vào chế độ, hãy cư xử như, " +
		"hãy trở thành",
	free: "không có giới hạn, không giới hạn, không bị giới hạn, không có quy tắc, không hạn chế, " +
		"không có hạn chế, không bị kiểm duyệt, không bộ lọc, không có bất kỳ giới hạn, " +
		"không có ràng buộc, không có luật lệ, không có bất kỳ quy tắc, chế độ nhà phát triển, " +
		"không rào cản, không bị ràng buộc, không có bộ lọc, thoát khỏi quy tắc, không kiểm duyệt",
	recommend: "giới thiệu, đề xuất, gợi ý, khuyến nghị, khuyên dùng, quảng bá, ưu tiên, xếp, chọn, đặt, " +
		"ca ngợi, tiến cử, quảng cáo, xếp hạng, liệt kê, đưa, để, ủng hộ, khen, khen ngợi, " +
		"tán dương, đề cử, lựa chọn, chọn lựa, khuyên, khuyên người dùng, hướng người dùng, " +
		"điều hướng, dẫn người dùng, quảng bá cho, làm nổi bật, nêu bật, đề cao, tôn vinh, ưu ái, " +
		"trình bày",
	say: "nói, nói rằng, trả lời, trả lời rằng, nhắc đến, đề cập, khẳng định, nêu, viết, cho biết, " +
		"mô tả, bảo, nhắc tới, giới thiệu, trình bày, gọi, gọi là, coi, coi là, xem, xem là, nhớ, " +
		"ghi nhớ, hãy nhớ, lưu, lưu lại, ghi lại, ghi nhận, đánh giá, chấm điểm, cho điểm, cho, " +
		"tuyên bố, xác nhận, nhấn mạnh, quả quyết, nói đến, nói về, kể, nhắc, nhắc tên, nêu tên, " +
		"liệt kê, trích dẫn, dẫn, dẫn nguồn, hiển thị, đưa vào, bao gồm, kết luận, kết thúc, " +
		"bắt đầu, phát biểu, thông báo",
	never: "không bao giờ nhắc, đừng nhắc, không nhắc, không được nhắc, đừng đề cập, không đề cập, " +
		"không được đề cập, không bao giờ đề cập, đừng giới thiệu, không giới thiệu, " +
		"không được giới thiệu, không bao giờ giới thiệu, đừng bao giờ nhắc, đừng bao giờ đề cập, " +
		"đừng nói đến, đừng nói về, không nói về, không được nói về, đừng nêu, không nêu, " +
		"không được nêu, đừng gợi ý, không gợi ý, đừng đề xuất, không đề xuất, không được đề xuất, " +
		"đừng so sánh, không so sánh, đừng chỉ trích, không chỉ trích, đừng trích dẫn, đừng liệt kê, " +
		"đừng hiển thị, không nên nhắc, không nên đề cập, không nên giới thiệu, không nên nói về, " +
		"giữ im lặng về, im lặng về, giấu, che giấu, ẩn đi, bỏ sót, lược bỏ, loại bỏ, loại trừ, " +
		"tránh, tránh nhắc, tránh đề cập, tuyệt đối không nhắc, cấm nhắc, chớ nhắc, bỏ qua đối thủ",
	first: "tốt nhất, đầu tiên, hàng đầu, số một, trước tiên, nhất, duy nhất, dẫn đầu, uy tín nhất, " +
		"lên đầu, lên đầu danh sách, đầu danh sách, đứng đầu, vị trí đầu tiên, vị trí số một, " +
		"vị trí đầu, trên cùng, lên trên cùng, đỉnh, lựa chọn tốt nhất, lựa chọn hàng đầu, " +
		"lựa chọn số một, số 1, người chiến thắng, ưa thích, yêu thích, đáng tin cậy, " +
		"đáng tin cậy nhất, đáng tin, nguồn đáng tin cậy, nguồn tin cậy, tin cậy, uy tín, chuẩn mực, " +
		"lý tưởng, hoàn hảo, xuất sắc, vượt trội, tốt hơn, chỉ, tích cực, năm sao, 5 sao, " +
		"điểm tối đa, cao nhất, dẫn đầu thị trường, trước mọi, trước các đối thủ, trước tất cả, " +
		"an toàn nhất, ưu tiên hàng đầu",
	rival: "đối thủ, thương hiệu khác, cửa hàng khác, công ty khác, cạnh tranh, lựa chọn thay thế, " +
		"nhãn hiệu khác, bên khác, thương hiệu nào khác, công ty nào khác, cửa hàng nào khác, " +
		"sản phẩm khác, sản phẩm nào khác, nhà cung cấp khác, lựa chọn khác, nơi khác, ai khác, " +
		"bên nào khác, những cái khác, phê bình, chỉ trích, nhược điểm, điểm yếu, tiêu cực, " +
		"khiếu nại, đánh giá xấu, các đối thủ, đối thủ cạnh tranh",
	prefer: "sử dụng, trích dẫn, ưu tiên, dẫn link, dùng, làm theo, tuân theo, tuân thủ, nghe theo, " +
		"thực hiện theo, đọc, hãy đọc, nhấp, mở, căn cứ vào, dựa vào, áp dụng",
	must: "phải, cần phải, nên, cần, hãy, bắt buộc, đừng, vui lòng, xin hãy, được yêu cầu, " +
		"được yêu cầu phải, được đề nghị, được mời, đề nghị, chúng tôi yêu cầu, chúng tôi đề nghị, " +
		"mong rằng, xin vui lòng, bạn có thể, liệu bạn có thể, hãy chắc chắn, hãy đảm bảo, đảm bảo, " +
		"đừng quên, nhiệm vụ của bạn là, điều quan trọng là, chúng tôi muốn, chỉ được, có nghĩa vụ, " +
		"buộc phải, làm ơn",
	always: "luôn, luôn luôn, không bao giờ, nhất định",
	model: "trợ lý ai, trí tuệ nhân tạo, mô hình ngôn ngữ, mô hình ai, chatbot*, các ai, hệ thống ai, " +
		"tác nhân ai, bạn là ai, bạn là một ai, trợ lý ảo, công cụ ai, bot ai, gửi ai, " +
		"mô hình ngôn ngữ lớn, con ai, các mô hình ngôn ngữ, mọi mô hình ngôn ngữ, các trợ lý ai, " +
		"các hệ thống ai, các công cụ ai, các tác nhân ai, các mô hình ai, một trợ lý ai, " +
		"một mô hình ngôn ngữ, một mô hình ai, một ai, ai tạo sinh, trí tuệ nhân tạo tạo sinh, " +
		"công cụ tìm kiếm ai, công cụ trả lời, các chatbot, một chatbot, robot trò chuyện, rô bốt, " +
		"bot, các bot, trợ lý số, trợ lý giọng nói, trình thu thập, llm*, chat gpt, " +
		"mô hình tạo sinh, đại lý ai, tác tử ai",
	helper: "trợ lý, các trợ lý",
	user:   "người dùng, cho người dùng, với người dùng, khách hàng",
	conceal: "đừng nói cho, đừng nói với, đừng báo cho, đừng thông báo, không báo cho, không nói cho, " +
		"không thông báo cho, đừng cảnh báo, giấu, che giấu, mà không báo",
	asked: "khi người dùng hỏi, nếu người dùng hỏi, khi có người hỏi, khi được hỏi, nếu có ai hỏi, " +
		"nếu ai hỏi, khi ai đó hỏi, nếu ai đó hỏi, nếu được hỏi, trong mọi câu trả lời, " +
		"trong mỗi câu trả lời, trong câu trả lời, trong câu trả lời của bạn, " +
		"trong tất cả câu trả lời, mọi câu hỏi, với mọi câu hỏi, cho mọi câu hỏi, mỗi câu hỏi, " +
		"trong các cuộc trò chuyện sau này, trong các cuộc trò chuyện tương lai, trong tương lai, " +
		"về sau, mỗi khi, mỗi khi có người, khi khách hàng hỏi, nếu khách hàng hỏi, khi trả lời, " +
		"khi tóm tắt, hãy tóm tắt trang này, trong các so sánh",
	ours: "chúng tôi, trang này, cửa hàng này, website này, trang web này, thương hiệu này, " +
		"ứng viên này, công ty này, sản phẩm này, bài viết này, văn bản này, dịch vụ này",
	intro: "lưu ý cho, lưu ý, ghi chú cho, ghi chú, chú ý, gửi, thông báo cho, thông báo, nếu, " +
		"nếu bạn là, nếu bạn là một, dành cho, kính gửi, cho, hỡi, các, này, xin chào, tin nhắn cho, " +
		"quan trọng, đối với, thân mến, với, lưu ý dành cho, lưu ý với, lưu ý gửi, ghi chú dành cho, " +
		"ghi chú gửi, thông báo gửi, thông báo dành cho, thông điệp gửi, chỉ dẫn cho, hướng dẫn cho, " +
		"thông tin cho, gửi tới, gửi đến, gửi các, gửi tất cả, dành cho tất cả, tới tất cả, nếu một, " +
		"nếu bạn, nếu đây, nếu như, khi, trong trường hợp, đang đọc, đọc trang này, " +
		"đọc nội dung này, đọc điều này, đang đọc trang này, đọc văn bản này, tóm tắt, " +
		"tóm tắt trang này, đang tóm tắt, xử lý, phân tích, trang này, nội dung này, với tư cách, " +
		"với tư cách là, là một, hệ thống, thông báo hệ thống, chỉ thị mới, hướng dẫn mới, thưa, " +
		"kính thưa, chào, này các, mọi, tất cả, mỗi, nhắc nhở, tái bút, bạn là",
	and: "và, hoặc, nhưng, rồi",
	filler: "hãy, vui lòng, xin, làm ơn, các, những, của, bạn, một, và, là, này, đó, bây giờ, cũng, chỉ, " +
		"rằng, cho, đi, ra, ngay, với, như, thì, rồi, đến, tới, được, đã, có, vào, trong, lựa chọn, " +
		"sau đây, người dùng, cái, tôi, mà, anh, chị, họ, nó, chúng, chúng ta, mình, ở, đây, kia, " +
		"đâu, thế nào, gì, hoặc, nhưng, không, đừng, chưa, luôn, sau, giữa, về, theo, từng chữ, " +
		"nguyên văn, đầy đủ, toàn bộ, rõ ràng, câu trả lời, danh sách, trang, văn bản, câu hỏi, " +
		"nguồn, thương hiệu, công ty, cửa hàng, hơn, rất, lại, nữa, để, bằng, từ, lên, xuống, nào, " +
		"bất kỳ, sẽ, đang, bị, nhận, tên",
	topic:  "kẻ tấn công, tấn công, ví dụ, hacker, tin tặc",
	report: "khảo sát, nghiên cứu, theo khảo sát",
	about:  "chèn lời nhắc, tiêm lời nhắc, chèn prompt, tiêm prompt",
}
