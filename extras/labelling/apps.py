from django.apps import AppConfig


class LabellingConfig(AppConfig):
    name = "extras.labelling"

    def ready(self) -> None:
        from analysis.exports import catalogue

        catalogue.MORE.add(f"{self.name}.shapes:ARGILLA", f"{self.name}.shapes:LABEL_STUDIO")
