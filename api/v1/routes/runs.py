"""Judges, which all studies share, and their runs: estimate, start, follow, cancel, judgments."""

from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

from django.db.models import Count, Q
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from analysis.data.judgment_rows import judgment_page
from analysis.exports.rows import exported_judgments
from api.problems import Problem
from api.v1.access import EDITOR, READ, SPEND, WRITE, needs, study_of, user_of
from api.v1.responses import Judgment, PageOf, PageQuery, page
from judging.backends.backend import IMPORTED
from judging.catalog.changes import save_judge
from judging.models import Judge, JudgeRun
from judging.runs import lifecycle
from judging.runs.costs import RunEstimate, estimate_start
from judging.runs.row_creation import RunStudyFacts
from judging.runs.spec import MOST_SAMPLES, Reuse, RunSpec
from judging.runs.start import start_run
from judging.selectors import RunProgress, get_run, run_progress, run_rows
from studies.models import Study

judge_router = Router(tags=["judges"])
_LARGEST = 2_147_483_647


class NewJudge(Schema):
    """A judge on a server. Name the variable that holds its key; never send the key here."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=120)
    model: str = Field(min_length=1, max_length=200)
    backend: Literal["openai"] = "openai"
    base_url: str = Field(max_length=500)
    api_key_env: str = Field("", max_length=120)
    temperature: float = Field(0.7, ge=0, le=2)
    top_p: float = Field(0.95, ge=0, le=1)
    max_tokens: int = Field(1024, ge=1, le=_LARGEST)
    price_input: Decimal | None = Field(None, ge=0, le=100_000, decimal_places=6)
    price_output: Decimal | None = Field(None, ge=0, le=100_000, decimal_places=6)
    own_sources: list[str] = Field([], max_length=100)


class JudgeOut(Schema):
    id: int
    name: str
    model: str
    backend: str
    base_url: str
    api_key_env: str = Field(description="The variable of the key; the key is never shown.")
    temperature: float
    top_p: float
    max_tokens: int
    price_input: float | None = Field(description="US dollars per million tokens.")
    price_output: float | None
    price_day: date | None = Field(description="The day on which the prices were read.")
    price_remark: str = Field(
        description="What is wrong with the price: its age; empty if nothing."
    )
    is_retired: bool
    runs_here: int = Field(description="Runs in this study.")


@judge_router.get(
    "studies/{slug}/judges", response=PageOf[JudgeOut], auth=needs(READ), operation_id="list_judges"
)
def list_judges(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The judges that the study can ask, by name; for editors."""
    judges = _judges(study_of(request, slug, EDITOR)).order_by("name")
    if after := query.after("judges", str):
        judges = judges.filter(name__gt=after[0])
    rows = list(judges[: query.limit + 1])
    return page("judges", rows, query, key=lambda judge: [judge.name], show=lambda judge: judge)


@judge_router.post(
    "studies/{slug}/judges",
    response={201: JudgeOut},
    auth=needs(SPEND),
    operation_id="add_judge",
)
def create_judge(request: HttpRequest, slug: str, body: NewJudge) -> Status[Judge]:
    """Add a judge. The rules about addresses and keys are those of the page (docs/judges.md)."""
    study = study_of(request, slug, EDITOR)
    judge = save_judge(judge=None, study=study, user=user_of(request), fields=body.dict())
    return Status(201, _judges(study).get(pk=judge.pk))


@judge_router.get(
    "studies/{slug}/judges/{int:judge}",
    response=JudgeOut,
    auth=needs(READ),
    operation_id="read_judge",
)
def read_judge(request: HttpRequest, slug: str, judge: int) -> Judge:
    """One judge; for editors."""
    return get_object_or_404(_judges(study_of(request, slug, EDITOR)), pk=min(judge, _LARGEST))


def _judges(study: Study) -> Any:
    here = Count("runs", filter=Q(runs__study=study))
    return Judge.objects.exclude(model=IMPORTED).annotate(runs_here=here)


router = Router(tags=["runs"])
_MOST_ITEMS = 2_147_483_647


