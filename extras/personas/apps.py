from django.apps import AppConfig


class PersonasConfig(AppConfig):
    name = "extras.personas"
    addresses = {"studies/<slug:slug>/": "extras.personas.urls"}

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.promises import FAMILIES
        from analysis.report.rules import MORE_CHAPTERS
        from extras.personas import profile_views

        READERS.add(f"{self.name}.signal_chapter:READER")
        MORE_CHAPTERS.add(f"{self.name}.signal_chapter:CHAPTER", after="accuracy")
        MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="bias")
        FAMILIES.add(f"{self.name}.promises:SIGNAL", after="differences")
        profile_views.register()
