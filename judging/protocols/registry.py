"""The judging protocols of this program. Another one takes one module and one line here."""

from judging.errors import BadRun
from judging.protocols.certainties.levels import Levels
from judging.protocols.certainties.p_true import PTrue
from judging.protocols.certainties.second_turn import SecondTurn
from judging.protocols.certainty import Certainty
from judging.protocols.criteria import Criteria
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.reasons import ReasonAfter, ReasonBefore, ReasonLine
from judging.protocols.scores import Score10, Score100
from judging.protocols.standard import Standard
from judging.protocols.tie import Tie
from studies.additions import Additions

PROTOCOLS: list[JudgingProtocol] = [
    Standard(),
    Certainty(),
    Tie(),
    ReasonBefore(),
    ReasonLine(),
    ReasonAfter(),
    Criteria(),
    Score10(),
    Score100(),
    Levels(),
    SecondTurn(),
    PTrue(),
]
MORE: Additions[JudgingProtocol] = Additions()
DEFAULT = Standard.name


def protocols() -> list[JudgingProtocol]:
    """The protocols of the core and of extras, as commands and pages list them."""
    return MORE.among(PROTOCOLS)


def protocol(name: str) -> JudgingProtocol:
    """The protocol with this name. Raises `BadRun` if there is none."""
    for each in protocols():
        if each.name == name:
            return each
    raise BadRun(f"There is no setting “{name}”. Use one of: {', '.join(names())}.")


def names() -> list[str]:
    return [each.name for each in protocols()]


def choices() -> list[tuple[str, str]]:
    """Names and labels, for the field of the model; a function, so that no migration lists them."""
    return [(name, name) for name in names()]
