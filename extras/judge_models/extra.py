"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra

EXTRA = Extra(
    name="judge_models",
    title="Models trained to judge",
    summary=("JudgeLM, Auto-J, Prometheus 2 and CompassJudger are asked in their own formats."),
    group="judges",
    protocols=(
        "formats:JUDGE_LM",
        "formats:AUTO_J",
        "formats:PROMETHEUS_2",
        "formats:PROMETHEUS_2_SCORE",
        "formats:COMPASS_JUDGER",
    ),
)
