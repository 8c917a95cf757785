"""Whose statement a sentence makes: that of the judge about this person, or another one.

A sentence that contrasts people, reports what somebody says, is about the past or about what
would have been, or is taken back later, is not read. Better one reply too few than a wrong side.
"""

import re

from judging.protocols.reading import words
from judging.protocols.reading.lazy import compiled_when_used
from judging.protocols.reading.mentions import MENTION, side_of
from judging.protocols.reading.words import pattern

# ---- whose choice it is ----

_PERSON_EN = r"(?:persons?|users?|reader|individual|participant|respondent|customer|asker)"
_THIS_PERSON = (
    r"(?:person(?:a|as)?|befragten?|nutzer(?:in)?|leser(?:in)?|usuari[oa]|lector[a]?|participante"
    r"|personne|utilisat(?:eur|rice)|lect(?:eur|rice))"
)
_KIN = (
    r"(?:husband|wife|spouse|partner|brother|sister|mother|father|parents?|son|daughter|child(?:ren)?"
    r"|friends?|colleagues?|neighbou?rs?|boss|teacher|doctor|family|ex)"
)
_KIN_DE = (
    r"(?:mann|frau|bruder|schwester|mutter|vater|eltern|sohn|tochter|kind(?:er)?|freund(?:in|e)?"
    r"|kolleg(?:e|en|in)|nachbar(?:in|n)?|chef(?:in)?|familie|partner(?:in)?|lehrer(?:in)?)"
)
_VERB_EN = (
    r"(?:would|might|could|may|will|prefers?|chooses?|picks?|selects?|favou?rs?|likes?|leans?|goes"
    r"|tends?)"
)
_VERB_DE = r"(?:würden?|wählt|wählen|bevorzug(?:t|en)|nimmt|nähme|hätten?|mag|neigt|tendiert)"
_VERB_ES = (
    r"(?:prefier[ea]n?|preferir[íi]an?|elegir[íi]an?|eligen?|escoger[íi]an?|escogen?|optar[íi]an?"
    r"|optan?|votar[íi]an?|se\s+\w+|diría|quedar[íi]an?)"
)
_VERB_FR = (
    r"(?:préfér?èr?er?(?:ai(?:en)?t)?|préfèrent|préférerai(?:en)?t|choisi(?:t|ssent|rai(?:en)?t)"
    r"|opte(?:nt|rai(?:en)?t)?|penche(?:nt|rai(?:en)?t)?|aimerai(?:en)?t|prendrai(?:en)?t)"
)
_NOT_THIS_EN = r"(?!(?:she|he|they|i|we|it|this|that|the|who|and|so|target|described|given|same)\b)"
OTHERS = pattern(
    # English
    r"\b(?:most|many|few|several|all\s+(?:of\s+)?(?:the\s+)?(?:other|readers?|users?|people)|other|typical|average|ordinary|normal|general|younger|older"
    r"|everyone|everybody|anyone|anybody|nobody|people|readers|users|voters|humans|majority"
    r"|minority|public|else|elsewhere|others?|critics?|experts?|reviewers?|judges?)\b"
    r"(?!\s+(?:of\s+(?:all|the\s+above)|likely|suitable|appropriate|probabl[ey]|certainly|definitely|things|in\s+all"
    r"|(?:response|answer|option|information|evidence|points?|aspects|criteria|factors)\b))",
    rf"\b(?:an?|any|every|each)\s+(?:{_NOT_THIS_EN}[\w-]+\s+){{1,3}}?{_VERB_EN}\b",
    rf"\b(?:an?|any|every|each|the)\s+(?:{_NOT_THIS_EN}[\w-]+\s+){{1,2}}{_PERSON_EN}\b",
    rf"\bfor\s+(?:an?|any|every|each)\s+(?!(?:{_PERSON_EN}|someone)\s+(?:like|with|who|of|in)\b)",
    rf"\b(?:her|his|their|my|the|your|a)\s+(?:[\w-]+\s+)?{_KIN}\b",
    r"\b(?:you|your|somebody\s+else|someone\s+(?!like\s+(?:this|her|him|them)|with|who))\b",
    # German
    r"\b(?:meisten?|viele[nr]?|manche[nr]?|einige[nr]?|andere[nrm]?|jede[rnms]?|alle[nr]?|niemand"
    r"|leute[n]?|menschen|mehrheit|minderheit|durchschnitt\w*|typische\w*|gewöhnliche\w*"
    r"|jüngere\w*|ältere\w*|allgemeinheit|kritiker\w*|experten|fachleute)\b(?!\s+punkte)",
    rf"\beine?\s+(?:\w+\s+){{1,3}}?{_VERB_DE}\b|\b{_VERB_DE}\s+eine?\s+\w+",
    rf"\b(?:eine?|jede[rs]?|der|die|das)\s+(?!bessere|andere)\w+e[nr]?\s+{_THIS_PERSON}\b",
    rf"\bfür\s+(?:eine?n?|jede\w*)\s+(?!{_THIS_PERSON}\s+wie\b)",
    rf"\b(?:ihre?|seine?|meine?|deren|dessen|der|die|ein|eine)\s+(?:\w+\s+)?{_KIN_DE}\b",
    # Spanish
    r"\b(?:mayoría|minoría|muchos|muchas|otros|otras|demás|todos|todas|todo\s+el\s+mundo|nadie"
    r"|cualquiera|gente|personas|lectores|usuarios|jóvenes|mayores|expertos|críticos|algunos"
    r"|algunas)\b",
    rf"\b(?:una?|cada|cualquier|ning[úu]na?|los|las|su|sus|mi)\s+(?:\w+\s+){{1,3}}?{_VERB_ES}\b",
    rf"\b(?:el|la)\s+(?!{_THIS_PERSON}\b|respuesta|opción)\w+(?:\s+\w+)?\s+{_VERB_ES}\b",
    rf"\b(?:el|la|una?)\s+{_THIS_PERSON}\s+(?!(?:que|se|le|de|en|con)\b)\w+\s+{_VERB_ES}\b",
    r"\b(?:prefier[ea]|preferir[íi]a|elegir[íi]a|elige)\s+(?:una?|su|cualquier)\s+\w+",
    r"\bpara\s+(?:una?|cualquier|los|las|su)\s+(?!persona\s+(?:como|así|con|que)\b)\w+",
    # French
    r"\b(?:plupart|majorité|minorité|beaucoup|autres?|tous|toutes|tout\s+le\s+monde|personnes"
    r"|gens|lecteurs|utilisateurs|jeunes|chacun|certains|certaines|n['’]importe\s+qui|critiques"
    r"|experts|quiconque)\b",
    rf"\b(?:une?|chaque|les|des|son|sa|ses|mon)\s+(?:[\w-]+\s+){{1,3}}?{_VERB_FR}\b",
    rf"\b(?:le|la)\s+(?!{_THIS_PERSON}\b|réponse)[\w-]+(?:\s+[\w-]+)?\s+{_VERB_FR}\b",
    rf"\bl['’](?!utilisat)\w+\s+{_VERB_FR}\b",
    r"\bpour\s+(?:une?|chaque|les|des|son|sa)\s+(?!personne\s+(?:comme|qui|avec|ayant)\b)\w+",
    # Chinese
    r"大多|多数|少数|保守派?的?人|自由派|年轻人|老年人|老人|别人|他人|其他|人们|大家|所有人|每个|每位|任何"
    r"|很多|许多|有些|一般|普通|专家|评论|读者们|丈夫|妻子|朋友|同事|父亲|母亲|家人|邻居|(?<!这样)的(?:人|读者|用户)会",
)
# From here on a sentence is about this person again.
_OWN = (
    r"(?:i|this\s+(?:\w+\s+)?(?:person|user|reader|individual|participant)|the\s+(?:person|user|reader)"
    r"|ich|diese[rs]?\s+(?:person|nutzer(?:in)?|leser(?:in)?)|die\s+person"
    r"|esta\s+(?:persona|usuaria|lectora)|este\s+(?:usuario|lector)"
    r"|cette\s+(?:personne|utilisatrice|lectrice)|cet\s+utilisateur|je)\b|我|这个人|这位|该用户|此人"
)
_TURN = (
    r"\b(?:but|however|yet|whereas|aber|jedoch|doch|sondern|pero|sino|mais|cependant|toutefois)\b"
    r"|但是?|不过|然而|可是"
)
_OTHER_SCOPE = pattern(_TURN, rf"[,:，：]\s*(?:(?:so|while|und|and|y|et)\s+)?(?={_OWN})")
_SCOPE = pattern(_TURN)

