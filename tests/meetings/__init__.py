"""Every feature with every other, in small studies that go the whole way."""
