"""Test whether high certainty raises a judge's odds of being right more than an annotator's."""

from collections.abc import Iterator

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, estimate, number, put
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import named_comparisons
from analysis.stats.certainty.interaction import certainty_by_source


def interaction(study: ReportedStudy, judge: Verdicts) -> Json:
    """Fit annotators' single answers and the run's verdicts in one regression."""
    votes, shared = study.votes, study.shared
    items = np.arange(judge.correct.size)
    item = np.concatenate([votes.item, items])
    is_model = np.arange(item.size) >= votes.n
    annotator = np.concatenate([votes.annotator, np.full(items.size, votes.n_annotators)])
    found = certainty_by_source(
        np.concatenate([study.correct_alone, judge.correct]),
        np.concatenate([votes.certainty, judge.certainty]),
        is_model,
        {
            "item": item,
            "annotator": annotator,
            "persona": shared.persona[item],
            "question": shared.question[item],
        },
        threshold=study.threshold,
    )
    out: Json = {"n": found.n}
    out |= {key: estimate(getattr(found, key)) for key in ("people", "model", "interaction")}
    put(out, "p", number(found.p), found.interaction.reason or found.interaction.interval_reason)
    return out


def interaction_table(report: Report) -> Table:
    rows = []
    for name, versus in named_comparisons(report):
        found = versus["certainty"]["interaction"]
        if found["interaction"]["value"] is not None:
            rows.append(
                [
                    name,
                    found["n"],
                    found["people"]["value"],
                    found["model"]["value"],
                    found["interaction"]["value"],
                    found["interaction"]["ci"],
                    found["p"],
                ]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Answers", "count"),
        TableColumn("people", "decimal", "Log odds ratio of high certainty"),
        TableColumn("judge", "decimal", "Log odds ratio of high certainty"),
        TableColumn("Judge less people", "decimal"),
        TableColumn("95 % interval", "range"),
        TableColumn("p", "p"),
    )
    return Table(
        "interaction",
        "Does high certainty say more from the judge than from a person?",
        columns,
        rows,
        "A sensitivity analysis: logistic regression of being right on who answers, high "
        "certainty, and both, over single answers; its variance allows for items, people, "
        "personas and questions in common. Above 0: the judge's high certainty says more.",
    )


class InteractionSection(Section):
    """Logistic regression of being right on who answers and high certainty."""

    name = "interaction"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {
            "comparison": [
                {"certainty": {"interaction": interaction(study, judge)}} for judge in study.judges
            ]
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield interaction_table(report)
