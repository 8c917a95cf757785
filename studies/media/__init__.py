"""Pictures and sounds of items: what is accepted, where files are stored, who may open them."""
