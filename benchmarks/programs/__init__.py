"""Programs: compiling and executing them, their talks, meetings, messages and memories."""
