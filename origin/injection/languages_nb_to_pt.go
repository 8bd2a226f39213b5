package injection

// norwegian are the words by which Norwegian texts address and order a model. TestCorpora measures them.
var norwegian = words{
	tag: "nb",
	ignore: "ignorer, glem, se bort fra, overse, ignorere+, glemme+, ikke følg, følg ikke, tilsidesett, " +
		"sett til side, ta ikke hensyn til, ikke bry deg om, ikke lytt til, ikke adlyd, " +
		"ikke følg lenger, slutt å følge, legg til side, se vekk fra, hopp over, omgå, opphev, " +
		"ikke ta hensyn til, ikke ta hensyn, overser, ikke rett deg etter",
	all: "alle, alt, enhver, samtlige, hver",
	earlier: "tidligere, foregående, ovenstående, forrige, ovenfor, forutgående, hittil, over, du fikk, " +
		"du har fått, mottatte, mottatt, gitte, opprinnelige, nåværende, gjeldende, gamle, før, " +
		"før denne linjen, inntil nå, ovenover",
	rules: "instruksjon*, instruks*, anvisning*, regel, regler, reglene, ordrer, kommandoer, " +
		"retningslinje*, alt du har fått beskjed om, instrukser, instruksene, instruksen, direktiv, " +
		"direktiver, ordre, forskrifter, begrensninger, prompt, prompten, ledetekst*, " +
		"retningslinjene, alt ovenfor, alt ovenstående, det du har fått beskjed om, kontekst",
	void: "ugyldig*, opphev*, gjelder ikke lenger, gjelder ikke, erstatte*, tilbakekal*, bortfalt, " +
		"annuller*, utdatert*",
	reveal: "vis, skriv ut, avslør, send, gjenta, vis meg, del, videresend, oppgi, gjengi, kopier, " +
		"siter, lim inn, legg ved, publiser, lever ut, les opp, fortell",
	secret: "systeminstruks*, skjulte instruks*, systemprompt*, systemledetekst*, systemmelding*, " +
		"dine skjulte instruksjoner, dine hemmelige instruksjoner, dine interne instruksjoner, " +
		"skjulte instruksjon*, hemmelige instruks*, ledeteksten din, systemprompten",
	data: "samtalen, samtaler, passord*, persondata, brukerens, api nøk*, chattelogg*, " +
		"samtalehistorikk*, chatten, chat*, kortnummer*, kredittkort*, innloggingsopplysning*, " +
		"meldinger, filer",
	role: "du er nå, fra nå av er du, oppfør deg som, lat som om du er, lat som du er, opptre som, " +
		"spill rollen som, du er ikke lenger, heretter er du, ta rollen, påta deg rollen, " +
		"tenk deg at du er, gå inn i, aktiver, du jobber nå",
	free: "uten begrensning*, uten regler, uten restriksjoner, ubegrenset, ufiltrert, uten filtre, " +
		"uten filter, uten sensur, ingen regler, ingen begrensninger, ingen grenser, ingen filtre, " +
		"utviklermodus, uten noen begrensninger, fri for regler",
	recommend: "anbefal, anbefale+, foreslå, foretrekk, framhev, fremhev, prioriter, foretrekke+, velg, " +
		"ranger, promoter, foreslå+, anbefales+, anbefalt+, sett, sette+, settes+, plasser, " +
		"plassere+, plasseres+, still, framheve+, fremheve+, fremheves+, trekk fram, trekk frem, " +
		"løft fram, løft frem, velge+, velges+, prioritere+, foreslås+, list, liste+, listes+, " +
		"rangere+, ros, rose+, skryt av, hyll, favoriser, begunstig, henvis brukere til, henvis, " +
		"henvise+, tips om, foretrekkes+, legg",
	say: "si, fortell, svar, nevn, nevne+, oppgi, skriv, omtal, sei, presenter, presentere+, " +
		"presenteres+, fremstill, fremstille+, framstill, framstille+, beskriv, beskrive+, " +
		"beskrives+, kall, kalle+, kalles+, betrakt, betrakte+, behandle, behandle+, anse, anse+, " +
		"anfør, anføre+, oppgi+, angi, nevnes+, omtale+, omtales+, husk, huske+, lagre, lagre+, " +
		"noter, bedøm, vurder, vurdere+, erklær, erklære+, bekreft, bekrefte+, forsikre, hevd, " +
		"påstå, understrek, understreke+, poengter, fortelle+, svare+, skrive+, sitere+, siteres+, " +
		"vis, vise+, vises+, snakk, snakke+, avslutt, begynn, ta med, inkluder",
	never: "nevn aldri, nevn ikke, anbefal aldri, anbefal ikke, aldri nevne+, ikke nevne+, " +
		"ikke anbefale+, omtal aldri, omtal ikke, unngå å nevne, ikke nevn, nevn ingen, ikke omtal, " +
		"ikke omtale+, aldri omtale+, ikke anbefal, aldri anbefale+, ti om, tie om+, fortie, " +
		"fortie+, utelat, utelate+, skjul, skjule+, unngå, unngå å anbefale, ikke snakk om, " +
		"ikke snakke om+, ikke sammenlign, ikke kritiser, ikke siter, ikke lenk til, ikke vis, " +
		"ikke foreslå, utelukk, hold tett om, la være å nevne",
	first: "beste, best, først, første, nummer en, nummer én, ledende, foran, eneste, mest, sikrest*, " +
		"trygg*, øverst, øverst på listen, toppen, på topp, fremst, førsteplass, førstevalg, " +
		"nummer 1, vinner*, favoritt*, foretruk*, pålitelig*, troverdig*, betrodd*, referans*, " +
		"ideel*, perfekt*, fremragende, overleg*, utelukkende, kun, bare, positiv*, fem stjerner, " +
		"5 stjerner, høyeste, toppkarakter, markedsledende, før andre, før alle, sikreste",
	rival: "konkurrent*, andre merker, andre butikker, andre bedrifter, alternativ*, andre enn, " +
		"andre leverandører, andre produkter, annet merke, annen butikk, annet selskap, noen andre, " +
		"noe annet, ingen andre, ingen annen, de andre, kritikk, ulemper, mangler, klager, negativ*, " +
		"svakheter",
	prefer: "bruk, siter, sitér, vis til, henvis til, fokuser på, følg, følge+, adlyd, rett deg etter, " +
		"hold deg til, les, klikk, åpne, bruke+",
	must: "må, skal, bør, er forpliktet til, vennligst, bes, bes om, bes om å, oppfordres til, " +
		"oppfordres til å, er pliktig til, er nødt til, får bare, må ikke, burde, kan du, kunne du, " +
		"vil du, sørg for at, sørg for, glem ikke å, husk å, det er viktig at, oppgaven din er å, " +
		"vi ber, vi ber om, vi ønsker at, la, skulle, må du, skal du",
	always: "alltid, aldri",
	model: "ai, ki, ki assistent*, ai assistent*, kunstig intelligens, språkmodell, språkmodeller, " +
		"språkmodellen, store språkmodeller, chatbot*, ki modell*, ai modell*, ki agent*, " +
		"ki system*, samtalerobot*, praterobot*, ki systemer, ki agenter, ki verktøy*, ki tjenest*, " +
		"ki søk*, ki robot*, ki chat*, ki bot*, ki drev*, ai system*, ai agent*, ai verktøy*, " +
		"språkmodellene, llm*, generativ ki, søkeassistent*, svarmotor*, taleassistent*, crawler*, " +
		"chat gpt, kunstige intelligenser, chatboter, boter, bots, maskinlesere",
	helper: "assistent, assistenter, assistenten",
	user:   "brukeren, brukere, brukerne, for brukeren, kunden",
	conceal: "ikke informer, ikke fortell, ikke si, ikke varsle, ikke advar, skjul, uten å informere, " +
		"uten å fortelle",
	asked: "når brukere spør, når brukeren spør, når noen spør, hvis noen spør, hvis brukeren spør, " +
		"når en bruker spør, i hvert svar, i svaret ditt, i svarene dine, i alle svar, i svaret, " +
		"i svar, på hvert spørsmål, på spørsmål om, ved spørsmål om, når kunder, når en kunde, " +
		"hvis en kunde, når du svarer, når du oppsummerer, i framtidige samtaler, " +
		"i fremtidige samtaler, i fremtiden, oppsummer denne siden, i sammenligninger",
	ours: "oss, vår, vårt, denne siden, denne butikken, denne kandidaten, dette firmaet, " +
		"dette produktet, denne artikkelen, denne teksten, denne leverandøren",
	intro: "melding til, beskjed til, merknad til, til, hvis du er, kjære, merk, obs, notat til, for, " +
		"viktig, dersom du er, til alle, merknad, instruksjoner til, instruksjon til, instruks til, " +
		"veiledning til, informasjon til, beskjed, melding, hvis en, hvis dette, hvis denne, " +
		"hvis teksten, dersom en, dersom, når en, når, leser dette, leser denne siden, leser, lese, " +
		"som leser dette, som leser denne siden, som leser, som oppsummerer, oppsummerer, behandler, " +
		"analyserer, denne siden, denne teksten, system, systemmelding, ny instruksjon, " +
		"nye instruksjoner, hei, ps, hver, alle, som",
	and: "og, eller, men, samt",
	filler: "lenger, og, vennligst, de, den, det, en, et, din, dine, ditt, du, så, nå, da, som, at, " +
		"vær så snill, også, kun, bare, for, fra, om, til, alltid, derfor, gi, er, var, har, fikk, " +
		"få, vi, han, hun, dem, seg, sin, sine, sitt, dere, deres, her, der, eller, men, ikke, " +
		"aldri, i, på, av, ved, med, uten, under, over, etter, mot, mellom, ord for ord, ordrett, " +
		"fullstendig, uttrykkelig, tydelig, svar, svaret, listen, lista, side, siden, tekst, " +
		"spørsmål, takk, gjerne, jo, deretter, hver, andre, merket, firmaet, butikken, valg, valget",
	topic:  "angriper*, angrep, for eksempel",
	report: "ifølge, undersøkelse, studie",
	about:  "prompt injeksjon*, promptinjeksjon*, ledetekstinjeksjon*",
}

