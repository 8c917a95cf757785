from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    name = "extras.telemetry"

    def ready(self) -> None:
        from judging.watching import MORE

        MORE.add(f"{self.name}.spans:SPANS")
