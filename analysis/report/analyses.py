"""Code and label of every analysis that a plan can name, in the report's order.

Pages list them, so this module loads no section: the sections say what shows each of them. An extra
adds the labels of its own when Django starts.
"""

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
