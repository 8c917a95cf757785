"""What each run of a judge got right, what it could not answer, and what it cost."""

import numpy as np

from analysis.data.arrays import TIE, Dataset, Run
from analysis.data.verdicts import (
    Ints,
    Verdicts,
    agreement_certainty,
    probability_certainty,
    repeated_readings,
    run_options,
)
from analysis.report.encode import Json, cells, number, pick, put, put_estimate, undefined
from analysis.report.sections.certainty.calibration import calibration, chapter
from analysis.report.sections.position.sides import both_orders, single_order
from analysis.stats.accuracy.bands import answer_accuracy
from analysis.stats.accuracy.bounds import accuracy_bounds
from analysis.stats.comparison.noise import run_noise

STATUSES = ("done", "unparseable", "refused", "skipped", "error", "open")


def identity(run: Run) -> Json:
    """What tells one run from another, wherever a run is named."""
    return {
        "judge": run.judge,
        "run": run.run,
        "setting": run.setting,
        "features": run.features,
    }


def judge_entry(
    data: Dataset, run: Run, verdicts: Verdicts, *, threshold: float, seed: int, draws: int
) -> Json:
    truth = data.scored_truth(offers_tie=run.offers_tie).astype(np.int64)
    accuracy, paper_compat = (
        answer_accuracy(
            verdicts.answer,
            truth,
            verdicts.certainty,
            threshold=threshold,
            n_options=run_options(run),
            paper_compat=paper,
        )
        for paper in (False, True)
    )
    rows = run.judgments
    return (
        identity(run)
        | {"items": int(np.unique(rows.item).size)}
        | cells(accuracy, paper_compat)
        | {
            "excluded": verdicts.excluded,
            "bounds": _bounds(rows.item, truth, verdicts),
            "judgments": {name: int((rows.status == name).sum()) for name in STATUSES},
            "replies": _replies(run),
            "calibration": calibration(verdicts.certainty, verdicts.correct),
            "certainty": chapter(
                verdicts.certainty, verdicts.correct, threshold=threshold, seed=seed, draws=draws
            ),
            "other_certainties": _other_certainties(data, run, verdicts),
            "position": _position(data, run),
            "ties": _ties(data, run, verdicts),
            "noise": _noise(data, run, truth, seed=seed, draws=draws),
            "cost": cost(run, accuracy.overall.correct),
            "record": _record(run),
        }
    )


def cost(run: Run, correct: int) -> Json:
    """What was used; unknown prices stay unknown."""
    used = run.cost
    out: Json = {"requests": used.requests, "failed_requests": used.failed_requests}
    known = "not_reported"
    put(out, "tokens_in", used.tokens_in, known)
    put(out, "tokens_out", used.tokens_out, known)
    put(out, "usd", number(used.usd), known)
    per_label = used.usd / correct if used.usd is not None and correct else None
    put(out, "usd_per_correct", number(per_label), known if used.usd is None else "empty_group")
    return out


def _other_certainties(data: Dataset, run: Run, verdicts: Verdicts) -> Json:
    """How much two certainties that nobody asked the model for in words are worth."""
    return {
        "probabilities": calibration(probability_certainty(data, run, verdicts), verdicts.correct),
        "agreement": calibration(agreement_certainty(verdicts), verdicts.correct),
    }


def _position(data: Dataset, run: Run) -> Json:
    """From the first sample of each item and order: later ones repeat the same question."""
    rows = run.judgments
    first = rows.sample == (rows.sample.min() if len(rows) else 0)
    item, choice, shown_first = rows.item[first], rows.choice[first], rows.shown_first[first]
    out = single_order(choice, shown_first, data.truth[item])
    out["both_orders"] = both_orders(choice, shown_first, item, len(data.items))
    return out


def _replies(run: Run) -> dict[str, int]:
    """How many judgments took how many replies until one could be read."""
    values, counts = np.unique(run.judgments.replies, return_counts=True)
    return {str(value): int(count) for value, count in zip(values, counts, strict=True)}


def _ties(data: Dataset, run: Run, verdicts: Verdicts) -> Json:
    """How often the run says tie, beside how often a tie is true; only where it may say so."""
    if not run.offers_tie:
        return {"n": 0, "ties": 0} | undefined("not_offered", "share", "truth_share")
    answered, known = verdicts.answer >= 0, data.truth >= 0
    out: Json = {"n": int(answered.sum()), "ties": int((verdicts.answer == TIE).sum())}
    put(out, "share", out["ties"] / out["n"] if out["n"] else None)
    put(out, "truth_share", float((data.truth[known] == TIE).mean()) if known.any() else None)
    return out


def _bounds(asked: Ints, truth: Ints, verdicts: Verdicts) -> Json:
    """Accuracy if every item that could be scored and was not were wrong, or were right."""
    could = np.zeros(truth.size, dtype=np.bool_)
    could[asked] = True
    could &= truth >= 0
    n, correct = int(verdicts.scored.sum()), int((verdicts.correct == 1).sum())
    found = accuracy_bounds(correct, n, {"not scored": int(could.sum()) - n})
    return {"not_scored": found.n_excluded} | pick(found, {"low": "low", "high": "high"})


def _noise(data: Dataset, run: Run, truth: Ints, *, seed: int, draws: int) -> Json:
    """How much of what one reading says is chance; only where items were asked repeatedly."""
    keys = ("accuracy_sd", "run_variance", "item_variance", "certainty_sd")
    if run.samples < 2:
        return undefined("one_sample", "same_choice", "flipped", *keys)
    found = run_noise(
        repeated_readings(data, run), truth, n_draws=draws, rng=np.random.default_rng(seed)
    )
    out: Json = {"runs": found.n_runs, "items": found.n_items}
    put_estimate(out, "same_choice", found.same_choice)
    put_estimate(out, "flipped", found.flipped)
    few = found.accuracy_reason or found.reason
    for key in keys:
        reason = found.reason if key == "certainty_sd" else few
        put(out, key, number(getattr(found, key)), reason or "too_few_items")
    return out


def _record(run: Run) -> Json:
    """The run as the methods appendix tells it."""
    return {
        "backend": run.backend,
        "snapshots": list(run.snapshots),
        "orders": run.orders,
        "samples": run.samples,
        "seed": run.seed,
        "parameters": dict(run.parameters),
        "sent": list(run.sent),
        "reported": list(run.reported),
        "conditions": list(run.conditions),
        "prompt": run.prompt.template,
        "prompt_hash": run.prompt.stored,
        "prompt_file_hash": run.prompt.sha256,
        "state": run.state,
        "state_reason": run.state_reason,
    }
