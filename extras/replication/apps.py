from django.apps import AppConfig


class ReplicationConfig(AppConfig):
    name = "extras.replication"
    addresses = {"studies/<slug:slug>/judges/wordings/recover/": "extras.replication.urls"}

    def ready(self) -> None:
        from judging.runs.imports import MORE as JUDGMENTS
        from judging.wordings import MORE
        from studies.importers.items.item_bundle import MORE as ITEMS

        MORE.add("extras.replication.views:SOURCE")
        ITEMS.add("extras.replication.released.result_rows:ITEMS", after="csv")
        JUDGMENTS.add("extras.replication.released.result_rows:JUDGMENTS")
