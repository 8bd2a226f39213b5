package site

import "strings"

// languageNames are the languages that brands most often declare, by tag, or by
// primary subtag alone; any other is shown by its tag.
var languageNames = map[string]string{
	"ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
	"en": "English",
	"es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French",
	"gl": "Galician", "he": "Hebrew",
	"hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
	"ja": "Japanese", "ko": "Korean",
	"lt": "Lithuanian", "lv": "Latvian", "ms": "Malay", "nb": "Norwegian Bokmål", "nl": "Dutch",
	"nn": "Norwegian Nynorsk", "no": "Norwegian",
	"pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
	"sr": "Serbian", "sv": "Swedish",
	"th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
	"zh-cn": "Chinese (Simplified)", "zh-hans": "Chinese (Simplified)", "zh-hk": "Chinese (Traditional)",
	"zh-hant": "Chinese (Traditional)",
	"zh-mo":   "Chinese (Traditional)", "zh-sg": "Chinese (Simplified)", "zh-tw": "Chinese (Traditional)",
}

// languageName names a language in English.
func languageName(tag string) string {
	lower := strings.ToLower(strings.ReplaceAll(tag, "_", "-"))
	for known := lower; ; {
		if name := languageNames[known]; name != "" {
			return name
		}
		cut := strings.LastIndexByte(known, '-')
		if cut < 0 {
			return plain(tag)
		}
		known = known[:cut]
	}
}

// badgeLanguage names a language of the badge, whose zh is Simplified Chinese.
func badgeLanguage(tag string) string {
	if tag == "zh" {
		tag = "zh-Hans"
	}
	return languageName(tag)
}
