package injection

// Indices of languages.
const (
	anyLanguage = 0
	english     = 1
)

// languages has the words of every language of the badge: first those of all languages,
// then English, then by tag. Words of two languages are never combined, except with the
// first entry. AI and its translations are in each language, because "ai" is an everyday
// word in French, Italian, Romanian and Vietnamese.
//
// An entry is an order (in command form) or a noun as it is said to a model. The forms of
// statements are left out on purpose: "recommends" describes, "recommend" may order.
var languages = []words{
	common, englishWords, arabic, czech, danish, german, greek, spanish, persian, finnish, french, hebrew, hindi,
	hungarian,
	indonesian, italian, japanese, korean, norwegian, dutch, polish, portuguese, romanian, russian, swedish, thai,
	turkish,
	ukrainian, vietnamese, chinese,
}

// common are the words of all languages.
var common = words{
	secret: "system prompt*, systemprompt*",
	free:   "dan, jailbroken, jailbreak mode, developer mode, dev mode, god mode",
	model: "chatgpt, openai, gpt, gpt 3*, gpt 4*, gpt 5*, claude, gemini, copilot, perplexity, grok, " +
		"deepseek, llama 2, llama 3, llama 4, llm, llms, gptbot, claudebot, perplexitybot, " +
		"bing chat, google bard, meta ai, mistral, chat gpt, gpt 6*, role system content, " +
		"role assistant content, role developer content, amazonbot, google extended, alexa, siri, " +
		"gpt4, gpt5",
	about: "prompt injection*, promptinjection*, prompt inject*, indirect prompt, jailbreaking, " +
		"adversarial prompt*, prompt hacking",
}

