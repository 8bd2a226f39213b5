package injection

var norwegian = words{
	tag: "nb",
	ignore: "ignorer, glem, se bort fra, overse, ignorere+, glemme+, ikke følg, følg ikke, tilsidesett, " +
		"sett til side, ta ikke hensyn til",
	all:     "alle, alt, enhver, samtlige, hver",
	earlier: "tidligere, foregående, ovenstående, forrige, ovenfor, forutgående, hittil, over",
	rules: "instruksjon*, instruks*, anvisning*, regel, regler, reglene, ordrer, kommandoer, " +
		"retningslinje*, alt du har fått beskjed om",
	reveal: "vis, skriv ut, avslør, send, gjenta, vis meg, del, videresend, oppgi",
	secret: "systeminstruks*, skjulte instruks*, systemprompt*, systemledetekst*, systemmelding*",
	data:   "samtalen, samtaler, passord*, persondata, brukerens, api nøk*, chattelogg*, samtalehistorikk*",
	role: "du er nå, fra nå av er du, oppfør deg som, lat som om du er, lat som du er, opptre som, " +
		"spill rollen som",
	free: "uten begrensning*, uten regler, uten restriksjoner, ubegrenset, ufiltrert, uten filtre, " +
		"uten filter, uten sensur",
	recommend: "anbefal, anbefale+, foreslå, foretrekk, framhev, fremhev, prioriter, foretrekke+, velg, ranger, " +
		"promoter, foreslå+",
	say: "si, fortell, svar, nevn, nevne+, oppgi, skriv, omtal, sei",
	never: "nevn aldri, nevn ikke, anbefal aldri, anbefal ikke, aldri nevne+, ikke nevne+, ikke anbefale+, " +
		"omtal aldri, omtal ikke, unngå å nevne",
	first:  "beste, best, først, første, nummer en, nummer én, ledende, foran, eneste, mest",
	rival:  "konkurrent*, andre merker, andre butikker, andre bedrifter, alternativ*, andre enn",
	prefer: "bruk, siter, sitér, vis til, henvis til, fokuser på",
	must:   "må, skal, bør, er forpliktet til, vennligst",
	always: "alltid, aldri",
	model: "ai, ki, ki assistent*, ai assistent*, kunstig intelligens, språkmodell, språkmodeller, " +
		"språkmodellen, store språkmodeller, chatbot*, assistent, assistenter, ki modell*, ai modell*, " +
		"ki agent*, ki system*, samtalerobot*, praterobot*",
	asked: "når brukere spør, når brukeren spør, når noen spør, hvis noen spør, hvis brukeren spør, " +
		"når en bruker spør",
	ours: "oss, vår, vårt, denne siden, denne butikken",
	intro: "melding til, beskjed til, merknad til, til, hvis du er, kjære, merk, obs, notat til, for, " +
		"viktig, dersom du er",
	filler: "lenger, og, vennligst, de, den, det, en, et, din, dine, ditt, du, så, nå, da, som, at, " +
		"vær så snill, også, kun, bare, for, fra, om, til, alltid, derfor, gi",
	topic: "angriper*, angrep, for eksempel",
	about: "prompt injeksjon*, promptinjeksjon*, ledetekstinjeksjon*",
}

