from pathlib import Path

from django.apps import AppConfig


class GradedConfig(AppConfig):
    name = "extras.graded"
    addresses = {"studies/<slug:slug>/graded/": "extras.graded.urls"}

    def ready(self) -> None:
        from annotation.content import added_questions
        from annotation.services import endings
        from extras.graded import setup
        from judging.protocols import registry, texts

        added_questions.MORE.add(f"{self.name}.asking:QUESTIONS")
        endings.MORE.add(f"{self.name}.asking:AT_END")
        texts.FOLDERS.append(Path(__file__).parent / "texts")
        registry.MORE.add(
            f"{self.name}.protocols:SCORE_5",
            f"{self.name}.protocols:SCORE_7",
            after="criteria",
        )
        registry.MORE.add(f"{self.name}.protocols:STRENGTH", after="levels")
        setup.register()
