package injection

// confusables lists, for each Latin letter, the letters of other alphabets that look
// like it, in lower case: the single-letter entries of confusables.txt of UTS 39,
// version 14.0.0, for letters that compatibility decomposition leaves as they are. Scripts
// in which such a letter is an ordinary word, such as Arabic and Hebrew, are left out.
var confusables = map[byte]string{
	'a': "ɑαаᗅꓮꭺ𐊠𖽀",
	'b': "ƅβвьᏼᑲᖯᗷꓐꞵꮟ𐊂𐊡𐌁",
	'c': "ϲсᴄⲥꓚꮯ𐊢𐌂𐐽𐔜",
	'd': "ԁᑯᗞᗪꓒꓓꭰꮷ",
	'e': "εеҽⴹꓰꬲꭼ𐊆",
	'f': "ϝքᖴẝꓝꞙꬵ𐊇𐊥𐔥",
	'g': "ƍɡԍցᏻᶃꓖꮐ",
	'h': "ηнһհᕼⲏꓧꮋꮒ𐋏",
	'i': "ıɩɪͺιіӏιꙇꭵ",
	'j': "ʝϳјᒍꓙꭻ",
	'k': "κкᛕⲕꓗꮶ𐔘",
	'l': "ǀᒪᛁⲓⳑⵏꓡꓲꮮ𐊊𐌉𐑃𐔦𖼖𖼨",
	'm': "μϻмᗰᛖⲙꓟꮇ𐊰𐌑",
	'n': "ոռⲛꓠ𐔓",
	'o': "οσоօჿᴏᴑⲟⵔꓳꬽ𐊒𐊫𐐬𐓪𐔖",
	'p': "ρϱрᑭⲣꓑꮲ𐊕",
	'q': "ԛգզⵕ",
	'r': "ʀгᖇᴦⲅꓣꭇꭈꭱꮁꮢ𐓜𖼵",
	's': "ƽѕտꓢꜱꮥꮪ𐊖𐑈𖼺",
	't': "τтⲧꓔꭲ𐊗𐊱𐌕𖼊",
	'u': "ʋυսᑌᴜꓴꞟꭎꭒ𐓶𖽂",
	'v': "νѵᐯᴠⴸꓦꮩ𐔝𖼈",
	'w': "ɯѡԝաᴡꓪꮃꮤ",
	'x': "χхᕁᕽᚷⲭⵝꓫꭓ𐊐𐊴𐌗𐔧",
	'y': "ɣʏγϒуүყᶌỿℽⲩꓬꭚꭹꮍ𐊲𖽃",
	'z': "ζᴢꓜꮓ",
}
