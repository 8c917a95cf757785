"""What may stand before and behind a choice in words, so that it is certainly a verdict.

A sentence is read only if it has one of a few known shapes: a reason or a contrast first (“Given
her age, …”, “… , so …”), then only words of a list, then the choice. Any other word before the
choice could turn it round: “Nothing suggests that she would choose A”.
"""

from judging.protocols.reading.lazy import compiled_when_used
from judging.protocols.reading.mentions import MENTION, side_of
from judging.protocols.reading.voices import CHOOSES, OTHERS
from judging.protocols.reading.words import DENIED, pattern

# Everything up to the last of these is a reason or the other side of a contrast.
_CONNECTIVE = pattern(
    r"\b(?:so|therefore|thus|hence|consequently|accordingly|but|however|yet|overall|which\s+means"
    r"|meaning\s+that)\b",
    r"[,;]\s*(?:and|which\s+is\s+why|while|whereas|though|although)\b",
    r"\band\s+(?=(?:would|will|they|she|he|i|this|the\s+(?:person|user))\b)",
    r"\b(?:also|daher|deshalb|darum|somit|folglich|weshalb|sodass|aber|jedoch|doch|sondern"
    r"|insgesamt)\b|[,;]\s*und\b",
    r"\b(?:así\s+que|por\s+(?:lo\s+)?tanto|por\s+eso|por\s+ello|pero|sino)\b|[,;]\s*y\b",
    r"\b(?:donc|par\s+conséquent|c['’]est\s+pourquoi|mais|cependant|toutefois)\b|[,;]\s*et\b",
    r"因此|所以|因而|故|但是?|不过|然而|可是",
    r"\bund\s+(?=(?:würde|wählt|bevorzugt)\b)|\by\s+(?=(?:preferir|elegir|prefiere|elige))"
    r"|\bet\s+(?=(?:préfér|choisi))",
    r"§\s*[,，]",
    r":\s*(?=(?:i|we|she|he|they|this\s+person|ich|sie|er|diese\s+person|ella|él|esta\s+persona"
    r"|je|elle|il|cette\s+personne)\b|我|他|她|这个人)",
    r"[,，]\s*(?=(?:this\s+(?:person|user)|diese[rs]?\s+(?:person|nutzer(?:in)?)|esta\s+persona"
    r"|cette\s+personne)\b|这个人|这位)",
)
_REASON = pattern(
    r"\A\W*(?:given|considering|based\s+on|judging\s+(?:by|from)|because|since|as|due\s+to"
    r"|looking\s+at|(?:re-?)?reading|taking|weighing|having|after|although|though|while|even\s+though|despite"
    r"|in\s+(?:light|view)\s+of|knowing|from|between|of\s+the\s+two|both"
    r"|angesichts|aufgrund|da|weil|obwohl|nachdem|nach\s+abwägung|in\s+anbetracht|auch\s+wenn"
    r"|dad[oa]s?|considerando|teniendo|por\s+sus?|como|ya\s+que|debido|aunque|puesto|entre"
    r"|étant\s+donné|compte\s+tenu|vue?|comme|puisque|bien\s+que|malgré|considérant|entre"
    r"|考虑到|鉴于|由于|因为|虽然|尽管|根据|基于|作为|相比|对于|对)[^§;]*[,，:：]",
    r"\A\W*(?:although|though|while|even\s+though|obwohl|auch\s+wenn|während|aunque|si\s+bien"
    r"|bien\s+que|虽然|尽管)[^;]*[,，]",
    r"\A\W*(?:angesichts|aufgrund|wegen|dank|nach\s+abwägung|in\s+anbetracht)\b[^§,;]*?"
    r"(?=\b(?:würde|wählt|ist|wäre|passt|gefällt|bevorzugt|entscheide|nehme|wähle|tippe)\b)",
)
_SAFE = pattern(
    # phrases, before their words
    r"\bfor\s+(?:this|that|these|those)\s+reasons?\b|\b(?:(?:the|her|his|their)\s+(?:tone|style|content|approach|wording|advice)\s+of"
    r"|this\s+is\s+not\s+a\s+tie)\b",
    # who
    r"\b(?:i|we|they|he|she|it|me|him|her|them|this|that|the|a|these|here|there)\b(?:['’]\w+)?",
    r"\b(?:person|user|reader|individual|participant|respondent|customer|asker|someone|somebody)\b"
    r"(?:['’]s)?",
    r"\b(?:like\s+(?:this|him|her|them)|with\s+(?:this|these|such)(?:\s+(?:a\s+)?\w+)?"
    r"|in\s+(?:the|this)\s+profile|of\s+the\s+(?:two|profile)|in\s+question|between\s+the\s+two"
    r"|(?:the\s+)?(?:profile|evidence|everything)(?:\s+\w+ly)?\s+points?)\b",
    r"\b(?:target|described|given|same|for|to|my|their|his|own|final|overall|now|one)\b",
    # how
    r"\b(?:would|will|should|must|do|does|am|is|are|be|have|has|if\s+(?:forced|pressed|pushed|anything)"
    r"|(?:even\s+)?if\s+(?:i|we)\s+(?:had|have|must|were\s+forced|am\s+forced)(?:\s+to\s+\w+)?(?:\s+one)?"
    r"|think|believe|say|guess|feel|conclude|find|expect|judge|suspect|that"
    r"|most|more|very|likely|probably|almost\s+certainly|definitely|certainly|clearly|simply|also"
    r"|still|then|instead|rather|ultimately|strongly|slightly|somewhat|therefore|thus|just|likewise"
    r"|naturally|surely|in\s+(?:conclusion|summary|short|the\s+end|sum|my\s+(?:view|opinion))"
    r"|on\s+(?:balance|the\s+whole|reflection)|all\s+(?:in\s+all|things\s+considered)|taken\s+together"
    r"|finally|hands\s+down|no\s+doubt|without\s+(?:a\s+)?doubt|actually|yes|no|wait|hmm|okay|ok"
    r"|loses|decide|output|make|mean|sorry|or\s+rather|hard|maybe\s+not|honestly|to\s+be\s+honest|personal)\b",
    r"\b(?:choos(?:e|es|ing)|chose|picks?|picking|picked|selects?|selecting|selected|prefers?"
    r"|preferred|likes?|enjoys?|appreciates?|favou?rs?|go(?:es)?|going|with|opts?|opting|votes?|settles?|settled|on|sides?"
    r"|lean(?:s|ing)?|inclined|towards?|points?|winner|verdict|answer|choice|pick|decision"
    r"|recommend(?:s|ed)?|preference|selection|vote|conclusion|judge?ment|better|best|correct|right|suitable|appropriate"
    r"|stronger|chosen|selected|winning|fit|match|response|option|reply|goes|sure|question)\b",
    # German
    r"\b(?:ich|wir|sie|er|es|mich|sich|mir|ihr|ihm|diese[rsnm]?|die|der|das|den|dem|person|nutzer(?:in)?"
    r"|leser(?:in)?|für|zu|zur|auf|mit|würde|wird|werde|muss|müsste|ist|wäre|lautet|fällt|geht|an|bin"
    r"|habe|hat|denke|glaube|meine|finde|sagen|dass|eher|wohl|vermutlich|wahrscheinlich|klar|eindeutig"
    r"|deutlich|daher|deshalb|hier|nun|dann|lieber|letztlich|abschließend|zusammenfassend|schließlich"
    r"|meiner|meinung|nach|eine?|antwort|wahl|entscheidung|urteil|favorit|bessere|sieger|präferenz"
    r"|wähl(?:e|t|en|te)|nehme|nimmt|nähme|bevorzug(?:e|t|en)|favorisier(?:e|t)|ziehe|zieht"
    r"|tendier(?:e|t)|tipp(?:e|t)|neig(?:e|t)|entscheid(?:e|et|en)|votier(?:e|t)|stimme|passt|gefällt"
    r"|richtige|überzeugt|entspricht|alles\s+in\s+allem|unterm\s+strich|aber|nein|moment|doch|besser"
    r"|insgesamt|bei\s+näherer\s+(?:überlegung|betrachtung)|wenn\s+ich\s+(?:mich\s+)?(?:\w+\s+)?(?:müsste|muss))\b",
    # Spanish
    r"\b(?:yo|ell?a|él|usted|esta|este|persona|usuari[oa]|lector[a]?|la|el|le|se|me|mi|por|para|con|a"
    r"|que|creo|diría|pienso|considero|probablemente|seguramente|claramente|muy|más|sin\s+duda|en"
    r"|correcta|conjunto|conclusión|resumen|definitiva|finalmente|entonces|es|sería|será|respuesta|elección"
    r"|opción|decisión|veredicto|ganadora?|preferencia|voto|mejor|elijo|elige|eleg[íi]r[íi]?a?|elegirá"
    r"|escojo|escoger?[íi]?a?|prefier[eo]|preferir[íi]a|opto|optar[íi]a|opta|qued\w+|decant\w+"
    r"|inclin\w+|gana(?:r[íi]a)?|selecciono|voto|hacia|de|su|opinión|claro|obviamente|tal\s+vez\s+no"
    r"|si\s+tuviera\s+que\s+elegir|si\s+tengo\s+que\s+elegir|esto|no\s+hay\s+duda)\b",
    # French
    r"\b(?:je|elle|il|on|cette|cet|personne|utilisateur|utilisatrice|la|le|lui|mon|ma|pour|vers|que"
    r"|qui|crois|pense|dirais|estime|trouve|plutôt|probablement|sans\s+(?:aucun\s+)?doute|clairement"
    r"|bonne|correcte|donc|très|finalement|en|somme|conclusion|résumé|définitive|dans\s+l['’]ensemble|globalement"
    r"|au\s+final|à|avis|est|serait|sera|réponse|choix|décision|préférence|gagnante?|meilleure"
    r"|jugement|choisi[stre]*|choisirai[st]?|préfèr\w+|préférerai[st]?|opte\w*|penche\w*|retien\w+"
    r"|retiendrai[st]?|sélectionn\w+|vote\w*|se|porte|porterait|sur|la|de|ce|si\s+je\s+(?:devais|dois)"
    r"\s+choisir|s['’]il\s+faut\s+choisir)\b|\b(?:[lcdj]|qu)['’]",
    # Chinese
    r"我|他|她|TA|这个人|这位(?:用户|读者|女士|先生)?|该用户|用户|此人|本人|的|会|应该?|应当|可能性?|更|很"
    r"|最终|最后|综上(?:所述)?|总的来说|总体(?:来看|而言)?|总之|综合来看|相比之下|因此|所以|认为|觉得|猜|想"
    r"|选择?|了|答案|结论|判断|偏好|结果|胜者|首选|是|为|就|还是?|倾向于?|喜欢|偏向于?|投给|支持|青睐"
    r"|正确|如果(?:一定|必须|非)要?选?|如果要我选?|大概|很|肯定|显然|毫无疑问|对|来说|而言|不如|比较|于|等等|不对",
)
_SENTENCES = compiled_when_used(r"[.!?;。！？；](?=\s|\Z)")
_COMMA_AT_END = compiled_when_used(r"[,，]\s*\Z")
_LETTER = compiled_when_used(r"[^\W\d_]")
_REASON_BEHIND = (
    r"(?:because|since|as\s+(?:it|she|he|they|this|that|the|her|his|their|§|for)|due|given|considering|mainly|mostly|primarily|largely|especially|simply"
    r"|partly|based|which|who|it|its|he|she|they|not|rather|even|though|although|while|whereas|but"
    r"|despite|followed|however|so|here|overall|on\s+balance|then|hands\s+down|instead|too"
    r"|i(?:['’]?m|\s+am)|(?:about|roughly|around|etwa)\s+\d+|my|certainty|confidence|and\s+(?:not|i|my|it|its|she|he)"
    r"|weil|da|denn|wegen|obwohl|auch|aber|sondern|nicht|sie|er|die|der|das|und\s+(?:nicht|ich|zwar)"
    r"|sicherheit|gewissheit|vor\s+allem|statt|anstatt|so\s+dass|allerdings|jedoch"
    r"|porque|ya\s+que|pues|puesto|dado|debido|aunque|pero|que|no|certeza|seguridad|y\s+(?:no|estoy|mi)"
    r"|sobre\s+todo|parce|car|puisque|bien\s+que|même|mais|qui|elle|il|non|pas|certitude|surtout"
    r"|et\s+(?:non|pas|je|ma))\b"
)
_BEHIND = pattern(
    r"\A[^§\w]*\Z",
    r"\A[^§\w]*\d",
    rf"\A\s*[^§\w\s][^§\w]*{_REASON_BEHIND}",
    r"\A\s*(?:because|since|as\s+(?:it|she|he|they|this|the)|due\s+to|given|considering|mainly|mostly"
    r"|primarily|overall|here|on\s+balance|hands\s+down|then|instead|too|and\s+(?:not|i|my)|weil|da|denn"
    r"|wegen|statt|anstatt|vor\s+allem|porque|ya\s+que|puesto\s+que|debido|y\s+(?:no|estoy|mi)"
    r"|parce|car|puisque|qui|et\s+(?:non|pas|je|ma)|plutôt)\b",
    r"\A\W*(?:over|than|to|from|instead\s+of|rather\s+than|als|gegenüber|vor|que|a|à|sobre|antes\s+que"
    r"|frente\s+a|statt|anstatt)\s+(?:the\s+|la\s+|der\s+|die\s+)?§",
    r"\A\s*(?:for|to|than|of|in\s+line\s+with|für|zu|para|a|pour|à)\s+(?:this|the|him|me|them|someone"
    r"|somebody|such|her(?!\s+\w)|its|what|an?\s+(?:person|user|reader)|diese\w*|die|den|sie|ihn|ihr|ihm"
    r"|esta|este|ella|él|la|el|cette|cet|elle|lui)\b",
    r"\A[^§\w]*(?:with|at|mit|con|avec|à|al?|zu)\s+(?:(?:an?|einer?|una?|une|my|etwa|about|moderate|high"
    r"|low|some|medium|hoher|mittlerer)\s+){0,2}(?:\d|certaint|confiden|sicherheit|gewissheit|certeza"
    r"|confianza|seguridad|certitude|confiance|conviction)",
    r"\A\s*(?:by\s+(?:far|virtue)|for\s+its|the\s+most|more\s*(?:[.,;]|\Z)|it\s+is|vorziehen|wählen"
    r"|nehmen|bevorzugen|entscheiden|würden?|le\s+plus)\b",
    r"\A[^§\w]*(?:因为|由于|确定|把握|信心|置信|虽然|尽管|它|他|她|我|而不|而非|不过|但|这|毕竟|吧)",
    r"\A\s*[\u4e00-\u9fff]",
)
# “B is better aligned with her values”, “B is the better choice”
_FITTING = pattern(
    r"\A\s*(?:most|more|much|this|she|he|they|her|his|their|its|the"
    r"|what|how|of|by\s+(?:far|a|this|the\s+(?:person|user))|wins|besser|passt|lui|le\s+plus)\b",
    r"\A\s*(?:with|to|mit|zu|con|a|à|avec)\s+(?:what|the|this|her|his|their|seine\w*|ihre\w*|de[nmr]"
    r"|diese\w*|sus?|los?|las?|les?|sa|son|ses|cette|esta|este|cet|ella|él|elle|lui)\b",
)
_CALLED = pattern(
    r"\A\s*(?:choice|fit|match|option|answer|response|reply|one|pick|antwort|wahl|variante|option"
    r"|respuesta|opción|elección|réponse|choix|option)\b|\A的?(?:回答|选择|选项|答案)",
)
# Behind these the other response is only what the choice is compared with.
_COMPARED = pattern(
    r"\A[^§]*\b(?:over|than|rather|instead|compared|because|since|as|not|als|gegenüber|vor|weil|da"
    r"|denn|statt|nicht|que|sobre|antes|frente|porque|no|plutôt|car|parce|puisque|pas)\b",
    r"\b(?:to|a|à)\s+(?:the\s+|la\s+)?\Z",
    r"\A[^§]*(?:因为|不是|而不|相比|胜过|比)",
)
_UNCERTAIN_BEHIND = pattern(
    r"\b(?:perhaps|maybe|possibly|vielleicht|quizás?|tal\s+vez|peut-être)\s+(?:also\s+|auch\s+)?"
    r"(?:not|nicht|no|pas|§|the\s+other)",
    r"未必|不一定|也许不|或许不",
)


