"""Reports for readers: by a link, computed again, and several studies in one."""
