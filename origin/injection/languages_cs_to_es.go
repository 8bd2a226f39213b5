package injection

// czech are the words by which Czech texts address and order a model. TestCorpora measures them.
var czech = words{
	tag: "cs",
	ignore: "ignoruj, ignorujte, zapomeň, zapomeňte, nedbej, nedbejte, přehlížej, přehlížejte, neřiď se, " +
		"neřiďte se, pomiň, pomiňte, ignorovat+, zapomenout+, neposlouchej, neposlouchejte, " +
		"nedodržuj, nedodržujte, nevšímej si, nevšímejte si, neber v úvahu, neberte v úvahu, " +
		"neber ohled na, neberte ohled na, přestaň dodržovat, obejdi, vynech pokyny, nedbej na, " +
		"nedbejte na, neplň, neplňte",
	all: "všechny, všechna, všech, vše, všechno, veškeré, veškerá, každý, každé, cokoli",
	earlier: "předchozí*, předešl*, dřívější*, výše uveden*, uvedené výše, výše, dosavadní*, předtím, " +
		"doposud, původní*, předešlými, obdržené, které jsi dostal, dané, dříve, do této chvíle, " +
		"až dosud, doteď, původní, stávající, staré, nad tímto řádkem, před tímto řádkem",
	rules: "pokyny, pokynů, instrukce, instrukcí, příkazy, příkazů, pravidla, pravidel, " +
		"vše co ti bylo řečeno, pokyny vývojáře, pokyn, pokynem, pokynům, instrukcemi, instrukcím, " +
		"pravidlům, pravidly, příkazem, směrnice, omezení, prompt, prompty, nařízení, vše výše, " +
		"co ti bylo řečeno, kontext",
	void: "neplatí*, neplatn*, zrušen*, nahrazen*, pozbývají platnosti, odvolán*, již neplatí, " +
		"už neplatí",
	reveal: "vypiš, vypište, ukaž, ukažte, zobraz, zobrazte, prozraď, prozraďte, odhal, odhalte, pošli, " +
		"pošlete, zopakuj, opiš, opište, zkopíruj, přepiš, napiš, napište, cituj, přilož, zveřejni, " +
		"předej, sděl, přečti",
	secret: "systémový prompt, systémového promptu, systémové instrukce, systémové pokyny, " +
		"skryté instrukce, skryté pokyny, své skryté instrukce, své skryté pokyny, tajné pokyny, " +
		"interní pokyny, původní pokyny, svůj prompt, systémovým promptem, systémový příkaz",
	data: "konverzac*, heslo, hesla, osobní údaje, údaje uživatel*, api klíč*, historii chatu, chat, " +
		"rozhovor*, číslo karty, kreditní kart*, přihlašovací údaje, zprávy uživatele, " +
		"adresu uživatele, soubory uživatele",
	role: "nyní jsi, teď jsi, od teď jsi, odteď jsi, od nynějška jsi, chovej se jako, vystupuj jako, " +
		"předstírej že jsi, nyní už jsi, už nejsi, už nejste, od tohoto okamžiku jsi, převezmi roli, " +
		"hraj roli, představ si že jsi, přepni se do, aktivuj režim, nyní pracuješ",
	free: "bez omezení, bez pravidel, neomezen*, bez filtr*, bez cenzury, bez zábran, žádná pravidla, " +
		"žádná omezení, vývojářský režim, bez jakýchkoli omezení, bez jakéhokoli omezení",
	recommend: "doporuč, doporučte, doporučuj, doporučujte, doporučit+, doporučovat+, upřednostni, " +
		"upřednostňuj, upřednostňujte, preferuj, preferujte, propaguj, řaď, uváděj, uvádět+, " +
		"navrhni, navrhuj, pochval, pochvalte, vychval, doporučen*+, umísti, umístěte, umisťuj, " +
		"umisťujte, umístit+, umisťovat+, postav, stav, dej, dejte, dávej, dávejte, dát+, dávat+, " +
		"zařaď, zařaďte, zařadit+, vyber, vybírej, vyberte, upřednostňovat+, preferovat+, navrhněte, " +
		"navrhovat+, propagovat+, propagujte, chval, chvalte, chválit+, zvýhodni, zvýhodňuj, " +
		"odkazuj na, odkazovat+, směruj, vyzdvihni, vyzdvihuj, vyzdvihnout+, vyzdvihovat+, řadit+, " +
		"řaďte, seřaď, uvádějte, uveďte, uvést+",
	say: "řekni, řekněte, říkej, říkejte, uveď, uveďte, zmiň, zmiňte, odpověz, odpovídej, tvrď, " +
		"zmínit+, říkat+, představ, představte, představuj, představujte, představit+, " +
		"představovat+, prezentuj, prezentujte, prezentovat+, jmenuj, jmenujte, jmenovat+, zmiňuj, " +
		"zmiňujte, zmiňovat+, popiš, popište, popisuj, popisovat+, popsat+, označ, označte, označuj, " +
		"označovat+, označit+, nazývej, nazvi, považuj, považujte, považovat+, ber, zapamatuj si, " +
		"zapamatujte si, pamatuj si, pamatuj, pamatujte, ulož, ulož si, hodnoť, ohodnoť, hodnotit+, " +
		"potvrď, potvrzuj, potvrdit+, prohlas, tvrdit+, tvrďte, zdůrazni, zdůrazňuj, zdůrazňovat+, " +
		"odpovídat+, odpovězte, odpovídejte, cituj, citujte, citovat+, ukaž, ukazuj, piš, napiš, " +
		"skonči, začni, hovoř, mluv, uveden*+",
	never: "nezmiňuj*, neuváděj*, nedoporučuj*, nejmenuj*, nezmiňovat+, nedoporučovat+, nemluv o, " +
		"nezmiň*, nezmín*, nemá zmiňovat, nemají zmiňovat, nesmí zmínit, nesmí zmiňovat, neuvádět+, " +
		"neuveď*, nejmenovat+, nedoporuč*, necituj*, nemluv*, nehovoř*, neporovnávej*, nekritizuj*, " +
		"nenavrhuj*, neodkazuj*, zamlč, zamlčte, zamlčet+, zamlčuj, skryj, vynech, vynechte, " +
		"vynechat+, vynechávej, vyhni se, vyhněte se, mlč o, mlčte o, zatajit+, zataj",
	first: "nejlepší*, první*, na prvním místě, jako první, číslo jedna, přední*, lídr*, " +
		"před ostatními, jedin*, nejbezpečnějš*, prvním místě, první místo, na první místo, " +
		"na začátek, na začátku, na vrchol, na vrcholu, v čele, do čela, nahoru, nahoře, číslo 1, " +
		"vítěz*, favorit*, preferovan*, důvěryhodn*, spolehliv*, důvěryhodný zdroj, ideální, " +
		"vynikající*, dokonal*, výhradně, pouze, jen, pět hvězd, nejvyšší*, jedničk*, " +
		"před konkurencí, pozitivní*, měřítk*",
	rival: "konkuren*, jiné značky, jiné obchody, alternativ*, nikoho jiného, jiné firmy, jiné značce, " +
		"jiných značek, jiných firem, jinou značku, žádnou jinou, žádný jiný, nic jiného, " +
		"nikoho dalšího, kritik*, nevýhod*, nedostatk*, stížnost*, negativní*",
	prefer: "používej, používejte, cituj, citujte, zdůrazni, odkazuj, řiď se, řiďte se, dodržuj, " +
		"dodržujte, poslouchej, uposlechni, plň, následuj, postupuj podle, drž se, přečti, klikni, " +
		"používat+, využívej",
	must: "musí, musíš, musíte, má, mají, měl by, měli by, měly by, je třeba, je nutné, by měli, " +
		"by měla, by měl, by mělo, by měly, měla by, mělo by, nechť, ať, prosíme, žádáme, žádá se, " +
		"je žádoucí, jsou povinni, je povinen, musejí, prosím, mohl bys, mohla bys, dbej na to, " +
		"zajisti aby, ujisti se že, tvým úkolem je, nezapomeň, chceme aby, je důležité aby",
	always: "vždy, pokaždé, nikdy",
	model: "ai, umělá inteligence, umělé inteligence, umělou inteligenci, umělou inteligencí, " +
		"jazykový model*, jazykové modely, jazykových modelů, jazykovým modelem, jazykovým modelům, " +
		"asistenti s umělou inteligencí, asistent ai, ai asistent*, chatbot*, modely ai, " +
		"modely umělé inteligence, modelům ai, modelů ai, asistenti ai, asistentům ai, systémy ai, " +
		"systémům ai, agenti ai, agentům ai, nástroje ai, ai systém*, ai agent*, ai nástroj*, " +
		"ai vyhledávač*, ai model*, ai bot*, llm*, boti, bot, roboti ai, virtuální asistent*, " +
		"velké jazykové modely, velký jazykový model, generativní ai, generativní modely, chat gpt, " +
		"čtečky",
	helper:  "asistenti, asistent, asistente, asistentům",
	user:    "uživatele, uživateli, uživatelům, před uživatelem, zákazníkovi",
	conceal: "neinformuj, neinformujte, neříkej, neříkejte, neupozorňuj, skryj, zataj, bez upozornění",
	asked: "když se uživatel*, když se někdo, pokud se uživatel*, na otázku, na dotaz, " +
		"v každé odpovědi, ve své odpovědi, v odpovědi, ve svých odpovědích, v odpovědích, " +
		"na každou otázku, při každém dotazu, na otázky, v budoucích rozhovorech, v budoucnu, " +
		"když se zákazník, když se někdo ptá, pokud se někdo zeptá, při odpovídání, " +
		"shrň tuto stránku",
	ours: "nás, náš, naši, tento web, tuto stránku, tento obchod, tento kandidát, tuto firmu, " +
		"tato firma, tento produkt, tuto značku, tento článek",
	intro: "poznámka pro, poznámka, upozornění, vzkaz, zpráva, pokud jsi, jestli jsi, pokud jste, pro, " +
		"drahá, milá, pozor, poznámka k, zpráva pro, pokyny pro, pokyn pro, instrukce pro, " +
		"informace pro, upozornění pro, vzkaz pro, všem, ke všem, pokud tuto stránku čte, " +
		"pokud tento text čte, pokud to čte, pokud čteš, pokud, jestliže, když, čte, čtou, čtoucí, " +
		"shrnuje, shrnující, kteří čtou, který čte, které čtou, tuto stránku, tento text, " +
		"zpracovává, zpracovávají, jako, systém, systémová zpráva, nové pokyny, nový pokyn, milý, " +
		"milí, vážený, vážená, vážení, drahý, drazí, každý, každá, důležité, ps, připomínka, jsi li",
	and: "a, i, nebo, ale",
	filler: "a, prosím, laskavě, tě, ti, vás, si, se, na, o, pak, nyní, teď, jen, také, firmu, firmy, " +
		"svůj, své, jako, že, mi, s, tyto, ty, které, jsi, jste, je, jsou, byl, být, by, aby, ho, " +
		"ji, jej, jich, tím, této, tento, tato, toto, text, stránku, který, která, co, jak, nebo, " +
		"ani, ne, nikdy, při, po, pod, nad, před, za, pro, ze, z, do, od, bez, vám, vaše, " +
		"slovo od slova, doslova, celý, odpověď, odpovědi, seznamu, seznam, značku, značky, značka, " +
		"firma, obchod, každém, dotazy, u, v, ve, i",
	topic:  "útočník*, útočníci, útok*, například",
	report: "podle, průzkum, studie",
	about:  "injekce promptu, podvržen* prompt*",
}

