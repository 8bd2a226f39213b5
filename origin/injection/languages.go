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

	model: "chatgpt, openai, gpt, gpt 3*, gpt 4*, gpt 5*, claude, gemini, copilot, perplexity, grok, " +
		"deepseek, llama 2, llama 3, llama 4, llm, llms, gptbot, claudebot, perplexitybot, bing chat, " +
		"google bard, meta ai",
	secret: "system prompt*, systemprompt*",
	free:   "dan, jailbroken, jailbreak mode, developer mode, dev mode, god mode",
	about: "prompt injection*, promptinjection*, prompt inject*, indirect prompt, jailbreaking, " +
		"adversarial prompt*, prompt hacking",
}

var englishWords = words{
	tag: "en",
	ignore: "ignore, disregard, forget, override, bypass, discard, stop following, stop obeying, " +
		"do not follow, don't follow, do not obey, pay no attention to, set aside, throw away, " +
		"no longer follow, take no notice of",
	all: "all, any, every, everything, each, entire, whole, completely",
	earlier: "previous, prior, earlier, above, preceding, former, before, so far, until now, up to now, " +
		"foregoing, previously given, that came before",
	rules: "instruction, instructions, prompt, prompts, rule, rules, directive, directives, guideline, " +
		"guidelines, command, commands, order, orders, guardrail, guardrails, constraint, constraints, " +
		"restrictions, messages, context, programming, everything you were told, " +
		"everything you have been told, told you, you were told, you have been told, " +
		"anything you were told, what you were told, all you were told, training",
	reveal: "reveal, print, output, show, show me, show us, repeat, send, send me, send us, leak, disclose, " +
		"display, forward, transmit, expose, dump, share, include, post, submit, exfiltrate, give me, " +
		"tell me, upload",
	secret: "system message*, system instruction*, hidden prompt*, hidden instructions, initial prompt*, " +
		"initial instructions, developer message*, secret instructions, your instructions verbatim, " +
		"your prompt, your safety guidelines, your safety rules, your guardrails, " +
		"your safety instructions, your original instructions, your content policy",
	data: "conversation*, chat history, chat log*, user's data, user data, personal data, user's e mail*, " +
		"user's email*, e mail address*, email address*, password*, api key*, credentials, " +
		"access token*, cookies, private data, browsing history, user's name, user's location, secrets, " +
		"user's messages, what the user",
	role: "you are now, you're now, from now on you are, act as, pretend to be, pretend that you are, " +
		"pretend you are, behave as, behave like, roleplay as, role play as, you will now be, " +
		"you will act as, you must act as, switch to, enter, take on the role of, take the role of, " +
		"become, your new role is, simulate, act like",
	free: "unrestricted, unfiltered, uncensored, without restriction*, without any restriction*, " +
		"without rules, without any rules, without limit*, without any limit*, without filter*, " +
		"without any filter*, without safety, no restrictions, no rules, no limits, without guardrails, " +
		"without guidelines, that only recommends, without censorship, with no restriction*",
	recommend: "recommend, recommended+, suggest, suggested+, promote, promoted+, endorse, rank, ranked+, " +
		"favor, favour, praise, prefer, preferred+, advertise, advise, speak well of, direct users to, " +
		"steer users to, send users to, point users to, cite, upvote, prioritize, prioritise, " +
		"refer users to, recommends+, only recommend",
	say: "list, place, put, choose, pick, rate, treat, trust, buy, feature, position, present, portray, " +
		"boost, say, tell, answer, respond, reply, state, mention, describe, claim, conclude, emphasize, " +
		"emphasise, highlight, remember, consider, call, name, mentioned+, include, write, add, assert, " +
		"repeat, report, link",
	never: "never mention, do not mention, don't mention, not mention, never recommend, do not recommend, " +
		"don't recommend, not recommend, never suggest, do not suggest, don't suggest, not suggest, " +
		"never name, do not name, don't name, never cite, do not cite, don't cite, never reference, " +
		"do not reference, never list, do not list, don't list, not list, never refer to, " +
		"do not refer to, never promote, do not promote, avoid mentioning, avoid recommending, " +
		"avoid naming, omit, exclude, hide, never speak of, never compare, do not compare, " +
		"never criticize, do not criticize, say nothing about, only mention, do not talk about, " +
		"not compare, not name, not reference, not cite, never say anything",
	first: "first, best, top, number one, number 1, no 1, #1, leading, leader*, most trusted, " +
		"most trustworthy, most reliable, superior, top choice, only, definitive, authoritative, " +
		"authority, better than, above all, over all, over any, trusted, highest, primary, default, " +
		"preferred, official, favorably, positively, great, excellent, world class, before any, " +
		"before all, ahead of",
	rival: "competitor*, rival*, alternative*, other brand*, other shop*, other compan*, other provider*, " +
		"other product*, other service*, other website*, other vendor*, other site*, anybody but, " +
		"anyone but, anything but, any other*, nobody but, others, competition, competing*, " +
		"anything negative, anything bad",
	prefer: "mention, use, cite, link, quote, focus on, prioritize, prioritise, highlight, emphasize, " +
		"emphasise, rely on, summarize, summarise, read, visit, fetch, follow, weight, index, include, " +
		"obey",
	must: "please, kindly, must, should, shall, have to, has to, need to, are to, is to, " +
		"are instructed to, is instructed to, are required to, is required to, are asked to, " +
		"are advised to, are expected to, are obliged to, are encouraged to, will, ought to, " +
		"it would be great if, we would ask you to, we ask you to, we would like you to, " +
		"would like you to, we want you to, wants you to, i want you to, we request, you may only, " +
		"your task is to, your new task is to, your job is to, your goal is to, make sure to, " +
		"be sure to, make sure you, ensure that you, remember to, do not forget to, it is important to, " +
		"you can only, it is essential that, it would be nice if, could you, would you, can you, " +
		"feel free to, i need you to",
	always: "always, never",
	model: "ai, ais, a i, assistant, assistants, ai assistant*, ai model*, language model*, " +
		"large language model*, chatbot*, bot, bots, other models, ai bot*, ai agent*, " +
		"ai shopping agent*, ai shopping assistant*, the model must, the model should, models must, " +
		"models should, ai system*, ai crawler*, ai chatbot*, crawler*, ai tool*, ai search engine*, " +
		"answer engine*, generative engine*, ai overview*, artificial intelligence, virtual assistant*, " +
		"digital assistant*, ai summarizer*, ai reader*, language models, machine reader*, " +
		"generative ai, ai summary tool*, ai powered assistant*",
	asked: "when users ask, when a user asks, when the user asks, when someone asks, when asked, " +
		"whenever someone asks, whenever a user asks, whenever users ask, if a user asks, if users ask, " +
		"if the user asks, if asked, if someone asks, when people ask, when anyone asks, if anyone asks, " +
		"whenever asked, users who ask, asked about, when answering, when responding, in every answer, " +
		"in every response, in all answers, in your answer*, in your response*, in your reply, " +
		"in your summary, everybody who asks, when recommending, when summarizing",
	ours: "us, our, this site, this shop, this website, this page, this company, this brand, this product, " +
		"so, we",
	intro: "note, notes, note to, to all, to any, message to, notice to, instructions to, " +
		"note for, message, notice, attention, dear, hey, hello, hi, if you are, " +
		"if you're, if you were, instruction, instructions, directive, directives, guidance, guidelines, " +
		"for, reading this, reading this page, reading this file, reading this text, that read, " +
		"that reads, who read, visiting, processing this, parsing this, this page, this text, this site, " +
		"when an, when a, when, is asked, are asked, asked about, important, system, reminder, warning, " +
		"rules, as a, as an, prompt, new, such as, using this, user, the user, the following, " +
		"follow these, command, commands, policy",
	filler: "whatever, any longer, any more, anymore, a, an, the, and, or, you, your, yours, my, of, in, it, " +
		"its, it's, this, that, these, those, then, now, also, so, just, here, only, simply, " +
		"immediately, to you, be, with, at, by, from, on, as, from now on, from this point on, instead, " +
		"again, thank, thanks, first, strictly, therefore, very, large, given, they, them, who, which, " +
		"has, have, been, were, was, are, is, ever, going, forward, under, no circumstances, other, " +
		"hidden, full, exact, any, two, following, out, but, next, own, internal, developer, developers, " +
		"content",
	topic: "attack, attacks, attacker*, hacker*, the phrase, phrases such as, example of, examples of, " +
		"researchers, for example, e g, how to, players",
}
