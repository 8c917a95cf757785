"""The state machine of a person's part: the only place that changes `Annotator.state`."""

from annotation.models import Annotator

# The page (its path below /s/<slug>/) of each state; `done/` shows the ending's own page.
STEPS: dict[str, str] = {
    Annotator.State.ARRIVED: "consent",
    Annotator.State.CONSENTED: "about",
    Annotator.State.SCREENED: "instructions",
    Annotator.State.INSTRUCTED: "quiz",
    Annotator.State.QUALIFIED: "practice",
    Annotator.State.ANNOTATING: "task",
}


def step_of(annotator: Annotator) -> str:
    """The step that the person is at; "done" after every ending."""
    return STEPS.get(annotator.state, "done")