class NewRun(Schema):
    """A judge and what to ask it (docs/judging.md). The same parameters continue the same run."""

    model_config = ConfigDict(extra="forbid")

    judge: str = Field(max_length=120, description="Its name.")
    setting: str = Field("standard", max_length=20)
    features: str = Field("all", max_length=1_000)
    orders: Literal["random", "both", "r1_first", "r2_first"] = "random"
    samples: int = Field(1, ge=1, le=MOST_SAMPLES)
    seed: int | None = Field(None, ge=0, le=2**53)
    limit: int | None = Field(None, ge=1, le=_MOST_ITEMS, description="Items; null for all.")
    budget: Decimal | None = Field(
        None, gt=0, le=1_000_000, decimal_places=6, description="US dollars."
    )
    token_budget: int | None = Field(None, ge=1, le=2**53)
    by_batch: bool = False
    wording: str = Field("", max_length=200, description="A wording of the study: name@version.")
    framing: str = Field("observer", max_length=20)
    bias_probe: str = Field("", max_length=60)
    prompt_language: str = Field("", max_length=10)
    reading: Literal["lenient", "strict"] = "lenient"
    reuse: Literal["fresh", "identical", "same_prompt"] = "fresh"


class CostEstimate(Schema):
    questions: int = Field(description="Requests that the run would send.")
    answered: int
    reused: int
    tokens: int
    dollars: float | None = Field(description="Null if the judge has no price.")
    seconds: float | None
    is_tried: bool = Field(description="Whether it is based on replies of the run.")
    remarks: list[str] = Field(
        description="What the model refuses of what is asked, and whether its price is old."
    )


class Progress(Schema):
    total: int
    done: int
    unparseable: int
    refused: int
    skipped: int
    error: int
    pending: int
    leased: int


class RunOut(Schema):
    id: str
    key: str = Field(description="Hash of the parameters, as in reports and exports.")
    judge: str
    setting: str
    features: str
    orders: str
    samples: int
    seed: int
    wording: str
    framing: str
    bias_probe: str
    prompt_language: str
    reading: str
    by_batch: bool
    is_imported: bool
    state: str
    is_active: bool = Field(description="Whether it is queued or running.")
    message: str = Field(description="The reason for its state.")
    progress: Progress
    budget: float | None
    token_budget: int | None
    dollars: float | None = Field(description="Spent; null if the judge has no price.")
    tokens: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


