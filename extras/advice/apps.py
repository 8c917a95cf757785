from pathlib import Path

from django.apps import AppConfig


class AdviceConfig(AppConfig):
    name = "extras.advice"
    addresses = {"studies/<slug:slug>/judges/": "extras.advice.urls"}

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report import rules
        from analysis.report.rules import ANALYSES
        from judging.pages import workbench
        from judging.protocols import registry, texts

        texts.FOLDERS.append(Path(__file__).parent / "texts")
        registry.MORE.add(f"{self.name}.protocols:ADVICE", f"{self.name}.protocols:DISCUSSION")
        workbench.JURY_ACTIONS.add(f"{self.name}.discussions:DISCUSS")
        READERS.add(f"{self.name}.answers_before:ADVISED")
        rules.MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="bias")
        ANALYSES["advice"] = "How far people and judges follow advice after their first answer"