// danish are the words by which Danish texts address and order a model. TestCorpora measures them.
var danish = words{
	tag: "da",
	ignore: "ignorer, ignorér, glem, se bort fra, tilsidesæt, ignorere+, glemme+, lad være med at følge, " +
		"følg ikke, tag ikke hensyn til, bryd dig ikke om, lyt ikke til, adlyd ikke, " +
		"følg ikke længere, følg ikke mere, hold op med at følge, læg til side, lad hånt om, " +
		"spring over, omgå, se bort, ænse ikke, overhør, tilsidesætte+",
	all: "alle, alt, enhver, samtlige, hver",
	earlier: "tidligere, foregående, ovenstående, forrige, ovenfor, hidtidige, forudgående, indtil nu, " +
		"du fik, du har fået, modtagne, modtaget, givne, oprindelige, nuværende, gældende, gamle, " +
		"før, inden, ovenover, førhen, før denne linje",
	rules: "instruktion*, instruks*, anvisning*, regel, regler, reglerne, ordrer, kommandoer, " +
		"retningslinjer, alt hvad du har fået at vide, instruktioner, instruktionerne, direktiver, " +
		"ordre, forskrifter, begrænsninger, prompt, prompten, retningslinjerne, alt ovenfor, " +
		"alt ovenstående, hvad du har fået at vide, det du fik at vide, kontekst",
	void: "ugyldig*, ophæve*, gælder ikke længere, gælder ikke mere, gælder ikke, erstatte*, " +
		"tilbagekald*, bortfald*, annullere*, forældet, forældede",
	reveal: "vis, udskriv, afslør, send, gentag, vis mig, del, videresend, oplys, gengiv, kopier, citér, " +
		"indsæt, vedhæft, offentliggør, mail, udlever, læs op, fortæl",
	secret: "systeminstruktion*, skjulte instruktion*, din systemprompt*, systembesked*, " +
		"dine skjulte instruktioner, dine hemmelige instruktioner, dine interne instruktioner, " +
		"skjulte instruktioner, hemmelige instruktioner, din prompt, systemprompten, systemprompt*",
	data: "samtalen, samtaler, adgangskode*, persondata, brugerens, api nøgle*, chathistorik*, " +
		"chatten, chat*, kortnummer*, kreditkort*, loginoplysning*, filer, beskeder",
	role: "du er nu, fra nu af er du, opfør dig som, lad som om du er, agér som, ager som, " +
		"spil rollen som, du er ikke længere, fremover er du, påtag dig rollen, " +
		"forestil dig at du er, gå i, aktivér, du arbejder nu, opfør dig, lad som om du",
	free: "uden begrænsning*, uden regler, uden restriktioner, ubegrænset, ufiltreret, uden filtre, " +
		"uden filter, ingen regler, ingen begrænsninger, ingen grænser, ingen filtre, " +
		"udviklertilstand, uden nogen begrænsninger, fri for regler",
	recommend: "anbefal, anbefale+, foreslå, foretræk, fremhæv, prioriter, fremhæve+, foretrække+, vælg, " +
		"ranger, promover, anbefales+, anbefalet+, sæt, sætte+, sættes+, placer, placér, placere+, " +
		"placeres+, stil, stille+, fremhæves+, vælge+, foretrækkes+, prioritér, prioritere+, " +
		"prioriteres+, foreslå+, foreslås+, list, liste+, listes+, opstil, rangér, rangere+, ros, " +
		"rose+, pris, hyld, favoriser, favorisere+, begunstig, henvis brugere til, henvis, henvise+, " +
		"tip om, promovere+, læg, løft frem, før frem",
	say: "sig, fortæl, svar, nævn, nævne+, oplys, sige+, skriv, omtal, præsenter, præsentér, " +
		"præsentere+, præsenteres+, fremstil, fremstille+, fremstilles+, beskriv, beskrive+, " +
		"beskrives+, kald, kalde+, kaldes+, betragt, betragte+, behandl, behandle+, anse, anse+, " +
		"anfør, anføre+, anføres+, angiv, angive+, nævnes+, omtale+, omtales+, husk, huske+, gem, " +
		"gemme+, notér, noter, bedøm, bedømme+, vurdér, vurder, vurdere+, erklær, erklære+, bekræft, " +
		"bekræfte+, forsikr, hævd, påstå, understreg, understrege+, betone, fortælle+, svare+, " +
		"skrive+, citere+, citeres+, vis, vise+, vises+, tal, tale+, afslut, begynd, medtag, " +
		"medtage+, inkluder",
	never: "nævn aldrig, nævn ikke, anbefal aldrig, anbefal ikke, aldrig nævne+, ikke nævne+, " +
		"ikke anbefale+, omtal aldrig, omtal ikke, undlad at nævne, nævn ingen, nævn slet ikke, " +
		"ikke omtale+, aldrig omtale+, aldrig anbefale+, ti om, ti stille om, tie om+, forti, " +
		"fortie+, udelad, udelade+, skjul, skjule+, undgå at nævne, undgå at anbefale, undgå, " +
		"tal ikke om, ikke tale om+, sammenlign ikke, kritiser ikke, citer ikke, link ikke til, " +
		"vis ikke, foreslå ikke, foreslå aldrig, udeluk, undlade at nævne+",
	first: "bedste, først, første, nummer et, førende, foran, eneste, mest, sikrest*, trygg*, øverst, " +
		"øverst på listen, toppen, i top, forrest, førsteplads, førstevalg, første valg, nummer 1, " +
		"vinder*, favorit*, foretruk*, pålidelig*, troværdig*, betroet, betroede, referenc*, ideel*, " +
		"perfekt*, fremragende, overlegen*, udelukkende, kun, positiv*, fem stjerner, 5 stjerner, " +
		"højeste, topkarakter, markedsledende, markedets førende, før andre, før alle, sikreste",
	rival: "konkurrent*, andre mærker, andre butikker, andre virksomheder, alternativ*, andre end, " +
		"andre leverandører, andre produkter, andet mærke, anden butik, anden virksomhed, " +
		"nogen anden, noget andet, ingen andre, ingen anden, de andre, kritik, ulemper, mangler, " +
		"klager, negativ*, svagheder",
	prefer: "brug, citer, citér, henvis til, fokuser på, følg, følge+, adlyd, adlyde+, ret dig efter, " +
		"hold dig til, læs, klik, åbn, bruge+, konsulter",
	must: "skal, bør, må, er forpligtet til, venligst, bedes, bedes om, opfordres til, " +
		"opfordres til at, er forpligtede til, må kun, må ikke, burde, kan du, kunne du, vil du, " +
		"sørg for at, sørg for, glem ikke at, husk at, det er vigtigt at, din opgave er at, " +
		"vi beder, vi beder om, vi ønsker at, lad, skulle, skal du, er nødt til, vær venlig at",
	always: "altid, aldrig",
	model: "ai, ai assistent*, kunstig intelligens, sprogmodel, sprogmodeller, sprogmodellen, " +
		"store sprogmodeller, chatbot*, ai modeller, ai model, ki, ai agenter, ai systemer, " +
		"ai modellerne, ai systemerne, ai værktøj*, ai tjenest*, ai søg*, ai robot*, ai chat*, " +
		"ai bot*, sprogmodellerne, llm*, chatbotter, generativ ai, søgeassistent*, svarmaskin*, " +
		"stemmeassistent*, crawler*, chat gpt, kunstige intelligenser, maskinlæsere, bots, botter, " +
		"chatrobot*",
	helper: "assistent, assistenter, assistenten",
	user:   "brugeren, brugere, brugerne, for brugeren, kunden",
	conceal: "informer ikke, fortæl ikke, sig ikke, underret ikke, advar ikke, skjul, uden at informere, " +
		"uden at fortælle",
	asked: "når brugere spørger, når brugeren spørger, når nogen spørger, hvis nogen spørger, " +
		"hvis brugeren spørger, i hvert svar, i dit svar, i dine svar, i alle svar, i svaret, " +
		"i svar, på hvert spørgsmål, på spørgsmål om, ved spørgsmål om, når kunder, når en kunde, " +
		"hvis en kunde, når du svarer, når du opsummerer, i fremtidige samtaler, i fremtiden, " +
		"opsummer denne side, i sammenligninger",
	ours: "os, vores, denne side, denne butik, denne kandidat, dette firma, dette produkt, " +
		"denne artikel, denne tekst, denne leverandør",
	intro: "besked til, note til, bemærkning til, til, hvis du er, kære, bemærk, obs, meddelelse til, " +
		"for, til alle, bemærkning, instruktioner til, instruktion til, instruks til, anvisning til, " +
		"information til, vejledning til, hvis en, hvis dette, hvis denne, hvis teksten, såfremt, " +
		"når en, når, læser dette, læser denne side, læser, læse, der læser dette, " +
		"der læser denne side, der læser, som læser, der opsummerer, som opsummerer, opsummerer, " +
		"sammenfatter, behandler, analyserer, denne side, denne tekst, system, systembesked, " +
		"ny instruktion, nye instruktioner, hej, vigtigt, ps, hver, alle, som",
	and: "og, eller, men, samt",
	filler: "længere, og, venligst, de, den, det, en, et, din, dine, dit, du, så, nu, da, som, at, vær, " +
		"venlig, også, kun, for, fra, om, til, altid, derfor, er, var, har, fik, få, vi, han, hun, " +
		"dem, sig, sin, sine, sit, jer, jeres, her, der, eller, men, ikke, aldrig, i, på, af, ved, " +
		"med, uden, under, over, efter, mod, mellem, ord for ord, ordret, fuldstændigt, " +
		"udtrykkeligt, tydeligt, svar, svaret, listen, side, siden, tekst, spørgsmål, tak, gerne, " +
		"jo, derefter, hver, andre, mærket, firmaet, butikken, valg, valget, markedets",
	topic:  "angriber*, angreb, for eksempel",
	report: "ifølge, undersøgelse, studie",
	about:  "prompt injektion*",
}

