from pathlib import Path

from django.apps import AppConfig


class GradedConfig(AppConfig):
    name = "extras.graded"
    addresses = {"studies/<slug:slug>/graded/": "extras.graded.urls"}

    def ready(self) -> None:
        from analysis.data.extras import ANSWER_WORDS, READERS
        from analysis.exports import catalogue
        from analysis.report import rules
        from analysis.report.words import REASONS
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
        ANSWER_WORDS.add(f"{self.name}.shown:WORDS")
        READERS.add(f"{self.name}.graded_answers:GRADED")
        rules.MORE_CHAPTERS.add(f"{self.name}.chapter:CHAPTER", after="certainty")
        catalogue.MORE.add(f"{self.name}.exports:GRADES", f"{self.name}.exports:GRADED_ITEMS")
        REASONS["other_scale"] = "the judge used another scale than people"
        setup.register()
