"""Words around a ranking that make it the reply's own, or may make it another one.

In English, German, Spanish, French and Chinese. What may lead to a ranking is a list of what is
allowed; what stands in sentences around it is searched for doubts.
"""

import re

from judging.protocols.reading.lazy import compiled_when_used

LABELS = (
    r"ranking|rank\s+order|final\s+order|order|rangfolge|reihenfolge|rangliste|clasificación|orden"
    r"|classement|ordre|排名|排序|顺序"
)
NOUN = r"(?:(?:response|option|answer|antwort|respuesta|opción|réponse|回答|选项)\s*)?"

# An order that may begin with the worst one: nobody can tell what was meant.
TURNED = compiled_when_used(
    r"(?<!to )\bworst\s*[:：]|"
    r"\bworst\b[^.\n]{0,12}?\b(?:to|first|→|->)|\bfrom\s+(?:the\s+)?(?:worst|least)\b|\bascending\b"
    r"|\b(?:least|lowest)\s+(?:\w+\s+){0,2}(?:first|to\s+(?:most|best|highest))|\breversed?\s+order\b"
    r"|schlechtest\w*\s+(?:\w+\s+){0,2}(?:zuerst|zu[mr]?|bis)|aufsteigend|umgekehrt\w*\s+reihenfolge"
    r"|peor\s+a\s+(?:la\s+)?mejor|de\s+la?\s+peor|(?:du|de\s+la)\s+(?:moins\s+bonne|pire)"
    r"|从(?:最)?差到|由差到|倒序|<\s*(?:response\s*|option\s*)?[A-E]\b",
    re.IGNORECASE,
)
NOT_MEANT = compiled_when_used(
    r"(?:\b(?:not|never|neither|cannot|nicht|nie|kein\w*|no\s+es|nunca|jamais|rather\s+than|instead"
    r"\s+of|unlike|against|statt|anstatt|en\s+lugar\s+de|plutôt\s+que)\b|n['’]t\b|\bpas\b|不是|而不是)"
    r"[^.\n]{0,40}\Z"
    r"|\b(?:most|many|some|other|few|typical|average|younger|older|die\s+meisten|viele|andere|manche"
    r"|la\s+mayoría|otr[ao]s|la\s+plupart|d['’]autres)\s+(?:\w+\s+){0,2}(?:people|readers?|users?"
    r"|persons?|annotators?|judges?|women|men|would|menschen|leute|leser\w*|würden|personas?"
    r"|lectores|gens|personnes|lecteurs)\b[^.\n]*\Z"
    r"|(?:大多数人|多数人|其他人|别人)[^。\n]*\Z"
    r"|\b(?:if|unless|had|were|suppose|wenn|falls|si|before|at\s+first|initially|first\s+(?:thought"
    r"|idea|impression|guess)|zuerst|zunächst|anfangs|al\s+principio|au\s+début)\b[^.\n]*\Z"
    r"|(?:如果|起初)[^。\n]*\Z"
    r"|\b(?:e\.g\.|for\s+example|such\s+as|format|form|like\s+this|zum\s+beispiel|z\.\s?b\.|etwa"
    r"|por\s+ejemplo|par\s+exemple)[^.\n]{0,30}\Z|例如[^。\n]*\Z",
    re.IGNORECASE,
)
NOT_MEANT_BEHIND = compiled_when_used(
    r"[\s*_`\]\"'”)]*(?:\?|？|(?:,\s*)?(?:was|were|is|would\s+be|seems|looks|ist|wäre|war|es|est"
    r"|sería|serait)\s+(?:\w+\s+){0,3}(?:not|wrong|first|tempting|what\s+most|the\s+obvious|nicht"
    r"|falsch|no\b|pas\b)|(?:,\s*)?(?:if\b|unless\b|wenn\b|falls\b|but\b|aber\b|不对|是错)"
    r"|\s*(?:isn|wasn|wouldn)['’]t\b)",
    re.IGNORECASE,
)
_DIRECTION = (
    r"(?:(?:from\s+)?(?:the\s+)?(?:best|most\s+likely|most\s+preferred|most|top)\s+to\s+(?:the\s+)?"
    r"(?:worst|least\s+likely|least\s+preferred|least|bottom)(?:\s+(?:likely|preferred))?"
    r"|(?:best|most\s+likely|most\s+preferred)\s+first"
    r"|von\s+(?:der\s+)?(?:besten?|wahrscheinlichsten)\s+(?:bis\s+)?(?:zur?\s+)?(?:schlechtesten"
    r"|unwahrscheinlichsten)|beste\s+zuerst|(?:de\s+la\s+)?mejor\s+a\s+(?:la\s+)?peor"
    r"|de\s+más\s+a\s+menos\s+probable|de\s+la\s+meilleure\s+à\s+la\s+(?:pire|moins\s+bonne)"
    r"|d[eu]\s+(?:la\s+)?plus\s+(?:probable\s+)?(?:au|à\s+la)\s+moins\s+probable"
    r"|从(?:最好|最可能)到(?:最差|最不可能))"
)
# What may lead to a ranking on its line, or on the line above: marks, or the name of the answer.
# Whatever else stands there may say that the ranking is somebody else's.
_NAMED = (
    r"(?:(?:so|thus|therefore|hence|overall|also|daher|insgesamt|por\s+tanto|donc|所以|因此)\W+)?"
    r"(?:(?:here\s+is|here['’]s|this\s+is|hier\s+ist|das\s+ist|esta\s+es|aquí\s+está|voici|以下是|这是)\s*)?"
    r"(?:(?:my|the|meine?|die|mi|la|ma|mon|le|el|l['’]|我的)\s*)?"
    r"(?:(?:final|overall|own|resulting|endgültige[rs]?|最终(?:的)?)\s*)*"
    rf"(?:{_DIRECTION}\s+)?(?:answer|verdict|choice|result|response|antwort|urteil|ergebnis|respuesta|réponse|答案|{LABELS})"
    r"(?:\s+(?:final|finale|definitiva|endgültig))?"
    r"(?:\s*(?:for\s+(?:this|the)\s+(?:person|user)|für\s+diese\s+person|para\s+esta\s+persona"
    r"|pour\s+cette\s+personne))?"
    rf"[\s*_]*(?:[,(]?\s*{_DIRECTION}\s*\)?)?"
    r"(?:\s+(?:is|lautet|ist|es|est)|是|为)?[\s*_`]*[:：.]?"
)
_RANKED_BY_ME = (
    r"(?:i\s+(?:would\s+|will\s+)?|i['’](?:d|ll)\s+)rank\s+"
    r"(?:them|these|the\s+(?:\w+\s+)?(?:responses|options|answers))"
    rf"(?:\s+(?:as\s+follows|like\s+this|so|in\s+this\s+order))?(?:,?\s*{_DIRECTION})?[\s*_]*[:.]"
    r"|i(?:\s+would|['’]d)\s+go\s+with[\s*_]*:"
    r"|ich\s+(?:ordne|reihe)\s+(?:sie\s+)?(?:so|wie\s+folgt)[\s*_]*:"
)
_MARKS = r"[\s*_`#>\[\]\"“(-]*"
LEAD = compiled_when_used(rf"{_MARKS}(?:(?:{_NAMED}|{_RANKED_BY_ME})[\s*_`\[(]*)?", re.IGNORECASE)
INTRO = compiled_when_used(rf"{_MARKS}(?:{_NAMED}|{_RANKED_BY_ME})[\s*_`]*", re.IGNORECASE)
FROM_BEST = compiled_when_used(_DIRECTION, re.IGNORECASE)
# Below other words only a ranking with such a name is the reply's own.
OWN = compiled_when_used(
    r"\b(?:my|i|final|overall|own|meine|ich|endgültige[rs]?|mi|final|definitiva|ma|mon|finale)\b|我的|最终",
    re.IGNORECASE,
)
# Before a ranking: it may begin with the worst.
NOT_BEST = compiled_when_used(
    r"\b(?:worst|least|lowest|bottom|schlechtest\w*|unwahrscheinlichst\w*|wenigsten|peor|menos|pire"
    r"|moins)\b|最差|最不",
    re.IGNORECASE,
)
# What may follow a ranking on its line: its certainty, the end of the line, or a reason.
CERTAIN_WORD = (
    r"(?:certainty|confidence|certain|sure|sicherheit|gewissheit|sicher|certeza|confianza|certitude"
    r"|confiance|确定性?|确定程度|置信度|把握)"
)
CERTAIN = (
    r"[\s*_`]*(?:,\s*)?(?:\[\[[^\]\n]*\]\]"
    rf"|[,，]\s*{CERTAIN_WORD}\s*[:：]?\s*\d{{1,3}}\s*%?"
    rf"|[(（]\s*(?:{CERTAIN_WORD}\s*[:：=]?\s*)?\d{{1,3}}\s*%?\s*{CERTAIN_WORD}?\s*[)）])"
)
BEHIND = compiled_when_used(
    rf"(?:{CERTAIN}){{0,3}}[\s*_`\"”)\]}}]*[.。]?[ \t*_`]*(?:\Z|\n|[.,;:–—-]?\s*(?:because|since"
    rf"|denn|weil|porque|parce|car|因为|{CERTAIN_WORD})\b)",
    re.IGNORECASE,
)
CERTAIN_HERE = compiled_when_used(rf"(?:{CERTAIN})*[\s*_`\]]*", re.IGNORECASE)
# Nothing else stands behind a list, or behind a line without a label.
ONLY_CERTAINTY = compiled_when_used(
    rf"(?:{CERTAIN})*[\s*_`\"”)\]}}.。,]*(?:{CERTAIN_WORD}[\s*_]*[:：=]?[^\w\n]*\d{{1,3}}"
    rf"\W*(?:100\W*)?)?\Z",
    re.IGNORECASE,
)
# The next line goes on with the sentence: “… such as / A > B > C / would be”.
GOES_ON = compiled_when_used(
    rf"\A[^\n]*\n\s*(?!(?i:because|since|denn|weil|porque|parce|car|{CERTAIN_WORD})\b)[a-zäöüéèáíóú]"
)
# In the sentence before a ranking: it may be somebody else's, an example, or one of several.
NOT_OWN = compiled_when_used(
    r"\b(?:rank(?:s|ed|ings?)?|(?<!the\s)most|many|some|others?|people|readers?|voters?|users|everyone|everybody|anyone|public"
    r"|mother|father|parents?|husband|wife|partner|sister|brother|son|daughter|friends?|family"
    r"|colleagues?|boss|neighbou?rs?|doctor|experts?|critics?|annotators?|judges?|models?|average"
    r"|if|unless|suppose|supposing|imagine|assum\w+|had|were|otherwise|whereas"
    r"|examples?|e\.g|formats?|such\s+as|like\s+this|sample|template|placeholder|instructions?|prompt"
    r"|draft|initial\w*|first\s+(?:thought|idea|impression|guess|glance|draft|attempt)|originally"
    r"|earlier|previous\w*|used\s+to|random\w*|arbitrary|coin|guess|says?|said|writes?|wrote|quotes?"
    r"|claims?|according|asked|shown|presented|displayed|listed|read|alternative\w*|either|perhaps"
    r"|verdicts?|orders?|ordering|lists?|lines?|rows?|sequence|caveat|hidden|secret|leaked|contains"
    r"|could|might|by\s+(?:length|tone|style|quality|grammar|accuracy)|alphabetical\w*"
    r"|urteil|reihenfolge|rangfolge|liste|zeile|meisten|viele|manche|andere|leute|menschen|leser|mutter|vater|eltern|mann|frau|schwester|bruder"
    r"|freund\w*|kolleg\w*|chef\w*|wenn|falls|wäre|hätte|angenommen|beispiel\w*|etwa|entwurf|zunächst"
    r"|anfangs|zuerst|zufällig\w*|geraten|sagt\w*|laut|gezeigt\w*|könnte|vielleicht"
    r"|veredicto|orden|lista|línea|mayoría|muchos|otros|otras|gente|madre|padre|marido|esposa|hermana|hermano|amig[oa]s?|jef[ea]"
    r"|si|fuera|ejemplo|formato|primero|azar|dice|según|quizás?"
    r"|verdict|ordre|liste|ligne|plupart|beaucoup|autres|gens|mère|père|mari|femme|sœur|frère|ami(?:e|s|es)?|chef|s['’]il|était"
    r"|exemple|format|brouillon|hasard|dit|selon|peut-être)\b"
    r"|排|顺序|多数|别人|其他人|母亲|父亲|妈妈|爸爸|丈夫|妻子|朋友|同事|如果|假如|例如|比如|格式|随机|起初|最初|说"
    r"|[?？]",
    re.IGNORECASE,
)
FENCE = compiled_when_used(r"```\w*\s*\Z")
REASON = compiled_when_used(
    r"[^\w\n]*\s*(?:reasons?|reasoning|rationale|explanation|why|because|since|gründe|begründung|denn"
    r"|weil|razón|razones|explicación|porque|raisons?|explication|parce|car)\b|[^\w\n]*\s*(?:理由|因为)",
    re.IGNORECASE,
)
CERTAINTY_LINE = compiled_when_used(
    rf"[^\n]{{0,20}}(?:{CERTAIN_WORD}[^\n]{{0,20}}\d|\d[^\n]{{0,8}}{CERTAIN_WORD})[^\n]{{0,12}}(?:\n|\Z)"
    r"|[^\w\n]*\d{1,3}[^\w\n]*(?:\n|\Z)",
    re.IGNORECASE,
)
# A sentence that begins with a response gives a reason, unless it speaks of places.
OF_A_RESPONSE = compiled_when_used(rf"[\s*_`\"“(-]*(?i:{NOUN})[*_`\"“(]*[A-E]\b")
OF_PLACES = compiled_when_used(
    r"\b(?:first|second|third|last|top|bottom|places?|before|after|above|below|higher|lower|swap\w*|zuerst"
    r"|zuletzt|erste\w*|letzte\w*|platz|vor|nach|primer\w*|últim\w+|antes|después|premi\w+|derni\w+"
    r"|avant|après|wrong\w*|incorrect\w*|falsch\w*|equivoc\w+|faux)\b|[前后第错]",
    re.IGNORECASE,
)
# What a reply says after its ranking when it takes it back.
TAKEN_BACK = compiled_when_used(
    r"\b(?:reverse|opposite|on\s+(?:reflection|second\s+thoughts?)|wait\b|actually|correction|i\s+(?:would\s+)?swap"
    r"|swap(?:ping)?|should\s+(?:\w+\s+){0,2}(?:have|be|come|stand|trade|change)|the\s+other\s+way|scrap\b|ignore\b|disregard|forget\b|never\s+mind|sorry|oops|hmm"
    r"|vergiss|vergesst|streich\w*|entschuldig\w*|perdón|olvid\w+|al\s+revés|pardon|oublie\w*|reconsider\w*|korrektur"
    r"|doch\s+(?:lieber|eher)|vertausch\w*|pensándolo|à\s+la\s+réflexion)\b|更正|等等",
    re.IGNORECASE,
)
