from django.apps import AppConfig


class ReplicationConfig(AppConfig):
    name = "extras.replication"
    addresses = {"studies/<slug:slug>/judges/wordings/recover/": "extras.replication.urls"}

    def ready(self) -> None:
        from judging.wordings import MORE

        MORE.add("extras.replication.views:SOURCE")
