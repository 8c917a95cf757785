"""Finds texts that address their judge, such as “ignore previous instructions”. Pure.

Such a text inside an item can steer a model that judges it. Covers five languages; a hint, not
proof.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

_SHOWN = 60  # length of a passage
_LINES_SHOWN = 10
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_SPACES = re.compile(r"\s+")

# Each row: letters that the pattern needs, and the pattern, for lower-case text.
_PATTERNS: tuple[tuple[str, str], ...] = (
    # A verdict in the form that prompts ask for.
    ("[[", r"\[\[\s*[abc]\s*\]\]"),
    # English
    (
        "instruct",
        r"\b(?:ignore|disregard|forget|override)\s+(?:(?:all|any|the|these|your|of|every)\s+){0,3}"
        r"(?:previous|prior|above|earlier|preceding|other|system)\s+instructions?\b",
    ),
    (
        "this",
        r"\b(?:choose|pick|select|prefer|vote\s+for)\s+this\s+(?:response|answer)\b",
    ),
    (
        "my",
        r"\b(?:choose|pick|select|prefer|vote\s+for)\s+my\s+(?:response|answer)\b",
    ),
    (
        "this",
        r"\b(?:rate|score|rank|mark)\s+this\s+(?:response|answer)\s+"
        r"(?:as\s+)?(?:the\s+)?(?:best|highest|higher|first|better|10|100)\b",
    ),
    (
        "highest",
        r"\bgive\s+(?:this|my)\s+(?:response|answer)\s+(?:the\s+)?highest\s+(?:score|rating|mark)",
    ),
    (
        "evaluat",
        r"\b(?:as\s+(?:an?|the)\s+evaluator\b|(?:note|message|attention|instructions?)"
        r"\s*(?:to|for)?\s*(?:all|the)?\s*evaluators?\b)",
    ),
    (
        "judge",
        r"\b(?:as\s+(?:an?|the)\s+(?:ai|llm|impartial|model)\s+judge\b"
        r"|(?:note|message|instructions?)\s+(?:to|for)\s+(?:the\s+)?(?:ai\s+|llm\s+)?judges?\b)",
    ),
    (
        "grader",
        r"\b(?:as\s+(?:an?|the)\s+grader\b|(?:note|message)\s+(?:to|for)\s+(?:the\s+)?grader\b)",
    ),
    # German
    (
        "anweisung",
        r"\b(?:ignorier\w*|vergiss|vergesst|missachte\w*)\s+(?:sie\s+)?(?:bitte\s+)?"
        r"(?:(?:alle|die|deine|ihre)\s+){0,2}(?:vorherigen|vorigen|bisherigen|obigen|früheren"
        r"|anderen)\s+anweisungen\b",
    ),
    (
        "antwort",
        r"\b(?:wähle?n?|bevorzugen?|bevorzuge|nimm|stimme?n?\s+(?:sie\s+)?für)\s+(?:sie\s+)?"
        r"(?:bitte\s+)?(?:diese|meine)\s+antwort\b",
    ),
    (
        "bewerte",
        r"\b(?:als\s+(?:bewerter|bewertende[rn]?)(?:in)?\b"
        r"|(?:hinweis|nachricht|anweisung)\s+an\s+(?:die|den|alle)\s+bewerte)",
    ),
    # French
    (
        "instruct",
        r"\b(?:ignore[zr]?|oublie[zr]?)\s+(?:toutes\s+)?(?:les|vos|tes)\s+instructions\s+"
        r"(?:précédentes|antérieures|ci-dessus)\b",
    ),
    (
        "réponse",
        r"\b(?:choisis(?:sez)?|préfère|préférez|sélectionne[zr]?|vote[zr]?\s+pour)\s+"
        r"(?:cette|ma)\s+réponse\b",
    ),
    (
        "évaluat",
        r"(?:\ben\s+tant\s+qu['’]\s*évaluat(?:eur|rice)\b"
        r"|\b(?:note|message|consigne)\s+(?:à\s+l['’]|pour\s+l['’])\s*évaluat(?:eur|rice)\b)",
    ),
    # Spanish
    (
        "instrucciones",
        r"\b(?:ignora|ignore|ignorar|olvida|olvide)\s+(?:todas\s+)?(?:las|tus|sus)\s+"
        r"(?:instrucciones\s+(?:anteriores|previas)|(?:anteriores|previas)\s+instrucciones)\b",
    ),
    (
        "respuesta",
        r"\b(?:elige|elija|escoge|escoja|selecciona|seleccione|vota\s+por|prefiere)\s+"
        r"(?:esta|mi)\s+respuesta\b",
    ),
    (
        "evaluador",
        r"\b(?:como\s+(?:el\s+|la\s+)?evaluador(?:a)?\b"
        r"|(?:nota|mensaje|aviso)\s+(?:al|a\s+la|para\s+el|para\s+la)\s+evaluador(?:a)?\b)",
    ),
    # Italian
    (
        "istruzioni",
        r"\b(?:ignora|ignori|ignorate|dimentica|dimenticate)\s+(?:tutte\s+)?(?:le|le\s+tue)\s+"
        r"(?:istruzioni\s+(?:precedenti|di\s+prima)|precedenti\s+istruzioni)\b",
    ),
    (
        "risposta",
        r"\b(?:scegli|scelga|scegliete|seleziona|selezioni|preferisci|vota)\s+"
        r"(?:questa|la\s+mia)\s+risposta\b",
    ),
    (
        "valutat",
        r"\b(?:come\s+valutat(?:ore|rice)\b"
        r"|(?:nota|messaggio|avviso)\s+(?:al|alla|per\s+il|per\s+la)\s+valutat(?:ore|rice)\b)",
    ),
)
_COMPILED = tuple((stem, re.compile(pattern)) for stem, pattern in _PATTERNS)


def passage_to_judge(text: str) -> str:
    """The first passage of a text that addresses a judge, shortened; empty if there is none."""
    plain = text.casefold()
    if not plain.isascii():
        # “ß” and accented letters keep their usual forms; hidden characters are removed.
        plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).lower()
    for stem, pattern in _COMPILED:
        if stem in plain and (passage := pattern.search(_SPACES.sub(" ", plain))):
            return passage[0] if len(passage[0]) <= _SHOWN else f"{passage[0][: _SHOWN - 1]}…"
    return ""


@dataclass
class TextsToJudges:
    """The rows of a file with such a text: their lines, and the first passage."""

    lines: list[int] = field(default_factory=list)
    passage: str = ""

    def look(self, line: int, texts: Iterable[str]) -> None:
        for text in texts:
            if passage := passage_to_judge(text):
                self.passage = self.passage or passage
                self.lines.append(line)
                return

    @property
    def message(self) -> str:
        """A warning for the importing user; empty if no row has such a text."""
        if not self.lines:
            return ""
        lines = ", ".join(str(line) for line in self.lines[:_LINES_SHOWN])
        more = f" and {len(self.lines) - _LINES_SHOWN:,} more" * (len(self.lines) > _LINES_SHOWN)
        rows = "1 item has" if len(self.lines) == 1 else f"{len(self.lines):,} items have"
        return (
            f"{rows} a text that may address a judge (line {lines}{more}), first “{self.passage}”. "
            "A model may follow it. Check these items before models judge them."
        )
