"""Items to numbers."""
