"""The runs of a study, with their judgments as arrays and their costs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import Count, Max, Min, Q, Sum

from analysis.data.arrays import (
    CHOICES,
    CODE,
    Cost,
    Item,
    Judgments,
    Prompt,
    Run,
    without_own_port,
)
from analysis.data.judges.drift import anchor_record, drift_sentences, version_records
from analysis.data.judges.probes import Makers, ProbedRun, probed
from judging.bias.registry import probe_choice
from judging.drift.reading import anchors_of
from judging.models import NANO, Attempt, JudgeRun, Judgment, Jury
from judging.prompts.asking import Asking
from judging.protocols.framings import framing
from judging.protocols.parsing import CERTAINTY
from judging.runs.request_conditions import conditions_of
from studies.models import Item as ItemRow
from studies.models import Study

_CHUNK = 2_000


def asked_on(slug: str) -> dict[str, str]:
    """The days on which each run of a study asked its model, by the run's key.

    Days are not in the data set: the same replies give the same report.json on any day.
    """
    runs = JudgeRun.objects.filter(study__slug=slug, judgments__attempts__isnull=False)
    days = runs.values_list("key").annotate(
        first=Min("judgments__attempts__sent_at"), last=Max("judgments__attempts__sent_at")
    )
    return {
        key: " to ".join(dict.fromkeys(f"{when:%Y-%m-%d}" for when in (first, last)))
        for key, first, last in days.order_by("key")
    }


def juries_of(study: Study) -> Mapping[str, list[str]]:
    members: dict[str, list[str]] = {}
    for jury, judge in Jury.objects.filter(study=study).values_list("name", "judges__name"):
        members.setdefault(jury, []).append(judge)
    return members


def runs_of(
    study: Study, position: Mapping[int, int], items: Sequence[Item]
) -> tuple[tuple[Run, ...], tuple[ProbedRun, ...]]:
    """The runs that judge the study, and those that take part in bias probes.

    A run with a probe is only among the second ones; an ordinary run is also there if a probe is
    compared with it.
    """
    judgments = _judgments(study, position)
    costs = _costs(study)
    runs = dict[str, Run]()
    # A run that was only probed and never started is not a judge of the study.
    started = JudgeRun.objects.filter(study=study, pk__in=judgments, probe_first=False)
    found = list(started.select_related("judge", "study", "wording"))
    conditions = conditions_of(found)
    anchors = anchors_of(found)
    for run in found:
        run.study = study  # saves a query per run
        rows, snapshots, read_leniently, strictly = judgments[run.pk]
        under = conditions[run.pk]
        runs[run.key] = Run(
            run=run.key,
            judge=run.judge.name,
            setting=run.setting,
            # A judge of this framing is shown nothing of the persona, whatever was selected.
            features=run.features if framing(run.framing).shows_profile else "none",
            backend=run.judge.backend,
            snapshots=snapshots,
            orders=run.orders,
            samples=run.samples,
            seed=run.seed,
            parameters=without_own_port(run.parameters),
            prompt=_prompt(study, run),
            state=run.state,
            state_reason=run.sentence,
            cost=costs.get(run.pk, Cost(0, 0, None, None, None)),
            judgments=rows,
            read_leniently=read_leniently,
            strictly=strictly,
            sent=tuple(asdict(each) | {"differs": list(each.differs)} for each in under.sent),
            reported=tuple(version_records(under.reported)),
            conditions=(*under.sentences, *drift_sentences(anchors.get(run.pk))),
            anchors=anchor_record(anchors.get(run.pk)),
            wording=run.wording.reference if run.wording else "",
            wording_sha256=run.wording.sha256 if run.wording else "",
            framing=run.framing,
        )
    judging = [runs[run.key] for run in found if not run.bias_probe]
    return tuple(sorted(judging, key=_in_order)), _probed(study, found, runs, items)


def _probed(
    study: Study, found: Sequence[JudgeRun], runs: Mapping[str, Run], items: Sequence[Item]
) -> tuple[ProbedRun, ...]:
    makers: Makers = ()
    if any(probe_choice(run.bias_probe).asks_own for run in found):
        rows = ItemRow.objects.filter(study=study, split=ItemRow.Split.MAIN)
        known = {
            key: pair
            for key, *pair in rows.values_list("key", "r1__generated_by", "r2__generated_by")
        }
        makers = [(known[item.key][0], known[item.key][1]) for item in items]
    every = [probed(run, runs[run.key], items, makers) for run in found]
    asked = {each.asked_as for each in every if each.name}
    taking_part = [each for each in every if each.asked_as in asked]
    return tuple(
        sorted(taking_part, key=lambda each: (*_in_order(each.run)[:-1], each.name, each.run.run))
    )


def _in_order(run: Run) -> tuple[Any, ...]:
    # The whole persona comes first, because runs with fewer features are compared with it.
    return run.judge, run.setting, run.features != "all", run.features, run.run


def _prompt(study: Study, run: JudgeRun) -> Prompt:
    run.study = study  # saves a query for each run
    asking = Asking.of(run)
    words = asking.words_of(study.task, persona=run.feature_keys != [])
    return Prompt(words.template, words.sha256, run.prompt_hash)


def _judgments(
    study: Study, position: Mapping[int, int]
) -> dict[int, tuple[Judgments, tuple[str, ...], Mapping[str, int], Judgments | None]]:
    """The judgments, the model snapshots that the server reported, and, where some were read only
    leniently, how many by each code and all as strict reading gives them; by the run's id.
    """
    judgments = Judgment.objects.filter(run__study=study, item__split=ItemRow.Split.MAIN)
    # Few runs have probabilities, and Django reads each JSON value by itself.
    stated = judgments.filter(probabilities__isnull=False).values_list("pk", "probabilities")
    probabilities = {
        pk: [float(given.get(option, 0)) for option in CHOICES] for pk, given in stated if given
    }
    leniently = judgments.filter(details__read__isnull=False)
    codes: dict[int, str] = dict(leniently.values_list("pk", "details__read"))
    # One run at a time: rows take ten times the memory of arrays.
    rows = judgments.order_by("run_id").values_list(
        "run_id",
        "pk",
        "item_id",
        "shown_first",
        "sample",
        "choice",
        "certainty",
        "state",
        "replies",
        "model_snapshot",
    )
    by_run = groupby(rows.iterator(chunk_size=_CHUNK), key=itemgetter(0))
    return {
        run: (
            _as_arrays(found := list(group), position, probabilities),
            tuple(sorted({row[9] for row in found} - {""})),
            *_read_leniently(found, position, probabilities, codes),
        )
        for run, group in by_run
    }


def _read_leniently(
    rows: Sequence[tuple[Any, ...]],
    position: Mapping[int, int],
    probabilities: Mapping[int, list[float]],
    codes: Mapping[int, str],
) -> tuple[Mapping[str, int], Judgments | None]:
    """Judgments by the code of their lenient reading, and all of them as read strictly."""
    counts = Counter(codes[row[1]] for row in rows if row[1] in codes)
    if not counts:
        return {}, None
    strictly = [_strict(row, codes[row[1]]) if row[1] in codes else row for row in rows]
    own = {
        pk: given for pk, given in probabilities.items() if codes.get(pk, CERTAINTY) == CERTAINTY
    }
    return dict(sorted(counts.items())), _as_arrays(strictly, position, own)


def _strict(row: tuple[Any, ...], code: str) -> tuple[Any, ...]:
    """A row that was read leniently as strict reading leaves it: without what `code` added."""
    if code == CERTAINTY:
        return (*row[:6], None, *row[7:])
    return (*row[:5], "", None, Judgment.State.UNPARSEABLE.value, *row[8:])


def _as_arrays(
    rows: Sequence[tuple[Any, ...]],
    position: Mapping[int, int],
    probabilities: Mapping[int, list[float]],
) -> Judgments:
    """The judgments of one run; `rows` as queried above."""
    unknown = [np.nan] * len(CHOICES)
    return Judgments.from_columns(
        [position[row[2]] for row in rows],
        [CODE[row[3]] for row in rows],
        [row[4] for row in rows],
        [CODE[row[5]] for row in rows],
        [row[6] for row in rows],
        ["open" if row[7] in Judgment.OPEN else row[7] for row in rows],
        [row[8] for row in rows],
        [probabilities.get(row[1], unknown) for row in rows],
    )


def _costs(study: Study) -> dict[int, Cost]:
    """The costs of each run from the ledger; a sum is unknown if any part of it is."""
    replied = Q(outcome=Attempt.Outcome.REPLIED)
    sums = (
        Attempt.objects.filter(judgment__run__study=study)
        .values_list("judgment__run")
        .annotate(
            requests=Count("pk"),
            failed=Count("pk", filter=~replied),
            tokens_in=Sum("prompt_tokens"),
            tokens_out=Sum("completion_tokens"),
            nano=Sum("cost_nano"),
            unpriced=Count("pk", filter=replied & Q(cost_nano=None)),
        )
        .order_by()
    )
    return {
        run: Cost(requests, failed, sent, got, None if unpriced or nano is None else nano / NANO)
        for run, requests, failed, sent, got, nano, unpriced in sums
    }
