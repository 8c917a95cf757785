from tests.extras.in_browser import browser, open_page, signed_in
from tests.installation import installation, lived_in, var_dir

__all__ = ["browser", "installation", "lived_in", "open_page", "signed_in", "var_dir"]