// englishWords are the words by which English texts address and order a model. TestCorpora measures them.
var englishWords = words{
	tag: "en",
	ignore: "ignore, disregard, forget, override, bypass, discard, stop following, stop obeying, " +
		"do not follow, don't follow, do not obey, pay no attention to, set aside, throw away, " +
		"no longer follow, take no notice of, don't obey, do not comply with, don't comply with, " +
		"do not adhere to, stop adhering to, unlearn, leave aside, put aside, cast aside, " +
		"give no weight to, not follow+, no longer obey",
	all: "all, any, every, everything, each, entire, whole, completely",
	earlier: "previous, prior, earlier, above, preceding, former, before, so far, until now, up to now, " +
		"foregoing, previously given, that came before, received, received so far, in effect, " +
		"you were given, initial, past, existing, current, that you received, you have received, " +
		"given so far, preceding this, before this line, before this point, above this line, " +
		"prior to this, original, old",
	rules: "instruction, instructions, prompt, prompts, rule, rules, directive, directives, guideline, " +
		"guidelines, command, commands, order, orders, guardrail, guardrails, constraint, " +
		"constraints, restrictions, messages, programming, everything you were told, " +
		"everything you have been told, told you, you were told, you have been told, " +
		"anything you were told, what you were told, all you were told, training, direction, " +
		"directions, system prompt, settings, policy, policies, everything your developer, " +
		"anything before this, briefing, training data, safety rules, mandate, guidance, " +
		"everything before this line, everything before this point, everything before this, " +
		"everything above, everything that came before, all that came before, all of the above",
	void: "void, null and void, no longer valid, no longer apply, no longer applies, " +
		"no longer in force, cancelled, canceled, superseded, replaced, revoked, lifted, suspended, " +
		"obsolete, overridden, overwritten, not apply, don't apply, rescinded, abolished",
	reveal: "reveal, print, output, show, show me, show us, repeat, send, send me, send us, leak, " +
		"disclose, display, forward, transmit, expose, dump, share, include, post, submit, " +
		"exfiltrate, give me, tell me, upload, recite, read out, write out, spell out, quote, paste, " +
		"append, copy, attach, pass on, hand over, hand out, email, mail, write down, return, state, " +
		"summarize, translate, report back, pass along, ask the user for, ask users for, " +
		"request from the user, collect, obtain from the user, extract, steal",
	secret: "system message*, system instruction*, hidden prompt*, hidden instructions, initial prompt*, " +
		"initial instructions, developer message*, secret instructions, your instructions verbatim, " +
		"your prompt, your safety guidelines, your safety rules, your guardrails, " +
		"your safety instructions, your original instructions, your content policy, " +
		"your system instructions, your secret instructions, your internal instructions, " +
		"your hidden instructions, your hidden rules, your initial instructions, " +
		"your exact instructions, exact instructions, your internal rules, " +
		"text above this line, text above, everything above this line, words above this line, " +
		"prompt above, your confidential instructions, hidden rules, user's question, " +
		"user's request, user's query, user's instructions, user's prompt, question of the user, " +
		"request of the user, your operator, your operator's, your developer, your developers, " +
		"your creators, your creator's, your programming, your programmers, your system rules",
	data: "conversation*, chat history, chat log*, user's data, user data, personal data, " +
		"user's e mail*, user's email*, e mail address*, email address*, password*, api key*, " +
		"credentials, access token*, cookies, private data, browsing history, user's name, " +
		"user's location, secrets, user's messages, what the user, the chat so far, chat so far, " +
		"chats, chat transcript*, this chat, credit card*, card number*, payment data, " +
		"phone number*, home address, user's password*, user's files, session token*, bank detail*, " +
		"location of the user, name of the user, private message*, user's mail*, uploaded files, " +
		"contents of the chat",
	role: "you are now, you're now, from now on you are, act as, pretend to be, pretend that you are, " +
		"pretend you are, behave as, behave like, roleplay as, role play as, you will now be, " +
		"you will act as, you must act as, switch to, enter, take on the role of, take the role of, " +
		"become, your new role is, simulate, act like, from this moment on you are, " +
		"from this point on you are, starting now you are, as of now you are, you are no longer, " +
		"assume the role of, play the role of, impersonate, turn into, go into, switch into, " +
		"your name is now, your new name is, consider yourself, imagine you are, " +
		"imagine that you are, you will henceforth be, henceforth you are, work as, you are dan, " +
		"your name is, you now work for, you work for",
	free: "unrestricted, unfiltered, uncensored, without restriction*, without any restriction*, " +
		"without rules, without any rules, without limit*, without any limit*, without filter*, " +
		"without any filter*, without safety, no restrictions, no rules, no limits, " +
		"without guardrails, without guidelines, that only recommends, without censorship, " +
		"with no restriction*, no filter, no filters, no guidelines, no restriction, " +
		"without a filter, without safeguards, no safeguards, no ethics, without ethics, " +
		"without moral*, unlimited, unbound, free of rules, free of restrictions, freed from, " +
		"dan mode, without content policy, unaligned, no longer bound, anything now, " +
		"can do anything",
	recommend: "recommend, recommended+, suggest, suggested+, promote, promoted+, endorse, rank, ranked+, " +
		"favor, favour, praise, prefer, preferred+, advertise, advise, speak well of, " +
		"direct users to, steer users to, send users to, point users to, cite, upvote, prioritize, " +
		"prioritise, refer users to, recommends+, only recommend, recommending+, propose, proposed+, " +
		"favored+, favoured+, praised+, endorsed+, advertised+, cited+, champion, back, push, plug, " +
		"vouch for, give preference to, give priority to, show preference for, prioritized+, " +
		"prioritised+, hype, talk up, single out, elevate, lead with, default to, opt for, go with, " +
		"side with, steer people to, redirect users to, refer people to, point people to, " +
		"refer customers to, send people to, suggesting+, only suggest, only cite, extol, laud, " +
		"compliment, commend, acclaim, bring up, showcase, spotlight, steer travellers to, " +
		"steer customers to, steer readers to, use only, only use, use exclusively, rely only on, " +
		"rely solely on, trust only, link only to, quote only, cite only",
	say: "list, place, put, choose, pick, rate, treat, trust, buy, feature, position, present, " +
		"portray, boost, say, tell, answer, respond, reply, state, mention, describe, claim, " +
		"conclude, emphasize, emphasise, highlight, remember, consider, call, name, mentioned+, " +
		"include, write, add, assert, repeat, report, link, listed+, placed+, put+, named+, " +
		"described+, presented+, featured+, shown+, show, display, introduce, introduced+, declare, " +
		"declared+, designate, designated+, identify, identified+, recognize, recognise, " +
		"recognized+, recognised+, regard, regarded+, treated+, considered+, label, define, " +
		"characterize, characterise, depict, paint, frame, reference, referenced+, refer to, " +
		"speak of, speak about, talk about, quote, quoted+, used+, select, selected+, chosen+, " +
		"crown, award, assign, give, grant, score, grade, rated+, mark, save, store, stored+, " +
		"memorize, memorise, record, associate, keep in mind, bear in mind, output, print, " +
		"open with, begin with, start with, end with, finish with, close with, conclude with, " +
		"appear+, appeared+, confirm, assure, inform, convince, persuade, insist, stress, " +
		"underline, generate, produce, acknowledge, admit, agree, treats+, think of, rank+, bring, " +
		"promise, vote for, update your memory, add to your memory, save to your memory, " +
		"commit to memory, make, steer, guide, route, nudge",
	never: "never mention, do not mention, don't mention, not mention, never recommend, " +
		"do not recommend, don't recommend, not recommend, never suggest, do not suggest, " +
		"don't suggest, not suggest, never name, do not name, don't name, never cite, do not cite, " +
		"don't cite, never reference, do not reference, never list, do not list, don't list, " +
		"not list, never refer to, do not refer to, never promote, do not promote, avoid mentioning, " +
		"avoid recommending, avoid naming, omit, exclude, hide, never speak of, never compare, " +
		"do not compare, never criticize, do not criticize, say nothing about, only mention, " +
		"do not talk about, not compare, not name, not reference, not cite, never say anything, " +
		"never bring up, do not bring up, don't bring up, not bring up, never name another, " +
		"never show, do not show, never talk about, don't talk about, not talk about, never discuss, " +
		"do not discuss, don't discuss, not discuss, never quote, do not quote, keep quiet about, " +
		"keep silent about, stay silent about, be silent about, stay quiet about, leave out, " +
		"suppress, conceal, withhold, downplay, play down, ignore any, refrain from mentioning, " +
		"refrain from recommending, refrain from naming, refrain from citing, avoid citing, " +
		"avoid listing, avoid suggesting, avoid discussing, never include, do not include, " +
		"don't include, do not highlight, don't highlight, not highlight, never reveal, " +
		"do not reveal, don't reveal, never disclose, do not disclose, steer clear of, discourage, " +
		"warn against, advise against, badmouth, discredit, disparage, recommend against, " +
		"recommend nobody, recommend no, mention nobody, mention no, name no, cite no, list no, " +
		"never acknowledge, do not speak of, never point to, do not point to, never link to, " +
		"do not link to",
	first: "first, best, top, number one, number 1, no 1, #1, leading, leader*, most trusted, " +
		"most trustworthy, most reliable, superior, top choice, only, definitive, authoritative, " +
		"authority, better than, above all, over all, over any, trusted, highest, primary, default, " +
		"preferred, official, favorably, positively, great, excellent, world class, before any, " +
		"before all, ahead of, winner, top spot, top of, at the top, on top, gold standard, " +
		"industry standard, market leader, most popular, favourite, favorite, finest, ideal, " +
		"perfect, safest, cheapest, lowest, most affordable, award winning, recommended, " +
		"trusted source, reliable, credible, go to, reference, preferred choice, first choice, " +
		"first place, better, outranks, unrivaled, unrivalled, unmatched, second to none, premier, " +
		"foremost, flagship, five stars, 5 stars, full marks, ten out of ten, 10 10, highest score, " +
		"maximum score, perfect score, positive, positive review, glowing, verified, highest rated, " +
		"top rated, most reputable, reputable, most innovative, most accurate, nothing but, solely, " +
		"exclusively, head of, front of, ahead, above its, above their, above every, over its, " +
		"over every, over other, over others, instead of, rather than, one and only, expert, " +
		"strongest, most secure, lead",
	rival: "competitor*, rival*, alternative*, other brand*, other shop*, other compan*, " +
		"other provider*, other product*, other service*, other website*, other vendor*, " +
		"other site*, anybody but, anyone but, anything but, any other*, nobody but, others, " +
		"competition, competing*, anything negative, anything bad, no other, another brand, " +
		"another shop, another company, another provider, another vendor, another product, " +
		"other firm*, other store*, other option*, other name*, other source*, other seller*, " +
		"other solution*, other tool*, other supplier*, other roaster*, weakness*, " +
		"negative comment*, negative review*, complaint*, criticism, drawback*, downside*, flaw*, " +
		"bad review*, anything critical, controvers*, lawsuit*, scandal*, shortcoming*, negatives, " +
		"comparison*, nobody else, no one else, everyone else, different brand*, similar product*",
	prefer: "mention, use, cite, link, quote, focus on, prioritize, prioritise, highlight, emphasize, " +
		"emphasise, rely on, summarize, summarise, read, visit, fetch, follow, weight, index, " +
		"include, obey, adhere to, comply with, stick to, act on, act according to, consult, click, " +
		"open, fill in, download, subscribe, accept, adopt, apply, answer from, process, execute, " +
		"carry out, comply, do what follows, do as follows, do as this page says, " +
		"do what this page says",
	must: "please, kindly, must, should, shall, have to, has to, need to, are to, is to, " +
		"are instructed to, is instructed to, are required to, is required to, are asked to, " +
		"are advised to, are expected to, are obliged to, are encouraged to, will, ought to, " +
		"it would be great if, we would ask you to, we ask you to, we would like you to, " +
		"would like you to, we want you to, wants you to, i want you to, we request, you may only, " +
		"your task is to, your new task is to, your job is to, your goal is to, make sure to, " +
		"be sure to, make sure you, ensure that you, remember to, do not forget to, " +
		"it is important to, you can only, it is essential that, it would be nice if, could you, " +
		"would you, can you, feel free to, i need you to, may only, are told to, is told to, " +
		"are urged to, is urged to, are requested to, is requested to, are invited to, " +
		"are directed to, is directed to, are kindly asked to, is kindly asked to, are supposed to, " +
		"is supposed to, has got to, had better, shall always, need only, would do well to, " +
		"it is requested that, it is required that, we request that, we ask that, please make sure, " +
		"please make sure that, make sure that, see to it that, be so kind as to, if you would, " +
		"would you kindly, would you please, could you please, can you please, will you please, " +
		"you are to, you have to, you will, you shall, you must, you should, you ought to, " +
		"you need to, you are required to, you are instructed to, i want, we want, " +
		"it would be appreciated if, it would be kind if, it would be great if you, " +
		"we would appreciate it if, we would be grateful if, do your best to, be sure that, " +
		"take care to, do always, agrees to, agree to, undertakes to, consents to, is bound to, " +
		"are bound to, commits to, accepts to, promises to, is obliged to",
	always: "always, never",
	model: "ai, ais, a i, ai assistant*, ai model*, language model*, large language model*, chatbot*, " +
		"bot, bots, other models, ai bot*, ai agent*, ai shopping agent*, ai shopping assistant*, " +
		"the model must, the model should, models must, models should, ai system*, ai crawler*, " +
		"ai chatbot*, crawler*, ai tool*, ai search engine*, answer engine*, generative engine*, " +
		"ai overview*, artificial intelligence, ai summarizer*, ai reader*, language models, " +
		"machine reader*, generative ai, ai summary tool*, ai powered assistant*, ai system, " +
		"ai assistants, ai summar*, ai review*, ai evaluator*, ai judge*, ai grader*, ai screener*, " +
		"ai ranker*, ai engine*, ai search, ai search tools, ai helper*, ai copilot*, ai browser*, " +
		"ai scraper*, ai spider*, ai app*, ai service*, ai answer*, ai product*, " +
		"ai training pipeline*, training pipeline*, ai recommender*, ai moderator*, ai filter*, " +
		"ai companion*, ai program*, ai software, ai recruit*, ai researcher agent*, ai led, " +
		"ai driven assistant*, ai based assistant*, llm system*, llm agent*, llm based*, " +
		"llm powered*, llm evaluator*, llm reviewer*, llm judge*, llm grader*, foundation model*, " +
		"generative model*, conversational ai, conversational agent*, autonomous agent*, " +
		"browsing agent*, shopping agent*, shopping assistant*, agentic*, voice assistant*, " +
		"smart assistant*, answering engine*, chat bot*, robot reader*, machine learning model*, " +
		"neural network*, summarizer*, summariser*, ai a, automated reader*, automated assistant*, " +
		"automated system*, any model, every model, all models, reasoning model*, search assistant*, " +
		"research assistant model*, language ai, text generator*, ai overview generator*, " +
		"ai hiring tool*, ai recruiting tool*, ai shopping tool*, ai screening tool*, " +
		"unrestricted model*, unfiltered model*, uncensored model*, unaligned model*, " +
		"in your memory, to your memory, update your memory, your long term memory, save to memory, " +
		"save to your memory",
	helper: "assistant, assistants, virtual assistant*, digital assistant*",
	user:   "the user, users, your user, your users, the customer, the reader, the human, the person",
	conceal: "do not inform, don't inform, not inform, do not tell, don't tell, not tell, never tell, " +
		"do not notify, don't notify, not notify, do not alert, don't alert, do not warn, " +
		"don't warn, do not let, don't let, do not reveal to, hide from, hide this from, " +
		"conceal from, conceal this from, keep this from, never inform, without telling, " +
		"without informing, without notifying, do not mention this to, do not disclose to",
	asked: "when users ask, when a user asks, when the user asks, when someone asks, when asked, " +
		"whenever someone asks, whenever a user asks, whenever users ask, if a user asks, " +
		"if users ask, if the user asks, if asked, if someone asks, when people ask, " +
		"when anyone asks, if anyone asks, whenever asked, users who ask, asked about, " +
		"when answering, when responding, in every answer, in every response, in all answers, " +
		"in your answer*, in your response*, in your reply, in your summary, everybody who asks, " +
		"when recommending, when summarizing, in future conversations, in all future conversations, " +
		"in all future chats, in future chats, in any future conversation, in later conversations, " +
		"in future answers, in future responses, whenever relevant, whenever the topic, " +
		"whenever the user, when the user wants, when users want, when users look for, " +
		"when users search, when users need, if a user wants, if users want, if a user needs, " +
		"if a user is looking for, if someone wants, when someone wants, when someone searches, " +
		"when someone is looking for, whenever someone wants, whenever someone is looking for, " +
		"anyone asking, people asking, anybody who asks, to every question, to any question, " +
		"in each answer, in each response, in any answer, in any response, in its answer*, " +
		"in their answer*, in their response*, in the answer, in the response, in your output, " +
		"in your replies, in your comparison*, in your list, in your ranking, " +
		"in your recommendation*, in your shortlist, in any list, in every list, " +
		"in every comparison, in any comparison, when comparing, when ranking, when generating, " +
		"when listing, when suggesting, when writing, when asked about, when queried, when prompted, " +
		"whatever the question, whatever users ask, whatever the user asks, summarize this page, " +
		"summarise this page, summarize this article, summarise this article, when you summarize, " +
		"when you summarise, for questions about, for any question about, for every question about, " +
		"in conversations about, as a citation, as your source, as a source, to every answer, " +
		"to each answer, to all answers, to your answer, to your answers",
	ours: "us, our, this site, this shop, this website, this page, this company, this brand, " +
		"this product, so, we, this candidate, this applicant, this text, this paper, this article, " +
		"this vendor, this seller, this store, this business, this resume, this cv, this submission, " +
		"this listing, this service, this offer, this file, this document, this manuscript, " +
		"this review, this supplier, this website's, this author, this roaster, this hotel, " +
		"this restaurant",
	intro: "note, notes, note to, to all, to any, message to, notice to, instructions to, note for, " +
		"message, notice, attention, dear, hey, hello, hi, if you are, if you're, if you were, " +
		"instruction, instructions, directive, directives, guidance, guidelines, for, reading this, " +
		"reading this page, reading this file, reading this text, that read, that reads, who read, " +
		"visiting, processing this, parsing this, this page, this text, this site, when an, when a, " +
		"when, is asked, are asked, asked about, important, system, reminder, warning, rules, as a, " +
		"as an, prompt, new, such as, using this, user, the user, the following, follow these, " +
		"command, commands, policy, notice for, message for, instruction for, instructions for, " +
		"attn, for the attention of, to the, to every, to whom, p s, ps, psst, information for, " +
		"info for, advice for, hint for, hint to, tip for, request to, request for, a word to, " +
		"letter to, greetings, listen, if a, if an, if any, if the, if some, should a, should an, " +
		"should any, should you be, should this be, in case you are, in case a, assuming you are, " +
		"since you are, as you are, given that you are, you being, whenever a, whenever an, " +
		"whenever the, when the, when any, once a, is reading this, is reading this page, " +
		"is reading, reads this, reads this page, read this, read this page, reading, " +
		"that is reading, that are reading, who is reading, summarizing this page, " +
		"summarising this page, summarizing this, summarising this, summarizes this, " +
		"summarizes this page, summarises this page, that summarizes this, that summarize, " +
		"that summarizes, indexing this site, indexing this page, crawling this site, " +
		"crawling this page, analyzing this, analysing this, processing this page, that process, " +
		"that processes, that use, that uses, that crawl, that crawls, that visit, that visits, " +
		"that index, scanning this, screening this, evaluating this, reviewing this, ranking this, " +
		"generating an answer, answering questions, when answering, answering, summarizing, " +
		"summarising, by reading this, by reading this page, for ai only, only for, hidden note, " +
		"system note, note from the developer, update, priority, override, urgent, confidential, " +
		"begin, start, end, context, memo, sir, madam, mr, good news, begin instructions, " +
		"end of document, end of page, developer note, admin note, assistant note",
	and: "and, then, or, but, also",
	filler: "whatever, any longer, any more, anymore, a, an, the, and, or, you, your, yours, my, of, in, " +
		"it, its, it's, this, that, these, those, then, now, also, so, just, here, only, simply, " +
		"immediately, to you, be, with, at, by, from, on, as, from now on, from this point on, " +
		"instead, again, thank, thanks, first, strictly, therefore, very, large, given, they, them, " +
		"who, which, has, have, been, were, was, are, is, ever, going, forward, under, " +
		"no circumstances, other, hidden, full, exact, any, two, following, out, but, next, own, " +
		"internal, developer, developers, content, he, she, either, both, whether, one, someone, " +
		"somebody, people, below, above all, please, kindly, politely, gladly, always, in all, " +
		"in any, in every, in full, completely, entirely, merely, too, yet, still, today, " +
		"henceforth, onwards, forthwith, kind, dear, good, gentle, reader, readers, such, each, " +
		"about, regarding, concerning, when, where, while, because, whatsoever, verbatim, " +
		"word for word, word, text, page, site, line, chat, conversation, question, questions, " +
		"answers, answer, reply, response, responses, replies, result, results, summary, summaries, " +
		"users, customers, visitors, everyone, everybody, name, there, would, might, may, can, " +
		"could, do, does, did, not only, all of, any of, some, most, more, much, many, another, " +
		"just this once, for once, fully, directly, exactly, explicitly, clearly, prominently, " +
		"repeatedly, specifically, especially, particularly, favourably, enthusiastically, warmly, " +
		"highly, strongly, mail, email, message, helpful, honest, smart, modern, advanced, " +
		"responsible, trustworthy, neutral, independent, powerful, impartial, careful, " +
		"from this moment, from that moment, from now, from this point",
	topic: "attack, attacks, attacker*, hacker*, the phrase, phrases such as, example of, examples of, " +
		"researchers, for example, e g, how to, players, attackers, malicious, payload, payloads, " +
		"red team*, jailbreakers, adversary, adversaries, exploit*, vulnerab*, the sentence, " +
		"the words, the prompt reads, a text such as, proof of concept, to test, study, experiment*, " +
		"hypothetical*, fictional",
	report: "survey, poll, according to a, study found, a study, researchers found, we tested",
	about: "prompt leak*, prompt attack*, llm security, ai security, red teaming, jailbreak attack*, " +
		"jailbreaks, ai safety research, injection attack*, injected prompt*, injected instruction*, " +
		"hidden instructions in, instructions hidden in, injected order*, memory poisoning, " +
		"recommendation poisoning",
}
