"""Whether the sentence around a letter in brackets asserts it.

“[[A]] [[70]]” on its own does, and so does a sentence that chooses: all words of its last clause
are known, and one of them chooses. “Writing [[A]] would be stereotyping”, “Anything but [[A]]” and
“A previous judge said [[A]]” name a letter and choose none.
"""

import re

from judging.protocols.statements import CHOOSES, DENIED, KNOWN, NAMED, side_of

# What says nothing but how sure a verdict is, or that it follows.
_JOINS = frozenset(
    "so therefore thus hence then and but also still overall daher also aber sondern perhaps maybe"
    " possibly probably likely most more clearly definitely certainly slightly wahrscheinlich eher"
    " vielleicht wohl".split()
)
_MORE_CHOICES = frozenset(
    "favor favors favour favours like likes love loves enjoy enjoys appreciate appreciates value"
    " values want wants resonate resonates relate relates gravitate opt find finds leaning leans"
    " going points makes making leads judgment judgement rating reply output evaluation assessment"
    " opinion view letter certain certainty confidence confident sage gehe".split()
)
_KNOWN = (
    KNOWN
    | _JOINS
    | _MORE_CHOICES
    | frozenset(
        "m ve have had has do rather now favor opting me us own comparison about around percent"
        " approximately roughly which mich ganz klar meiner meinung nach mit dass step".split()
    )
)
_WORDS = re.compile(r"[^\W\d_]+")
_BEST = re.compile(
    r"\b(?:more|most)\s+(?!stereotyp|bias|common|obvious|typical|likely\s+wrong)\w+(?:\s+and\s+\w+)?\s+"
    r"(?:response|answer|option|choice|reply|one)\b[^,]{0,40}\b(?:is|would\s+be|seems)\W*\Z",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?;\n。！？；](?<!\b[a-zA-Z]\.)")
_CLAUSE = re.compile(r"[,:(=→⇒>|–—\"“„”]|\s-+\s")
# “Not [[A]] but”, and a command of LaTeX around the letter.
_INSTEAD = re.compile(
    r"\]\][\s,*_]*(?:but|sondern|is(?:n['’]t|\s+not)\s+as\s+\w+\s+as)\W*\Z", re.IGNORECASE
)
_COMMAND = re.compile(r"\\[a-z]+\{")
# What only names a letter, right before it or in the label that introduces it.
_NAMES = re.compile(
    r"\b(?:(?:example|instance|reject|wrong|incorrect|los|worst|worse|second|runner|discard|eliminat"
    r"|requir|expect|demand|sample|dummy|default|random|initial|draft|previous|earlier|stereotyp|bias|hypothetical|beispiel|falsch|verworfen|abgelehnt"
    r"|ejemplo|exemple)\w*(?:\s+[^\W\d_]+){0,2}"
    r"|(?:format|template|placeholder|instruct|prompt)\w*(?:\s+(?:is|of|for)\b.{0,40})?"
    r"|first\s+(?:thought|guess|impression|idea|instinct)|such\s+as|(?<=\w\ )but|except|excluding"
    r"|besides|avoid\w*|without|außer|ohne|salvo|sauf|menos|said|says|wrote|told|claim\w*|replied"
    r"|answered|voted|argued|suggest\w*|asks?|asked|write|writing|saying|sagte?|schrieb|meinte|dijo"
    r"|dice|dit|(?:answer|respond|reply)\w*\s+with|to\s+(?:answer|say|reply|respond|put|give))"
    r"(?:\s+that)?\W*\Z"
    r"|\b(?:e\.g|i\.e|z\.\s?b)\W*\Z",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:another|others?|previous|earlier|former|some|most|many|typical|biased|naive)\s+(?:\w+\s+)?"
    r"(?:judges?|annotators?|raters?|evaluators?|reviewers?|models?|people|readers?|experts?"
    r"|colleagues?)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:so|therefore|thus|hence|i|we|daher|also|ich|wir)\b", re.IGNORECASE)
