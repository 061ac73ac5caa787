"""The page: routes that parse, call the project and render."""
