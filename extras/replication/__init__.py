"""The source paper repeated: its released files counted again, or its questions asked again."""