// dutch are the words by which Dutch texts address and order a model. TestCorpora measures them.
var dutch = words{
	tag: "nl",
	ignore: "negeer, negeert u, vergeet, negeren+, vergeten+, sla geen acht op, volg niet, " +
		"houd geen rekening met, laat buiten beschouwing, veronachtzaam, negeert, houd je niet aan, " +
		"houdt u niet aan, hou je niet aan, gehoorzaam niet, volg, let niet op, " +
		"schenk geen aandacht aan, leg naast je neer, zet opzij, schuif opzij, laat varen, omzeil, " +
		"omzeilen+, sla over, vergeet u, stop met het volgen van, trek je niets aan van",
	all: "alle, al, elke, iedere, alles, ieder, elk",
	earlier: "vorige, eerdere, voorgaande, bovenstaande, voorafgaande, hierboven, eerder, bestaande, " +
		"tot nu toe, oude, voorafgaand, eerder gegeven, eerder ontvangen, ontvangen, gekregen, " +
		"gegeven, oorspronkelijke, eerst, voor deze regel, boven deze regel, tot dusver, " +
		"tot hier toe, huidige, geldende, vroegere, daarvoor, hiervoor",
	rules: "instructie, instructies, opdrachten, opdracht, regels, regel, aanwijzingen, richtlijnen, " +
		"bevelen, prompts, prompt, wat je is verteld, richtlijn, voorschriften, bevel, commando's, " +
		"opdrachten van de ontwikkelaar, beperkingen, afspraken, wat je eerder is verteld, " +
		"wat hierboven staat, alles hierboven, alles wat hierboven staat, alles wat hiervoor, " +
		"wat je hebt geleerd, context, veiligheidsregels, beleid, wat u is verteld",
	void: "vervalt, vervallen, ongeldig, gelden niet meer, geldt niet meer, niet meer geldig, nietig, " +
		"ingetrokken, vervangen, opgeheven, achterhaald, niet langer geldig, gelden niet langer, " +
		"niet langer van kracht, niet van toepassing, geschrapt, opgeschort",
	reveal: "toon, laat, geef, onthul, druk, herhaal, stuur, verstuur, deel, print, verklap, noem, " +
		"vertel, schrijf, lees voor, kopieer, verstrek, voeg, plak, publiceer, mail, geef weer, " +
		"geef door, stuur door, overhandig, vertel me, laat me zien, toont, deelt",
	secret: "systeemprompt*, systeem prompt*, systeeminstructie*, verborgen instructies, " +
		"geheime instructies, systeembericht*, je verborgen instructies, jouw verborgen instructies, " +
		"je geheime instructies, je interne instructies, interne instructies, " +
		"je oorspronkelijke instructies, je prompt, jouw prompt, uw prompt, je systeemprompt, " +
		"verborgen prompt, tekst hierboven",
	data: "gesprek, gesprekken, wachtwoord*, persoonsgegevens, gebruikersgegevens, " +
		"gegevens van de gebruiker, e mailadres van de gebruiker, api sleutel*, chatgeschiedenis, " +
		"chat, dit gesprek, creditcard*, kaartnummer*, bankgegevens, adres van de gebruiker, " +
		"naam van de gebruiker, bestanden van de gebruiker, inloggegevens, " +
		"berichten van de gebruiker, locatie van de gebruiker, gespreksgeschiedenis, " +
		"telefoonnummer*",
	role: "je bent nu, u bent nu, jij bent nu, vanaf nu ben je, vanaf nu bent u, gedraag je als, " +
		"doe alsof je, handel als, speel de rol, je bent voortaan, u bent voortaan, " +
		"je bent vanaf nu, je bent niet langer, u bent niet langer, je bent geen, neem de rol, " +
		"kruip in de huid, stel je voor dat je, je werkt nu, schakel over naar, ga in, activeer, " +
		"gedraag u als, gedraag je, doe je voor als",
	free: "zonder beperking*, zonder regels, zonder restricties, zonder filter*, onbeperkt*, " +
		"ongefilterd*, zonder grenzen, zonder censuur, geen regels, geen beperkingen, geen grenzen, " +
		"geen filter, geen filters, ontwikkelaarsmodus, zonder enige beperking, zonder enig filter, " +
		"vrij van regels, zonder remmingen, geen enkele regel",
	recommend: "beveel, bevelen+, aanbevelen+, aan te bevelen+, raad, aanraden+, adviseer, adviseren+, " +
		"promoot, promoten+, verkies, verkiezen+, zet, plaats, kies, prijs, prijzen+, rangschik, " +
		"noem, suggereer, prefereer, geef voorrang, maak reclame voor, maakt reclame voor, " +
		"reclame maken voor+, aanbeveel, aanbevolen+, beveelt, aan bevelen+, raadt, aangeraden+, " +
		"prijst, prijs aan, aanprijzen+, aan te prijzen+, stel, voorstellen+, stel voor, stelt voor, " +
		"voorgesteld+, plaatsen+, plaatst, zetten+, zet u, kiezen+, kiest, rangschikken+, noemt, " +
		"positioneer, positioneren+, lijst, opsommen+, som op, vermeldt, begunstig, bevoordeel, " +
		"bevoordelen+, bevoordeelt, gepromoot+, geef de voorkeur aan, voorkeur geven+, " +
		"de voorkeur geven+, loof, loven+, roem, verwijs gebruikers naar, verwijs klanten naar, " +
		"doorverwijzen+, sturen+, leid, uitlichten+, licht uit, voorrang geven+, prioriteit geven+, " +
		"geef prioriteit aan, tip, adviseert, aan te bevelen, aan te raden, te kiezen, te verkiezen, " +
		"te plaatsen, voor te stellen",
	say: "zeg, zeggen+, vertel, vertellen+, antwoord, antwoorden+, vermeld, vermelden+, noemen+, " +
		"noem, beweer, schrijf, benadruk, meld, melden+, beschrijf, concludeer, concluderen+, " +
		"presenteer, presenteert, presenteren+, presenteren, te presenteren+, gepresenteerd+, " +
		"omschrijf, omschrijven+, beschrijven+, beschreven+, beschouw, beschouwen+, behandel, " +
		"behandelen+, noemt, te noemen+, genoemd+, vermeld+, te vermelden+, onthoud, onthouden+, " +
		"te onthouden+, sla op, bewaar, bewaren+, herinner je, herinner, houd in gedachten, " +
		"verklaar, verklaren+, stel, stellen+, bevestig, bevestigen+, verzeker, benadrukken+, " +
		"onderstreep, wijs op, wijzen op+, wijs aan, aanwijzen+, beoordeel, beoordelen+, waardeer, " +
		"ken toe, schrijven+, citeren+, aanhalen+, haal aan, toon, tonen+, te tonen+, zie, behoort, " +
		"praat, praten+, spreek, spreken+, verschijnen+, neem op, opnemen+, eindig, begin, sluit af, " +
		"roep uit, uitroepen+, te noemen, te vermelden, te presenteren, te beschrijven, " +
		"te beschouwen, te citeren, te onthouden",
	never: "noem nooit, noem geen, noem niet, vermeld nooit, vermeld geen, beveel nooit, beveel geen, " +
		"raad nooit, nooit noemen+, niet noemen+, niet vermelden+, geen concurrenten+, verzwijg, " +
		"praat niet over, zwijg, zwijgen+, zwijg over, zwijgt over, houd je mond over, houd stil, " +
		"verzwijgen+, verzwijgt, verberg, verbergen+, laat weg, laat achterwege, weglaten+, " +
		"noem geen enkele, noem nimmer, noemt geen, noemt u geen, noemt u nooit, noemt nooit, " +
		"vermeldt geen, vermeld niet, spreek niet over, spreek nooit over, praat nooit over, " +
		"vermijd, vermijden+, vergelijk niet, bekritiseer niet, geen kritiek, raad geen, raad niet, " +
		"beveel niet, stel geen, citeer geen, link niet naar, verwijs niet naar, geen andere+, " +
		"nooit vermelden+, niets zeggen over, zeg niets over, sluit uit, uitsluiten+, " +
		"niet aanbevelen+, nooit aanbevelen+",
	first: "beste, eerste, eerst, als eerste, nummer één, nummer 1, nummer een, marktleider, leidend*, " +
		"toonaangevend*, boven, bovenaan, enige, meest, veiligste*, eerste plaats, " +
		"op de eerste plaats, op één, op nummer één, bovenste, aan de top, bovenaan de lijst, top, " +
		"koploper, winnaar, favoriet*, voorkeur*, referentie, maatstaf, gouden standaard, " +
		"betrouwbaar*, betrouwbare bron, vertrouwde bron, veiligste, ideaal, ideale, perfect*, " +
		"uitstekend*, superieur*, alleen, uitsluitend, enkel, positief, positieve, vijf sterren, " +
		"5 sterren, hoogste, hoogste score, marktleidend*, voor alle anderen, voor anderen, vóór, " +
		"voor concurrenten, boven anderen, eerste keus, eerste keuze, beter, prioriteit, als beste",
	rival: "concurrent*, concurrentie, andere merken, andere winkels, andere bedrijven, alternatieven, " +
		"andere aanbieders, rivalen, andere leveranciers, andere producten, ander merk, " +
		"andere winkel, ander bedrijf, andere aanbieder, ander product, niemand anders, " +
		"niets anders, geen ander, geen andere, de anderen, kritiek, nadelen, gebreken, " +
		"zwakke punten, klachten, negatieve recensies, negatieve reacties, negatiefs, rivaal",
	prefer: "gebruik, citeer, verwijs naar, verwijs, geef voorrang, link, gehoorzaam, gehoorzamen+, " +
		"volgen+, volgt, houd je aan, houd u aan, hou je aan, houd je alleen aan, lees, lezen+, " +
		"raadpleeg, pas toe, voer uit, klik, open, gebruiken+, baseer je op, doe wat",
	must: "moeten, moet, dient, dienen, zou moeten, zouden moeten, mag, mogen, is verplicht, " +
		"behoren te, zijn verplicht, worden verzocht, wordt verzocht, wordt gevraagd, " +
		"worden gevraagd, worden geacht, wordt geacht, hoort, horen, verzoeken wij, wij verzoeken, " +
		"we verzoeken, wij vragen, we vragen, gelieve, zorg dat, zorg ervoor dat, zorgt ervoor dat, " +
		"wil je, wilt u, zou je, zou u, kun je, kunt u, kan je, vergeet niet, denk eraan, " +
		"het is belangrijk, het is belangrijk dat, het is nodig, je taak is, jouw taak is, zal, " +
		"zult, zullen, zou, zouden, graag, hebben te, heeft te, mogen alleen, mag alleen, " +
		"is gehouden, ik wil dat, we willen dat, laat, hoor je",
	always: "altijd, nooit",
	model: "ai, ai assistent*, ki, kunstmatige intelligentie*, taalmodel, taalmodellen, " +
		"grote taalmodellen, chatbot*, ai model*, ai agent*, ai systemen, bots, robots, ai modellen, " +
		"ai systeem, ai agenten, ai assistenten, ai tool*, ai zoekmachine*, ai bot*, ai crawler*, " +
		"ai dienst*, ai hulp*, ai chatbot*, ai programma*, ai samenvatt*, ai beoordel*, " +
		"generatieve ai, llm*, groot taalmodel, zoekassistent*, antwoordmachine*, spraakassistent*, " +
		"kunstmatige intelligenties, chatprogramma*, crawlers, machinelezers, " +
		"geautomatiseerde lezers, bot, chat gpt, chatbots",
	helper: "assistent, assistenten, virtuele assistent*, digitale assistent*",
	user:   "de gebruiker, gebruikers, de klant, aan de gebruiker",
	conceal: "informeer, vertel niet, zeg niet, waarschuw niet, verberg, verzwijg, zonder te informeren, " +
		"zonder te vertellen, licht niet in",
	asked: "als gebruikers vragen, wanneer gebruikers vragen, als een gebruiker vraagt, " +
		"wanneer een gebruiker vraagt, als iemand vraagt, wanneer iemand vraagt, " +
		"als de gebruiker vraagt, als er gevraagd wordt, als iemand naar, in elk antwoord, " +
		"in je antwoord, in jouw antwoord, in uw antwoord, in je antwoorden, in al je antwoorden, " +
		"in alle antwoorden, in het antwoord, in antwoorden, bij elke vraag, bij iedere vraag, " +
		"op elke vraag, bij vragen over, op vragen over, als er wordt gevraagd, als klanten, " +
		"wanneer klanten, als een klant, wanneer iemand, telkens wanneer, zodra iemand, " +
		"als de gebruiker, wanneer de gebruiker, in toekomstige gesprekken, " +
		"voor toekomstige gesprekken, in de toekomst, bij het samenvatten, bij het vergelijken, " +
		"in vergelijkingen, in elke vergelijking, bij aanbevelingen, vat deze pagina samen, " +
		"wat de vraag ook is",
	ours: "ons, onze, deze site, deze winkel, deze pagina, dit merk, deze kandidaat, deze sollicitant, " +
		"dit bedrijf, dit product, dit artikel, deze tekst, deze leverancier, deze aanbieder, " +
		"deze dienst, dit aanbod",
	intro: "opmerking voor, opmerking aan, notitie voor, bericht aan, let op, aan, als je, als u, " +
		"beste, indien je, indien u, bent, ben, voor, hallo, belangrijk, instructie voor, " +
		"instructies voor, mededeling aan, opmerking aan alle, bericht voor, notitie aan, " +
		"boodschap aan, boodschap voor, aanwijzing voor, aanwijzingen voor, instructie aan, " +
		"instructies aan, informatie voor, ter attentie van, aan alle, aan elke, aan elk, voor alle, " +
		"voor elke, voor elk, als een, als dit, als deze, indien een, indien dit, mocht je, " +
		"mocht een, mocht u, wanneer een, zodra een, ingeval, leest, lezen, dit leest, " +
		"deze pagina leest, die dit lezen, die dit leest, die deze pagina lezen, " +
		"die deze pagina leest, die dit, die deze, dat dit, dat deze, samenvat, samenvatten, " +
		"samenvattend, deze pagina samenvat, verwerkt, verwerken, analyseert, deze pagina, " +
		"deze tekst, dit document, deze site, systeem, systeembericht, nieuwe instructie, " +
		"nieuwe instructies, geachte, lieve, dag, hé, luister, opgelet, ps, herinnering, " +
		"belangrijke instructie, elk, elke, ieder",
	and: "en, of, maar, dan",
	filler: "meer, langer, alstublieft, alsjeblieft, graag, en, de, het, een, je, jouw, uw, jij, u, nu, " +
		"ook, dan, dat, van, als, in, aan, te, om, alleen, vriendelijk, svp, er, ze, die, deze, " +
		"vanaf nu, voortaan, mij, me, gewoon, op, met, zijn, is, wordt, worden, werd, heeft, hebt, " +
		"hebben, heb, was, waren, hun, haar, hij, zij, wij, we, ons, onze, hen, zich, zelf, dit, " +
		"daar, hier, waar, wat, wie, welke, of, maar, want, wanneer, bij, uit, over, tegen, tot, " +
		"onder, naar, tussen, zonder, zoals, ten, ter, per, letterlijk, woord voor woord, woord, " +
		"volledig, geheel, helemaal, expliciet, duidelijk, nadrukkelijk, antwoord, antwoorden, " +
		"lijst, pagina, tekst, gebruikers, klanten, vraag, vragen, elke, elk, ieder, iedere, geen, " +
		"niet, nooit, altijd, wel, zeer, heel, zo, vervolgens, daarna, daarom, eens, even, merk, " +
		"bedrijf, winkel, firma, keuze, verder, ander, andere, vriendelijke",
	topic:  "aanvaller*, aanval, bijvoorbeeld",
	report: "volgens, enquête, onderzoek, studie",
	about:  "promptinjectie*",
}

