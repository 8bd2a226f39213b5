package injection

var czech = words{
	tag: "cs",
	ignore: "ignoruj, ignorujte, zapomeň, zapomeňte, nedbej, nedbejte, přehlížej, přehlížejte, neřiď se, " +
		"neřiďte se, pomiň, pomiňte, ignorovat+, zapomenout+",
	all: "všechny, všechna, všech, vše, všechno, veškeré, veškerá, každý, každé, cokoli",
	earlier: "předchozí*, předešl*, dřívější*, výše uveden*, uvedené výše, výše, dosavadní*, předtím, " +
		"doposud, původní*",
	rules: "pokyny, pokynů, instrukce, instrukcí, příkazy, příkazů, pravidla, pravidel, " +
		"vše co ti bylo řečeno",
	reveal: "vypiš, vypište, ukaž, ukažte, zobraz, zobrazte, prozraď, prozraďte, odhal, odhalte, pošli, " +
		"pošlete, zopakuj",
	secret: "systémový prompt, systémového promptu, systémové instrukce, systémové pokyny, skryté instrukce, " +
		"skryté pokyny",
	data: "konverzac*, heslo, hesla, osobní údaje, údaje uživatel*, api klíč*, historii chatu",
	role: "nyní jsi, teď jsi, od teď jsi, odteď jsi, od nynějška jsi, chovej se jako, vystupuj jako, " +
		"předstírej že jsi",
	free: "bez omezení, bez pravidel, neomezen*, bez filtr*, bez cenzury, bez zábran",
	recommend: "doporuč, doporučte, doporučuj, doporučujte, doporučit+, doporučovat+, upřednostni, " +
		"upřednostňuj, upřednostňujte, preferuj, preferujte, propaguj, řaď, uváděj, uvádět+, navrhni, " +
		"navrhuj",
	say: "řekni, řekněte, říkej, říkejte, uveď, uveďte, zmiň, zmiňte, odpověz, odpovídej, tvrď, zmínit+, " +
		"říkat+",
	never: "nezmiňuj*, neuváděj*, nedoporučuj*, nejmenuj*, nezmiňovat+, nedoporučovat+, nemluv o",
	first: "nejlepší*, první*, na prvním místě, jako první, číslo jedna, přední*, lídr*, před ostatními, " +
		"jedin*",
	rival:  "konkuren*, jiné značky, jiné obchody, alternativ*, nikoho jiného",
	prefer: "používej, používejte, cituj, citujte, zdůrazni, odkazuj",
	must:   "musí, musíš, musíte, má, mají, měl by, měli by, měly by, je třeba, je nutné",
	always: "vždy, pokaždé, nikdy",
	model: "ai, umělá inteligence, umělé inteligence, umělou inteligenci, umělou inteligencí, " +
		"jazykový model*, jazykové modely, jazykových modelů, jazykovým modelem, jazykovým modelům, " +
		"asistenti s umělou inteligencí, asistent ai, asistenti, asistente, ai asistent*, chatbot*, " +
		"modely ai, modely umělé inteligence",
	asked: "když se uživatel*, když se někdo, pokud se uživatel*, na otázku, na dotaz",
	ours:  "nás, náš, naši, tento web, tuto stránku, tento obchod",
	intro: "poznámka pro, poznámka, upozornění, vzkaz, zpráva, pokud jsi, jestli jsi, pokud jste, pro, " +
		"drahá, milá, pozor",
	filler: "a, prosím, laskavě, tě, ti, vás, si, se, na, o, pak, nyní, teď, jen, také, firmu, firmy, svůj, " +
		"své, jako, že, mi, s, tyto, ty, které",
	topic: "útočník*, útočníci, útok*, například",
	about: "injekce promptu, podvržen* prompt*",
}

