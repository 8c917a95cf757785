from django.apps import AppConfig


class LabelModelsConfig(AppConfig):
    name = "extras.label_models"

    def ready(self) -> None:
        from analysis.report.rules import MORE_PARTS

        MORE_PARTS["agreement"].add("extras.label_models.rules:RULES", after="alpha_check")
