"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Placed

EXTRA = Extra(
    name="local_models",
    title="Models on this machine",
    summary="Workers run models by torch and transformers, or a GGUF file as a server.",
    group="installation",
    backends=(Placed("kind:TRANSFORMERS", after="openai"),),
)
