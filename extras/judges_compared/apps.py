from django.apps import AppConfig


class JudgesComparedConfig(AppConfig):
    name = "extras.judges_compared"

    def ready(self) -> None:
        from analysis.report.rules import ANALYSES, MORE_PARTS

        ANALYSES["several"] = "Which judge is best (Cochran's Q, pairs, ranks)"
        MORE_PARTS["accuracy"].add("extras.judges_compared.ranking:RANKING")
        MORE_PARTS["agreement"].add(
            "extras.judges_compared.tiers:TIERS", "extras.judges_compared.tiers:LEAVE_ONE_OUT"
        )
