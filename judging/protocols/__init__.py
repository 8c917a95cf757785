"""How a reply is read. No Django."""
