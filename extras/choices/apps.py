from django.apps import AppConfig


class ChoicesConfig(AppConfig):
    name = "extras.choices"

    def ready(self) -> None:
        from analysis.report.rules import ANALYSES, MORE_CHAPTERS

        ANALYSES["wording"] = "Effect of wording, framing and order"
        MORE_CHAPTERS.add("extras.choices.wording:WORDINGS", after="ablations")
        MORE_CHAPTERS.add("extras.choices.specifications:CHOICES", after="methods")
