from tests.installation import installation, lived_in, var_dir

__all__ = ["installation", "lived_in", "var_dir"]
