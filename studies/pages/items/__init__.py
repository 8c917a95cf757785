"""Pages that change what a study asks about: mapping of columns, editing and deleting of items."""
