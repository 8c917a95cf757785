"""Rankings of systems, and shares of all judged items from people's answers on some of them."""
