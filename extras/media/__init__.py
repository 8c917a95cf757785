"""Pictures and sounds of items: what is accepted, where files are, who may open them."""
