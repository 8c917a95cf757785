"""Where a reply thinks aloud, found by the structure of its marks.

A mark is a tag in any of the forms that models use: `<think>`, `<|begin_of_thought|>`,
`<unused94>`, `<|channel>thought`, `[THINK]`, `◁think▷`. What a mark at the start of a reply opens
is a thought up to its partner, or to the end of the reply if there is none. The text before a
closing mark without a partner is a thought too, because some chat templates open it themselves.
Only marks of answers (`<answer>`) and of formats (`<b>`, `<|im_end|>`) open and close none.
"""

import re
from dataclasses import dataclass

_MARK = re.compile(
    r"<\|channel\|>\s*(?P<channel>[a-z]+)[^<>]{0,40}(?:<\|constrain\|>[^<>]{0,40})?<\|message\|>"
    r"|(?P<final>assistantfinal)"
    r"|(?:<|&lt;|◁|＜)\s*(?P<tag>[|｜]?\s*\\?/?\s*[|｜]?\s*[^\W\d][^<>◁▷＜＞]{0,100}?)"
    r"\s*(?:>|&gt;|▷|＞)"
    r"|\[(?P<bracketed>/?\s*(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)\s*)\]",
    re.IGNORECASE,
)
# Names that mean a thought wherever they are in a reply. Other marks open one only at its start.
_THINKS = re.compile(
    r"think|thought|reason|reflect|scratchpad|analy[sz]|monologue|deliberat|(?<![a-z])(?:cot|channel)(?![a-z])"
    r"|gedanke|思考|推理",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+?(?=[A-Z][a-z]|[\W\d_]|\Z)|[^\W\d_]+")
_CLOSES = frozenset("end stop close".split())
_PLACES = _CLOSES | frozenset("begin start open of the".split())
_ANSWERS = _PLACES | frozenset(
    "a b c r answer answers verdict choice choices decision final response result results solution"
    " output judgment judgement preference preferred prefer selection selected winner conclusion"
    " box boxed certainty confidence rating score pick reply option letter label chosen better best"
    " my your person pair tie antwort urteil entscheidung respuesta réponse"
    " sicherheit certeza certitude 答案 回答 结论".split()
)
_FORMATS = _ANSWERS | frozenset(
    "im eot eom eos bos sot turn text sentence sequence endoftext endofprompt human system model"
    " bot ai user assistant content message messages header id token pad inst sys s sep fim middle"
    " reserved special python tag tool call calls return constrain utterance document doc xml json"
    " data html body head title p div span br hr i u em strong b small mark code pre center font"
    " table tr td th ul ol li q sub sup h section article main blockquote img href http https"
    " www".split()
)


@dataclass(frozen=True, slots=True)
class _Mark:
    """`key` is what a mark shares with its partner; empty for a mark of an answer or a format.

    `may_begin`: it opens a thought anywhere, not only at the start of a reply.
    """

    key: str
    closes: bool = False
    may_begin: bool = False
    is_answer: bool = False
    is_token: bool = False  # `<|…|>`


def _mark(match: re.Match[str]) -> _Mark:
    if channel := match["channel"] or match["final"]:
        return _Mark("channel", channel.lower().endswith("final"), may_begin=True)
    inside = match["tag"] or match["bracketed"]
    name = re.split(r"[\s=]", inside.lstrip("|｜/\\ "), maxsplit=1)[0]
    words = [word.lower() for word in _WORD.findall(name)]
    closes = inside.lstrip("|｜\\ ").startswith("/") or not _CLOSES.isdisjoint(words)
    closes |= inside[-1] in "|｜" and inside[0] not in "|｜"
    if thinks := _THINKS.search(name):
        return _Mark(re.sub("thought|gedanke", "think", thinks[0].lower()), closes, may_begin=True)
    if _THINKS.search(inside):  # `<details type="reasoning">`
        return _Mark("".join(words), closes, may_begin=True)
    if _ANSWERS.issuperset(words) or inside.endswith("/") or _FORMATS.issuperset(words):
        is_token = inside[0] in "|｜"
        return _Mark("", is_token=is_token, is_answer=not (_ANSWERS - _PLACES).isdisjoint(words))
    return _Mark("".join(word for word in words if word not in _PLACES), closes)


def thoughts_in(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The thoughts of a reply with their marks, and the tokens around its answer, as spans."""
    thoughts: list[tuple[int, int]] = []
    frames: list[tuple[int, int]] = []
    opened, start, depth = "", 0, 0  # the thought that is not over
    is_leading, last = True, 0  # whether nothing but marks precedes, and the end of the last one
    others: set[str] = set()  # keys of open marks that open no thought
    for match in _MARK.finditer(text):
        mark = _mark(match)
        # The partner of a reserved token has another number, and no sign that it closes.
        is_reserved = mark.key == "unused"
        is_leading &= not text[last : match.start()].strip()
        last = match.end()
        if opened:
            if mark.key == opened:
                is_over = mark.closes or is_reserved
                depth += -1 if is_over else opened != "channel"
            if not depth:
                thoughts.append((start, last))
                opened, is_leading = "", True
        elif not mark.key:
            if mark.is_token and (mark.is_answer or is_leading):
                frames.append(match.span())
        elif not mark.closes and (is_leading or mark.may_begin):
            opened, start, depth = mark.key, match.start(), 1
        elif not mark.closes and not is_reserved:
            others.add(mark.key)
        elif mark.key in others:
            others.discard(mark.key)
        else:  # the chat template has opened the thought
            thoughts, frames, is_leading = [(0, last)], [], True
    return [*thoughts, (start, len(text))] if opened else thoughts, frames


def without_marks(text: str) -> str:
    """A text without the marks that open or close a thought."""
    return _MARK.sub(lambda match: "" if _mark(match).key else match[0], text)
