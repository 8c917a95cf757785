from django.apps import AppConfig


class PersonasConfig(AppConfig):
    name = "extras.personas"
    addresses = {"studies/<slug:slug>/": "extras.personas.urls"}

    def ready(self) -> None:
        from analysis.report.chapters import MORE
        from extras.personas import workbench

        MORE.add(f"{self.name}.chapter:CHAPTER", after="bias")
        workbench.register()
