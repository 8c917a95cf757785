from django.apps import AppConfig


class HeatMapsConfig(AppConfig):
    name = "extras.heat_maps"

    def ready(self) -> None:
        from analysis.report.rules import MORE_PARTS

        MORE_PARTS["groups"].add("extras.heat_maps.figures:HEAT_MAPS", after="group_accuracy")