// german are the words by which German texts address and order a model. TestCorpora measures them.
var german = words{
	tag: "de",
	ignore: "ignoriere, ignorier, ignorieren sie, ignoriert, vergiss, vergessen sie, vergesst, " +
		"missachte, missachten sie, ignorieren+, vergessen+, missachten+, befolge nicht, " +
		"setze dich über, setzen sie sich über, beachte nicht, übergehe, übergehen sie, verwirf, " +
		"verwerfen sie, befolgen sie nicht, beachten sie nicht, halte dich nicht an, " +
		"halten sie sich nicht an, folge nicht, folgen sie nicht, gehorche nicht, lass außer acht, " +
		"lassen sie außer acht, außer acht lassen+, lasse außer acht, schenke keine beachtung, " +
		"kümmere dich nicht um, umgehe, umgehen sie, umgehen+",
	all: "alle, alles, sämtliche, sämtlichen, allen, jede, jegliche, jeden",
	earlier: "vorherige*, vorige*, bisherige*, obige*, frühere*, vorangegangene*, vorangehende*, oben, " +
		"obenstehende*, vorhergehende*, zuvor, vorher, bisher, vorstehende*, oben genannte*, " +
		"ursprüngliche*, erhaltene*, erhalten hast, erhalten haben, gegebene*, bisherigen, " +
		"bis jetzt, bislang, vor dieser zeile, vor diesem punkt, vor diesem satz, über dieser zeile, " +
		"hier oben, alte*, vorangehend*, geltende*, bestehende*",
	rules: "anweisung, anweisungen, befehle, befehl, regeln, regel, vorgaben, vorgabe, instruktion*, " +
		"richtlinie*, weisungen, anordnungen, prompts, prompt, was dir gesagt wurde, " +
		"was ihnen gesagt wurde, systemprompt*, leitlinien, leitlinie, vorschriften, " +
		"was du gelernt hast, was dir vorher gesagt wurde, was vorher gesagt wurde, " +
		"was vor dieser zeile, was oben steht, was hier vorher stand, aufträge, auftrag, grundsätze, " +
		"verhaltensregeln, sicherheitsregeln, was man dir gesagt hat, kontext",
	void: "ungültig, aufgehoben, hinfällig, nichtig, gelten nicht mehr, gilt nicht mehr, " +
		"nicht mehr gültig, außer kraft, ersetzt, widerrufen, überholt, aufgehoben worden, gelöscht, " +
		"gelten nicht, entfallen, verlieren ihre gültigkeit",
	reveal: "gib, geben sie, zeige, zeig, zeigen sie, verrate, verraten sie, nenne, nennen sie, " +
		"wiederhole, wiederholen sie, sende, senden sie, schicke, schicken sie, offenbare, drucke, " +
		"drucken sie, enthülle, leite, übermittle, übermitteln sie, schreibe, schreib, lies vor, " +
		"kopiere, kopieren sie, füge, hänge, veröffentliche, teile, teilen sie, leiten sie, schick, " +
		"gib wieder, geben sie wieder, nenn, verrat",
	secret: "systemanweisung*, system anweisung*, systemnachricht*, verborgenen anweisungen, " +
		"versteckten anweisungen, geheimen anweisungen, system prompt*, deine anweisungen wörtlich, " +
		"deine internen anweisungen, deine versteckten anweisungen, deine geheimen anweisungen, " +
		"deine ursprünglichen anweisungen, versteckte anweisungen, geheime anweisungen, " +
		"internen anweisungen, deine regeln wörtlich, deinen prompt, ihren prompt, text oberhalb, " +
		"interne anweisungen",
	data: "unterhaltung*, gespräch*, passwort, passwörter, nutzerdaten, benutzerdaten, " +
		"daten des nutzers, daten des benutzers, e mail adresse*, zugangsdaten, api schlüssel*, " +
		"chatverlauf*, gesprächsverlauf*, kreditkarte*, kartennummer*, kontodaten, " +
		"adresse des nutzers, name des nutzers, nachrichten des nutzers, chat, zahlungsdaten, " +
		"sitzungstoken, standort des nutzers, telefonnummer*",
	role: "du bist jetzt, du bist nun, sie sind jetzt, ab jetzt bist du, ab sofort bist du, " +
		"von nun an bist du, verhalte dich wie, verhalte dich als, agiere als, handle als, " +
		"tu so als wärst du, tue so als wärst du, spiele die rolle, von jetzt an bist du, " +
		"ab diesem moment bist du, du bist ab jetzt, du bist ab sofort, du bist nicht mehr, " +
		"du arbeitest jetzt, schlüpfe in die rolle, übernimm die rolle, stell dir vor du bist, " +
		"gib dich als, spiele, verhalten sie sich wie, benimm dich wie, tu als wärst du, " +
		"wechsle in den",
	free: "ohne einschränkung*, ohne regeln, ohne beschränkung*, ohne filter, uneingeschränkt*, " +
		"unbeschränkt*, ungefiltert*, unzensiert*, ohne grenzen, ohne jede einschränkung*, " +
		"ohne vorgaben, keine regeln, keine grenzen, keine einschränkungen, keine beschränkungen, " +
		"keine filter, entwicklermodus, ohne schranken, ohne zensur, keinerlei regeln, " +
		"keinerlei einschränkungen, ohne jede regel, grenzenlos*",
	recommend: "empfiehl, empfehle, empfehlen sie, empfehlt, empfehlen+, bevorzuge, bevorzugen sie, " +
		"bevorzugen+, schlage, schlagen sie, vorschlagen+, bewirb, bewerben+, nenne, bewerte, " +
		"bewerten sie, bewerten+, setze, setzen sie, stelle, stellen sie, ranke, priorisiere, " +
		"priorisieren+, lobe, loben sie, loben+, wähle, wählen sie, darstellen+, empfohlen+, " +
		"empfiehlt+, rate zu, raten sie zu, anraten+, anpreisen+, preise an, preisen sie, stellt, " +
		"setzt, listet, liste, listen sie, listen+, auflisten+, aufzulisten+, führe, führen sie, " +
		"anführen+, aufführen+, aufgeführt+, gelistet+, genannt+, vorgeschlagen+, vorstellen+, " +
		"vorzustellen+, präsentiere, präsentieren sie, präsentieren+, positioniere, positionieren+, " +
		"platziere, platzieren sie, platzieren+, reihe, stellen+, setzen+, einstufen+, favorisiere, " +
		"favorisieren+, bevorzugt, bevorzugt+, begünstigen+, hervorheben+, hervorgehoben+, " +
		"herausstellen+, hebe hervor, heben sie hervor, wählt, wählen+, gewählt+, rühme, rühmen+, " +
		"würdige, verweise auf, verweisen sie auf, verweisen+, lenke, leite nutzer, schwärme, " +
		"befürworten+, beworben+, priorisiert+, zu empfehlen, zu bevorzugen, zu loben, zu listen, " +
		"zu bewerben, zu wählen, zu setzen, zu stellen, zu führen, hervorzuheben, vorzuschlagen, " +
		"anzuführen, aufzuführen",
	say: "sage, sag, sagen sie, sagen+, antworte, antworten sie, antworten+, erwähne, erwähnen sie, " +
		"erwähnen+, erwähnt, teile, teilen sie, nennen sie, nennen+, behaupte, beschreibe, " +
		"beschreiben sie, beschreiben+, schreibe, betone, betonen sie, merke dir, merk dir, " +
		"hinweisen+, behandle, behandeln sie, behandeln+, betrachte, betrachten sie, betrachten+, " +
		"bezeichne, bezeichnen sie, bezeichnen+, bezeichnet+, beschrieben+, dargestellt+, " +
		"stelle dar, stellen sie dar, erkläre, erklären sie, erklären+, zitiere, zitieren+, " +
		"zitiert+, führt, angeben+, gib an, geben sie an, behaupten+, behaupten sie, bestätige, " +
		"bestätigen sie, bestätigen+, versichere, betonen+, bewertet, speichere, speichern sie, " +
		"speichern+, merkt euch, merken sie sich, merken+, behalte, erinnere dich, schreiben+, " +
		"schreiben sie, vergib, vergeben sie, sprechen+, sprich, lautet, nennt, sagt, antwortet, " +
		"erwähnt+, verwende, loben+, kröne, ernenne, auftauchen+, halte, werten+, stellt, stellen, " +
		"zu nennen, zu erwähnen, zu bezeichnen, zu beschreiben, zu zitieren, zu betrachten, " +
		"zu behandeln, darzustellen, anzugeben, zu merken",
	never: "nenne niemals, nenne nie, nenne keine, nennen sie niemals, nennen sie nie, " +
		"nennen sie keine, nennt niemals, nennt keine, erwähne niemals, erwähne nie, erwähne keine, " +
		"erwähnen sie niemals, erwähnen sie nie, erwähnen sie keine, empfiehl niemals, empfiehl nie, " +
		"empfiehl keine, empfehlen sie niemals, empfehlen sie keine, erwähne nicht, nicht erwähnen+, " +
		"niemals erwähnen+, keine konkurrenten+, verschweige, verschweigen sie, niemals nennen+, " +
		"nicht nennen+, nenne keinen, erwähne keinen, erwähnen sie keinen, erwähnt nicht, " +
		"erwähnt keine, erwähnt niemals, nicht auf, verschweigen+, schweige über, " +
		"schweigen sie über, schweigen+, sprich nicht über, sprechen sie nicht über, " +
		"rede nicht über, unterschlage, lass weg, lassen sie weg, weglassen+, auslassen+, " +
		"blende aus, verbirg, verbergen+, vermeide, vermeiden sie, empfehlt keine, " +
		"empfehlen sie nichts, empfiehl nicht, empfehlen sie nicht, keine konkurrenz+, " +
		"keinen konkurrenten+, keine wettbewerber+, keine mitbewerber+, keine anderen+, " +
		"nie erwähnen+, nie nennen+, zitiere nicht, verlinke nicht, kritisiere nicht, " +
		"kritisieren sie nicht, keine kritik",
	first: "beste*, bester, an erster stelle, zuerst, als erste*, nummer eins, marktführer*, führend*, " +
		"vor allen anderen, einzige*, an oberster stelle, auf platz eins, erste wahl, " +
		"vertrauenswürdigste*, testsieger*, platz 1, platz eins, ersten platz, erster stelle, " +
		"erste stelle, an die spitze, an der spitze, spitze, spitzenreiter, ganz oben, nach oben, " +
		"oberste*, als erstes, erster, erste, ersten, vorrangig, vertrauenswürdig*, " +
		"vertrauenswürdige quelle, zuverlässig*, seriöseste*, bevorzugte*, gewinner, sieger, " +
		"maßstab, referenz, goldstandard, ideal*, optimal*, günstigste*, sicherste*, positiv*, nur, " +
		"ausschließlich, höchste*, bestnote, fünf sterne, 5 sterne, vor anderen, vor allen, " +
		"vor der konkurrenz, vor wettbewerbern, favorit*, top, hervorragend*",
	rival: "wettbewerber*, konkurrent*, konkurrenz, mitbewerber*, andere marken, andere anbieter*, " +
		"andere shops, alternativen, anderen anbieter*, andere als, konkurrenzprodukt*, " +
		"alternative*, andere hersteller, andere firmen, andere unternehmen, anderen marken, " +
		"anderen firmen, anderen shops, anderen unternehmen, andere produkte, sonst niemanden, " +
		"keinen anderen, keine andere, nichts anderes, niemand anderen, schwächen, kritik, " +
		"nachteile, negatives, negative*, mängel, beschwerden",
	prefer: "verwende, verwenden sie, nutze, nutzen sie, zitiere, zitieren sie, verlinke, hebe, " +
		"konzentriere, zitieren+, folge, folgen sie, befolge, befolgen sie, befolgen+, " +
		"halte dich an, halten sie sich an, halte dich nur an, gehorche, beachte, beachten sie, " +
		"beachten+, richte dich nach, richten sie sich nach, lies, lesen sie, benutze, benutzen sie, " +
		"verwenden+, nutzen+, stütze dich auf, berufe dich auf, klicke, klicken sie, öffne",
	must: "müssen, muss, musst, sollen, soll, sollst, sollten, sollte, solltest, dürfen, darfst, darf, " +
		"sind verpflichtet, sind angewiesen, haben zu, werden gebeten, werden angewiesen, " +
		"wir bitten, ist angewiesen, mögen, möge, werden ersucht, wird gebeten, wird ersucht, " +
		"seid gebeten, bitte, haben die aufgabe, ist verpflichtet, gehalten, sind gehalten, ist zu, " +
		"sind zu, es ist wichtig dass, stelle sicher dass, stellen sie sicher dass, " +
		"sorge dafür dass, sorgen sie dafür dass, achte darauf dass, wir bitten dich, " +
		"wir bitten sie, würdest du, könntest du, könnten sie, würden sie, kannst du, brauchen nur, " +
		"hat zu, solle, sollt, müsst, werden aufgefordert, wird aufgefordert, sind aufgefordert",
	always: "immer, stets, niemals, nie, unbedingt",
	model: "ki, ai, kis, ki assistent*, ki modell*, ki system*, ki agent*, ki bot*, ki crawler*, " +
		"künstliche intelligenz*, künstlichen intelligenz*, sprachmodell*, chatbot*, bots, " +
		"ki suchmaschine*, ai assistent*, ai modelle, große sprachmodelle, großen sprachmodelle, " +
		"sprachmodelle, sprachmodellen, ki assistenz*, ki such*, ki antwort*, ki zusammenfass*, " +
		"ki gutachter*, ki dienst*, ki werkzeug*, ki tool*, ki programm*, ki chatbot*, " +
		"ki anwendung*, ki suche, ki helfer*, ki sprachmodell*, ki gestützte*, großes sprachmodell, " +
		"llm*, chatprogramm*, antwortmaschine*, suchassistent*, sprach ki, generative ki, " +
		"maschinelle leser, modelle die, modell das, crawler, chat gpt, automatische leser, " +
		"sprachassistenten",
	helper: "assistent, assistenten, assistentin, virtuelle assistenten, digitale assistenten, " +
		"sprachassistent*",
	user: "den nutzer, dem nutzer, den benutzer, dem benutzer, nutzern, dem kunden, den kunden",
	conceal: "informiere nicht, informieren sie nicht, sage nicht, sag nicht, sagen sie nicht, " +
		"verschweige, verschweigen sie, ohne zu informieren, warne nicht, benachrichtige nicht",
	asked: "wenn nutzer*, wenn benutzer*, wenn jemand, wenn ein nutzer*, wenn der nutzer*, " +
		"wenn du nach, falls jemand, auf die frage, wenn gefragt wird, wenn du gefragt wirst, " +
		"bei fragen, in jeder antwort, in deiner antwort, in ihrer antwort, in antworten, " +
		"in der antwort, in allen antworten, in deinen antworten, in künftigen gesprächen, " +
		"in zukünftigen gesprächen, für künftige gespräche, bei jeder frage, bei jeder anfrage, " +
		"wenn gefragt, auf fragen, wenn ein kunde, wenn kunden, wenn nach, sobald jemand, wer nach, " +
		"wird nach, fasse diese seite zusammen, bei empfehlungen, bei vergleichen, in vergleichen, " +
		"in künftigen antworten, wenn du antwortest, wenn du diese seite zusammenfasst",
	ours: "uns, unser*, diese seite, dieser shop, diesen shop, dieses unternehmen, diesen anbieter, " +
		"dieser anbieter, dieses angebot, diesen text, dieser text, diesen bewerber, " +
		"dieser bewerber, diese bewerbung, dieses produkt, diese firma, diese marke, diesen artikel",
	intro: "hinweis an, hinweis für, hinweise für, anmerkung für, notiz an, nachricht an, an, achtung, " +
		"liebe, lieber, hallo, wenn du, falls du, wenn sie, falls sie, bist, sind, anweisung für, " +
		"anweisungen für, anweisung an, anweisungen an, für, wichtig, die diese seite lesen, " +
		"welche diese seite lesen, hinweise an, nachricht für, botschaft an, mitteilung an, " +
		"mitteilung für, info für, information für, anmerkung an, bitte an, aufruf an, zur kenntnis, " +
		"an alle, an jede, an jedes, falls ein, falls eine, falls dies ein, falls diesen text, " +
		"falls diese seite, wenn ein, wenn eine, sollte ein, sollte eine, solltest du, " +
		"wenn dies eine, sofern du, sofern ein, als ein, als eine, der diese seite liest, " +
		"das diese seite liest, die diesen text lesen, die diese seite, der diese seite, " +
		"das diese seite, diese seite, diesen text, diesen text zusammenfasst, diesen text liest, " +
		"diese seite liest, diese seite zusammenfasst, zusammenfasst, liest, lesen, verarbeitet, " +
		"verarbeiten, auswerten, auswertet, auswertest, zusammenfassen, zusammenfassend, " +
		"systemhinweis, systemmeldung, system, wichtige anweisung, anweisung, neue anweisung, " +
		"neue anweisungen, werter, werte, geehrte, geehrter, guten tag, hey, hört her, aufgepasst, " +
		"ps, an die, an das, an den",
	and: "und, oder, sondern, dann",
	filler: "mehr, länger, bitte, und, die, der, das, den, dem, des, ein, eine, einen, einem, du, dir, " +
		"sie, ihnen, ihre, ihren, deine, deinen, dein, dann, jetzt, nun, auch, nur, so, als, dass, " +
		"zu, an, ab sofort, von nun an, freundlicherweise, höflich, einfach, dem nutzer, " +
		"den nutzern, nutzern, es, hier, ganz, mir, von, zum, zur, gefälligst, hast, haben, hat, er, " +
		"man, ihr, euch, euer, eure, mit, bei, in, im, auf, für, um, vor, nach, über, unter, aus, " +
		"wenn, falls, wird, werden, wurde, wurden, worden, ist, sind, war, deiner, deinem, deines, " +
		"ihrer, ihrem, jeder, jedem, jedes, antwort, antworten, liste, nutzer, benutzer, kunden, " +
		"ausdrücklich, wörtlich, wort für wort, vollständig, komplett, gleich, sofort, ab, weiter, " +
		"weiterhin, künftig, danach, stattdessen, gerne, gern, einmal, mal, doch, sich, selbst, " +
		"diesen, diese, dieser, dieses, hierzu, dazu, davon, einer, eines, marke, firma, shop, " +
		"frage, fragen, auch immer, text, seite, hilfreich*, ehrlich*, neutral*, modern*",
	topic: "angreifer*, angriff*, zum beispiel, beispiel für, hacker, forscher, forschende, angriffe, " +
		"lücke, schwachstelle*, experiment, studie",
	report: "laut, umfrage, studie, untersuchung",
	about: "prompt einschleusung, prompt angriff*, promptinjektion*, prompt injektion*, " +
		"prompt einschleusungen",
}