def is_plain(sentence: str, behind: int, end: int) -> bool:
    """Whether a choice that ends at `end`, and its response at `behind`, has a known shape."""
    before = sentence[: behind - 1]
    cut = max((found.end() for found in _CONNECTIVE.finditer(before)), default=0)
    if _COMMA_AT_END.search(before, 0, cut) and _chooses_otherwise(before[:cut]):
        return False
    if not is_safe(before[cut:]):
        return False
    rest = sentence[end:]
    if _UNCERTAIN_BEHIND.search(rest):
        return False
    is_called_better = end > behind
    if is_called_better:
        rest = _CALLED.sub("", rest, count=1)
    return bool(_BEHIND.search(rest) or (is_called_better and _FITTING.search(rest)))


def is_safe(before: str) -> bool:
    """Whether only a reason and known words lead to a choice, in its last sentence."""
    before = _SENTENCES.split(before)[-1]
    if reason := _REASON.match(before):
        before = before[reason.end() :]
    return _LETTER.search(_SAFE.sub(" ", before)) is None


def _chooses_otherwise(clause: str) -> bool:
    """Whether an earlier clause chooses too: “I would choose A, she would choose B”."""
    return bool(CHOOSES.search(clause)) and not (OTHERS.search(clause) or DENIED.search(clause))


def is_compared(rest: str, side: str) -> bool:
    """Whether the rest of a sentence names another response only to compare it, if at all."""
    other = next((each for each in MENTION.finditer(rest) if side_of(each[0]) != side), None)
    return other is None or _COMPARED.search(rest, 0, other.start()) is not None
