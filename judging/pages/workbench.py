"""What judges add to the pages of a study."""

from collections import Counter

from judging.models import JudgeRun
from studies.models import Study
from studies.pages.workbench.registry import Mark, marks, register_pages


def judges_mark(study: Study) -> list[Mark]:
    runs = list(JudgeRun.objects.filter(study=study).values_list("state", "probe_first"))
    states = Counter(state for state, _ in runs)
    stopped = states[JudgeRun.State.STOPPED_BUDGET] + states[JudgeRun.State.STOPPED_OUTAGE]
    waiting = sum(probe and state == JudgeRun.State.PAUSED for state, probe in runs)
    alerts = [f"{stopped:,} stopped" if stopped else "", f"{waiting:,} to start" if waiting else ""]
    return [Mark("judges", len(runs), ", ".join(filter(None, alerts)))]


def register() -> None:
    marks.register(judges_mark)
    register_pages("judges", "judging:")