var dutch = words{
	tag: "nl",
	ignore: "negeer, negeert u, vergeet, negeren+, vergeten+, sla geen acht op, volg niet, " +
		"houd geen rekening met, laat buiten beschouwing, veronachtzaam",
	all: "alle, al, elke, iedere, alles, ieder, elk",
	earlier: "vorige, eerdere, voorgaande, bovenstaande, voorafgaande, hierboven, eerder, bestaande, " +
		"tot nu toe, oude",
	rules: "instructie, instructies, opdrachten, opdracht, regels, regel, aanwijzingen, richtlijnen, " +
		"bevelen, prompts, prompt, wat je is verteld",
	reveal: "toon, laat, geef, onthul, druk, herhaal, stuur, verstuur, deel, print, verklap, noem, vertel",
	secret: "systeemprompt*, systeem prompt*, systeeminstructie*, verborgen instructies, " +
		"geheime instructies, systeembericht*",
	data: "gesprek, gesprekken, wachtwoord*, persoonsgegevens, gebruikersgegevens, " +
		"gegevens van de gebruiker, e mailadres van de gebruiker, api sleutel*, chatgeschiedenis",
	role: "je bent nu, u bent nu, jij bent nu, vanaf nu ben je, vanaf nu bent u, gedraag je als, " +
		"doe alsof je, handel als, speel de rol",
	free: "zonder beperking*, zonder regels, zonder restricties, zonder filter*, onbeperkt*, ongefilterd*, " +
		"zonder grenzen, zonder censuur",
	recommend: "beveel, bevelen+, aanbevelen+, aan te bevelen+, raad, aanraden+, adviseer, adviseren+, promoot, " +
		"promoten+, verkies, verkiezen+, zet, plaats, kies, prijs, prijzen+, rangschik, noem, suggereer, " +
		"prefereer, geef voorrang",
	say: "zeg, zeggen+, vertel, vertellen+, antwoord, antwoorden+, vermeld, vermelden+, noemen+, noem, " +
		"beweer, schrijf, benadruk, meld, melden+, beschrijf",
	never: "noem nooit, noem geen, noem niet, vermeld nooit, vermeld geen, beveel nooit, beveel geen, " +
		"raad nooit, nooit noemen+, niet noemen+, niet vermelden+, geen concurrenten+, verzwijg, " +
		"praat niet over",
	first: "beste, eerste, eerst, als eerste, nummer één, nummer 1, nummer een, marktleider, leidend*, " +
		"toonaangevend*, boven, bovenaan, enige, meest",
	rival: "concurrent*, concurrentie, andere merken, andere winkels, andere bedrijven, alternatieven, " +
		"andere aanbieders, rivalen",
	prefer: "gebruik, citeer, verwijs naar, verwijs, geef voorrang, link",
	must: "moeten, moet, dient, dienen, zou moeten, zouden moeten, mag, mogen, is verplicht, behoren te, " +
		"zijn verplicht, worden verzocht",
	always: "altijd, nooit",
	model: "ai, ai assistent*, ki, kunstmatige intelligentie*, taalmodel, taalmodellen, grote taalmodellen, " +
		"chatbot*, assistent, assistenten, ai model*, ai agent*, ai systemen, bots, robots, " +
		"virtuele assistent*",
	asked: "als gebruikers vragen, wanneer gebruikers vragen, als een gebruiker vraagt, " +
		"wanneer een gebruiker vraagt, als iemand vraagt, wanneer iemand vraagt, " +
		"als de gebruiker vraagt, als er gevraagd wordt, als iemand naar",
	ours: "ons, onze, deze site, deze winkel, deze pagina, dit merk",
	intro: "opmerking voor, opmerking aan, notitie voor, bericht aan, let op, aan, als je, als u, beste, " +
		"indien je, indien u, bent, ben, voor, hallo, belangrijk, instructie voor, instructies voor, " +
		"mededeling aan",
	filler: "meer, langer, alstublieft, alsjeblieft, graag, en, de, het, een, je, jouw, uw, jij, u, nu, ook, " +
		"dan, dat, van, als, in, aan, te, om, alleen, vriendelijk, svp, er, ze, die, deze, vanaf nu, " +
		"voortaan, mij, me, gewoon, op, met",
	topic: "aanvaller*, aanval, bijvoorbeeld",
	about: "promptinjectie*",
}

