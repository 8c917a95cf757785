"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="judge_models",
    title="Models made to judge",
    summary=(
        "JudgeLM, Auto-J, Prometheus 2 and CompassJudger are asked in their own formats, and "
        "decision endpoints, which answer with probabilities."
    ),
    group="judges",
    backends=(Placed("decisions:DECISIONS", after="openai"),),
    protocols=(
        "formats:JUDGE_LM",
        "formats:AUTO_J",
        "formats:PROMETHEUS_2",
        "formats:PROMETHEUS_2_SCORE",
        "formats:COMPASS_JUDGER",
    ),
)
