"""The names and the compression of scripts, styles and pictures of the program itself."""

from whitenoise.storage import (  # type: ignore[import-untyped]
    CompressedManifestStaticFilesStorage,
)


class StaticFiles(CompressedManifestStaticFilesStorage):
    """Each name holds a hash of the content, also where one script imports another.

    Otherwise a script of a new version could import one of the version before from a cache.
    """

    support_js_module_import_aggregation = True
