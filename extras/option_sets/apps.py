from django.apps import AppConfig


class OptionSetsConfig(AppConfig):
    name = "extras.option_sets"

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report.chapters import MORE

        READERS.add(f"{self.name}.sets:OPTION_SETS", f"{self.name}.sets:RANKED_SETS")
        MORE.add(f"{self.name}.chapter:CHAPTER", after="criteria")
