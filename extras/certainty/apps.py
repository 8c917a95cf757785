from django.apps import AppConfig


class CertaintyConfig(AppConfig):
    name = "extras.certainty"

    def ready(self) -> None:
        from analysis.report.rules import MORE_PARTS

        parts = MORE_PARTS["certainty"]
        parts.add("extras.certainty.reliability:RELIABILITY", after="calibration")
        parts.add("extras.certainty.kinds_shown:KINDS_OF_CERTAINTY", after="certainty_distribution")
        parts.add("extras.certainty.sides:LIKE_FOR_LIKE", after="certainty_comparison")
        parts.add(
            "extras.certainty.sides:INTERACTION",
            "extras.certainty.measures:VALIDATION",
            "extras.certainty.measures:OTHER_CERTAINTIES",
            after="high_sets",
        )
        parts.add(
            "extras.certainty.thresholds:THRESHOLDS",
            "extras.certainty.measures:SCALE_USE",
            "extras.certainty.preferences:PREFERENCES",
        )
