"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="telemetry",
    title="Telemetry",
    summary="Runs and requests are sent as OpenTelemetry spans, and figures to Prometheus.",
    group="installation",
    addresses={"metrics": "urls"},
    runs=(Placed("spans:SPANS", at="observers"),),
)
