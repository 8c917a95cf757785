from pathlib import Path

from django.apps import AppConfig


class OptionSetsConfig(AppConfig):
    name = "extras.option_sets"

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report import rules
        from judging.protocols import registry, texts
        from studies.importers.items.validation import ROW_OPTIONS

        texts.FOLDERS.append(Path(__file__).parent / "texts")
        registry.MORE.add(f"{self.name}.listwise:LISTWISE", after="p-true")
        ROW_OPTIONS.add(f"{self.name}.pairs:PAIRS")
        READERS.add(f"{self.name}.sets:OPTION_SETS", f"{self.name}.sets:RANKED_SETS")
        rules.MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="bias")