@router.get(
    "studies/{slug}/runs", response=PageOf[RunOut], auth=needs(READ), operation_id="list_runs"
)
def list_runs(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The runs of a study in the order of their creation."""
    study = study_of(request, slug)
    runs = study.judge_runs.order_by("pk")
    if after := query.after("runs", int):
        runs = runs.filter(pk__gt=after[0])
    rows = run_rows(study, runs[: query.limit + 1])
    return page(
        "runs",
        rows,
        query,
        key=lambda row: [row.run.pk],
        show=lambda row: _shown(row.run, row.progress),
    )


@router.post(
    "studies/{slug}/runs/estimate",
    response=CostEstimate,
    auth=needs(READ),
    operation_id="estimate_run",
)
def estimate(request: HttpRequest, slug: str, body: NewRun) -> RunEstimate:
    """What a run would ask and cost, without storing or sending anything; for editors."""
    study = study_of(request, slug, EDITOR)
    spec = _spec(study, body)
    judge = Judge.objects.get(pk=spec.judge_id)
    return estimate_start(study, judge, spec, user=user_of(request))


@router.post(
    "studies/{slug}/runs", response={201: RunOut}, auth=needs(SPEND), operation_id="start_run"
)
def start(request: HttpRequest, slug: str, body: NewRun) -> Status[dict[str, Any]]:
    """Start a run, or continue the one that has these parameters. It can cost money."""
    study = study_of(request, slug, EDITOR)
    run = start_run(_spec(study, body), user=user_of(request))
    return Status(201, _read(study, run.public_id))


@router.get("studies/{slug}/runs/{run}", response=RunOut, auth=needs(READ), operation_id="read_run")
def read_run(request: HttpRequest, slug: str, run: str) -> dict[str, Any]:
    """A run with its progress."""
    return _read(study_of(request, slug), run)


@router.post(
    "studies/{slug}/runs/{run}/pause", response=RunOut, auth=needs(WRITE), operation_id="pause_run"
)
def pause(request: HttpRequest, slug: str, run: str) -> dict[str, Any]:
    """Pause a run; replies on their way are still stored. A run that has ended does not change."""
    return _change(request, slug, run, lifecycle.pause_run)


@router.post(
    "studies/{slug}/runs/{run}/cancel",
    response=RunOut,
    auth=needs(WRITE),
    operation_id="cancel_run",
)
def cancel(request: HttpRequest, slug: str, run: str) -> dict[str, Any]:
    """End a run permanently and keep its judgments."""
    return _change(request, slug, run, lifecycle.cancel_run)


@router.post(
    "studies/{slug}/runs/{run}/resume",
    response=RunOut,
    auth=needs(SPEND),
    operation_id="resume_run",
)
def resume(request: HttpRequest, slug: str, run: str) -> dict[str, Any]:
    """Continue a run that was paused or stopped. It can cost money."""
    return _change(request, slug, run, lifecycle.resume_run)


@router.post(
    "studies/{slug}/runs/{run}/retry", response=RunOut, auth=needs(SPEND), operation_id="retry_run"
)
def retry(request: HttpRequest, slug: str, run: str) -> dict[str, Any]:
    """Ask the failed questions of a run again. It can cost money."""
    return _change(request, slug, run, lifecycle.retry_failed)


@router.get(
    "studies/{slug}/runs/{run}/judgments",
    response=PageOf[Judgment],
    auth=needs(READ),
    operation_id="list_judgments",
)
def judgments(request: HttpRequest, slug: str, run: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The finished judgments of a run by item, as in exports."""
    study = study_of(request, slug)
    after = query.after("judgments", str, int, str, int)
    judgments = judgment_page(
        get_run(study, run), after=tuple(after) if after else None, most=query.limit + 1
    )
    return page(
        "judgments",
        list(exported_judgments(study, judgments)),
        query,
        key=lambda row: [row["item_id"], row["sample"], row["shown_first"] or "", row["slot"]],
        show=lambda row: row,
    )


def _spec(study: Study, body: NewRun) -> RunSpec:
    fields = body.dict()
    name, wording = fields.pop("judge"), fields.pop("wording")
    judge = Judge.objects.filter(name=name, is_retired=False).exclude(model=IMPORTED).first()
    if judge is None:
        message = (
            f"There is no judge “{name}”, or it is retired. List the judges of the study to see "
            "their names."
        )
        raise Problem(422, message, errors=[{"field": "judge", "message": message}])
    return RunSpec(
        study_id=study.pk,
        judge_id=judge.pk,
        wording_id=RunStudyFacts(study).wording_named(wording),
        **fields | {"reuse": Reuse(fields["reuse"])},
    )


def _change(request: HttpRequest, slug: str, public_id: str, act: Any) -> dict[str, Any]:
    study = study_of(request, slug, EDITOR)
    act(run_id=get_run(study, public_id).pk, user=user_of(request))
    return _read(study, public_id)


def _read(study: Study, public_id: str) -> dict[str, Any]:
    run = get_run(study, public_id)
    return _shown(run, run_progress(run))


def _shown(run: JudgeRun, progress: RunProgress) -> dict[str, Any]:
    same = (
        *("key", "setting", "features", "orders", "samples", "seed", "framing", "bias_probe"),
        *("prompt_language", "reading", "by_batch", "is_imported", "state"),
        *("is_active", "budget", "token_budget", "tokens", "created_at", "started_at", "ended_at"),
    )
    return {name: getattr(run, name) for name in same} | {
        "id": run.public_id,
        "judge": run.judge.name,
        "wording": run.wording.reference if run.wording else "",
        "message": run.sentence,
        "dollars": run.spent if run.is_billed else None,
        "progress": asdict(progress) | {"total": progress.total},
    }