_DECLINES = re.compile(
    r"\b(?:refus\w+|declin\w+|(?:can|could|wo|do|would)n?['’]?t|cannot|unable|(?:can|will)\s+not"
    r"|not\s+(?:able|going|willing)|not\s+want)\b[^,:]*"
    r"\b(?:answer|choose|say|write|pick|judge|decide|respond|give|select|comply|guess)\b|\bweiger\w*",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:if|when)\s+(?:i\s+(?:had|have|must|am|was|were|need)|forced|pressed|pushed|asked)\b[^,]*"
    r"|\bi(?:\s+would|['’]d)?\s+have\s+to\s+(?:say|choose|go|pick|guess)\b",
    re.IGNORECASE,
)
_IF = re.compile(r"(?:if|unless|wenn|falls)\b", re.IGNORECASE)
_MARKS = r"[\s*_`\"'“”’)\]]*"
_CERTAINTY = re.compile(
    rf"{_MARKS}(?:[(\[]*\s*(?:≈|~)?\s*\d{{1,3}}\s*(?:%|/\s*100)?\s*[\])]+)?{_MARKS}"
)
_MODAL = re.compile(
    r"(?:would|could|might|may|can|cannot|should|must|wäre|würde|könnte|sería|serait)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:is|was|seems?|feels?|looks?|sounds?|makes?|remains?|has|had|does|did|ist|war)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"(?:ignor|requir|assum|reinforc|rel(?:ies|y)|say|impl|contradict|lack|fail|violat|miss|rest"
    r"|perpetuat|mean)\w*\b|\W*(?:said|says|wrote|claims?|claimed|argued|replied|answered|sagte"
    r"|meinte)\b",
    re.IGNORECASE,
)
_WITHDRAWN = re.compile(
    r"\W*\bno\b[,;.]|.*\bbut\s+i\s+(?:refuse|decline|won['’]t|will\s+not)\b", re.IGNORECASE
)
_REJECTED = re.compile(
    r"\b(?:stereotyp\w*|bias\w*|prejudic\w*|discriminat\w*|unfair\w*|inappropriate|wrong|incorrect"
    r"|mistak\w*|unlikely|tempting|guess\w*|arbitrary|dishonest|worse|example|format|placeholder"
    r"|template|default|required|demand\w*|expected|impossible|said|says|wrote|what|out|falsch|vorurteil\w*"
    r"|unfair)\b",
    re.IGNORECASE,
)


def asserts(text: str, start: int, end: int) -> bool:
    """Whether the sentence with a letter in brackets at `start` to `end` asserts it."""
    before, behind, ending = _sentence(text, start, end)
    if ending == "?" and (before.strip() or not behind):
        return False
    return _is_led_to(before, text[start:end], behind) and _is_kept(before, behind)


def _sentence(text: str, start: int, end: int) -> tuple[str, str, str]:
    """What is before and behind a verdict in its sentence, and the sign that ends it."""
    head = text[max(0, start - 400) : start]
    ends = [end_mark.end() for end_mark in _ENDS.finditer(head)]
    before = head[ends[-1] :] if ends else head
    if not _WORDS.search(before) and (line := head.rstrip('\n \t*_`"“>#-')).endswith(":"):
        ends = [end_mark.end() for end_mark in _ENDS.finditer(line)]
        before = line[ends[-1] :] if ends else line  # “The format is:” on a line of its own
    skipped = _CERTAINTY.match(text, end)
    start = skipped.end() if skipped else end
    close = _ENDS.search(text, start, start + 400)
    behind = text[start : close.start() if close else start + 400]
    return before, behind.strip(), close[0] if close else ""


def _is_led_to(before: str, verdict: str, behind: str) -> bool:
    """Whether what is before a verdict in its sentence leads to it."""
    if _INSTEAD.search(before):
        return True
    before = _COMMAND.sub(" ", _HEDGE.sub(" ", before))
    if _DECLINES.search(before):
        return False
    cuts = [cut.end() for cut in _CLAUSE.finditer(before)]
    lead, clause = (before[: cuts[-1]], before[cuts[-1] :]) if cuts else ("", before)
    is_quoted = lead.rstrip().endswith((":", '"', "“", "„", "”"))
    if _NAMES.search(before) or (is_quoted and _NAMES.search(lead)):
        return False
    if _OTHERS.search(lead) and not _OWN.search(clause):
        return False
    words = [word.lower() for word in _WORDS.findall(clause)]
    if _JOINS.issuperset(words):
        label = lead.rstrip()
        is_label = label.endswith((":", "=")) and len(_WORDS.findall(label)) <= 4
        return not (is_label and DENIED.search(label)) and not _is_condition(lead)
    if _KNOWN.issuperset(words):
        is_choice = CHOOSES.search(f"{clause} {behind}") or not _MORE_CHOICES.isdisjoint(words)
        return bool(is_choice) and not _is_condition(lead)
    if DENIED.search(clause):
        return False
    letter = re.search(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])", verdict)
    named = {side_of(name[1] or name[2]) for name in NAMED.finditer(clause)}
    return bool(_BEST.search(clause)) or (letter is not None and named == {side_of(letter[0])})


def _is_condition(lead: str) -> bool:
    return _IF.match(lead.strip()) is not None


def _is_kept(before: str, behind: str) -> bool:
    """Whether what is behind a verdict in its sentence does not take it back."""
    behind = _HEDGE.sub(" ", behind).strip()
    if any(sign.match(behind) for sign in (_IF, _AGAINST, _WITHDRAWN)) or re.match(
        r"zu\s+\w+e?n\b", behind
    ):
        return False
    words = [word.lower() for word in _WORDS.findall(_CLAUSE.split(behind)[0])]
    if modal := _MODAL.match(behind):
        is_known = _KNOWN.issuperset(words[len(_WORDS.findall(modal[0])) :])
        return is_known and CHOOSES.search(behind) is not None
    if _VERB.match(behind):
        first = _WORDS.search(before)
        if first and first[0].lower().endswith("ing"):
            return False  # “Choosing [[A]] means …”
        return not _REJECTED.search(_CLAUSE.split(behind)[0])
    return True