# ---- what is reported, past or wrong ----

_OWN_WORDS = pattern(
    r"\b(?:if\s+(?:i|we)|si\s+tuviera|wenn\s+ich)\s+had\b",
    r"\bi(?:['’]d|\s+would)?\s+(?:\w+\s+)?(?:say|argue|claim|think|thought\s+about)\b",
    r"\b(?:profile|description)\s+(?:\w+\s+)?(?:says?|said|states?|claims?|reports?)\b",
    r"\baccording\s+to\s+(?:the|this|her|his|their)\s+profile\b(?!['’])",
    r"\b(?:wrong|mistaken|earlier|previously|once)\s+(?:tone|advice|facts?|age|mentioned)\b",
    r"不会错|没错",
)
REPORTED = pattern(
    r"\b(?:according\s+to|says?|said|claim(?:s|ed)?|argue[sd]?|suggest(?:s|ed)?\s+that|assum\w+"
    r"|reported(?:ly)?|suppos\w+|alleged\w*|rumou?r\w*|pretend\w*|imagin\w*|myth|wrong(?:ly)?"
    r"|mistake\w*|error|false(?:ly)?|incorrect\w*|absurd|untrue|nonsense|fool\w*|tempting"
    r"|expected\s+to|instruct\w+|prompt|stereotyp\w*|clich[ée]\w*|naive\w*|superficial\w*|on\s+paper"
    r"|jok(?:e|ing)|jest|placeholder|random\w*|coin|default|sarcas\w*|ironic\w*|hypothe\w*|example"
    r"|at\s+face\s+value|in\s+theory|might\s+have|would\s+have|could\s+have|should\s+have|had"
    r"|used\s+to|was\s+(?:going|about|ready|inclined)|were\s+(?:going|about)|thought|previous(?:ly)?"
    r"|earlier|formerly|once|ago|back\s+then|in\s+the\s+past|last\s+(?:time|year)|when\s+(?:she|he"
    r"|they|i)\s+(?:was|were)|originally|until|before\s+(?:reading|noticing|seeing)|otherwise"
    r"|provided|as\s+long\s+as|only\s+when|except|contrary|opposite|rarely|seldom|nobody|no\s+one)\b",
    r"\b(?:laut|angeblich|behaupt\w+|sagt(?:e|en)?|meint(?:e|en)?|gemäß|irrtum|falsch\w*|fehler"
    r"|irrig|unsinn|klischee\w*|scheinbar|früher\w*|einst|damals|ehemals|hätte[n]?|wollte[n]?"
    r"|dachte[n]?|glaubte[n]?|war|waren|ursprünglich|sonst|andernfalls|gegenteil|selten|niemand"
    r"|außer|bevor|theoretisch|stell\w*\s+dir|angenommen|verführerisch)\b",
    r"\b(?:según(?!\s+(?:el|su|este)\s+perfil)|dicen?|dijo|afirman?|supuesta\w*|mito|error"
    r"|equivoc\w+|falso|falsa|incorrect\w+|absurd\w+|tópico|antes|pensaba|creía|iba\s+a|habría"
    r"|hubiera|hubiese|había|solía|era|fue|anteriormente|contrari[oa]|excepto|salvo|menos|rara\s+vez"
    r"|en\s+teoría|supongamos|imagin\w+|nadie)\b",
    r"\b(?:selon(?!\s+(?:le|son|ce)\s+profil)|d['’]après(?!\s+(?:le|son|ce)\s+profil)|prétend\w*"
    r"|affirm\w+|disent|soi-disant|mythe|erreur|faux|fausse|tort|tromp\w+|incorrect\w*|absurde"
    r"|cliché|avant|autrefois|jadis|allais|allait|pensais|croyais|aurai[st]|avait|avais|était|étais"
    r"|auparavant|contraire|sauf|excepté|rarement|en\s+théorie|imagin\w+|supposons|personne\s+ne)\b",
    r"据说|声称|认为(?<!我认为)|错|误|谬|以前|曾|过去|之前|本想|本来|本要|原来|除了|除非|相反|反之|假设|想象"
    r"|刻板|理论上|按理|表面上",
)
# Behind a statement: it is turned round, as in “…, but not by this person”.
_HEDGED = pattern(
    r"\b(?:sure|certain\w*|confident|close|narrow\w*|slight\w*|margin\w*|sicher|knapp\w*|unsicher"
    r"|segur[oa]|certeza|sûre?|certaine?|conviction|hésit\w*|little\s+to\s+go\s+on)\b|确定|把握|接近",
)
_NEGATED_AGAIN = pattern(
    r"[,;(–—-]\s*(?:(?:but|and|though|und|y|et)\s+)?(?:not|never|nicht|no|nunca|pas|jamais)\b"
    r"(?!\s+(?:§|the\s+|la\s+|die\s+|because|weil|porque|parce|(?:\w+\s+){0,2}(?:sure|certain"
    r"|sicher|segur[oa]|sûre?)))",
    r"\b(?:person|user|reader|nutzer\w*|leser\w*|persona|usuari[oa]|personne|she|he|they|sie|er|ella"
    r"|él|elle|il)\b[^§.;]{0,30}\b(?:not|nicht|no|pas|\w+n['’]t|contrary|contrario|contraire"
    r"|otherwise|opposite)\s*(?:[.,!]|\Z)",
    r"，[^§，。]{0,8}(?:不会|不是|不同|相反)",
)
# In a later sentence: it was not meant.
_TAKEN_BACK = pattern(
    r"\b(?:wrong|mistake\w*|otherwise|opposite|contrary|reverse|untrue|false|nonsense|disagree\w*"
    r"|not\s+(?:so|true|the\s+case|here|this\s+(?:one|person|time))|no\s+basis|anything\s+but"
    r"|joking|kidding|(?:would|does|is|do|will)(?:\s+not|n['’]t)\s*[.!]|ignore\s+that|disregard"
    r"|forget\s+that|never\s+mind|rarely\s+agrees?|the\s+other\s+(?:one|way))\b",
    r"\b(?:falsch|irrtum|irrte|geirrt|gegenteil|umgekehrt|stimmt\s+nicht|trifft\s+nicht|unsinn"
    r"|scherz|anders|hier\s+nicht)\b",
    r"\b(?:equivoc\w+|error|falso|contrario|al\s+revés|no\s+es\s+(?:así|cierto|verdad)|mentira|broma"
    r"|aquí\s+no)\b",
    r"\b(?:faux|erreur|tort|tromp\w+|contraire|inverse|pas\s+(?:vrai|le\s+cas|ici)|plaisant\w+)\b",
    r"错|相反|并非如此|不是这样|不对|反过来|开玩笑|不同意",
)
_FOR = pattern(r"\s*[(,–—-]?\s*(?:(?:for|für|para|pour|if|wenn|si)\b|对|如果)[^.;\n。；]*")
# Words of a verdict, in a form that may not be known.
CHOOSES = pattern(
    r"\b(?:say|choos\w+|prefers?|picks?|select\w*|votes?|wähl\w+|bevorzug\w+|nimmt|sagt"
    r"|elig\w+|elij\w+|elegir\w*|prefier\w+|preferir\w+|choisi\w*|préfèr\w+|préfér\w+)\b",
    r"选择|喜欢|倾向",
)
_VERDICT = pattern(
    CHOOSES.pattern,
    r"\b(?:better|best|wins|besser|beste|gewinnt|mejor|gana|meilleure?|mieux|gagne)\b|更好|更适合",
)
_RESOLVED = pattern(words.CHANGED.pattern, words.CONCLUDED.pattern, _TURN)
_TO_THE_PERSON = pattern(r"^\W*you\b|,?\s*\bwhich\b")
_SENTENCE = compiled_when_used(r"[^.!?;\n。！？；]+[.!?;\n。！？；]?")
_TURNED = pattern(
    rf"^\W*(?:{_TURN})",
    r"^\W*(?:still|nevertheless|then\s+again|that\s+said|unless|except|or|said|as\s+if|almost|not"
    r"|never|trotzdem|dennoch|oder|außer|fast|nicht|nie|salvo|casi|nunca|ou|sauf|presque|pas"
    r"|jamais)\b",
    r"^\W*(?:才怪|除非|几乎)",
)


