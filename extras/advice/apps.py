from pathlib import Path

from django.apps import AppConfig


class AdviceConfig(AppConfig):
    name = "extras.advice"
    addresses = {"studies/<slug:slug>/": "extras.advice.urls"}

    def ready(self) -> None:
        from analysis.data.extras import READERS
        from analysis.report import rules
        from analysis.report.rules import ANALYSES
        from annotation.seats.assignment import VERSIONS
        from extras.advice import pages
        from judging.pages import workbench
        from judging.protocols import registry, texts

        texts.FOLDERS.append(Path(__file__).parent / "texts")
        registry.MORE.add(f"{self.name}.protocols:ADVICE", f"{self.name}.protocols:DISCUSSION")
        workbench.JURY_ACTIONS.add(f"{self.name}.discussions:DISCUSS")
        VERSIONS.add(f"{self.name}.arms:ONE_ARM")
        READERS.add(f"{self.name}.answers_before:ADVISED", f"{self.name}.beliefs:BELIEFS")
        rules.MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="bias")
        rules.MORE_CHAPTERS.add(f"{self.name}.arms_chapter:CHAPTER", after="accuracy")
        ANALYSES["advice"] = "How far people and judges follow advice after their first answer"
        ANALYSES["arms"] = "Accuracy with a debate, with one adviser, and without"
        pages.register()
