from django.apps import AppConfig


class RulesConfig(AppConfig):
    name = "extras.rules"
    addresses = {"studies/<slug:slug>/disagreements/": "extras.rules.urls"}

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.disagreements import selection
        from analysis.exports import catalogue
        from analysis.report.rules import MORE_CHAPTERS
        from extras.rules import views

        READERS.add(f"{self.name}.marks:READER")
        MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="groups")
        catalogue.MORE.add(f"{self.name}.requests:RULES")
        selection.MORE.add(f"{self.name}.requests:RULE_ITEMS")
        views.register()
