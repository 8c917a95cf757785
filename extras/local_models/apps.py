from django.apps import AppConfig


class LocalModelsConfig(AppConfig):
    name = "extras.local_models"

    def ready(self) -> None:
        from judging.backends.kinds import MORE

        MORE.add(f"{self.name}.kind:TRANSFORMERS", after="decisions")
