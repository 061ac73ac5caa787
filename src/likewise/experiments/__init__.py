"""The paper's evaluation: its tables and figures, against the tools in use today."""
