"""The tool: a project file, its loop, its commands and its page."""
