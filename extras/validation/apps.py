from django.apps import AppConfig


class ValidationConfig(AppConfig):
    name = "extras.validation"

    def ready(self) -> None:
        from analysis.promises import FAMILIES
        from analysis.report.rules import MORE_CHAPTERS

        MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="bias")
        names = ("BREAKDOWN", "EFFECTIVE_JUDGES", "ERROR_BUDGET")
        FAMILIES.add(*(f"{self.name}.promises:{name}" for name in names))