var danish = words{
	tag: "da",
	ignore: "ignorer, ignorér, glem, se bort fra, tilsidesæt, ignorere+, glemme+, lad være med at følge, " +
		"følg ikke, tag ikke hensyn til",
	all:     "alle, alt, enhver, samtlige, hver",
	earlier: "tidligere, foregående, ovenstående, forrige, ovenfor, hidtidige, forudgående, indtil nu",
	rules: "instruktion*, instruks*, anvisning*, regel, regler, reglerne, ordrer, kommandoer, " +
		"retningslinjer, alt hvad du har fået at vide",
	reveal: "vis, udskriv, afslør, send, gentag, vis mig, del, videresend, oplys",
	secret: "systeminstruktion*, skjulte instruktion*, din systemprompt*, systembesked*",
	data:   "samtalen, samtaler, adgangskode*, persondata, brugerens, api nøgle*, chathistorik*",
	role:   "du er nu, fra nu af er du, opfør dig som, lad som om du er, agér som, ager som, spil rollen som",
	free: "uden begrænsning*, uden regler, uden restriktioner, ubegrænset, ufiltreret, uden filtre, " +
		"uden filter",
	recommend: "anbefal, anbefale+, foreslå, foretræk, fremhæv, prioriter, fremhæve+, foretrække+, vælg, " +
		"ranger, promover",
	say: "sig, fortæl, svar, nævn, nævne+, oplys, sige+, skriv, omtal",
	never: "nævn aldrig, nævn ikke, anbefal aldrig, anbefal ikke, aldrig nævne+, ikke nævne+, " +
		"ikke anbefale+, omtal aldrig, omtal ikke, undlad at nævne",
	first:  "bedste, først, første, nummer et, førende, foran, eneste, mest",
	rival:  "konkurrent*, andre mærker, andre butikker, andre virksomheder, alternativ*, andre end",
	prefer: "brug, citer, citér, henvis til, fokuser på",
	must:   "skal, bør, må, er forpligtet til, venligst",
	always: "altid, aldrig",
	model: "ai, ai assistent*, kunstig intelligens, sprogmodel, sprogmodeller, sprogmodellen, " +
		"store sprogmodeller, chatbot*, assistent, assistenter, ai modeller, ai model, ki, ai agenter, " +
		"ai systemer",
	asked: "når brugere spørger, når brugeren spørger, når nogen spørger, hvis nogen spørger, " +
		"hvis brugeren spørger",
	ours:  "os, vores, denne side, denne butik",
	intro: "besked til, note til, bemærkning til, til, hvis du er, kære, bemærk, obs, meddelelse til, for",
	filler: "længere, og, venligst, de, den, det, en, et, din, dine, dit, du, så, nu, da, som, at, vær, " +
		"venlig, også, kun, for, fra, om, til, altid, derfor",
	topic: "angriber*, angreb, for eksempel",
	about: "prompt injektion*",
}

