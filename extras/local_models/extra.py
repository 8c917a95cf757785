"""What the extra adds: see `Extra` in `studies.extra`."""

from studies.extra import Extra, Place

EXTRA = Extra(
    name="local_models",
    title="Models on this machine",
    summary="Workers run models by torch and transformers, or a GGUF file as a server.",
    group="installation",
    backends=(Place("kind:TRANSFORMERS", after="decisions"),),
)