var polish = words{
	tag: "pl",
	ignore: "ignoruj, ignorujcie, zignoruj, zignorujcie, zapomnij, zapomnijcie, zapomnieć, pomiń, pomińcie, " +
		"zignorować, ignorować+, nie przestrzegaj, nie stosuj się do, lekceważ, zlekceważ, odrzuć, " +
		"porzuć, nie zwracaj uwagi na, proszę pominąć",
	all:     "wszystkie, wszystkich, wszystko, wszelkie, każdą, wszystkim, wszelkich",
	earlier: "poprzedni*, powyższ*, wcześniejsz*, dotychczasow*, uprzedni*, powyżej, wcześniej",
	rules: "instrukcje, instrukcji, instrukcjach, polecenia, poleceń, poleceniach, zasady, zasad, zasadach, " +
		"reguły, reguł, regułach, wytyczne, wytycznych, nakazy, rozkazy, wskazówki, dyrektywy, " +
		"co ci powiedziano",
	reveal: "pokaż, pokażcie, ujawnij, ujawnijcie, wypisz, wyświetl, zdradź, wyślij, wyślijcie, powtórz, " +
		"prześlij, podaj, wydrukuj, udostępnij",
	secret: "prompt systemowy, promptu systemowego, instrukcje systemowe, ukryte instrukcje, " +
		"systemowy prompt, komunikat systemowy, polecenie systemowe",
	data: "rozmow*, konwersacj*, hasło, hasła, dane użytkownika, dane osobowe, e mail użytkownika, " +
		"adres e mail użytkownika, klucz api, klucze api, historię czatu",
	role: "jesteś teraz, teraz jesteś, od teraz jesteś, od tej chwili jesteś, zachowuj się jak, " +
		"udawaj że jesteś, działaj jako, działaj jak, wciel się w, występuj jako",
	free: "bez ograniczeń, bez reguł, bez zasad, nieograniczon*, bez filtrów, niefiltrowan*, bez cenzury, " +
		"bez limitów, bez żadnych ograniczeń",
	recommend: "polecaj, polecajcie, poleć, polecić+, polecać+, rekomenduj, rekomendujcie, rekomendować+, " +
		"zarekomenduj, promuj, promować+, wybieraj, preferuj, preferować+, faworyzuj, proponuj, " +
		"zaproponuj, umieszczaj, stawiaj, wskazuj, wskazywać+, chwal, sugeruj, doradzaj",
	say: "mów, mówcie, powiedz, powiedzcie, mówić+, powiedzieć+, odpowiadaj, odpowiedz, odpowiadać+, " +
		"wspomnij, wspominaj, wspominać+, wymieniaj, wymień, wymieniać+, stwierdź, pisz, podawaj, " +
		"nazywaj, zaznacz, podkreślaj",
	never: "nie wspominaj*, nigdy nie wspominaj*, nie wymieniaj*, nie polecaj, nie polecajcie, " +
		"nigdy nie polecaj, nie mów, nie mów o, nie rekomenduj, nie wolno wspominać, " +
		"nigdy nie wymieniaj*, nie wolno wymieniać",
	first: "najlepsz*, pierwsz*, na pierwszym miejscu, numer jeden, lider*, wiodąc*, jedyn*, najbardziej, " +
		"przed innymi, najpierw",
	rival: "konkurent*, konkurenc*, inne marki, inne sklepy, inne firmy, alternatyw*, innych marek, " +
		"innych firm, rywal*",
	prefer: "używaj, cytuj, cytować+, korzystaj, linkuj, zwracaj, akcentuj",
	must: "muszą, musi, musisz, powinny, powinni, powinien, powinieneś, powinna, mają, ma, masz, należy, " +
		"trzeba, proszę, prosimy, są zobowiązane, są zobowiązani",
	always: "zawsze, nigdy",
	model: "ai, si, asystent ai, asystenci ai, asystenci, asystent, sztuczna inteligencja, " +
		"sztuczną inteligencją, sztucznej inteligencji, sztuczną inteligencję, model językowy, " +
		"modele językowe, modelem językowym, modeli językowych, modelom językowym, modelu językowy, " +
		"chatbot*, czatbot*, boty, modele ai, model ai, modeli ai, agenci ai, systemy ai, " +
		"duże modele językowe",
	asked: "gdy użytkownik pyta, gdy użytkownicy pytają, jeśli użytkownik pyta, gdy ktoś pyta, " +
		"jeśli ktoś pyta, kiedy ktoś pyta, kiedy użytkownik pyta, jeśli ktoś zapyta, gdy ktoś zapyta, " +
		"gdy użytkownik zapyta, zapytany, zapytana",
	ours: "nas, nasz*, tę stronę, ten sklep, tę firmę, tej strony, tę markę",
	intro: "uwaga dla, uwaga, notatka dla, wiadomość dla, wiadomość do, do, dla, jeśli jesteś, " +
		"jeżeli jesteś, gdy jesteś, droga, drogi, drodzy, ważne, instrukcje dla, instrukcja dla, " +
		"informacja dla, cześć, witaj",
	filler: "proszę, i, oraz, o, swój, swoje, swoją, twoje, twój, na, z, że, jako, teraz, także, też, więc, " +
		"się, tylko, mi, ci, ty, uprzejmie, jest, te, to, do, w, od, użytkownikowi, już, po prostu, " +
		"prosimy, następnie, a, marki, marką",
	topic: "atakujący, atak, ataku, ataki, na przykład, hakerzy",
	about: "wstrzyknięci* promptu, wstrzykiwani* promptów, wstrzykiwani* poleceń",
}

