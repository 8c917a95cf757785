"""Campaigns: many runs by one plan (judges × settings × features × orders), and their juries."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction

from judging.bias.probe_choices import EVERY, known_probes, probe_choice, with_baselines
from judging.bias.probes import FEATURE
from judging.errors import BadPlan, BadRun, ConflictingValue, FailureReason, InvalidValue
from judging.models import Campaign, Judge, JudgeRun, Jury
from judging.protocols import framings, registry
from judging.runs.lifecycle import cancel_run, resume_run
from judging.runs.row_creation import RunStudyFacts
from judging.runs.spec import NO_PRICE, Reuse, RunSpec
from judging.runs.start import run_for, start_run
from judging.selectors import campaigns_of, has_replies
from studies import personas as feature_sets
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.texts.toml_values import NotToml, toml_value

SWEEPS = ("leave-one-out", "one-only")

_NO_SWEEP = FailureReason(
    "no_sweep", "{field}: leave-one-out and one-only need personas with two features or more."
)
_NO_JUDGE = FailureReason(
    "no_judge", "{field}: there is no judge “{judge}”. Add it with add_judge first."
)
_NAME_TAKEN = FailureReason(
    "name_taken",
    "{field}: a campaign “{value}” with a different plan already exists; somebody else may have "
    "just started it. Give this one another name, for example “{free}”, or change the other one "
    "with “Extend campaign” on its page, or the command with --change.",
)
_NAME_OF_JUDGE = FailureReason(
    "name_of_judge", "{field}: a judge is also named “{jury}”. Give the jury another name."
)


@dataclass(frozen=True)
class CampaignPlan:
    """The grid of a campaign: every judge with every setting, set of features, order, and so on.

    `wordings` are the study's own, as "name" or "name@version"; "" is that of the setting. To each
    of the bias `probes` the run without it is added; `flip:*`, `hide:*`: one a feature.
    `language` is that of the words around the items; empty for that of the study.
    `budget` and `token_budget` are those of all runs together. `juries` name their judges. With
    `batch` the judges are asked by files at a lower price. With `reuse` answers of other runs to
    exactly the same prompts are copied; with `extend` a run with fewer samples, or one order, is
    extended instead of starting another.
    """

    name: str
    judges: list[str]
    settings: list[str] = field(default_factory=lambda: [registry.DEFAULT])
    features: list[str] = field(default_factory=lambda: ["all"])
    orders: list[str] = field(default_factory=lambda: [JudgeRun.Orders.BOTH.value])
    wordings: list[str] = field(default_factory=lambda: [""])
    framings: list[str] = field(default_factory=lambda: [framings.OBSERVER])
    probes: list[str] = field(default_factory=lambda: [""])
    reading: str = JudgeRun.Reading.LENIENT.value
    language: str = ""
    samples: int = 1
    seed: int | None = None
    limit: int | None = None
    budget: str | None = None
    token_budget: int | None = None
    batch: bool = False
    reuse: bool = False
    extend: bool = False
    juries: dict[str, list[str]] = field(default_factory=dict)


# The keys of a plan for fields of its runs, where they have other names.
PLAN_KEYS = {
    "by_batch": "batch",
    "prompt_language": "language",
    "setting": "settings",
    "framing": "framings",
    "bias_probe": "probes",
    "wording": "wordings",
}
_WORDS = ("judges", "settings", "features", "orders", "wordings", "framings", "probes")
_BEFORE_LANGUAGES = {"language": "en"}  # of plans that were stored without a language
_YES_OR_NO = ("batch", "reuse", "extend")
_TEXTS = ("language", "reading")
_NUMBERS = ("samples", "seed", "limit", "token_budget")


def read_plan(text: str) -> CampaignPlan:
    """Read a plan from TOML. Raises `BadPlan` with the field and its allowed values."""
    try:
        raw = toml_value(text)
    except NotToml as error:
        raise BadPlan(f"This is not TOML: {error}.") from error
    known = [*CampaignPlan.__dataclass_fields__]
    if unknown := sorted(raw.keys() - set(known)):
        raise BadPlan(f"There is no field “{unknown[0]}”. Use: {', '.join(known)}.")
    if not isinstance(raw.get("name"), str) or not 1 <= len(raw["name"]) <= 120:
        raise BadPlan("name: give the campaign a name of up to 120 letters.")
    for key in _WORDS:
        if key in raw or key == "judges":
            _check_words(key, raw.get(key))
    _check_probes(raw.get("probes", []))
    for key in _NUMBERS:
        if key in raw and type(raw[key]) is not int:
            raise BadPlan(f"{key} is {raw[key]!r}. Use a whole number.")
    for key in _TEXTS:
        if not isinstance(raw.get(key, ""), str):
            raise BadPlan(f"{key} is {raw[key]!r}. Use a word in quotes.")
    for key in _YES_OR_NO:
        if not isinstance(raw.get(key, False), bool):
            raise BadPlan(f"{key} is {raw[key]!r}. Use true or false.")
    if raw.get("extend") and len(raw.get("orders", [])) > 1:
        raise BadPlan("extend: name one order. A run cannot be extended to two.")
    for name, members in _table(raw).items():
        _check_words(f"juries.{name}", members)
        if len(members) < 2:
            raise BadPlan(f"juries.{name}: a jury needs two or more judges.")
        if absent := [member for member in members if member not in raw["judges"]]:
            raise BadPlan(f"juries.{name}: “{absent[0]}” is not among the judges. Add it there.")
    if "budget" in raw:
        raw["budget"] = str(raw["budget"])
        _check_dollars(raw["budget"])
    if raw.get("token_budget", 1) < 1:
        raise BadPlan(f"token_budget is {raw['token_budget']}. Use 1 or more.")
    return CampaignPlan(**raw)


def _check_dollars(text: str) -> None:
    try:
        is_amount = Decimal(text) > 0 and Decimal(text).is_finite()
    except InvalidOperation:
        is_amount = False
    if not is_amount:
        raise BadPlan(f"budget is {text!r}. Use US dollars, more than 0.")


def _table(raw: dict[str, Any]) -> dict[str, Any]:
    juries = raw.get("juries", {})
    if not isinstance(juries, dict):
        raise BadPlan('juries: use a table, for example [juries] and panel = ["a", "b"].')
    return juries


def _check_words(key: str, words: Any) -> None:
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
        raise BadPlan(f'{key}: use a list of names, for example {key} = ["…"].')
    if len(set(words)) < len(words):
        raise BadPlan(f"{key}: a name is listed twice. List each name once.")
    known = {
        "settings": registry.names(),
        "orders": JudgeRun.Orders.values,
        "framings": [*framings.framings()],
    }.get(key, words)
    if wrong := [word for word in words if word not in known]:
        raise BadPlan(f"{key}: “{wrong[0]}” is none of {', '.join(known)}.")


def feature_grid(study: Study, features: Sequence[str]) -> list[str]:
    """The sets of features to ask with, sweeps expanded, each once.

    `leave-one-out` is all features but one, for each; `one-only` is each feature alone.
    """
    keys = sorted(feature_sets.known_keys(study))
    if set(features) & set(SWEEPS) and len(keys) < 2:
        raise ConflictingValue("features", _NO_SWEEP)
    grid: list[str] = []
    for name in features:
        if name == "leave-one-out":
            grid += [",".join(key for key in keys if key != left_out) for left_out in keys]
        elif name == "one-only":
            grid += keys
        else:
            grid.append(name)
    return list(dict.fromkeys(grid))


@dataclass(frozen=True)
class CampaignCell:
    """One run of a plan, stored or not, and how it is started."""

    run: JudgeRun
    spec: RunSpec


def cells_of(
    study: Study, plan: CampaignPlan, *, facts: RunStudyFacts | None = None
) -> list[CampaignCell]:
    """The runs of a plan as they would be started; stores nothing."""
    judges, facts = _judges(plan), facts or RunStudyFacts(study)
    cells = []
    for point in grid_of(study, plan):
        spec = RunSpec(
            study_id=study.pk,
            judge_id=judges[point.judge].pk,
            setting=point.setting,
            features=point.features,
            orders=point.orders,
            wording_id=facts.wording_named(point.wording),
            framing=point.framing,
            bias_probe=point.probe,
            prompt_language=plan.language,
            reading=plan.reading,
            samples=plan.samples,
            seed=plan.seed,
            limit=plan.limit,
            reuse=Reuse.SAME_PROMPT if plan.reuse else Reuse.FRESH,
            by_batch=plan.batch,
        )
        run = run_for(study, judges[point.judge], spec, facts=facts)
        if run.pk is None and plan.extend:
            try:
                extending = replace(spec, extend=True)
                run = run_for(study, judges[point.judge], extending, facts=facts)
                spec = extending
            except BadRun:
                pass  # There is no run to extend, so start a separate run.
        cells.append(CampaignCell(run, spec))
    return cells


def start_campaign(
    *,
    study_id: int,
    plan: CampaignPlan,
    probe: bool = False,
    enqueue: bool = True,
    change: bool = False,
    user: User | None = None,
) -> Campaign:
    """Start, or continue, every run of a plan: all of them or, when one cannot start, none.

    If a campaign of this name has another plan or budget, it is unchanged and `ConflictingValue` is
    raised. With `change` it gets the new plan and budget.

    With `probe` each run asks one question and waits for `start_after_probe`; runs that have
    replies wait unchanged until then. The same plan again asks nothing new. Raises
    `BadPlan`, `BadRun`, `BadJudge` or `StudyError`.
    """
    with transaction.atomic():
        study = lock_study(study_id)
        judges = _judges(plan)
        _check_prices(plan, judges)
        campaign = _campaign(study, plan, change=change, user=user)
        # Names of judges differ from those of juries: the report distinguishes both by name alone.
        for name, members in plan.juries.items():
            if Judge.objects.filter(name=name).exists():
                raise ConflictingValue("juries", _NAME_OF_JUDGE, jury=name)
            jury, _ = Jury.objects.get_or_create(study=study, name=name)
            jury.judges.set([judges[member] for member in members])
        facts, runs = RunStudyFacts(study), []
        for cell in cells_of(study, plan, facts=facts):
            run = cell.run
            if not (probe and run.pk is not None and has_replies(run.pk)):
                run = start_run(cell.spec, probe=probe, enqueue=enqueue, facts=facts, user=user)
            runs.append(run)
        campaign.runs.add(*runs)
    return campaign


def _campaign(study: Study, plan: CampaignPlan, *, change: bool, user: User | None) -> Campaign:
    """The campaign of a plan in a locked study; a change of its budget is logged."""
    values = {
        "plan": asdict(plan),
        "budget": None if plan.budget is None else Decimal(plan.budget),
        "token_budget": plan.token_budget,
    }
    campaign, is_made = Campaign.objects.get_or_create(study=study, name=plan.name, defaults=values)
    if is_made or (campaign.plan and plan_of(campaign) == plan):
        return campaign
    if not (
        change and campaign.plan
    ):  # A campaign without a plan is a shared budget of several campaigns.
        raise ConflictingValue("name", _NAME_TAKEN, value=plan.name, free=free_name(study))
    changed = [
        name for name in ("budget", "token_budget") if getattr(campaign, name) != values[name]
    ]
    for name in changed:
        before, after = (
            None if v is None else str(v) for v in (getattr(campaign, name), values[name])
        )
        record(
            study,
            "campaign changed",
            user=user,
            campaign=plan.name,
            field=name,
            before=before,
            after=after,
        )
    Campaign.objects.filter(pk=campaign.pk).update(**values)
    campaign.refresh_from_db()
    return campaign


def free_name(study: Study) -> str:
    """“Campaign 3” for a study with two campaigns, or the next number that no campaign has."""
    taken = set(Campaign.objects.filter(study=study).values_list("name", flat=True))
    numbers = itertools.count(campaigns_of(study).count() + 1)
    return next(name for number in numbers if (name := f"Campaign {number}") not in taken)


@transaction.atomic
def start_after_probe(*, campaign_id: int, user: User | None = None) -> int:
    """Start every run of a campaign except those whose probe brought no reply or was refused.

    Returns the number of started runs.
    """
    campaign = Campaign.objects.select_related("study").get(pk=campaign_id)
    study = lock_study(campaign.study_id)
    ready, facts = ready_after_probe(campaign), RunStudyFacts(study)
    campaign.runs.add(*(start_run(cell.spec, facts=facts, user=user) for cell in ready))
    return len(ready)


def ready_after_probe(campaign: Campaign) -> list[CampaignCell]:
    """The runs that `start_after_probe` would start."""

    def is_held(run: JudgeRun) -> bool:
        has_come = run.state == JudgeRun.State.PAUSED and has_replies(run.pk)
        return run.probe_first and not has_come

    cells = cells_of(campaign.study, plan_of(campaign))
    return [cell for cell in cells if not is_held(cell.run)]


def plan_of(campaign: Campaign) -> CampaignPlan:
    return CampaignPlan(**_BEFORE_LANGUAGES | campaign.plan)


def refuse_after_probe(*, campaign_id: int, user: User | None = None) -> int:
    """Discard the runs of a campaign that wait after their test question."""
    waiting = JudgeRun.objects.filter(campaigns=campaign_id, probe_first=True)
    return sum(cancel_run(run_id=pk, user=user) for pk in waiting.values_list("pk", flat=True))


def probe_again(*, campaign_id: int, user: User | None = None) -> int:
    """Repeat test questions without a reply; return the number of runs."""
    waiting = JudgeRun.objects.filter(campaigns=campaign_id, probe_first=True)
    silent = [pk for pk in waiting.values_list("pk", flat=True) if not has_replies(pk)]
    return sum(resume_run(run_id=pk, user=user) for pk in silent)


def change_campaign(
    *, campaign_id: int, change: Callable[..., bool], user: User | None = None
) -> int:
    """Pause, resume or cancel every run of a campaign; return the number of changed runs.

    Runs that wait for confirmation after their probe are not changed.
    """
    started = JudgeRun.objects.filter(campaigns=campaign_id, probe_first=False)
    return sum(change(run_id=pk, user=user) for pk in started.values_list("pk", flat=True))


class GridPoint(NamedTuple):
    """The differences of a plan's run from the others."""

    judge: str
    setting: str
    features: str
    orders: str
    wording: str
    framing: str
    probe: str


