from django.apps import AppConfig


class PersonasConfig(AppConfig):
    name = "extras.personas"
    addresses = {"studies/<slug:slug>/": "extras.personas.urls"}

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report.rules import MORE_CHAPTERS
        from extras.personas import profile_views

        READERS.add(f"{self.name}.signal_chapter:READER")
        MORE_CHAPTERS.add(f"{self.name}.signal_chapter:CHAPTER", after="accuracy")
        MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="bias")
        profile_views.register()
