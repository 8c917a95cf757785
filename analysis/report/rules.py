"""What is fixed for every report: rules, names of analyses, and the chapters that extras add.

Pages and every process that starts read this, so it loads no section and no statistics. An extra
adds its chapter or its parts of one of the core, and the labels of its analyses when Django starts.
"""

from collections import defaultdict
from typing import TYPE_CHECKING

from studies.additions import Additions

if TYPE_CHECKING:
    from analysis.report.section import Section


LEVEL = 0.05  # of tests, after adjustment
# With fewer answers, a cell is in italics and groups are not compared, or a cell is a count
# without a percentage.
SMALL = 30
TOO_SMALL = 10
MIN_COMPARED = 30  # with fewer items in common, the headline compares nothing
FULL_SHARE = 0.8  # below this share of their number, what annotators count as is shown
FOLDS = 5  # of items, for corrected certainty
# Accuracy that a threshold on certainty has to reach, chosen on half of the items or certified.
TARGET = 0.8


ANALYSES = {
    "accuracy": "Accuracy of people and judges",
    "certain": "Accuracy of each side where it is certain",
    "difference": "Judge less majority of people, in general and for these annotators",
    "equivalence": "Whether the two are equivalent within the margin",
    "several": "Which judge is best (Cochran's Q, pairs, ranks)",
    "calibration": (
        "Whether certainty separates right from wrong (ECE, Brier, AUROC, risk and coverage)"
    ),
    "certainty_beside": "People's certainty and the judge's, and both where they are certain",
    "agreement": "Agreement among people, and of judges with them",
    "replacement": "Whether the judge could replace an annotator (alt-test, kappa, leave one out)",
    "groups": "Topics, groups of personas, and who judges whom",
    "ablations": "What judges lose with less of the persona",
    "wording": "How much depends on the wording, the framing and the order",
    "position": "Whether the side of the screen matters",
}


MORE_CHAPTERS: "Additions[Section]" = Additions()
# Parts by the name of the chapter that they belong to.
MORE_PARTS: "defaultdict[str, Additions[Section]]" = defaultdict(Additions)
