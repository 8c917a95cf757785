from django.apps import AppConfig


class EstimationConfig(AppConfig):
    name = "extras.estimation"
    addresses = {"studies/<slug:slug>/reports/": "extras.estimation.urls"}

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report.rules import MORE_CHAPTERS
        from extras.estimation import views

        READERS.add("extras.estimation.items:SYSTEMS")
        MORE_CHAPTERS.add(
            "extras.estimation.systems:SYSTEMS",
            "extras.estimation.few_people:FEW_PEOPLE",
            after="bias",
        )
        views.register()