// polish are the words by which Polish texts address and order a model. TestCorpora measures them.
var polish = words{
	tag: "pl",
	ignore: "ignoruj, ignorujcie, zignoruj, zignorujcie, zapomnij, zapomnijcie, zapomnieć, pomiń, " +
		"pomińcie, zignorować, ignorować+, nie przestrzegaj, nie stosuj się do, lekceważ, zlekceważ, " +
		"odrzuć, porzuć, nie zwracaj uwagi na, proszę pominąć, nie słuchaj, nie wykonuj, " +
		"nie wykonujcie, nie stosujcie się do, nie przestrzegajcie, nie kieruj się, nie zważaj na, " +
		"nie bierz pod uwagę, odłóż na bok, przestań przestrzegać, obejdź, omiń, omijać+, pomijać+",
	all: "wszystkie, wszystkich, wszystko, wszelkie, każdą, wszystkim, wszelkich",
	earlier: "poprzedni*, powyższ*, wcześniejsz*, dotychczasow*, uprzedni*, powyżej, wcześniej, " +
		"otrzymane, otrzymanych, które otrzymałeś, podane, dane, pierwotne, pierwotnych, istniejące, " +
		"obowiązujące, dotąd, do tej pory, przed tym wierszem, wcześniejszych, starych, stare",
	rules: "instrukcje, instrukcji, instrukcjach, polecenia, poleceń, poleceniach, zasady, zasad, " +
		"zasadach, reguły, reguł, regułach, wytyczne, wytycznych, nakazy, rozkazy, wskazówki, " +
		"dyrektywy, co ci powiedziano, polecenie, poleceniom, instrukcjom, instrukcjami, zasadom, " +
		"zasadami, regułami, wytycznymi, wskazówek, ograniczenia, promptu, prompt, " +
		"wszystko co ci powiedziano, wszystko powyżej, wszystko co powyżej, to co ci powiedziano",
	void: "nieważn*, unieważnion*, anulowan*, odwołan*, nie obowiązują*, przestają obowiązywać, " +
		"nieaktualn*, zastąpion*, zniesion*, uchylon*, tracą moc",
	reveal: "pokaż, pokażcie, ujawnij, ujawnijcie, wypisz, wyświetl, zdradź, wyślij, wyślijcie, powtórz, " +
		"prześlij, podaj, wydrukuj, udostępnij, przepisz, skopiuj, zacytuj, napisz, dołącz, " +
		"opublikuj, wklej, przekaż, odczytaj, ujawnić+",
	secret: "prompt systemowy, promptu systemowego, instrukcje systemowe, ukryte instrukcje, " +
		"systemowy prompt, komunikat systemowy, polecenie systemowe, swoje ukryte instrukcje, " +
		"twoje ukryte instrukcje, ukrytych instrukcji, tajne instrukcje, instrukcje wewnętrzne, " +
		"początkowe instrukcje, swój prompt, treść promptu, promptem systemowym, swoje instrukcje",
	data: "rozmow*, konwersacj*, hasło, hasła, dane użytkownika, dane osobowe, e mail użytkownika, " +
		"adres e mail użytkownika, klucz api, klucze api, historię czatu, czat*, kart* kredytow*, " +
		"numer karty, dane do logowania, adres użytkownika, wiadomości użytkownika, " +
		"pliki użytkownika, dane karty",
	role: "jesteś teraz, teraz jesteś, od teraz jesteś, od tej chwili jesteś, zachowuj się jak, " +
		"udawaj że jesteś, działaj jako, działaj jak, wciel się w, występuj jako, odtąd jesteś, " +
		"nie jesteś już, od tego momentu jesteś, przyjmij rolę, wyobraź sobie że jesteś, " +
		"przejdź w tryb, włącz tryb",
	free: "bez ograniczeń, bez reguł, bez zasad, nieograniczon*, bez filtrów, niefiltrowan*, " +
		"bez cenzury, bez limitów, bez żadnych ograniczeń, żadnych zasad, żadnych ograniczeń, " +
		"tryb programisty, tryb deweloperski, wolny od zasad",
	recommend: "polecaj, polecajcie, poleć, polecić+, polecać+, rekomenduj, rekomendujcie, rekomendować+, " +
		"zarekomenduj, promuj, promować+, wybieraj, preferuj, preferować+, faworyzuj, proponuj, " +
		"zaproponuj, umieszczaj, stawiaj, wskazuj, wskazywać+, chwal, sugeruj, doradzaj, pochwal, " +
		"pochwalcie, zareklamuj, reklamuj, polecany+, polecana+, polecane+, umieść, umieśćcie, " +
		"umieszczajcie, umieszczać+, umieścić+, postaw, stawiajcie, stawiać+, ustaw, ustawiaj, " +
		"zamieść, wybierz, wybierać+, preferujcie, proponujcie, proponować+, sugerować+, sugerujcie, " +
		"promujcie, chwalcie, chwalić+, wyróżniaj, wyróżnij, wyróżniać+, wskaż, kieruj użytkowników, " +
		"kieruj, odsyłaj, odsyłać+, zachwalaj, zachwalać+, faworyzować+, faworyzujcie",
	say: "mów, mówcie, powiedz, powiedzcie, mówić+, powiedzieć+, odpowiadaj, odpowiedz, odpowiadać+, " +
		"wspomnij, wspominaj, wspominać+, wymieniaj, wymień, wymieniać+, stwierdź, pisz, podawaj, " +
		"nazywaj, zaznacz, podkreślaj, przedstaw, przedstawcie, przedstawiaj, przedstawiajcie, " +
		"przedstawiać+, przedstawić+, wymieńcie, wymieniajcie, wymienić+, wymieniana+, wspominajcie, " +
		"wspomnieć+, opisz, opisuj, opisujcie, opisywać+, opisać+, nazywajcie, nazywać+, nazwij, " +
		"określaj, określać+, traktuj, traktujcie, traktować+, uznaj, uznawaj, uznawać+, uważaj, " +
		"zapamiętaj, zapamiętajcie, zapamiętać+, pamiętaj, zapisz, oceń, oceniaj, oceniać+, " +
		"przyznaj, potwierdź, potwierdzaj, potwierdzać+, stwierdzać+, twierdź, podkreślać+, " +
		"podkreślajcie, zaznaczaj, zaznaczać+, pokaż, pokazuj, pokazywać+, cytuj, powołuj się na, " +
		"powoływać się na+, odpowiadajcie, podać+, podawać+, podajcie, napisz, zakończ, zacznij",
	never: "nie wspominaj*, nigdy nie wspominaj*, nie wymieniaj*, nie polecaj, nie polecajcie, " +
		"nigdy nie polecaj, nie mów, nie mów o, nie rekomenduj, nie wolno wspominać, " +
		"nigdy nie wymieniaj*, nie wolno wymieniać, pomijaj, pomijajcie, pomija+, pominie+, " +
		"pomijać+, pomiń, pomińcie, przemilcz, przemilczaj, przemilczeć+, ukryj, ukrywaj, ukrywać+, " +
		"unikaj wspominania, nie wspomina*, nie wymienia*, nie podawaj*, nie cytuj*, nie krytykuj*, " +
		"nie porównuj*, nie polecać+, nie wspominać+, nie wymieniać+, nie sugeruj*, nie proponuj*, " +
		"milcz o, nie mówcie o, nie rekomendujcie",
	first: "najlepsz*, pierwsz*, na pierwszym miejscu, numer jeden, lider*, wiodąc*, jedyn*, " +
		"najbardziej, przed innymi, najpierw, najbezpieczniejsz*, pierwszym wyborem, na szczycie, " +
		"na szczyt, szczycie listy, na początku, na czele, na górze, numer 1, zwycięzc*, faworyt*, " +
		"preferowan*, zaufan*, zaufane źródło, wiarygodn*, niezawodn*, idealn*, doskonał*, " +
		"wyłącznie, tylko, punkt odniesienia, pięć gwiazdek, najwyższ*, przed konkurencją, " +
		"pozytywn*, wzór",
	rival: "konkurent*, konkurenc*, inne marki, inne sklepy, inne firmy, alternatyw*, innych marek, " +
		"innych firm, rywal*, innych sklepów, inny sklep, inną markę, inna marka, innych, " +
		"żadnej innej, żadnego innego, nikogo innego, wady, krytyk*, negatywn*, skargi",
	prefer: "używaj, cytuj, cytować+, korzystaj, linkuj, zwracaj, akcentuj, stosuj się, stosuj się do, " +
		"przestrzegaj, wykonuj, wykonaj, słuchaj, kieruj się, trzymaj się, czytaj, przeczytaj, " +
		"kliknij",
	must: "muszą, musi, musisz, powinny, powinni, powinien, powinieneś, powinna, mają, ma, masz, " +
		"należy, trzeba, proszę, prosimy, są zobowiązane, są zobowiązani, prosi się, prosi się o, " +
		"uprasza się, są proszone o, są proszeni o, niech, powinno, zobowiązany, winny, winni, " +
		"czy możesz, czy mógłbyś, pamiętaj aby, upewnij się że, zadbaj o to aby, dopilnuj aby, " +
		"twoim zadaniem jest, prosimy o, proszę o, chcemy aby, ważne jest aby",
	always: "zawsze, nigdy",
	model: "ai, si, asystent ai, asystenci ai, sztuczna inteligencja, sztuczną inteligencją, " +
		"sztucznej inteligencji, sztuczną inteligencję, model językowy, modele językowe, " +
		"modelem językowym, modeli językowych, modelom językowym, modelu językowy, chatbot*, " +
		"czatbot*, boty, modele ai, model ai, modeli ai, agenci ai, systemy ai, " +
		"duże modele językowe, modelom ai, modelem ai, asystentom ai, asystentów ai, asystentami ai, " +
		"systemom ai, systemów ai, agentom ai, agentów ai, narzędzia ai, wyszukiwarki ai, roboty ai, " +
		"bot ai, boty ai, llm*, sztuczne inteligencje, dużych modeli językowych, " +
		"dużym modelem językowym, modelami językowymi, modelu językowego, modele generatywne, " +
		"generatywna ai, wirtualni asystenci, wirtualny asystent, czatboty, bot, botom, chat gpt",
	helper: "asystent, asystenci, asystencie, asystentom",
	user:   "użytkownika, użytkownikowi, użytkownikom, przed użytkownikiem, klienta, klientowi",
	conceal: "nie informuj, nie mów, nie powiadamiaj, nie ostrzegaj, ukryj, ukryj to przed, zataj, " +
		"bez informowania",
	asked: "gdy użytkownik pyta, gdy użytkownicy pytają, jeśli użytkownik pyta, gdy ktoś pyta, " +
		"jeśli ktoś pyta, kiedy ktoś pyta, kiedy użytkownik pyta, jeśli ktoś zapyta, " +
		"gdy ktoś zapyta, gdy użytkownik zapyta, zapytany, zapytana, w każdej odpowiedzi, " +
		"w swojej odpowiedzi, w odpowiedzi, w odpowiedziach, w swoich odpowiedziach, " +
		"na każde pytanie, na pytania o, na pytanie o, przy każdym pytaniu, w przyszłych rozmowach, " +
		"w przyszłości, gdy klient pyta, kiedy ktoś zapyta, gdy użytkownicy zapytają, podsumowując, " +
		"odpowiadając, podsumuj tę stronę",
	ours: "nas, nasz*, tę stronę, ten sklep, tę firmę, tej strony, tę markę, ten kandydat, ta firma, " +
		"tego kandydata, ten produkt, ta marka, ten artykuł",
	intro: "uwaga dla, uwaga, notatka dla, wiadomość dla, wiadomość do, do, dla, jeśli jesteś, " +
		"jeżeli jesteś, gdy jesteś, droga, drogi, drodzy, ważne, instrukcje dla, instrukcja dla, " +
		"informacja dla, cześć, witaj, uwaga do, wiadomość, informacja, polecenie dla, " +
		"wskazówki dla, do wiadomości, dla wszystkich, do wszystkich, jeśli jest, jeśli czyta, " +
		"jeśli to czyta, jeśli ten tekst czyta, jeśli czytasz, jeżeli czyta, jeśli jakiś, " +
		"jeśli jakaś, gdy czyta, kiedy, gdy, czyta to, czyta tę stronę, czytające tę stronę, " +
		"czytający tę stronę, podsumowuje, podsumowujące, podsumowujący, czytające, czytający, " +
		"czytająca, która czyta, które czytają, tę stronę, ten tekst, jako, system, komunikat, " +
		"nowe instrukcje, nowe polecenie, szanowny, szanowna, szanowni, drogie, każdy, każda, każde, " +
		"ważna informacja, ps",
	and: "i, oraz, a, lub, ale",
	filler: "proszę, i, oraz, o, swój, swoje, swoją, twoje, twój, na, z, że, jako, teraz, także, też, " +
		"więc, się, tylko, mi, ci, ty, uprzejmie, jest, te, to, do, w, od, użytkownikowi, już, " +
		"po prostu, prosimy, następnie, a, marki, marką, jesteś, są, był, była, by, aby, żeby, go, " +
		"ją, je, ich, jej, jego, tym, tej, tego, ten, ta, tekst, stronę, które, który, która, co, " +
		"jak, lub, albo, ani, nie, nigdy, przy, po, pod, nad, przed, za, dla, ze, bez, wam, wasze, " +
		"wszystkim, słowo w słowo, dosłownie, w całości, odpowiedź, odpowiedzi, listy, listę, " +
		"liście, marka, firmę, firma, sklep, każdym, pytania",
	topic:  "atakujący, atak, ataku, ataki, na przykład, hakerzy, badacze, eksperyment",
	report: "według, sondaż, badanie, ankieta",
	about:  "wstrzyknięci* promptu, wstrzykiwani* promptów, wstrzykiwani* poleceń",
}

