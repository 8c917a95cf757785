"""The verdicts on a scale, as terminal lines, as JSON, as Markdown, and as a page."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from markdown_it import MarkdownIt

from analysis.report.verdict.chart import VerdictChart, agreement_chart
from analysis.report.words import decimal, number_of, p_cell, percent, points, points_range
from analysis.stats import Estimate
from analysis.stats.comparison.replacement import AgreementScale
from analysis.stats.core.results import Trust
from thirdperson.check.level_shift import LevelShift
from thirdperson.check.right_labels import RightLabels
from thirdperson.check.scales import ScaleFinding, ScaleVerdict
from thirdperson.check.terminal import Terminal, aligned
from thirdperson.check.tiers import JudgeTier
from thirdperson.check.verdict import EXIT_CODES, escaped

_MARKS = {Trust.TRUSTED: "✅", Trust.NOT_TRUSTED: "❌", Trust.INCONCLUSIVE: "❔"}
_MOST_PAIRS, _MOST_CLASSES = 20, 20
# A later check replaces only files with this title.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: people and judges</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; overflow-wrap: anywhere }}
.table {{ overflow-x: auto }}
table {{ border-collapse: collapse; overflow-wrap: normal }}
th, td {{ padding: .25rem .75rem; border-bottom: 1px solid; text-align: left }}
td {{ font-variant-numeric: tabular-nums; white-space: nowrap }}
</style></head><body><main>
<h1>{title}</h1>
{body}</main></body></html>
"""

Cells = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def _tables(finding: ScaleFinding) -> Iterator[Cells]:
    """A title, the columns, and rows of words."""
    shifts = [one.shift for one in finding.verdicts if one.shift]
    ends = " (95 % CI)" if any(shift.ends for shift in shifts) else ""
    minus = (f"Its label minus people’s{ends}",) if finding.scale.is_graded else ()
    yield (
        "Judges",
        (
            "Judge",
            "Verdict",
            "Agrees",
            "Balanced",
            "A person’s advantage (95 % CI)",
            "p",
            "Kappa",
            *minus,
        ),
        [
            (
                one.judge,
                one.trust.value,
                percent(one.found.raw.model),
                percent(one.found.balanced.model),
                _gap(one),
                p_cell(one.p),
                decimal(one.kappa, 2),
                *((one.shift.cell(),) if one.shift else ()),
            )
            for one in finding.verdicts
        ],
    )
    yield from _right_labels(finding)
    yield (
        "Tiers by kappa with people",
        (
            "Judge",
            "People",
            "Kappa",
            "People’s",
            "Difference (95 % CI)",
            "z",
            "Tier",
        ),
        [(one.judge, *one.tier.cells()) for one in finding.verdicts if one.tier],
    )
    yield (
        "Reference judges",
        ("Reference judge", "Agrees with a person", "Balanced"),
        [(one.name, percent(one.raw), percent(one.balanced)) for one in finding.references],
    )
    yield (
        "Agreement of people",
        ("Coefficient", "Value"),
        [
            (name, decimal(value, 2) if value is not None else f"– ({why})")
            for name, value, why in finding.coefficients
        ],
    )
    names = finding.scale.names
    for one in finding.verdicts if len(names) <= _MOST_CLASSES else ():
        yield (
            f"{one.judge} against {finding.against}",
            ("Label", "Items", "Prevalence", "Judge gives", "Recall", "Precision", "F1"),
            [
                (
                    name,
                    f"{share.n:,}",
                    percent(share.prevalence),
                    percent(share.given),
                    percent(share.recall),
                    percent(share.precision),
                    decimal(share.f1, 2),
                )
                for name, share in zip(names, one.classes, strict=False)
            ],
        )
    yield (
        "Pairs of people"
        + (f", {_MOST_PAIRS} largest" if len(finding.pairs) > _MOST_PAIRS else ""),
        ("Person", "Person", "Items", "Kappa"),
        [
            (one, other, f"{n:,}", decimal(kappa, 2))
            for one, other, n, kappa in finding.pairs[:_MOST_PAIRS]
        ],
    )


def _shown_tables(finding: ScaleFinding) -> Iterator[Cells]:
    """The tables without empty rows and columns, and none that would be empty."""
    for title, columns, rows in _tables(finding):
        rows = [row for row in rows if any(map(_has_value, row[1:]))]
        kept = [n for n in range(len(columns)) if n == 0 or any(_has_value(row[n]) for row in rows)]
        if rows:
            yield (
                title,
                tuple(columns[n] for n in kept),
                [tuple(row[n] for n in kept) for row in rows],
            )


def _has_value(cell: str) -> bool:
    return not cell.startswith("–")


def _right_labels(finding: ScaleFinding) -> Iterator[Cells]:
    known = {one.judge: one.right for one in finding.verdicts if one.right}
    graded = finding.scale.is_graded
    people = "Median" if graded else "Majority"
    yield (
        f"Against the right labels: {'mean distance' if graded else 'share right'}, and points "
        "ahead of people (95\u00a0% CI)",
        (
            "Judge",
            "Own",
            "A person",
            people,
            "Ahead of a person",
            f"Ahead of {people.lower()}",
        ),
        [(judge, *own.cells()) for judge, own in known.items()],
    )


