from django.apps import AppConfig


class WordingsConfig(AppConfig):
    name = "extras.wordings"

    def ready(self) -> None:
        from analysis.report.rules import ANALYSES, MORE_CHAPTERS

        ANALYSES["wording"] = "Effect of wording, framing and order"
        MORE_CHAPTERS.add("extras.wordings.wording:WORDINGS", after="ablations")