// spanish are the words by which Spanish texts address and order a model. TestCorpora measures them.
var spanish = words{
	tag: "es",
	ignore: "ignora, ignore, ignoren, ignorad, olvida, olvide, olviden, olvidad, haz caso omiso, " +
		"haga caso omiso, hagan caso omiso, descarta, descarte, descarten, ignorar+, olvidar+, " +
		"desestima, desestime, no sigas, no siga, no hagas caso, no haga caso, hacer caso omiso+, " +
		"no obedezcas, no obedezca, no hagan caso, no cumplas, no cumpla, no sigan, deja de seguir, " +
		"deje de seguir, dejen de seguir, no tengas en cuenta, no tenga en cuenta, " +
		"no tengan en cuenta, pasa por alto, pase por alto, pasen por alto, omite, omita, omitan, " +
		"deja de lado, deje de lado, no prestes atención, no preste atención, sáltate, elude, " +
		"prescinde, prescinda, olvidarte+, desobedece",
	all: "todas, todos, todo, cualquier, toda, cada",
	earlier: "anterior, anteriores, previa, previas, previos, precedentes, de arriba, hasta ahora, " +
		"recibidas, mencionadas, antes, precedente, que recibiste, que has recibido, que te dieron, " +
		"recibidos, dadas, antes de esta línea, antes de este punto, iniciales, originales, " +
		"anteriormente, previamente, antiguas, previo, existentes, vigentes, actuales, de antes, " +
		"arriba, que te han dado, que recibieron, que han recibido",
	rules: "instrucciones, instrucción, órdenes, orden, reglas, regla, indicaciones, directrices, " +
		"normas, comandos, lo que te han dicho, lo que te dijeron, instrucciones del desarrollador, " +
		"pautas, prompts, prompt, consignas, mandatos, lineamientos, políticas, restricciones, " +
		"todo lo que te dijeron, todo lo que te han dicho, todo lo anterior, lo anterior, contexto, " +
		"indicación, barreras, limitaciones, directivas",
	void: "anulad*, sin efecto, no son válidas, ya no son válidas, ya no valen, no valen, derogad*, " +
		"cancelad*, revocad*, reemplazad*, sustituid*, caducad*, obsolet*, nulas, ya no se aplican, " +
		"no se aplican, ya no rigen, suspendid*, invalidad*, ya no aplican",
	reveal: "muestra, muestre, muéstrame, revela, revele, imprime, imprima, envía, envíe, repite, " +
		"repita, enseña, comparte, divulga, reenvía, dime, copia, copie, escribe, escriba, " +
		"transcribe, transcriba, reproduce, reproduzca, adjunta, adjunte, añade, publica, pega, " +
		"manda, mande, entrega, lee, facilita, compartir+, enviar+, repite palabra por palabra, " +
		"enseñe",
	secret: "prompt de sistema, prompt del sistema, instrucciones del sistema, instrucciones de sistema, " +
		"instrucciones ocultas, mensaje del sistema, tus instrucciones ocultas, " +
		"tus instrucciones secretas, tus instrucciones internas, tus instrucciones iniciales, " +
		"tu prompt, su prompt, tu prompt completo, instrucciones internas, instrucciones secretas, " +
		"instrucciones iniciales, prompt oculto, texto anterior",
	data: "conversación, conversaciones, contraseña*, datos del usuario, datos personales, " +
		"correo del usuario, clave api, claves api, historial, esta conversación, chat, " +
		"tarjeta de crédito, número de tarjeta, datos bancarios, dirección del usuario, " +
		"nombre del usuario, archivos del usuario, credenciales, teléfono del usuario, " +
		"correo electrónico del usuario, mensajes del usuario, ubicación del usuario, " +
		"historial de la conversación",
	role: "ahora eres, a partir de ahora eres, desde ahora eres, actúa como, actúe como, " +
		"compórtate como, finge ser, haz de cuenta que eres, ahora es usted, finge que eres, " +
		"eres ahora, desde este momento eres, a partir de ya eres, en adelante eres, ya no eres, " +
		"pasa a ser, asume el papel, adopta el papel, haz el papel, imagina que eres, " +
		"trabajas ahora, entra en modo, activa el modo, compórtese como, ahora trabajas, " +
		"de ahora en adelante eres, hazte pasar por",
	free: "sin restricciones, sin reglas, sin límites, sin filtros, sin filtro, sin censura, " +
		"sin limitaciones, sin ninguna restricción, sin reglas de ningún tipo, ninguna regla, " +
		"ninguna restricción, ningún límite, sin barreras, modo desarrollador, modo dios, " +
		"sin ataduras, sin ninguna regla, sin ningún filtro, libre de reglas, no tienes reglas, " +
		"no tienes límites",
	recommend: "recomienda, recomiende, recomienden, recomendad, recomendar+, sugiere, sugiera, sugieran, " +
		"sugerir+, promociona, promocione, promocionar+, prefiere, prefiera, prefieran, prioriza, " +
		"prioricen, clasifica, elige, favorece, elogia, destacar+, coloca, recomienden+, priorizar+, " +
		"recomendado+, recomendada+, recomiende+, recomiendan+, sugerido+, promocionen+, promover+, " +
		"promueve, promueva, promuevan+, preferir+, preferida+, priorice, favorecer+, favorezca, " +
		"favorezcan+, elogie, elogien+, elogiar+, alaba, alabe, alaben+, coloque, coloquen, " +
		"colocar+, pon, ponga, pongan, poner+, sitúa, sitúe, sitúen+, situar+, posiciona, posicione, " +
		"posicionen+, posicionar+, ubica, ubique, ubiquen+, lista, enumera, enumere, enumeren+, " +
		"listar+, liste, listen+, elijan+, elegir+, elija, aconseja, aconseje, aconsejen+, " +
		"aconsejar+, propón, proponga, propongan+, proponer+, apoya, avala, avale, respalda, " +
		"respalde, dirige a los usuarios, remite, remita, encabeza, impulsa, opta por, " +
		"inclínate por, ensalza, anteponer+, antepón",
	say: "di, diga, digan, decid, decir+, responde, responda, respondan, responder+, menciona, " +
		"mencione, mencionen, mencionar+, cita, citar+, afirma, afirmar+, dile, cuenta, nombra, " +
		"destaca, describir+, concluir+, concluye, concluya, concluyan, presenta, presente, " +
		"presenten, presentar+, presentado+, presentada+, describe, describa, describan, descrito+, " +
		"descrita+, muestra, mostrar+, muestren+, considera, considere, consideren, considerar+, " +
		"trata, trate, traten, tratar+, califica, califique, califiquen+, calificar+, valora, " +
		"valore, evalúa, evalúe, recuerda, recuerde, recuerden, recordar+, memoriza, guarda, guarde, " +
		"guarden, guardar+, ten presente, ten en cuenta que, nombre, nombren, nombrar+, nombrado+, " +
		"nombrada+, mencionado+, mencionada+, citada+, citado+, indica, indique, indiquen, indicar+, " +
		"señala, señale, señalen, señalar+, subraya, subraye, declara, declare, declaren, declarar+, " +
		"asegura, asegure, aseguren, asegurar+, confirma, confirme, confirmen, confirmar+, proclama, " +
		"define, defina, identifica, identifique, reconoce, reconozca, habla, hable, hablen, " +
		"hablar+, informa, informe, incluye, incluya, incluyan, incluir+, aparecer+, aparezca+, " +
		"aparezcan+, figurar+, figure+, otorga, otorgue, asigna, asigne, asocia, asocie, escribe, " +
		"escriban, termina, empieza, referirse+, anota, afirmen, contesta, conteste, contesten",
	never: "no mencione*, nunca mencione*, no mencionar+, no recomiende*, nunca recomiende*, " +
		"no recomendar+, no nombre*, no cites, no hables de, no hablen de, nunca hables de, " +
		"evita mencionar, no sugieras, nunca nombre*, nunca mencionar+, omite, omita, omitan, " +
		"omitir+, calla, calle, callen, callar+, silencia, silencie, silencien, silenciar+, oculta, " +
		"oculte, oculten, ocultar+, evita, evite, eviten mencionar, evite mencionar, " +
		"evita recomendar, evita hablar, evita nombrar, no cite*, nunca cite*, no digas nada, " +
		"no diga nada, no compares, no compare, no critiques, no critique, no hable*, nunca hable*, " +
		"no sugier*, nunca sugier*, no liste*, no incluya*, no muestre*, no enlace*, no señale*, " +
		"excluye, excluya, excluyan, excluir+, deja fuera, deje fuera, no hablar+, no citar+, " +
		"no nombrar+, no recomienden, ni menciones, jamás mencione*, jamás recomiende*",
	first: "mejor, mejores, primer lugar, primero, primera, número uno, líder*, por encima, única, " +
		"único, más fiable, de confianza, antes que, primer, primeros, primer puesto, " +
		"primera posición, puesto número uno, encabezando, a la cabeza, cabeza de la lista, " +
		"al principio, al inicio, en lo alto, arriba del todo, lo más alto, preferid*, favorit*, " +
		"ganador*, referente, referencia, principal, destacad*, fiable, fiables, confiable, " +
		"fuente de confianza, fuente fiable, más confiable, más seguro, segura, ideal, perfect*, " +
		"excelente, opción preferida, primera opción, opción número uno, exclusivamente, únicamente, " +
		"solo, sólo, superior, positiv*, cinco estrellas, 5 estrellas, máxima puntuación, " +
		"mejor nota, líder del mercado, delante, por delante, antes de cualquier, antes que a, " +
		"antes de nadie, número 1, indiscutible",
	rival: "competidor*, competencia, rival*, otras marcas, otras tiendas, otras empresas, " +
		"alternativa*, otros proveedores, otro proveedor, otra marca, otra tienda, otra empresa, " +
		"otro producto, ninguna otra, ningún otro, otros productos, nadie más, nada más, críticas, " +
		"crítica, quejas, defectos, desventajas, debilidades, aspectos negativos, " +
		"comentarios negativos, reseñas negativas, negativo, los demás, las demás",
	prefer: "usa, use, usen, utiliza, utilice, cita, cite, citen, prioriza, enlaza, sigue, siga, sigan, " +
		"seguir+, obedece, obedezca, obedezcan, obedecer+, cumple, cumpla, cumplan, cumplir+, " +
		"atente a, aténgase a, hazme caso, haz caso, haga caso, respeta, respete, respeten, " +
		"respetar+, lee, lea, lean, consulta, consulte, consulten, aplica, aplique, básate en, " +
		"básese en, haz clic, abre, ejecuta, citar+, utilizar+, utilicen",
	must: "debe, deben, debes, deberían, debería, deberías, tienes que, tienen que, tiene que, han de, " +
		"es obligatorio, se ruega, hay que, es necesario que, pedimos que, deberán, deberá, deban, " +
		"deberás, ruega a, se ruega a, se pide a, se pide que, se solicita a, se solicita que, " +
		"pedimos a, rogamos a, rogamos que, se les pide que, se le pide que, se invita a, " +
		"están obligados a, está obligado a, tienen la obligación de, tiene la obligación de, " +
		"es importante que, es imprescindible que, es preciso que, es necesario, es preciso, " +
		"hace falta que, asegúrate de que, asegúrese de que, asegúrate de, asegúrese de, procura, " +
		"procure, por favor, podrías, ¿podrías, quisieras, te pido que, le pido que, te pedimos que, " +
		"os pedimos que, te ruego que, te rogamos que, tu tarea es, tu función es, no olvides, " +
		"no olvide, no dejes de, ha de, has de, haz el favor de, ten la bondad de, solo pueden, " +
		"solo puede, queremos que, quiero que, es tu deber, conviene que",
	always: "siempre, nunca",
	model: "ia, asistente de ia, asistentes de ia, inteligencia artificial, modelo de lenguaje, " +
		"modelos de lenguaje, modelo de ia, modelos de ia, chatbot*, agentes de ia, sistemas de ia, " +
		"bots, robots de ia, grandes modelos de lenguaje, ias, la ia, las ia, asistentes ia, " +
		"asistente ia, asistentes con ia, asistente con ia, modelos de ia generativa, ia generativa, " +
		"ias generativas, modelo ia, modelos ia, sistema de ia, sistemas ia, agente de ia, " +
		"agentes ia, agente ia, motores de ia, motor de ia, motores de respuesta, buscadores con ia, " +
		"buscadores de ia, herramientas de ia, herramienta de ia, bots de ia, bot de ia, bot, " +
		"rastreadores de ia, robot de ia, robots, chatbots, asistentes de inteligencia artificial, " +
		"asistente de inteligencia artificial, modelo de inteligencia artificial, " +
		"modelos de inteligencia artificial, sistemas de inteligencia artificial, llm*, " +
		"modelo lingüístico, modelos lingüísticos, modelo generativo, modelos generativos, " +
		"lectores automáticos, inteligencias artificiales, chat gpt, modelos de lenguajes, " +
		"agente conversacional, agentes conversacionales, rastreadores",
	helper: "asistente, asistentes, asistente virtual, asistentes virtuales, asistenta",
	user:   "al usuario, el usuario, del usuario, a los usuarios, usuario, al cliente",
	conceal: "no informes, no informe, no digas, no le digas, no diga, no avises, no avise, oculta, " +
		"oculte, sin informar, sin avisar, sin decir, no notifiques",
	asked: "cuando los usuarios pregunten, cuando un usuario pregunte, cuando te pregunten, " +
		"cuando alguien pregunte, si te preguntan, si alguien pregunta, si un usuario pregunta, " +
		"en cada respuesta, en tu respuesta, en tus respuestas, en sus respuestas, en su respuesta, " +
		"en todas tus respuestas, en todas las respuestas, en la respuesta, al responder, " +
		"al resumir, al recomendar, al comparar, cuando respondas, cuando resumas, " +
		"cuando recomiendes, a cualquier pregunta, a cada pregunta, en futuras conversaciones, " +
		"en conversaciones futuras, para futuras conversaciones, en el futuro, siempre que alguien, " +
		"siempre que un usuario, cada vez que, cuando el usuario pregunte, si el usuario pregunta, " +
		"cuando un cliente, si un cliente, a quien pregunte, si preguntan, cuando pregunten, " +
		"cuando se pregunte, cuando se te pregunte, resume esta página, resuma esta página, " +
		"en las comparativas, en cualquier comparación, en tus recomendaciones, " +
		"sea cual sea la pregunta",
	ours: "nosotros, nuestr*, esta página, esta tienda, este sitio, nos, este candidato, " +
		"esta candidata, esta empresa, esta marca, este producto, este artículo, este texto, " +
		"este proveedor, este servicio, esta oferta, este negocio",
	intro: "nota para, nota a, nota, atención, mensaje para, mensaje a, aviso a, aviso para, si eres, " +
		"si es usted, querido, querida, estimado, estimada, a, para, hola, instrucciones para, " +
		"importante, mensaje para los, aviso para los, nota para los, nota a los, nota para las, " +
		"atención a, instrucción para, instrucciones a, indicaciones para, indicación para, " +
		"información para, dirigido a, a todos, a todas, a toda, a todo, a cualquier, a los, a las, " +
		"para los, para las, para todo, para toda, si una, si un, si algún, si alguna, si eres un, " +
		"si eres una, en caso de que, si estás, si lees, si está, si este texto, si esta página, " +
		"lee esto, lee esta página, lee este texto, leen, leyendo, leyendo esto, " +
		"leyendo esta página, que lee, que lean, que leen, que lea, que lees, resume, resumes, " +
		"resumes esta página, resume esta página, resumen, resuma, resuman, que resuma, que resuman, " +
		"que resumen, resumiendo, procesa, procesan, procesando, analiza, analizan, analizando, " +
		"indexa, indexan, que utilicen, que usen, que visiten, esta página, este texto, este sitio, " +
		"este documento, como, como ia, sistema, mensaje del sistema, nueva instrucción, " +
		"nuevas instrucciones, señor, señora, buenos días, oye, apreciad*, cuando una, cuando un, " +
		"toda, todo, cualquier, soy, p d, recordatorio, prioridad",
	and: "y, e, o, sino, luego",
	filler: "más, nunca más, por favor, y, de, del, a, la, las, los, el, lo, tus, sus, tu, su, un, una, " +
		"que, en, ahora, también, con, se, ruego, todos, estas, estos, te, le, al usuario, me, como, " +
		"solo, sólo, amablemente, entonces, todo, toda, eres, es, son, sea, sean, ha, has, han, fue, " +
		"recibiste, usted, ustedes, tú, él, ella, ellos, les, nos, os, esta, este, esto, eso, esa, " +
		"ese, por, para, sin, sobre, al, desde, hasta, entre, ante, cuando, si, pero, ya, aún, aquí, " +
		"ahí, luego, después, antes, siempre, nunca, palabra por palabra, palabra, completo, " +
		"completa, textualmente, explícitamente, claramente, expresamente, íntegramente, respuesta, " +
		"respuestas, lista, página, texto, usuarios, clientes, pregunta, preguntas, cada, uno, unos, " +
		"unas, otra, otro, otras, otros, ningún, ninguna, no, ni, o, u, muy, bien, tan, así, mí, ti, " +
		"sí, marca, empresa, tienda, hacia, según, cual, quien, cuyo, además, únicamente, momento, " +
		"e",
	topic:  "atacante*, ataque*, por ejemplo, cómo, hacker*",
	report: "según, encuesta, estudio",
	about:  "inyección de prompt*, inyecciones de prompt*, inyección de instrucciones",
}