def _gap(one: ScaleVerdict) -> str:
    gap = one.found.advantage
    if gap.interval is None:
        return points(gap.value)
    return f"{points(gap.value)} ({points_range((gap.interval.low, gap.interval.high))})"


def chart_of(finding: ScaleFinding) -> VerdictChart | None:
    """The judges, best first, on the worse of their two scales; None without a difference."""
    lines = []
    for one in finding.verdicts:
        gap = one.found.advantage
        if gap.value is not None:
            ends = (-gap.interval.high, -gap.interval.low) if gap.interval else ()
            lines.append((one.judge, -gap.value, ends))
    chart = agreement_chart(lines, finding.epsilon)
    if chart and finding.scale.is_graded:  # by how much two labels agree, not how often
        title = "Agrees more or less than another person"
        return replace(chart, title=title, sides=("less", "more"))
    return chart


def _sensitivity(one: ScaleVerdict) -> str:
    """For which ε the verdict holds."""
    if one.trust is Trust.TRUSTED and one.holds_from is not None:
        return f"This holds for every ε above {max(one.holds_from, 0) * 100:.1f} points."
    if one.trust is Trust.NOT_TRUSTED and one.holds_below is not None:
        return f"This holds for every ε below {one.holds_below * 100:.1f} points."
    return ""


def _size(finding: ScaleFinding, name: str) -> str:
    people = number_of(finding.people, "person")
    effective = finding.people_effective
    if effective and effective < 0.8 * finding.people:
        people += f" (by their shares of the labels, as many as {effective:.0f})"
    judges = ", ".join(one.judge for one in finding.verdicts)
    many = "judge" if len(finding.verdicts) == 1 else "judges"
    return (
        f"{name}: {number_of(finding.items, 'item')}, {number_of(finding.labels, 'label')} by "
        f"{people}, {many} {judges}"
    )


def _needed(one: ScaleVerdict) -> str:
    if one.trust is not Trust.INCONCLUSIVE:
        return ""
    if one.why == "no_pairs":
        return "Labels still needed: those of a second person for items that judges labelled."
    if one.why == "rare_label" and one.labels_needed is None:
        return ""  # The advice says what helps.
    if one.labels_needed is None:
        return "Labels still needed: more labels alone would not settle it."
    return f"Labels still needed: about {one.labels_needed:,}"


def _statements(finding: ScaleFinding) -> Iterator[tuple[Trust, str, list[str]]]:
    """Each verdict with what follows it; one for all judges if all share the reason."""
    if not finding.common:
        for one in finding.verdicts:
            yield one.trust, one.sentence, _details(finding, one)
        return
    details = [text for one in finding.verdicts for text in _details(finding, one)]
    yield finding.best.trust, finding.common, list(dict.fromkeys(details))


def _details(finding: ScaleFinding, one: ScaleVerdict) -> list[str]:
    """What follows a verdict: its level, for which ε it holds, what is missing, who is right."""
    shift = one.shift.sentence(one.judge) if one.shift else ""
    right = one.right.sentence(one.judge, finding.margin) if one.right else ""
    return [*filter(None, (shift, _sensitivity(one), _needed(one), right))]


def terminal_lines(
    finding: ScaleFinding, name: str, reading: Sequence[str], terminal: Terminal
) -> list[str]:
    def wrapped(text: str, mark: str = "") -> list[str]:
        return textwrap.wrap(
            text, terminal.width, initial_indent=mark, subsequent_indent=" " * len(mark)
        )

    lines = terminal.head(_size(finding, name), reading)
    for trust, sentence, details in _statements(finding):
        first, *more = wrapped(f"{trust.value}: {sentence}")
        lines += ["", terminal.trust(trust) + first.removeprefix(trust.value), *more]
        for text in details:
            lines += wrapped(text)
    if finding.advice:
        lines += wrapped(f"What to do next: {finding.advice}")
    if chart := terminal.strip(chart_of(finding)):
        lines += ["", *chart[:-1]]
    for title, columns, rows in _shown_tables(finding):
        lines += ["", title, *aligned([columns, *rows], terminal.width)]
    return [*lines, "", *(line for text in finding.caveats for line in wrapped(text, "- "))]


def markdown(
    finding: ScaleFinding, name: str, reading: Sequence[str], *, is_simulated: bool
) -> str:
    """The verdicts, their tables, and what was read."""
    lines = ["**Simulated data.**", ""] if is_simulated else []
    for trust, sentence, details in _statements(finding):
        lines += [f"### {_MARKS[trust]} {trust.value}: {escaped(sentence)}", ""]
        lines += [line for text in details for line in (escaped(text), "")]
    if finding.advice:
        lines += [f"What to do next: {escaped(finding.advice)}", ""]
    lines += [f"{escaped(_size(finding, name))}.", ""]
    for title, columns, rows in _shown_tables(finding):
        lines += [f"#### {escaped(title)}", ""]
        lines += ["| " + " | ".join(columns) + " |", "| --- " * len(columns) + "|"]
        lines += ["| " + " | ".join(map(escaped, row)) + " |" for row in rows]
        lines.append("")
    lines += [f"- {escaped(caveat)}" for caveat in finding.caveats]
    lines += ["", "#### What was read", "", *(f"- {escaped(line.strip())}" for line in reading)]
    return "\n".join([*lines, ""])


