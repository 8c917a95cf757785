from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    name = "extras.telemetry"
    addresses = {"metrics": "extras.telemetry.urls"}

    def ready(self) -> None:
        from judging.watching import MORE

        MORE.add(f"{self.name}.spans:SPANS")
