from django.apps import AppConfig


class LikenessConfig(AppConfig):
    name = "extras.likeness"

    def ready(self) -> None:
        from analysis.promises import FAMILIES
        from analysis.report.rules import MORE_PARTS

        MORE_PARTS["agreement"].add(
            "extras.likeness.tiers:TIERS",
            "extras.likeness.tiers:LEAVE_ONE_OUT",
            "extras.likeness.mistakes:MISTAKES",
        )
        FAMILIES.add("extras.likeness.promises:GUESSES", after="agreement")
