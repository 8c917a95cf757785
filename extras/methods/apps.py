from django.apps import AppConfig


class MethodsConfig(AppConfig):
    name = "extras.methods"

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.promises import FAMILIES
        from analysis.report.rules import MORE_CHAPTERS

        READERS.add("extras.methods.criteria:CRITERIA")
        MORE_CHAPTERS.add("extras.methods.insight:INSIGHT", after="certainty")
        MORE_CHAPTERS.add("extras.methods.disagreement:DISAGREEMENT", after="agreement")
        MORE_CHAPTERS.add("extras.methods.distances:DISTANCES", after="agreement")
        MORE_CHAPTERS.add("extras.methods.criteria:CHAPTER", after="bias")
        FAMILIES.add("extras.methods.promises:INSIGHT", after="certainty")
        FAMILIES.add("extras.methods.promises:DISAGREEMENT", after="planning")
