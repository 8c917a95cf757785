from django.apps import AppConfig


class MethodsConfig(AppConfig):
    name = "extras.methods"

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report.rules import MORE_CHAPTERS, MORE_PARTS

        READERS.add("extras.methods.criteria:CRITERIA")
        MORE_CHAPTERS.add("extras.methods.insight:INSIGHT", after="certainty")
        MORE_CHAPTERS.add("extras.methods.disagreement:DISAGREEMENT", after="agreement")
        MORE_CHAPTERS.add("extras.methods.distances:DISTANCES", after="agreement")
        MORE_CHAPTERS.add("extras.methods.criteria:CHAPTER", after="bias")
        MORE_PARTS["glance"].add(
            "extras.methods.crowds:EQUIVALENCE", "extras.methods.crowds:FRONTIER"
        )
