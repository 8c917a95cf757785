from django.apps import AppConfig


class SampleConfig(AppConfig):
    name = "extras.sample"
    addresses = {"sample/": "extras.sample.urls"}

    def ready(self) -> None:
        from studies.pages.workbench import LIST_PARTS

        LIST_PARTS.add(f"{self.name}.views:OFFER")
