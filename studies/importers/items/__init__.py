"""Items: reading, checking and storing them."""
