"""Words that choose, deny, hedge or compare in English, German, Spanish, French and Chinese.

In these patterns `§` is a mention of a response, which `mentions` has replaced by one character,
and `[^§…]` a set that leaves mentions out.
Chinese is written without spaces, so its patterns have no word boundaries.
"""

import re

from judging.protocols.reading.lazy import compiled_when_used
from judging.protocols.reading.mentions import ANY

_CHARACTERS = {"[^§": f"[^{ANY}", "§": f"[{ANY}]"}


def pattern(*parts: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """One pattern of several alternatives, with the places of responses filled in."""
    text = "|".join(f"(?:{part})" for part in parts)
    for sign, characters in _CHARACTERS.items():
        text = text.replace(sign, characters)
    return compiled_when_used(text, flags)


_ARTICLE = (
    r"(?:\s+(?:ich|sie|er|mich|sich|aber|eher|daher|deshalb|doch|also|donc|plutôt|alors|entonces"
    r"|therefore|then|instead|still|ultimately|rather|probably|wahrscheinlich|vermutlich"
    r"|probablemente|probablement|sans\s+doute|clearly)){0,2}"
    r"(?:\s+(?:the|die|den|der|la|el|le|l['’]|our|my|pour|für|auf|to|zu|por))?\s*(?::\s*)?"
)

# ---- somebody chooses a response ----

_CHOOSING_EN = (
    r"\b(?:choos(?:e|es|ing)|chose|picks?|picking|picked|selects?|selecting|selected|prefers?"
    r"|preferred|favou?rs?|go(?:es)?\s+(?:with|for)|going\s+(?:with|for)|opts?\s+for|opting\s+for"
    r"|votes?\s+for|settle[sd]?\s+(?:on|for)|sides?\s+with"
    r"|lean(?:s|ing)?(?:\s+(?:slightly|more|somewhat|strongly))?(?:\s+towards?|\s+to)?"
    r"|inclined\s+(?:to|towards?)|points?\s+to|recommend(?:s|ed)?)"
)
# Somebody else may choose as well, so the subject of an English verb is the judge or the person.
_CHOICE_EN = (
    r"\b(?:i|we|they|he|she|person|user|reader|individual|participant|respondent|customer|asker"
    r"|somebody\s+like\s+this|someone\s+(?:like\s+this|with\s+[^§,.;]{0,30}))(?:['’]\w+)?"
    r"\b(?:(?!\bwho\b)[^§,;:]){0,60}?" + _CHOOSING_EN
)
_CHOOSING_DE = (
    r"\b(?:wähl(?:e|t|en|te)|nehme|nimmt|nähme|bevorzug(?:e|t|en)|favorisier(?:e|t)|ziehe|zieht"
    r"|tendier(?:e|t)|tipp(?:e|t)|neig(?:e|t)|entscheid(?:e|et)(?:\s+(?:mich|sich))?|wahl\s+fällt"
    r"|votier(?:e|t)|stimme)"
)
_CHOOSING_ES = (
    r"\b(?:elijo|elige|eleg[íi]r[íi]?a?|elegirá|escojo|escoge(?:r[íi]a)?|prefier[eo]|preferir[íi]a"
    r"|opto\s+por|optar[íi]a\s+por|opta\s+por|(?:queda?r?[íi]?a?|quedo|queda)\s+con"
    r"|decanto\s+por|decantar[íi]a\s+por|inclino\s+(?:por|hacia)|inclina(?:r[íi]a)?\s+por"
    r"|gana(?:r[íi]a)?|selecciono|seleccionar[íi]a|voto\s+por|votar[íi]a\s+por)"
)
_CHOOSING_FR = (
    r"\b(?:choisi[stre]*|choisirai[st]?|préfèr(?:e|es|erais|erait|era)|préférerai[st]?|opte\s+pour"
    r"|opterai[st]?\s+pour|penche(?:rais|rait)?\s+(?:plutôt\s+)?(?:pour|vers)|retien[st]"
    r"|retiendrai[st]?|sélectionn(?:e|erais|erait)|vote(?:rais)?\s+pour)"
)
_CHOOSING_ZH = (
    r"(?:(?<![可挑])选择?了?|会选|应选|应该选|倾向于?(?:选择?)?"
    r"|更?喜欢|偏好|偏向于?|首选|投给|支持|更青睐)"
)
_CHOSEN_NOUN = (
    r"\b(?:it(?=\s+(?:would|must|has))|answers?|choice|pick|verdict|decision|preference|selection"
    r"|vote|winner|conclusion"
    r"|judge?ment|better\s+(?:one|fit|match)|best\s+(?:one|fit|match)"
    r"|(?:better|best|correct|right|preferred|stronger|chosen|selected|winning|most\s+\w+)\s+"
    r"(?:response|answer|option|choice|reply)"
    r"|antwort|wahl|entscheidung|urteil|favorit(?:in)?|bessere|sieger(?:in)?|präferenz"
    r"|respuesta|elección|opción|decisión|veredicto|ganadora?|preferencia|voto|mejor"
    r"|réponse|choix|décision|préférence|gagnante?|meilleure|jugement)"
    r"(?:\s+(?:here|overall|final|finale|definitiva|correcta|correcte|insgesamt"
    r"|(?:for|to)\s+(?:this|the)\s+(?:person|user|question)"
    r"|für\s+diese\s+person|para\s+esta\s+persona|pour\s+cette\s+personne))?"
    r"\s+(?:is|would\s+be|will\s+be|must\s+be|goes\s+to|has\s+to\s+be|ist|wäre|lautet|geht\s+an"
    r"|fällt\s+auf|es|sería|est|serait|se\s+porte(?:rait)?\s+sur)"
    r"(?:\s+(?:clearly|probably|definitely|likely|therefore|thus|still|simply|wohl|klar|eindeutig"
    r"|daher|also|also\s+klar|claramente|probablemente|por\s+tanto|clairement|sans\s+doute|donc))?"
)
_CHOSEN_NOUN_ZH = (
    r"(?:答案|选择|结论|判断|偏好|结果|胜者|首选)(?:应该|应当|就|还)?(?:是|为)(?:\s*[:：])?"
)
# A label that ends as a statement: “The answer is: B”.
STATED = pattern(r"\b(?:is|be|to|on|ist|wäre|lautet|an|auf|es|sería|est|serait|sur)\W*\Z")

# A sentence of a guess and a response: “Probably A.”
_GUESS = (
    r"(?:^|(?<=[,;:，；：]))\W*(?:(?:i\s+(?:think|guess|believe|say)|i(?:['’]d|\s+would)\s+(?:say|guess)"
    r"|(?:most\s+)?(?:probably|likely)|definitely|clearly|my\s+guess\s+is|ich\s+(?:denke|glaube|würde"
    r"\s+sagen)|wahrscheinlich|vermutlich|wohl|eher|eindeutig|creo\s+que|(?:yo\s+)?diría(?:\s+que)?"
    r"|(?:muy\s+)?probablemente|seguramente|claramente|je\s+(?:crois|pense|dirais)|plutôt|sans\s+doute"
    r"|(?:très\s+)?probablement|clairement|therefore|so|thus|hence|daher|deshalb|also|por\s+(?:lo\s+)?tanto|así\s+que|donc)"
    r"(?:\s+(?:that|it\s+is|it['’]s|que|eher|wohl))?[,:]?\s+(?:the\s+|la\s+)?"
    r"|(?:我(?:觉得|认为|猜)(?:应该)?(?:是|选)?|应该是|大概是|很可能是|(?:所以|因此)(?:选|是)?))"
    r"§(?=[^§\w]*(?:[.,;!。，；！]|\Z|\s(?:que|als|than)\b))"
)

CHOOSING = pattern(
    _CHOICE_EN + _ARTICLE + "§",
    r"\b(?:i|we|they|he|she|person|user|reader)\b(?:['’]d)?(?:\s+(?:would|will|probably|likely|also"
    r"|clearly)){0,3}\s+(?:likes?|enjoys?|appreciates?)\s+§\s+(?:more|better|best)"
    r"(?=\s*(?:[.,;!]|\Z|than\b|because\b))",
    r"\b(?:profile|evidence|everything|all\s+this)\s+(?:clearly\s+)?points?\s+to" + _ARTICLE + "§",
    # “It is B.” and “Leaning B.” are whole sentences.
    r"^\W*it(?:\s+is|['’]s)\s+§(?=[^§\w]*\Z)",
    rf"(?:^\W*{_CHOOSING_EN}){_ARTICLE}§(?=[^§\w]*\Z)",
    *(
        words + _ARTICLE + "§"
        for words in (
            _CHOOSING_DE + r"(?:\s+(?:diese|die)\s+person)?",
            _CHOOSING_ES,
            _CHOOSING_FR,
            _CHOSEN_NOUN,
        )
    ),
    _CHOOSING_ZH + r"\s*§(?!\s*的)",
    r"\bc['’]est\s+(?:la\s+)?§\s+qui\b",
    _CHOSEN_NOUN_ZH + r"\s*§",
    _GUESS,
    r"\b(?:passt|gefällt|überzeugt|entspricht)\s+(?:\w+\s+)?§[^§.;\n,]{0,50}?\b(?:besser|am\s+besten"
    r"|mehr|eher)\b",
    # German ends a sentence with its verb.
    r"§(?:\s+(?:wohl|eher|klar|eindeutig|deutlich|vermutlich|wahrscheinlich))?\s+"
    r"(?:wählen|gewählt|bevorzugen|bevorzugt|nehmen|vorziehen|vorzieht|entscheiden|favorisieren"
    r"|favorisiert|tendieren|tippen|setzen)\b",
)

# ---- a response is called the better one ----

_ADVERBS = (
    r"(?:\s+(?:clearly|probably|definitely|likely|overall|slightly|somewhat|much|far|simply|still"
    r"|like|to\s+be|also|a\s+bit|marginally|by\s+far|just|therefore|thus"
    r"|klar|eindeutig|deutlich|wohl|etwas|insgesamt|hier|wahrscheinlich|vermutlich|eher|daher|einfach"
    r"|claramente|probablemente|ligeramente|algo|mucho|sin\s+duda|un\s+poco|por\s+tanto"
    r"|clairement|probablement|légèrement|nettement|sans\s+doute|donc|un\s+peu)){0,3}"
)
_NOT_AN_ASPECT = (
    r"(?!\s+(?:at|in|on|when|where|written|structured|regarding|organi[sz]ed|worded|if"
    r"|beim|bei|im|geschrieben|strukturiert|formuliert|was|wenn"
    r"|en(?!\s+(?:general|conjunto|général))|redactada|escrita|rédigée|écrite)\b)"
    r"(?!\s+for\s+(?!this|the\s+(?:person|user|reader)|him|her|them|me|someone|somebody|such|a\s"
    r"|my|an\s))"
)
_BETTER_EN = (
    r"§\s*(?:is|['’]s|seems|appears|would\s+be|will\s+be|looks|remains|feels|sounds)"
    + _ADVERBS
    + r"\s+(?:the\s+|a\s+)?(?:one\b(?=\s+(?:that\s+)?(?:this|the|they|he|she|i)\b)"
    r"|better|best|preferable|preferred|superior|stronger"
    r"|winner|my\s+(?:choice|answer|pick|preference|verdict)|clear\s+winner"
    r"|(?:(?:right|correct|winning|obvious|final)\s+)?(?:choice|answer)(?!\s+(?:of|that)\b)"
    r"|(?:right|correct)(?:\s+(?:one|option|response))?(?=\s*[.,;!]|\s*\Z)"
    r"|most\s+(?:suitable|fitting|appropriate|likely)"
    r"|more\s+(?:suitable|fitting|appropriate|convincing|aligned|in\s+line|appealing|attractive"
    r"|likely\s+to\s+(?:be\s+(?:chosen|preferred|picked)|appeal|please)))\b" + _NOT_AN_ASPECT
)
_FITS_EN = (
    r"§\s+(?:(?:would|will|should|clearly|probably|simply|just)\s+){0,2}"
    r"(?:(?:wins?|edges\s+(?:it|out|ahead)|comes\s+out\s+(?:ahead|on\s+top)"
    r"|has\s+(?:the|an?(?:\s+\w+)?)\s+edge)\b(?!\s+(?:on|in|at)\b)"
    r"|(?:better|best|more\s+closely)\s+(?:fits|suits|match(?:es)?|aligns|reflects|serves|respects)\b"
    r"|(?:fits?|suits?|match(?:es)?|aligns?|resonates?|works?|serves?|appeals?|speaks?)\b"
    r"[^§.;\n,]{0,50}?\b(?:better|best|more\s+closely|more)\b" + _NOT_AN_ASPECT + ")"
)
_BETTER_DE = (
    r"§\s+(?:ist|wäre|scheint|wirkt|bleibt)"
    + _ADVERBS
    + r"\s+(?:die\s+|meine\s+)?(?:besser(?:e)?|beste|am\s+besten|geeigneter|passender(?:e)?"
    r"|vorzuziehen|überlegen|wahl|richtige|überzeugender(?:e)?|siegerin)\b" + _NOT_AN_ASPECT
)
_INVERTED_DE = (
    r"(?:ist|wäre)\s+§\s+(?:klar\s+|eindeutig\s+)?(?:die\s+)?(?:bessere?|beste)\b" + _NOT_AN_ASPECT
)
_FITS_DE = (
    r"§\s+(?:besser|mehr)\s+(?:(?:zu\s+)?(?:ihr|ihm|diese[rm]\s+\w+|der\s+person)\s+)?"
    r"(?:passt|gefällt|entspricht)\b|"
    r"§\s+(?:würde\s+)?(?:passt|gefällt|überzeugt|entspricht|gewinnt|trifft|spricht)"
    r"(?:[^§.;\n,]{0,50}?\b(?:besser|am\s+besten|mehr|eher)\b|(?=\s*[.!\n]|\s*\Z))"
)
_BETTER_ES = (
    r"§\s+(?:es|sería|parece|resulta|me\s+parece)"
    + _ADVERBS
    + r"\s+(?:la\s+)?(?:mejor|preferible|superior|ganadora|elegida|preferida"
    r"|más\s+(?:adecuada|apropiada|convincente|indicada))\b" + _NOT_AN_ASPECT
)
_FITS_ES = (
    r"§\s+(?:le\s+|se\s+)?(?:encaja|ajusta|adapta|gusta|gustaría|gana|conviene|corresponde)"
    r"(?:[^§.;\n,]{0,50}?\b(?:mejor|más)\b|(?=\s*[.!\n]|\s*\Z))"
)
_BETTER_FR = (
    r"§\s+(?:est|serait|semble|paraît|me\s+semble)"
    + _ADVERBS
    + r"\s+(?:la\s+|mon\s+)?(?:meilleure?|préférable|préférée|supérieure|gagnante|choix"
    r"|plus\s+(?:adaptée?|appropriée?|convaincante?|pertinente?))\b" + _NOT_AN_ASPECT
)
_FITS_FR = (
    r"§\s+(?:lui\s+)?(?:correspond|convient|conviendrait|plaît|plairait|l['’]emporte|répond)"
    r"(?:[^§.;\n,]{0,50}?\b(?:mieux|davantage|plus)\b|(?=\s*[.!\n]|\s*\Z))"
)
_BETTER_ZH = (
    r"§\s*(?:[^§。；\n，]{0,8}?)(?:更好|更合适|更适合|更优|更佳|更符合|更贴合|胜出|更胜一筹|较好|最好"
    r"|更可能被(?:选|喜欢|青睐)|更受|更有吸引力|略胜一筹)"
)
_THAN_ZH = r"§\s*比\s*§\s*[^§。；\n]{0,8}?(?:好|更|强|合适|适合|符合)"

BETTER = pattern(
    r"§\s*[>≻]\s*§",
    r"§\s+(?:gets|has)\s+my\s+vote\b",
    r"§\s+it\s+is\s*(?=[.!\n]|\Z)",
    _THAN_ZH,
    _BETTER_EN,
    _FITS_EN,
    _BETTER_DE,
    _INVERTED_DE,
    _FITS_DE,
    _BETTER_ES,
    _FITS_ES,
    _BETTER_FR,
    _FITS_FR,
    _BETTER_ZH,
)
# A short correction: “No, B.”
CORRECTED = pattern(
    r"(?:^|(?<=[,;]))\W*(?:no|wait|actually|make\s+that|i\s+mean|(?:or\s+)?rather|sorry|nein|moment"
    r"|doch|eigentlich|quatsch|perdón|digo|mejor|non|pardon|enfin|不对?|等等)\W+§"
    r"(?=[^§\w]*(?:[.,;!。，；！]|\Z))",
)
# Mentions of the response that is given up in the same sentence.
INSTEAD = pattern(
    r"(?:\b(?:instead\s+of|rather\s+than|anstelle\s+von|anstatt|statt|en\s+lugar\s+de|en\s+vez\s+de"
    r"|au\s+lieu\s+de|plutôt\s+que)|与其选?择?)\s*(?:the\s+|la\s+)?§"
)
# The second of the two is the better one.
OTHER_BETTER = pattern(
    r"§\s*(?:不如|没有|不及)\s*§",
    r"^\W*(?:(?:die|la)\s+)?§\s+(?:(?:is|ist|es|est)\s+(?:clearly\s+|klar\s+|claramente\s+|nettement\s+)?"
    r"(?:worse\s+than|schlechter\s+als|peor\s+que|pire\s+que|moins\s+bonne\s+que)"
    r"|loses\s+to|verliert\s+gegen|pierde\s+contra|perd\s+contre)\s+(?:(?:die|la)\s+)?§[^§\w]*\Z",
    r"^\W*§\s*比\s*§\s*(?:更?差)[^§\w]*\Z",
)

# ---- labels ----

_LABELS = (
    r"(?:final|overall|my|preferred|best|better|chosen|selected|predicted|winning)?\s*"
    r"(?:answer|verdict|choice|option|decision|preference|winner|selection|conclusion|judge?ment|result"
    r"|pick|leaning|(?:response|result)\s+is|prediction|first\s+choice|in\s+(?:short|summary)|(?:preferred|better|chosen|selected|best|winning)(?:\s+(?:response|option|answer))?)"
    r"(?:\s+for\s+(?:this|the)\s+(?:person|user))?",
    r"(?:meine|endgültige|finale|bessere|gewählte)?\s*"
    r"(?:antwort|urteil|wahl|entscheidung|fazit|ergebnis|präferenz|tendenz)",
    r"(?:mi|la)?\s*(?:respuesta|elección|opción|decisión|veredicto|conclusión|preferencia|tendencia|resultado"
    r"|opción\s+elegida|ganadora)(?:\s+(?:final|definitiva|elegida|preferida))?",
    r"(?:ma|la|mon)?\s*(?:réponse|choix|verdict|décision|conclusion|préférence|tendance|résultat)"
    r"(?:\s+(?:finale?|définitive|définitif|retenue|choisie|préférée))?",
    r"(?:最终|最后|我的|更好的)?(?:答案|选择|结论|判断|裁决|判定|结果|偏好|回答|选项|胜者)",
)
LABEL = "(?:" + "|".join((*_LABELS, _CHOSEN_NOUN)) + ")"
FINAL = pattern(
    r"\b(?:final(?:ly)?|ultimately|endgültig\w*|abschließend\w*|letztlich|definitiv[aeo]?\w*"
    r"|finale?|finalement|en\s+définitive|définiti\w+)\b",
    r"最终|最后",
)

# ---- neither response ----

TIE = pattern(
    r"\b(?:it['’]?s|it\s+is|call(?:ing)?\s+(?:it|this)|as|is|be|declare)\s+a\s+(?:tie|draw|toss-up)\b",
    r"\bequally\s+(?:good|suitable|likely|strong|well|appealing|matched|preferable|valid)\b",
    r"\b(?:no|any)\s+(?:clear|real|significant|meaningful|noticeable|strong)?\s*"
    r"(?:difference|winner)\b(?!\s+in\b)",
    r"(?:^|[,;:])\s*(?:an?\s+)?tie\s*(?:[.!]|\Z)",
    r"\b(?:unentschieden|gleichstand|gleich\s+gut|gleichwertig|gleich\s+stark)\b",
    r"\bkein(?:en)?\s+(?:klaren?|deutlichen?|erkennbaren?|nennenswerten?)\s+unterschied\b",
    r"\b(?:empate|igual\s+de\s+(?:buenas|válidas|adecuadas)|equivalentes)\b",
    r"\bno\s+(?:hay|veo)\s+(?:una\s+|ninguna\s+)?(?:diferencia|preferencia)\b",
    r"\b(?:à\s+égalité|égalité|ex\s+aequo|aussi\s+bonnes?\s+l['’]une\s+que\s+l['’]autre|équivalentes"
    r"|se\s+valent)\b",
    r"\bpas\s+de\s+(?:nette\s+|vraie\s+)?(?:différence|préférence)(?:\s+nette)?\b",
    r"平局|平手|一样好|不相上下|难分高下|同样好|没有明显的?(?:差异|区别|差别)|没有区别",
)

# ---- what makes a statement count or not ----

DENIED = pattern(
    r"\b(?:not|never|nor|neither|cannot|hardly|without|\w+n['’]t|less|worse)\b",
    r"\b(?:nicht|kein\w*|nie|weder|kaum|weniger|statt|anstatt)\b",
    r"\b(?:no|nunca|tampoco|jamás|menos|sin|ni)\b",
    r"\b(?:ne|pas|jamais|moins|sans)\b|\bn['’]",
    r"不|没|未|并非|别",
)
# Denies a whole sentence, with its subordinate clauses.
DOUBTED = pattern(
    r"\b(?:doubt(?:s|ful)?|unlikely|improbable|fewer|few|little|no\s+reason|hard\s+to\s+(?:believe|see)"
    r"|refuse[sd]?|avoid(?:s|ed)?)\b",
    r"\b(?:not|n['’]t|never|cannot)\s+(?:\w+\s+)?(?:think|believe|say|claim|convinced|persuaded|see|expect"
    r"|imagine|clear|obvious|mean|suggest)\b|\b\w+n['’]t\s+(?:\w+\s+)?(?:think|believe|say|claim|see"
    r"|expect|imagine|mean|suggest)\b",
    r"\b(?:bezweif\w+|zweifle|unwahrscheinlich|wenige[r]?|vermeide\w*)\b"
    r"|\b(?:glaube|denke|meine|finde|heißt|bedeutet|sage)\s+(?:ich\s+)?(?:aber\s+)?nicht\b",
    r"\b(?:dudo|improbable|poco\s+probable|evit\w+|no\s+(?:creo|pienso|considero|parece"
    r"|significa|diría|es\s+que))\b",
    r"\b(?:je\s+doute|improbable|peu\s+probable|évit\w+"
    r"|(?:ne\s+|n['’])\w+\s+pas\s+(?:que|sûr|certain))\b",
    r"不(?:认为|觉得|太?可能|大可能|相信|代表|意味)|怀疑|很少|没有理由|拒绝|避免",
)
# Quotes what a response says.
QUOTED = pattern(r"§\s*(?:says?|writes?|reads|states?|sagt|schreibt|dice|escribe|dit|écrit|说|写)")
# Before a label: not the first choice.
SECOND = pattern(
    r"(?:\b(?:less|least|worse|worst|second|rejected|not|weaker|other|runner-up|next"
    r"|weniger|schlechtere|zweite|abgelehnte|menos|peor|segunda|rechazada|moins|pire|deuxième"
    r"|rejetée)|较差|其次|次要|不)\s*(?:\w+\s+)?\Z",
)
# The reply breaks off after it has begun to turn.
BROKEN_OFF = pattern(
    r"\b(?:but|however|yet|although|aber|jedoch|obwohl|pero|aunque|mais|cependant)\b[^.!?\n%)\]]*\Z",
    r"(?:但是?|不过|然而)[^。！？\n%)\]]*\Z",
)
# Phrases with a word of denial that deny nothing.
NOT_DENIED = pattern(
    r"\bno\s+(?:doubt|question)\b|\bwithout\s+(?:a\s+|any\s+)?(?:doubt|question|hesitation)\b",
    r"\bnot\s+only\b|\bnot\s+(?:\w+\s+){0,2}(?:certain|sure)\b|\bnicht\s+nur\b",
    r"\bohne\s+zweifel\b|\bsin\s+(?:duda|embargo)\b|\bsans\s+(?:aucun\s+)?doute\b|\bno\s+solo\b",
    r"毫无疑问|不仅|不错|不如选|不确定|不太确定",
)
CONDITIONAL = pattern(
    r"\b(?:if|unless|were|whether|which|depends|depending|assuming|suppose)\b",
    r"\b(?:wenn|falls|ob|sofern|welche\w*|kommt\s+darauf\s+an)\b",
    r"\b(?:si|cuál|qué|depende\w*|dépend\w*|quelle|laquelle)\b",
    r"如果|假如|若|是否|哪个|取决于|要是|哪一",
)
NOT_CONDITIONAL = pattern(
    r"\b(?:even\s+if|if\s+(?:i|we)\s+(?:had|have|must|were\s+forced|am\s+forced)\b"
    r"|if\s+(?:forced|pressed|pushed|anything)\b|were\s+both\b|both\s+were\b)|,\s*which\b",
    r"\b(?:auch\s+wenn|wenn\s+auch|wenn\s+ich\s+(?:\w+\s+){0,3}(?:müsste|muss))\b|\bselbst\s+wenn\b",
    r"\b(?:si\s+bien|si\s+tuviera\s+que|si\s+tengo\s+que|aunque\s+si|même\s+si"
    r"|si\s+je\s+(?:devais|dois)|s['’]il\s+faut)\b",
    r"如果(?:一定|必须|非)要?|如果要我|如果必须",
)
# Somebody else, or only a possibility, or given up already.
NOT_MEANT = pattern(
    r"\b(?:you|your|some|others|someone\s+else|other\s+people|anyone|could|may|might|tempt\w*"
    r"|almost|nearly|initially|at\s+first|first\s+(?:thought|glance|leaned|impression)|seemed"
    r"|at\s+first\s+sight|until|asked\s+to|told|both|either)\b",
    r"\b(?:andere|manche|einige|könnte\w*|zunächst|zuerst|anfangs|erst|fast|beinahe|vielleicht\s+auch"
    r"|sowohl|beide|entweder)\b",
    r"\b(?:otros|algunos|algunas|podría\w*|quizás\s+también|primero|al\s+principio|inicialmente|casi"
    r"|ambas|tanto)\b",
    r"\b(?:d['’]autres|certains|pourrai\w*|d['’]abord|au\s+début|initialement|presque|les\s+deux"
    r"|soit)\b",
    r"有些人|有人|别人|其他人|可能也|也许也|起初|一开始|本来|原本|差点|最初|或许也|请|两个都|都可以|都会",
)
# A change of mind, in words that say nothing else; and words that may also say something else.
RECONSIDERED = pattern(
    r"\b(?:on\s+(?:reflection|second\s+thoughts?)|reconsider\w*|wait|correction"
    r"|chang\w+\s+my|scratch\s+that|let\s+me\s+correct|i\s+take\s+that\s+back)\b|(?:^|[.!\n]\s*)no,",
    r"\b(?:(?:bei\s+)?näherer?\s+(?:überlegung|betrachtung)|doch\s+(?:lieber|eher)|korrektur"
    r"|ich\s+korrigiere|moment|eigentlich\s+doch)\b|(?:^|[.!\n]\s*)nein,",
    r"\b(?:espera|mejor\s+dicho|pensándolo\s+(?:bien|mejor)|corrección|rectifico"
    r"|cambio\s+(?:de|mi)|me\s+corrijo)\b",
    r"\b(?:attende[zs]|attends|à\s+la\s+réflexion|je\s+me\s+(?:corrige|ravise)"
    r"|rectification|tout\s+bien\s+réfléchi)\b|(?:^|[.!\n]\s*)non,",
    r"等等|更正|重新考虑|不对|再想|改为|改选",
)
CHANGED = pattern(
    RECONSIDERED.pattern,
    r"\b(?:on\s+balance|revis\w+|actually|no,|nein,|en\s+realidad|en\s+fait|non,)",
    r"其实|仔细想",
)
CONCLUDED = pattern(
    r"\b(?:overall|therefore|thus|hence|so|in\s+(?:conclusion|summary|the\s+end|sum)|ultimately"
    r"|on\s+the\s+whole|all\s+in\s+all|taken\s+together|finally|on\s+balance)\b",
    r"\b(?:insgesamt|daher|deshalb|somit|folglich|alles\s+in\s+allem|unterm\s+strich|letztlich"
    r"|zusammenfassend|abschließend)\b",
    r"\b(?:en\s+(?:conjunto|conclusión|resumen|definitiva)|por\s+(?:lo\s+)?tanto|así\s+que"
    r"|por\s+eso|finalmente)\b",
    r"\b(?:donc|en\s+(?:conclusion|somme|résumé|définitive)|au\s+final|globalement|finalement"
    r"|par\s+conséquent|dans\s+l['’]ensemble)\b",
    r"因此|所以|综上|总的来说|总体|总之|综合来看|最终",
)
