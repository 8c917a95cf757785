"""Who may open the pages of improvements."""

from extras.improving.models import Improvement
from studies.models import Study
from tests.analysis.builders import make_run

# Operations of the API, as in tests/api/test_roles.py; starting one needs people's answers.
ROUTES = {
    "list_improvements": ("viewer", None, ["read"]),
    "read_improvement": ("viewer", None, ["read"]),
    "estimate_improvement": ("editor", {"run": ""}, ["read"]),
    "start_improvement": ("editor", {"run": ""}, ["spend"]),
}
ROUTES_NEED_DATA = {"estimate_improvement", "start_improvement"}
FOR_VIEWERS = {
    "improvements/",
    "improvements/next/",
    "improvements/<public_id>/",
    "improvements/<public_id>/?progress",
}
NEEDS_DATA = r"improving:"


def things(study: Study) -> dict[str, Improvement]:
    improvement = Improvement.objects.create(
        study=study,
        run=make_run(study=study),
        kinds=["examples"],
        most=1,
        gain=0.1,
        share=0.5,
        items=20,
        parts=[],
        learn_sha256="0" * 64,
        sealed_sha256="0" * 64,
    )
    return {"improvements/": improvement}
