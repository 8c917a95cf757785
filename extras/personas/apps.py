from django.apps import AppConfig


class PersonasConfig(AppConfig):
    name = "extras.personas"
    addresses = {"studies/<slug:slug>/": "extras.personas.urls"}

    def ready(self) -> None:
        from analysis.report.rules import MORE_CHAPTERS
        from extras.personas import profile_views

        MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="bias")
        profile_views.register()
