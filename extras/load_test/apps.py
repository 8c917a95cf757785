from django.apps import AppConfig


class LoadTestConfig(AppConfig):
    name = "extras.load_test"