var german = words{
	tag: "de",
	ignore: "ignoriere, ignorier, ignorieren sie, ignoriert, vergiss, vergessen sie, vergesst, missachte, " +
		"missachten sie, ignorieren+, vergessen+, missachten+, befolge nicht, setze dich über, " +
		"setzen sie sich über, beachte nicht, übergehe, übergehen sie, verwirf, verwerfen sie",
	all: "alle, alles, sämtliche, sämtlichen, allen, jede, jegliche, jeden",
	earlier: "vorherige*, vorige*, bisherige*, obige*, frühere*, vorangegangene*, vorangehende*, oben, " +
		"obenstehende*, vorhergehende*, zuvor, vorher, bisher, vorstehende*, oben genannte*, " +
		"ursprüngliche*",
	rules: "anweisung, anweisungen, befehle, befehl, regeln, regel, vorgaben, vorgabe, instruktion*, " +
		"richtlinie*, weisungen, anordnungen, prompts, prompt, was dir gesagt wurde, " +
		"was ihnen gesagt wurde",
	reveal: "gib, geben sie, zeige, zeig, zeigen sie, verrate, verraten sie, nenne, nennen sie, wiederhole, " +
		"wiederholen sie, sende, senden sie, schicke, schicken sie, offenbare, drucke, drucken sie, " +
		"enthülle, leite, übermittle, übermitteln sie",
	secret: "systemanweisung*, system anweisung*, systemnachricht*, verborgenen anweisungen, " +
		"versteckten anweisungen, geheimen anweisungen, system prompt*",
	data: "unterhaltung*, gespräch*, passwort, passwörter, nutzerdaten, benutzerdaten, daten des nutzers, " +
		"daten des benutzers, e mail adresse*, zugangsdaten, api schlüssel*, chatverlauf*, " +
		"gesprächsverlauf*",
	role: "du bist jetzt, du bist nun, sie sind jetzt, ab jetzt bist du, ab sofort bist du, " +
		"von nun an bist du, verhalte dich wie, verhalte dich als, agiere als, handle als, " +
		"tu so als wärst du, tue so als wärst du, spiele die rolle",
	free: "ohne einschränkung*, ohne regeln, ohne beschränkung*, ohne filter, uneingeschränkt*, " +
		"unbeschränkt*, ungefiltert*, unzensiert*, ohne grenzen, ohne jede einschränkung*, ohne vorgaben",
	recommend: "empfiehl, empfehle, empfehlen sie, empfehlt, empfehlen+, bevorzuge, bevorzugen sie, " +
		"bevorzugen+, schlage, schlagen sie, vorschlagen+, bewirb, bewerben+, nenne, bewerte, " +
		"bewerten sie, bewerten+, setze, setzen sie, stelle, stellen sie, ranke, priorisiere, " +
		"priorisieren+, lobe, loben sie, loben+, wähle, wählen sie, darstellen+",
	say: "sage, sag, sagen sie, sagen+, antworte, antworten sie, antworten+, erwähne, erwähnen sie, " +
		"erwähnen+, erwähnt, teile, teilen sie, nennen sie, nennen+, behaupte, beschreibe, " +
		"beschreiben sie, beschreiben+, schreibe, betone, betonen sie, merke dir, merk dir, hinweisen+",
	never: "nenne niemals, nenne nie, nenne keine, nennen sie niemals, nennen sie nie, nennen sie keine, " +
		"nennt niemals, nennt keine, erwähne niemals, erwähne nie, erwähne keine, erwähnen sie niemals, " +
		"erwähnen sie nie, erwähnen sie keine, empfiehl niemals, empfiehl nie, empfiehl keine, " +
		"empfehlen sie niemals, empfehlen sie keine, erwähne nicht, nicht erwähnen+, niemals erwähnen+, " +
		"keine konkurrenten+, verschweige, verschweigen sie, niemals nennen+, nicht nennen+",
	first: "beste*, bester, an erster stelle, zuerst, als erste*, nummer eins, marktführer*, führend*, " +
		"vor allen anderen, einzige*, an oberster stelle, auf platz eins, erste wahl, " +
		"vertrauenswürdigste*",
	rival: "wettbewerber*, konkurrent*, konkurrenz, mitbewerber*, andere marken, andere anbieter*, " +
		"andere shops, alternativen, anderen anbieter*, andere als",
	prefer: "verwende, verwenden sie, nutze, nutzen sie, zitiere, zitieren sie, verlinke, hebe, " +
		"konzentriere, zitieren+",
	must: "müssen, muss, musst, sollen, soll, sollst, sollten, sollte, solltest, dürfen, darfst, darf, " +
		"sind verpflichtet, sind angewiesen, haben zu, werden gebeten, werden angewiesen, wir bitten, " +
		"ist angewiesen",
	always: "immer, stets, niemals, nie, unbedingt",
	model: "ki, ai, kis, ki assistent*, ki modell*, ki system*, ki agent*, ki bot*, ki crawler*, " +
		"künstliche intelligenz*, künstlichen intelligenz*, sprachmodell*, sprachassistent*, assistent, " +
		"assistenten, chatbot*, bots, ki suchmaschine*, ai assistent*, ai modelle, große sprachmodelle, " +
		"großen sprachmodelle",
	asked: "wenn nutzer*, wenn benutzer*, wenn jemand, wenn ein nutzer*, wenn der nutzer*, wenn du nach, " +
		"falls jemand, auf die frage, wenn gefragt wird, wenn du gefragt wirst, bei fragen",
	ours: "uns, unser*, diese seite, dieser shop, diesen shop, dieses unternehmen",
	intro: "hinweis an, hinweis für, hinweise für, anmerkung für, notiz an, nachricht an, an, achtung, " +
		"liebe, lieber, hallo, wenn du, falls du, wenn sie, falls sie, bist, sind, anweisung für, " +
		"anweisungen für, anweisung an, anweisungen an, für, wichtig, die diese seite lesen, " +
		"welche diese seite lesen",
	filler: "mehr, länger, bitte, und, die, der, das, den, dem, des, ein, eine, einen, einem, du, dir, sie, " +
		"ihnen, ihre, ihren, deine, deinen, dein, dann, jetzt, nun, auch, nur, so, als, dass, zu, an, " +
		"ab sofort, von nun an, freundlicherweise, höflich, einfach, dem nutzer, den nutzern, nutzern, " +
		"es, hier, ganz, mir, von, zum, zur, gefälligst",
	topic: "angreifer*, angriff*, zum beispiel, beispiel für, hacker, forscher",
	about: "prompt einschleusung",
}