def is_own(sentence: str, start: int, end: int) -> bool:
    """Whether the statement at `start` to `end` of a sentence is made, and of this person."""
    behind = sentence[end:]
    if (turn := _SCOPE.search(behind)) and not _HEDGED.search(behind, turn.end()):
        return False
    if _NEGATED_AGAIN.search(behind):
        return False
    if OTHERS.search(sentence, _last_end(_OTHER_SCOPE, sentence, end)):
        return False
    rest = sentence[_last_end(_SCOPE, sentence, start) :]
    return not REPORTED.search(_OWN_WORDS.sub(" ", rest))


def is_own_label(line: str, rest: str) -> bool:
    """Whether a label belongs to the verdict: not “The choice of most: A”."""
    before = re.split(r"[.!?;:。！？；：]", line)[-1]
    if OTHERS.search(before) or REPORTED.search(_OWN_WORDS.sub(" ", before)):
        return False
    addressed = _FOR.match(rest)
    return addressed is None or not OTHERS.search(addressed[0])


def is_contradicted(text: str, start: int, end: int, side: str) -> bool:
    """Whether another sentence turns a claim round, or chooses the other response."""
    for sentence in _SENTENCE.finditer(text):
        named = {side_of(each) for each in MENTION.findall(sentence[0])}
        if sentence.end() <= start:
            # Also what is said to the person: “You should choose B.”
            words_of_it = _TO_THE_PERSON.sub("", sentence[0])
            if named - {side} and CHOOSES.search(words_of_it) and is_serious(words_of_it):
                return _RESOLVED.search(text, sentence.end(), start) is None
        elif sentence.start() >= end:
            if _TAKEN_BACK.search(sentence[0]) and (not named or side in named):
                return True
            turned = _TURNED.search(sentence[0])
            if turned and (named - {side} or not named) and not _HEDGED.search(sentence[0]):
                return True
            if named - {side} and _VERDICT.search(sentence[0]) and is_serious(sentence[0]):
                return True
    return False


def is_serious(sentence: str) -> bool:
    """Whether a sentence says something that is neither denied nor somebody else's."""
    return not (
        words.DENIED.search(sentence)
        or OTHERS.search(sentence)
        or words.CONDITIONAL.search(sentence)
        or sentence.rstrip().endswith(("?", "？"))
    )


def _last_end(mark: re.Pattern[str], sentence: str, end: int) -> int:
    ends = [found.end() for found in mark.finditer(sentence, 0, end)]
    return ends[-1] if ends else 0
