from django.apps import AppConfig


class LikenessConfig(AppConfig):
    name = "extras.likeness"
    addresses = {"studies/<slug:slug>/reports/": "extras.likeness.urls"}

    def ready(self) -> None:
        from analysis.report.rules import MORE_PARTS
        from annotation import machine_signs
        from extras.likeness import views
        from extras.likeness.models import ErrorComparison
        from studies import held_copies
        from studies.pages.workbench import PERSON_PARTS

        MORE_PARTS["agreement"].add(
            "extras.likeness.tiers:TIERS",
            "extras.likeness.tiers:LEAVE_ONE_OUT",
            "extras.likeness.mistakes:MISTAKES",
        )
        machine_signs.register_like_judges(ErrorComparison.striking_in)
        held_copies.MORE.add("extras.likeness.views:HELD")
        PERSON_PARTS.add("extras.likeness.views:PERSON")
        views.register()
