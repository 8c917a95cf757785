"""Items and personas edited and deleted on pages, until somebody has one."""
