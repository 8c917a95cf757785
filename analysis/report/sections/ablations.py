"""Runs that saw less of the persona beside the run of the same judge that saw all of it."""

from collections.abc import Sequence

import numpy as np

from analysis.data.arrays import Dataset, Run
from analysis.data.verdicts import Verdicts, repeated_readings
from analysis.report.encode import Json, estimate, number, put, put_interval
from analysis.report.judges import identity
from analysis.stats.comparison.differences import paired_difference
from analysis.stats.comparison.noise import change_beyond_noise
from analysis.stats.comparison.paired import count_pairs, mcnemar
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.proportions import wilson_proportion


def ablations(data: Dataset, verdicts: Sequence[Verdicts], *, seed: int, draws: int) -> list[Json]:
    """One entry per run with less than the whole persona; p values adjusted over its siblings."""
    whole = {
        (run.judge, run.setting): index
        for index, run in reversed(list(enumerate(data.runs)))
        if run.features == "all"
    }
    entries = []
    for index, run in enumerate(data.runs):
        base = whole.get((run.judge, run.setting))
        if base is None or run.features == "all":
            continue
        entry = identity(run) | {"compared_with": data.runs[base].run}
        entry |= _pair(verdicts[base], verdicts[index])
        entry["beyond_noise"] = _beyond_noise(data, data.runs[base], run, seed=seed, draws=draws)
        entries.append(entry)
    for family in {(entry["judge"], entry["setting"]) for entry in entries}:
        members = [entry for entry in entries if (entry["judge"], entry["setting"]) == family]
        adjusted = holm([entry["p"] for entry in members])
        for entry, p in zip(members, adjusted, strict=True):
            put(entry, "p_holm", number(p), entry.get("p_reason"))
            entry["family"] = len(members)
    return entries


def _pair(full: Verdicts, less: Verdicts) -> Json:
    pairs = count_pairs(full.correct, less.correct)
    difference = paired_difference(pairs)
    answered = (full.answer >= 0) & (less.answer >= 0)
    same = wilson_proportion((full.answer == less.answer)[answered])
    certain = ~np.isnan(full.certainty) & ~np.isnan(less.certainty)
    drop = (full.certainty - less.certainty)[certain]
    out: Json = {"n": pairs.n}
    put(out, "accuracy_lost", number(difference.value), difference.reason)
    put_interval(out, "ci", difference.interval, difference.reason)
    test = mcnemar(pairs)
    put(out, "p", number(test.p), test.reason)
    put(out, "same_choice", number(same.value), same.reason)
    put_interval(out, "same_choice_ci", same.interval, same.reason)
    out["same_choice_n"] = same.n
    put(out, "certainty_drop", float(drop.mean()) if drop.size else None)
    out["certainty_n"] = int(drop.size)
    return out


def _beyond_noise(data: Dataset, full: Run, less: Run, *, seed: int, draws: int) -> Json:
    """How much more two readings differ across the two runs than within each of them."""
    one, other = (repeated_readings(data, run) for run in (full, less))
    change = change_beyond_noise(one, other, n_draws=draws, rng=np.random.default_rng(seed))
    # Items asked once cannot tell a change from another reading.
    asked_once = change.excess.reason and min(full.samples, less.samples) < 2
    reason = "one_sample" if asked_once else change.excess.reason
    out = estimate(change.excess, "excess") | {"n": change.n_items}
    put(out, "within", number(change.within), reason)
    put(out, "across", number(change.across), reason)
    if reason is not None:
        out["excess_reason"] = out["ci_reason"] = reason
    return out
