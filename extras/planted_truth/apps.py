from django.apps import AppConfig


class PlantedTruthConfig(AppConfig):
    name = "extras.planted_truth"