def grid_of(study: Study, plan: CampaignPlan) -> list[GridPoint]:
    """Every run of a plan."""
    sets = feature_grid(study, plan.features)
    points = itertools.product(
        plan.judges,
        plan.settings,
        sets,
        plan.orders,
        plan.wordings,
        plan.framings,
        with_baselines(_probes(study, plan.probes)),
    )
    return [GridPoint(*point) for point in points]


def _probes(study: Study, probes: Sequence[str]) -> list[str]:
    named: list[str] = []
    for words in probes:
        head, star, tail = words.partition(f":{EVERY}")
        every = sorted(feature_sets.known_keys(study)) if star else [""]
        named += [f"{head}:{key}{tail}" if star else words for key in every]
    return named


def _check_probes(probes: Sequence[str]) -> None:
    by_feature = [probe.name for probe in known_probes() if probe.option_name == FEATURE]
    for words in probes:
        head, star, _ = words.partition(f":{EVERY}")
        if star and head not in by_feature:
            raise BadPlan(f"probes: write :* only after one of {', '.join(by_feature)}.")
        try:
            probe_choice(words)
        except InvalidValue as error:
            raise BadPlan(f"probes: {error.values['problem']}") from error


def _check_prices(plan: CampaignPlan, judges: dict[str, Judge]) -> None:
    unpriced = [name for name, judge in judges.items() if not judge.is_priced]
    if plan.budget is not None and unpriced:
        raise ConflictingValue("budget", NO_PRICE, judge=unpriced[0])


def _judges(plan: CampaignPlan) -> dict[str, Judge]:
    judges = {judge.name: judge for judge in Judge.objects.filter(name__in=plan.judges)}
    if absent := [name for name in plan.judges if name not in judges]:
        raise ConflictingValue("judges", _NO_JUDGE, judge=absent[0])
    return judges
