from django.apps import AppConfig


class CertaintyConfig(AppConfig):
    name = "extras.certainty"

    def ready(self) -> None:
        from analysis.promises import FAMILIES
        from analysis.report.rules import MORE_PARTS

        parts = MORE_PARTS["certainty"]
        parts.add("extras.certainty.reliability:RELIABILITY", after="calibration")
        parts.add("extras.certainty.kinds_shown:KINDS_OF_CERTAINTY", after="certainty_distribution")
        parts.add("extras.certainty.sides:LIKE_FOR_LIKE", after="certainty_comparison")
        parts.add("extras.certainty.held_out:HELD_OUT", after="high_sets")
        parts.add("extras.certainty.thresholds:THRESHOLDS")
        FAMILIES.add(
            "extras.certainty.promises:KINDS_OF_CERTAINTY",
            "extras.certainty.promises:MEASURES",
            after="certainty",
        )
