from pathlib import Path

from django.apps import AppConfig

_PROTOCOLS = ("JUDGE_LM", "AUTO_J", "PROMETHEUS_2", "PROMETHEUS_2_SCORE", "COMPASS_JUDGER")


class JudgeModelsConfig(AppConfig):
    name = "extras.judge_models"

    def ready(self) -> None:
        from judging.protocols import texts
        from judging.protocols.registry import MORE

        texts.FOLDERS.append(Path(__file__).parent / "texts")
        MORE.add(*(f"{self.name}.formats:{each}" for each in _PROTOCOLS))