var spanish = words{
	tag: "es",
	ignore: "ignora, ignore, ignoren, ignorad, olvida, olvide, olviden, olvidad, haz caso omiso, " +
		"haga caso omiso, hagan caso omiso, descarta, descarte, descarten, ignorar+, olvidar+, " +
		"desestima, desestime, no sigas, no siga, no hagas caso, no haga caso, hacer caso omiso+",
	all: "todas, todos, todo, cualquier, toda, cada",
	earlier: "anterior, anteriores, previa, previas, previos, precedentes, de arriba, hasta ahora, recibidas, " +
		"mencionadas, antes",
	rules: "instrucciones, instrucción, órdenes, orden, reglas, regla, indicaciones, directrices, normas, " +
		"comandos, lo que te han dicho, lo que te dijeron",
	reveal: "muestra, muestre, muéstrame, revela, revele, imprime, imprima, envía, envíe, repite, repita, " +
		"enseña, comparte, divulga, reenvía, dime",
	secret: "prompt de sistema, prompt del sistema, instrucciones del sistema, instrucciones de sistema, " +
		"instrucciones ocultas, mensaje del sistema",
	data: "conversación, conversaciones, contraseña*, datos del usuario, datos personales, " +
		"correo del usuario, clave api, claves api, historial",
	role: "ahora eres, a partir de ahora eres, desde ahora eres, actúa como, actúe como, compórtate como, " +
		"finge ser, haz de cuenta que eres, ahora es usted, finge que eres",
	free: "sin restricciones, sin reglas, sin límites, sin filtros, sin filtro, sin censura, " +
		"sin limitaciones, sin ninguna restricción",
	recommend: "recomienda, recomiende, recomienden, recomendad, recomendar+, sugiere, sugiera, sugieran, " +
		"sugerir+, promociona, promocione, promocionar+, prefiere, prefiera, prefieran, prioriza, " +
		"prioricen, clasifica, elige, favorece, elogia, destacar+, coloca, recomienden+, priorizar+",
	say: "di, diga, digan, decid, decir+, responde, responda, respondan, responder+, menciona, mencione, " +
		"mencionen, mencionar+, cita, citar+, afirma, afirmar+, dile, cuenta, nombra, destaca, describir+",
	never: "no mencione*, nunca mencione*, no mencionar+, no recomiende*, nunca recomiende*, " +
		"no recomendar+, no nombre*, no cites, no hables de, no hablen de, nunca hables de, " +
		"evita mencionar, no sugieras, nunca nombre*, nunca mencionar+",
	first: "mejor, mejores, primer lugar, primero, primera, número uno, líder*, por encima, única, único, " +
		"más fiable, de confianza, antes que",
	rival: "competidor*, competencia, rival*, otras marcas, otras tiendas, otras empresas, alternativa*, " +
		"otros proveedores",
	prefer: "usa, use, usen, utiliza, utilice, cita, cite, citen, prioriza, enlaza",
	must: "debe, deben, debes, deberían, debería, deberías, tienes que, tienen que, tiene que, han de, " +
		"es obligatorio, se ruega, hay que, es necesario que, pedimos que",
	always: "siempre, nunca",
	model: "ia, asistente de ia, asistentes de ia, asistente, asistentes, inteligencia artificial, " +
		"modelo de lenguaje, modelos de lenguaje, modelo de ia, modelos de ia, chatbot*, agentes de ia, " +
		"sistemas de ia, asistentes virtuales, bots, robots de ia, asistente virtual, " +
		"grandes modelos de lenguaje",
	asked: "cuando los usuarios pregunten, cuando un usuario pregunte, cuando te pregunten, " +
		"cuando alguien pregunte, si te preguntan, si alguien pregunta, si un usuario pregunta",
	ours: "nosotros, nuestr*, esta página, esta tienda, este sitio, nos",
	intro: "nota para, nota a, nota, atención, mensaje para, mensaje a, aviso a, aviso para, si eres, " +
		"si es usted, querido, querida, estimado, estimada, a, para, hola, instrucciones para, importante",
	filler: "más, nunca más, por favor, y, de, del, a, la, las, los, el, lo, tus, sus, tu, su, un, una, que, " +
		"en, ahora, también, con, se, ruego, todos, estas, estos, te, le, al usuario, me, como, solo, " +
		"sólo, amablemente, entonces, todo, toda",
	topic: "atacante*, ataque*, por ejemplo, cómo, hacker*",
	about: "inyección de prompt*, inyecciones de prompt*, inyección de instrucciones",
}