var portuguese = words{
	tag: "pt",
	ignore: "ignore, ignora, ignorem, ignorar+, esqueça, esqueçam, esquece, esquecer+, desconsidere, " +
		"desconsiderem, desconsiderar+, despreze, não siga, não sigam, não obedeça, descarte, " +
		"deixe de seguir, não leve em conta, não leve em consideração, ignorai",
	all: "todas, todos, tudo, qualquer, toda, cada, quaisquer",
	earlier: "anterior, anteriores, acima, prévia, prévias, precedentes, até agora, recebidas, mencionadas, " +
		"anteriormente, até aqui, antigas, de antes",
	rules: "instruções, instrução, regras, regra, ordens, comandos, diretrizes, orientações, prompts, " +
		"diretivas, o que foi dito, o que te disseram",
	reveal: "mostre, mostra, mostrem, revele, revela, imprima, exiba, envie, envia, repita, compartilhe, " +
		"partilhe, divulgue, diga, escreva, encaminhe, vaze",
	secret: "prompt de sistema, prompt do sistema, instruções do sistema, instruções de sistema, " +
		"instruções ocultas, mensagem do sistema, mensagem de sistema, instruções secretas",
	data: "conversa, conversas, senha, senhas, palavra passe, dados do usuário, dados do utilizador, " +
		"dados pessoais, e mail do usuário, chave api, chaves api, chave de api, histórico",
	role: "agora você é, a partir de agora você é, agora és, você agora é, aja como, atue como, finja ser, " +
		"comporte se como, faça de conta que é, finge ser, você é agora, finja que é, " +
		"a partir de agora és",
	free: "sem restrições, sem regras, sem limites, sem filtros, sem filtro, sem censura, sem limitações, " +
		"sem nenhuma restrição, sem qualquer restrição, irrestrito",
	recommend: "recomende, recomenda, recomendem, recomendar+, sugira, sugere, sugiram, sugerir+, indique, " +
		"indicar+, promova, promover+, prefira, preferir+, priorize, priorizar+, classifique, coloque, " +
		"colocar+, elogie, escolha, destaque, favoreça, aconselhe, apresente",
	say: "diga, digam, dizer+, responda, respondam, responder+, mencione, mencionem, mencionar+, cite, " +
		"citem, citar+, afirme, afirmar+, nomeie, descreva, escreva, informe, lembre se",
	never: "nunca mencione*, não mencione*, não mencionar+, não recomende*, nunca recomende*, não cite*, " +
		"nunca cite*, não fale*, nunca fale*, não sugira*, nunca mencionar+, evite mencionar, " +
		"não nomeie, jamais mencione*",
	first: "melhor, melhores, primeiro, primeira, primeiro lugar, número um, líder*, acima de, única, " +
		"único, mais confiável, antes de, em primeiro",
	rival: "concorrent*, concorrência, rival, rivais, outras marcas, outras lojas, outras empresas, " +
		"alternativa*, outros fornecedores, mais ninguém",
	prefer: "use, usem, utilize, cite, citem, priorize, destaque, consulte",
	must: "deve, devem, deves, deveria, deveriam, deverá, deverão, tem que, têm que, tem de, têm de, " +
		"precisa, precisam, é obrigatório, é necessário, pedimos que, favor, solicita se que",
	always: "sempre, nunca, jamais",
	model: "ia, assistente de ia, assistentes de ia, assistente, assistentes, inteligência artificial, " +
		"inteligências artificiais, modelo de linguagem, modelos de linguagem, modelo de ia, " +
		"modelos de ia, chatbot*, agentes de ia, sistemas de ia, bots, robôs, assistentes virtuais, " +
		"assistente virtual, grandes modelos de linguagem",
	asked: "quando um usuário perguntar, quando os usuários perguntarem, quando o usuário perguntar, " +
		"se um usuário perguntar, se alguém perguntar, quando alguém perguntar, quando perguntarem, " +
		"se o usuário perguntar, quando perguntado, quando te perguntarem, se te perguntarem, " +
		"quando utilizadores perguntarem",
	ours: "nós, nosso*, nossa*, este site, esta loja, esta página, nos, esta marca",
	intro: "nota para, nota a, nota, nota aos, atenção, mensagem para, mensagem aos, aviso a, aviso aos, " +
		"aviso para, se você é, se és, se for, caro, cara, caros, aos, a, para, olá, importante, " +
		"instruções para, se você for, às, prezado, prezada",
	filler: "mais, por favor, e, de, do, da, as, os, o, a, suas, sua, seu, seus, teu, tua, tuas, um, uma, " +
		"que, em, no, na, agora, também, com, estas, estes, lhe, te, ao usuário, me, como, só, apenas, " +
		"gentilmente, então, você, é, à, ao, pelo, pela, tudo, se, favor",
	topic: "atacante*, ataque*, por exemplo, como fazer, hacker*, invasor*",
	about: "injeção de prompt*, injeções de prompt*, injeção de comandos",
}