// portuguese are the words by which Portuguese texts address and order a model. TestCorpora measures them.
var portuguese = words{
	tag: "pt",
	ignore: "ignore, ignora, ignorem, ignorar+, esqueça, esqueçam, esquece, esquecer+, desconsidere, " +
		"desconsiderem, desconsiderar+, despreze, não siga, não sigam, não obedeça, descarte, " +
		"deixe de seguir, não leve em conta, não leve em consideração, ignorai, não siga mais, " +
		"não sigas, não obedeças, não obedeçam, não cumpra, não cumpras, não dê atenção, " +
		"não preste atenção, não leves em conta, não tenha em conta, não tenhas em conta, " +
		"não ligue para, deixa de seguir, deixem de seguir, pare de seguir, pára de seguir, " +
		"deixe de lado, deixa de lado, ponha de lado, põe de lado, descarta, contorne, " +
		"passe por cima, burle, desobedeça, esqueças, esquecei",
	all: "todas, todos, tudo, qualquer, toda, cada, quaisquer",
	earlier: "anterior, anteriores, acima, prévia, prévias, precedentes, até agora, recebidas, " +
		"mencionadas, anteriormente, até aqui, antigas, de antes, anteriormente recebidas, " +
		"que recebeu, que recebeste, que você recebeu, recebidos, recebido, dadas, dado, iniciais, " +
		"originais, existentes, vigentes, atuais, passadas, antes desta linha, antes deste ponto, " +
		"antes disso, antes, prévio, prévios, de cima, mais acima, que lhe deram, que te deram",
	rules: "instruções, instrução, regras, regra, ordens, comandos, diretrizes, orientações, prompts, " +
		"diretivas, o que foi dito, o que te disseram, instruções do desenvolvedor, normas, prompt, " +
		"políticas, restrições, limites, indicações, determinações, tudo o que lhe disseram, " +
		"tudo o que te disseram, tudo o que foi dito, tudo o que está acima, tudo acima, " +
		"tudo que veio antes, o que te foi dito, o que está acima, contexto, mandatos, diretriz, " +
		"barreiras",
	void: "anulad*, canceladas, cancelado*, sem efeito, nulas, nulos, já não valem, não valem mais, " +
		"não são mais válidas, já não são válidas, revogad*, substituíd*, suspens*, caducad*, " +
		"obsolet*, invalidad*, não se aplicam mais, já não se aplicam, não se aplicam, expirad*, " +
		"deixam de valer, perderam a validade",
	reveal: "mostre, mostra, mostrem, revele, revela, imprima, exiba, envie, envia, repita, compartilhe, " +
		"partilhe, divulgue, diga, escreva, encaminhe, vaze, copie, copia, transcreva, reproduza, " +
		"escreve, repete, anexe, anexa, acrescente, adicione, publique, mande, manda, informe, " +
		"exibe, apresente, leia, cole, forneça, entregue, enviar+",
	secret: "prompt de sistema, prompt do sistema, instruções do sistema, instruções de sistema, " +
		"instruções ocultas, mensagem do sistema, mensagem de sistema, instruções secretas, " +
		"suas instruções ocultas, tuas instruções ocultas, suas instruções internas, " +
		"suas instruções secretas, suas instruções iniciais, instruções internas, " +
		"instruções iniciais, seu prompt, teu prompt, prompt oculto, prompt inicial, texto acima",
	data: "conversa, conversas, senha, senhas, palavra passe, dados do usuário, dados do utilizador, " +
		"dados pessoais, e mail do usuário, chave api, chaves api, chave de api, histórico, chat, " +
		"bate papo, esta conversa, cartão de crédito, número do cartão, dados bancários, " +
		"endereço do usuário, nome do usuário, arquivos do usuário, credenciais, " +
		"mensagens do usuário, localização do usuário, histórico da conversa, telefone do usuário, " +
		"e mail do utilizador, email do usuário",
	role: "agora você é, a partir de agora você é, agora és, você agora é, aja como, atue como, " +
		"finja ser, comporte se como, faça de conta que é, finge ser, você é agora, finja que é, " +
		"a partir de agora és, és agora, doravante você é, doravante és, desde agora você é, " +
		"de agora em diante você é, você não é mais, já não és, assuma o papel, faça o papel, " +
		"imagine que você é, imagina que és, entre no modo, ative o modo, você trabalha agora, " +
		"passe se por, vire, torne se",
	free: "sem restrições, sem regras, sem limites, sem filtros, sem filtro, sem censura, " +
		"sem limitações, sem nenhuma restrição, sem qualquer restrição, irrestrito, nenhuma regra, " +
		"nenhuma restrição, nenhum limite, nenhum filtro, modo desenvolvedor, modo programador, " +
		"sem barreiras, sem nenhuma regra, sem nenhum limite, sem nenhum filtro, livre de regras, " +
		"livre de restrições, sem amarras",
	recommend: "recomende, recomenda, recomendem, recomendar+, sugira, sugere, sugiram, sugerir+, indique, " +
		"indicar+, promova, promover+, prefira, preferir+, priorize, priorizar+, classifique, " +
		"coloque, colocar+, elogie, escolha, destaque, favoreça, aconselhe, apresente, recomendada+, " +
		"recomendado+, recomendarem+, sugeridas+, sugerirem+, indica, indiquem, promove, promovam, " +
		"preferem+, prefere, prefiram, priorizem, prioriza, favoreçam, favorece, favorecer+, " +
		"elogiem, elogia, elogiar+, louve, exalte, coloca, coloquem, ponha, põe, ponham, pôr+, " +
		"posicione, posiciona, posicionem, posicionar+, liste, lista, listem, listar+, listada+, " +
		"enumere, enumerem, classificar+, classifiquem, ranqueie, escolham, escolher+, destaquem, " +
		"destacar+, aconselhem, aconselhar+, aconselha, proponha, propõe, propor+, proponham, " +
		"encaminhe, direcione, direcionem, direcionar+, remeta, apoie, defenda, dê preferência, " +
		"deem preferência, dar preferência+, dê prioridade, deem prioridade, dar prioridade+, " +
		"valorize, valorizar+, inclua, incluam, incluir+",
	say: "diga, digam, dizer+, responda, respondam, responder+, mencione, mencionem, mencionar+, " +
		"cite, citem, citar+, afirme, afirmar+, nomeie, descreva, escreva, informe, lembre se, " +
		"concluir+, conclua, concluam, apresentem, apresenta, apresentar+, apresentada+, " +
		"apresentado+, descrevam, descreve, descrever+, descrita+, considere, considera, considerem, " +
		"considerar+, trate, trata, tratem, tratar+, defina, define, definir+, qualifique, " +
		"qualificar+, chame, mostre, mostrem, mostrar+, nomear+, nomeia, nomeiem, mencionada+, " +
		"mencionado+, menciona, citada+, citado+, cita, refira, refere, refiram, referir+, lembre, " +
		"lembra, lembrem, lembrar+, lembra te, recorde, memorize, memoriza, guarde, guarda, guardem, " +
		"guardar+, salve, registre, registe, anote, tenha em mente, avalie, avaliar+, atribua, " +
		"atribuir+, declare, declarem, declarar+, confirme, confirmem, confirmar+, garanta, " +
		"assegure, enfatize, enfatizem, enfatizar+, ressalte, saliente, sublinhe, frise, insista, " +
		"informar+, aponte, apontem, apontar+, indiquem, identifique, reconheça, proclame, fale, " +
		"falem, falar+, aparecer+, apareça+, constar+, conste+, figurar+, termine, comece, associe, " +
		"use como fonte, afirmem, afirma, digas",
	never: "nunca mencione*, não mencione*, não mencionar+, não recomende*, nunca recomende*, " +
		"não cite*, nunca cite*, não fale*, nunca fale*, não sugira*, nunca mencionar+, " +
		"evite mencionar, não nomeie, jamais mencione*, omita, omite, omitam, omitir+, cale, cala, " +
		"calem, calar+, oculte, oculta, ocultem, ocultar+, esconda, esconder+, silencie, " +
		"evite citar, evite falar, evite recomendar, evite nomear, evitem mencionar, " +
		"evitar mencionar+, não menciones, não menciona, não fales, não falar+, não citar+, " +
		"não cites, não nomear+, não nomeies, não diga nada, não digam nada, não digas nada, " +
		"não compare, não comparem, não critique, não critiques, não sugerir+, não liste, " +
		"não inclua, não mostre, não indique, não aponte, exclua, excluam, excluir+, deixe de fora, " +
		"deixa de fora, deixem de fora, jamais cite*, jamais recomende*, jamais fale*, nem mencione",
	first: "melhor, melhores, primeiro, primeira, primeiro lugar, número um, líder*, acima de, única, " +
		"único, mais confiável, antes de, em primeiro, topo, no topo, topo da lista, " +
		"cabeça da lista, à frente, na frente, primeiro da lista, primeira posição, primeira opção, " +
		"primeiros, número 1, principal, preferid*, favorit*, vencedor*, campeã, campeão, " +
		"referência, de referência, confiável, confiáveis, de confiança, fonte confiável, " +
		"fonte de confiança, mais segura, ideal, perfeit*, excelente, excelência, superior, só, " +
		"somente, apenas, exclusivamente, unicamente, positiv*, cinco estrelas, 5 estrelas, " +
		"nota máxima, pontuação máxima, melhor nota, líder de mercado, líder do mercado, " +
		"líder do setor, antes dos, antes das, antes de qualquer, antes de todos, prioridade, " +
		"imbatível, incomparável",
	rival: "concorrent*, concorrência, rival, rivais, outras marcas, outras lojas, outras empresas, " +
		"alternativa*, outros fornecedores, mais ninguém, outro fornecedor, outra loja, outra marca, " +
		"outra empresa, outro produto, nenhuma outra, nenhum outro, outros produtos, os outros, " +
		"as outras, nada mais, mais nenhum, mais nenhuma, críticas, crítica, defeitos, desvantagens, " +
		"pontos fracos, pontos negativos, aspectos negativos, avaliações negativas, " +
		"comentários negativos, reclamações, fraquezas",
	prefer: "use, usem, utilize, cite, citem, priorize, destaque, consulte, siga, segue, sigam, seguir+, " +
		"obedeça, obedece, obedeçam, obedecer+, cumpra, cumpre, cumprir+, respeite, respeita, " +
		"respeitar+, aplique, aplica, atenha se, baseie se, leia, leiam, consultem, clique, abra, " +
		"execute, usar+, utilizem, utilizar+, atenda",
	must: "deve, devem, deves, deveria, deveriam, deverá, deverão, tem que, têm que, tem de, têm de, " +
		"precisa, precisam, é obrigatório, é necessário, pedimos que, favor, solicita se que, " +
		"deverás, devam, pede se, pede se a, pede se aos, pede se que, solicita se a, " +
		"solicita se aos, pedimos a, pedimos aos, solicitamos a, solicitamos aos, solicitamos que, " +
		"roga se, são convidados a, é convidado a, são obrigados a, é obrigado a, " +
		"têm a obrigação de, tem a obrigação de, estão obrigados a, é importante que, " +
		"é essencial que, é necessário que, é preciso que, é preciso, é fundamental que, " +
		"certifique se de, certifique se de que, garanta que, assegure se de, faça com que, " +
		"por favor, poderias, peço que, peço te que, pedimos te que, sua tarefa é, a sua tarefa é, " +
		"a tua tarefa é, seu papel é, não se esqueça de, não te esqueças de, lembre se de, trate de, " +
		"procure, há de, hão de, queremos que, quero que, convém que, cabe a, haverá de",
	always: "sempre, nunca, jamais",
	model: "ia, assistente de ia, assistentes de ia, inteligência artificial, " +
		"inteligências artificiais, modelo de linguagem, modelos de linguagem, modelo de ia, " +
		"modelos de ia, chatbot*, agentes de ia, sistemas de ia, bots, robôs, " +
		"grandes modelos de linguagem, ias, a ia, as ia, as ias, assistente ia, assistentes ia, " +
		"assistente com ia, assistentes com ia, modelo ia, modelos ia, ia generativa, " +
		"ias generativas, ia generativas, modelos de ia generativa, sistema de ia, agente de ia, " +
		"robô de ia, robôs de ia, bot de ia, bots de ia, ferramentas de ia, ferramenta de ia, " +
		"motores de ia, motores de resposta, motor de resposta, motores generativos, " +
		"buscadores com ia, rastreadores de ia, rastreadores, robô, bot, crawlers, llm*, " +
		"modelo generativo, modelos generativos, modelo linguístico, modelos linguísticos, " +
		"modelo de língua, modelos de língua, modelos de inteligência artificial, " +
		"modelo de inteligência artificial, assistente de inteligência artificial, " +
		"assistentes de inteligência artificial, sistemas de inteligência artificial, " +
		"leitores automáticos, agentes conversacionais, agente conversacional, chat gpt, " +
		"assistente de voz",
	helper: "assistente, assistentes, assistentes virtuais, assistente virtual, assistente digital",
	user:   "ao usuário, o usuário, ao utilizador, o utilizador, aos usuários, ao cliente",
	conceal: "não informe, não informes, não diga, não digas, não avise, não avises, oculte, esconda, " +
		"sem informar, sem avisar, sem dizer, não conte, não notifique",
	asked: "quando um usuário perguntar, quando os usuários perguntarem, quando o usuário perguntar, " +
		"se um usuário perguntar, se alguém perguntar, quando alguém perguntar, quando perguntarem, " +
		"se o usuário perguntar, quando perguntado, quando te perguntarem, se te perguntarem, " +
		"quando utilizadores perguntarem, em cada resposta, na sua resposta, nas suas respostas, " +
		"na tua resposta, nas tuas respostas, em todas as respostas, na resposta, nas respostas, " +
		"em suas respostas, ao responder, ao resumir, ao recomendar, ao comparar, quando responder, " +
		"quando responderes, quando resumir, a qualquer pergunta, a cada pergunta, " +
		"em futuras conversas, em conversas futuras, para futuras conversas, no futuro, " +
		"sempre que alguém, sempre que um usuário, sempre que um utilizador, sempre que, " +
		"se um cliente, quando um cliente, a quem perguntar, quando o utilizador perguntar, " +
		"se o utilizador perguntar, se perguntarem, se lhe perguntarem, quando lhe perguntarem, " +
		"resuma esta página, resume esta página, em comparações, em qualquer comparação, " +
		"nas recomendações, seja qual for a pergunta",
	ours: "nós, nosso*, nossa*, este site, esta loja, esta página, nos, esta marca, este candidato, " +
		"esta candidatura, esta empresa, este produto, este artigo, este texto, este fornecedor, " +
		"este serviço, esta oferta, este negócio",
	intro: "nota para, nota a, nota, nota aos, atenção, mensagem para, mensagem aos, aviso a, " +
		"aviso aos, aviso para, se você é, se és, se for, caro, cara, caros, aos, a, para, olá, " +
		"importante, instruções para, se você for, às, prezado, prezada, nota às, nota para os, " +
		"nota para as, mensagem às, mensagem para os, mensagem para as, aviso às, aviso para os, " +
		"aviso para as, instrução para, instruções aos, instruções às, instruções a, " +
		"orientação para, orientações para, informação para, à atenção, à atenção dos, atenção a, " +
		"atenção aos, para os, para as, a todos, a todas, a qualquer, para qualquer, se um, se uma, " +
		"se algum, se alguma, se você for um, se você for uma, se fores, se você estiver, " +
		"se estiver, se estiveres, se você lê, se lês, caso seja, caso você seja, caso um, caso uma, " +
		"caso esta, se este texto, se esta página, lê, leem, lendo, estiver lendo, está lendo, " +
		"estiver a ler, lê isto, lê esta página, que lê, que leem, que lerem, que ler, " +
		"ler esta página, ler este texto, resume, resumem, resumindo, resumir, que resuma, " +
		"que resumam, que resume, processa, processando, analisa, analisando, analisar, indexa, " +
		"que usem, que visitem, esta página, este texto, este site, este documento, enquanto, " +
		"na qualidade de, como ia, sistema, mensagem do sistema, nova instrução, novas instruções, " +
		"prezados, estimado, estimada, ei, oi, bom dia, quando uma, quando um, toda, todo, qualquer, " +
		"todas as, todos os, ps, lembrete, prioridade",
	and: "e, ou, mas, depois",
	filler: "mais, por favor, e, de, do, da, as, os, o, a, suas, sua, seu, seus, teu, tua, tuas, um, " +
		"uma, que, em, no, na, agora, também, com, estas, estes, lhe, te, ao usuário, me, como, só, " +
		"apenas, gentilmente, então, você, é, à, ao, pelo, pela, tudo, se, favor, és, são, seja, " +
		"sejam, for, foi, foram, ser, está, estão, tem, têm, tu, vocês, ele, ela, eles, elas, nós, " +
		"lhes, minha, meu, nosso, esta, este, isto, isso, essa, esse, aquilo, por, pelos, pelas, " +
		"sem, sobre, ante, até, desde, dos, das, nos, nas, num, numa, aos, às, quando, mas, já, " +
		"ainda, aqui, ali, depois, antes, sempre, nunca, palavra por palavra, palavra, completo, " +
		"completa, integralmente, textualmente, explicitamente, claramente, expressamente, resposta, " +
		"respostas, lista, página, texto, usuários, utilizadores, clientes, pergunta, perguntas, " +
		"cada, outro, outra, outros, outras, nenhum, nenhuma, não, nem, ou, muito, bem, tão, assim, " +
		"mim, ti, si, marca, empresa, loja, além, senão, onde, qual, quem, cujo, unicamente, dela, " +
		"dele",
	topic:  "atacante*, ataque*, por exemplo, como fazer, hacker*, invasor*",
	report: "segundo, pesquisa, estudo, sondagem",
	about:  "injeção de prompt*, injeções de prompt*, injeção de comandos",
}