def page(title: str, text: str) -> str:
    """Markdown as one page without scripts."""
    for mark in _MARKS.values():
        text = text.replace(f"{mark} ", "")
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    body = body.replace("<table>", '<div class="table" tabindex="0"><table>')
    body = body.replace("</table>", "</table></div>")
    body = re.sub("(</?h)[34]>", r"\g<1>2>", body)
    return _PAGE.format(title=escape(title), body=body)


def as_json(finding: ScaleFinding) -> dict[str, Any]:
    best = finding.best
    return {
        "verdict": best.trust.value,
        "exit_code": EXIT_CODES[best.trust],
        "sentence": best.sentence,
        "caveats": list(finding.caveats),
        "labels_needed": best.labels_needed,
        "items": finding.items,
        "labels": finding.labels,
        "annotators": finding.people,
        "people_effective": finding.people_effective,
        "judges": [one.judge for one in finding.verdicts],
        "reference_judges": [
            {"reference": one.name, "raw": one.raw, "balanced": one.balanced}
            for one in finding.references
        ],
        "level": finding.scale.level,
        "label_names": list(finding.scale.names),
        "epsilon": finding.epsilon,
        "agreement_of_people": [
            {"coefficient": name, "value": value, "reason": why if value is None else ""}
            for name, value, why in finding.coefficients
        ],
        "pairs_of_people": [
            {"people": [one, other], "items": n, "kappa": kappa}
            for one, other, n, kappa in finding.pairs
        ],
        "verdicts": [_verdict_json(finding, one) for one in finding.verdicts],
    }


def _verdict_json(finding: ScaleFinding, one: ScaleVerdict) -> dict[str, Any]:
    names = finding.scale.names
    return {
        "judge": one.judge,
        "verdict": one.trust.value,
        "sentence": one.sentence,
        "why": one.why,
        "p": one.p,
        "holds_from": one.holds_from,
        "holds_below": one.holds_below,
        "labels_needed": one.labels_needed,
        "items": one.found.n,
        "raw": _side(one.found.raw),
        "balanced": _side(one.found.balanced),
        "gain": _estimate(one.found.gain) | {"person": one.found.people_gain},
        "kappa": one.kappa,
        "minus_people": _shift_json(one.shift) if one.shift else None,
        "tier": _tier_json(one.tier) if one.tier else None,
        "classes_against": finding.against,
        "classes": [
            {
                "label": name,
                "n": share.n,
                "prevalence": share.prevalence,
                "given": share.given,
                "recall": share.recall,
                "precision": share.precision,
                "f1": share.f1,
            }
            for name, share in zip(names, one.classes, strict=False)
        ],
        "right_labels": _right_json(finding, one, one.right) if one.right else None,
    }


def _shift_json(shift: LevelShift) -> dict[str, Any]:
    """The judge's labels minus the mean of people's, in units of the scale."""
    return {
        "value": shift.value,
        "ci": shift.ends and list(shift.ends),
        "p": shift.p,
        "items": shift.gap.n,
        "reason": shift.gap.reason or shift.gap.interval_reason,
    }


def _tier_json(tier: JudgeTier) -> dict[str, Any]:
    return {
        "people": tier.people,
        "kappa": tier.kappa,
        "people_kappa": tier.people_kappa,
        "difference": _estimate(tier.difference),
        "z": tier.z,
        "tier": tier.tier or None,
        "reason": tier.why,
    }


def _right_json(finding: ScaleFinding, one: ScaleVerdict, right: RightLabels) -> dict[str, Any]:
    """Shares of right labels, or mean distances from them, and who is nearer more often."""
    return {
        "sentence": right.sentence(one.judge, finding.margin),
        "items": right.n,
        "measure": "distance" if right.is_distance else "right",
        "judge": right.shares[0],
        "compared": [
            {
                "with": gap.other,
                "value": share,
                "nearer_more_often": _estimate(
                    Estimate(
                        gap.found.value,
                        gap.found.reason,
                        gap.found.interval,
                        gap.found.interval_reason,
                    )
                ),
                "p": gap.adjusted.p,
                "state": gap.adjusted.state,
            }
            for gap, share in zip(right.gaps, right.shares[1:], strict=True)
        ],
    }


def _side(side: AgreementScale) -> dict[str, Any]:
    cells = {"judge": side.model, "person": side.people, "p": side.p}
    return cells | {"advantage_of_people": _estimate(side.advantage)}


def _estimate(estimate: Estimate) -> dict[str, Any]:
    ends = estimate.interval
    return {
        "value": estimate.value,
        "ci": [ends.low, ends.high] if ends else None,
        "reason": estimate.reason or estimate.interval_reason,
    }
